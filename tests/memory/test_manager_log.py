"""Tests of what the manager logs."""

import logging
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager

RUG, ROPE = memory("Rug", "core"), memory("Rope", "ephemeral")


@pytest.fixture
def logged(tmp_path, caplog):
    """A function that opens a manager with its own logger, and one that returns what was logged, by level."""
    logger = logging.getLogger("somebody.else")
    caplog.set_level(logging.INFO, logger.name)

    def opened(**config):
        config = SimpleNamespace(zork_game_workdir=tmp_path, **config)
        manager = SimpleMemoryManager(logger, config, SimpleNamespace(episode_id=1, turn_count=9))

        def said():
            found = [record.getMessage() for record in caplog.records if record.name == logger.name]
            caplog.clear()
            return found

        return manager, said

    return opened


def test_added_memory_is_logged(logged):
    manager, log = logged()
    manager.add_memory(5, "Hall", RUG)
    manager.add_memory(5, "Hall", memory("Lamp", status="TENTATIVE"))
    manager.add_memory(5, "Hall", ROPE)
    assert log() == [
        "core memory added: 'Rug' at location 5 (Hall), which has 1 persistent and 0 ephemeral now",
        "permanent memory added: 'Lamp' (tentative) at location 5 (Hall), which has 2 persistent and 0 ephemeral now",
        "ephemeral memory added: 'Rope' at location 5 (Hall), which has 2 persistent and 1 ephemeral now",
    ]
    manager.add_memory(5, "Hall", memory("Rug", "core", turns="4"))
    assert log() == []


def test_superseded_upgraded_and_invalidated_memories_are_logged(logged):
    manager, log = logged()
    manager.add_memory(5, "Hall", RUG)
    for title in ("Rope", "Knife"):
        manager.add_memory(5, "Hall", memory(title, "ephemeral"))
    log()
    manager.supersede_memory(5, "Hall", "Rug", memory("Rug moved"))
    assert log()[-1] == (
        "core memory superseded: 'Rug' by 'Rug moved' at location 5 (Hall), which has 2 persistent and 2 ephemeral now"
    )
    manager.supersede_memory(5, "Hall", "Rope", memory("Rope can be tied"))
    assert log() == [
        "permanent memory added: 'Rope can be tied' at location 5 (Hall), which has 3 persistent and 2 ephemeral now",
        "memory upgraded from ephemeral to permanent: 'Rope' by 'Rope can be tied' at location 5 (Hall), "
        "which has 3 persistent and 2 ephemeral now",
    ]
    manager.add_memory(5, "Hall", memory("Knife"))
    assert log()[-1].startswith("memory upgraded from ephemeral to permanent: 'Knife' by 'Knife' at location 5")
    manager.add_memory(6, "Attic", memory("Gas", "ephemeral"))
    log()
    manager.invalidate_memory(5, "Rug moved", "It lies there again")
    manager.invalidate_memory(6, "Gas", "It has gone")
    assert log() == [
        "permanent memory invalidated: 'Rug moved' because 'It lies there again' at location 5 (Hall), "
        "which has 4 persistent and 2 ephemeral now",
        "ephemeral memory invalidated: 'Gas' because 'It has gone' at location 6 (Attic), "
        "which has 0 persistent and 1 ephemeral now",
    ]


def test_reset_logs_counts(logged):
    manager, log = logged()
    manager.add_memory(5, "Hall", RUG)
    manager.add_memory(5, "Hall", ROPE)
    manager.add_memory(6, "Attic", ROPE)
    log()
    manager.reset_episode()
    assert log() == ["episode reset: 2 ephemeral memories cleared, 1 persistent memories stay"]


def test_refused_changes_are_logged_with_the_reason(logged):
    manager, log = logged()
    assert not manager.invalidate_memory(5, "Nothing", "why not")
    assert not manager.supersede_memory(5, "Hall", "Nothing", RUG)
    assert log() == [
        "There is no current memory 'Nothing' at location 5.",
        "'Rug' was not stored: there is no current memory 'Nothing' to replace.",
    ]


def test_ephemeral_operations_are_logged_at_debug_level(logged, caplog):
    manager, _ = logged(debug_ephemeral=True)
    for _ in range(2):
        manager.add_memory(5, "Hall", memory("Rope", "ephemeral", turns="3"))
        manager.add_memory(5, "Hall", memory("Rope", "ephemeral", turns="4"))
    details = [record for record in caplog.records if record.message == "ephemeral memory"]
    assert [(one.what, one.title, one.text) for one in details][:2] == [
        ("added", "Rope", "The text of Rope."),
        ("seen again", "Rope", "The text of Rope."),
    ]
    assert manager.save_session(manager.store.path.parent)
    assert manager.restore_session(manager.store.path.parent)
    manager.reset_episode()
    counts = [
        (record.message, record.count) for record in caplog.records if record.message.startswith("ephemeral memories")
    ]
    assert counts == [
        ("ephemeral memories forgotten", 1),
        ("ephemeral memories restored", 1),
        ("ephemeral memories forgotten", 1),
    ]
