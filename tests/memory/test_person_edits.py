"""Tests that edited memories are protected from models, audits and counts."""

import logging
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import Answers, memory, remember
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager

GATE = "The lever opens the gate."
MINE = "Pull the lever twice to open the gate."


def lever(text=GATE, **fields):
    return memory(**{"title": "Lever", "text": text} | fields)


def on_file(manager):
    manager.all_memories()
    return [(memory.text, memory.status) for memory in manager.memory_cache[5]]


@pytest.fixture
def open_(home):
    def opened(*answers):
        return home.open(
            logger=logging.getLogger("test"),
            game_state=SimpleNamespace(episode_id=2, turn_count=20),
            synthesizer=Answers(*answers) if answers else None,
        )

    return opened


@pytest.fixture
def edited(open_):
    """Return a function that opens a file in which a person reworded the only memory."""

    def opened(*answers):
        open_().add_memory(5, "Hall", lever())
        open_().edit_memory(5, "Lever", Edit(text=MINE))
        return open_(*answers)

    return opened


@pytest.fixture
def path(tmp_path):
    """A memory file with two learned memories, one of which was reworded in an editor."""
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", lever())
        manager.add_memory(5, "Hall", lever("A bell hangs here.", title="Bell"))
    path.write_text(path.read_text().replace(GATE, MINE))
    return path


REPLACES = remember("Chain", text="The chain opens it.", supersedes_memory_titles={"Lever"})
DENIES = remember("Bell", text="The bell rings.", invalidate_memory_titles={"Lever"}, invalidation_reason="no")


def learn(manager, turns):
    for turn in turns:
        manager.record_action_outcome(5, "Hall", f"pull {turn}", "Hm.", {"score_delta": 1, "turn": turn})


def test_model_cannot_change_a_memory_edited_in_the_file(path):
    with SimpleMemoryManager.open(
        path, synthesizer=Answers(REPLACES, DENIES), game_state=SimpleNamespace(episode_id=2, turn_count=20)
    ) as manager:
        learn(manager, (21, 22))
        assert (MINE, "ACTIVE") in on_file(manager)
        assert manager.get_status()["metrics"]["person_edits_kept"] == 2
        assert not manager.invalidate_memory(5, "Lever", "wrong")
        assert manager.invalidate_memory(5, "Bell", "wrong"), "only what was edited is protected"


def test_model_replaces_other_memories_that_it_names(path):
    titles = {"A note", "Bell", "Lever"}
    answer = remember("Chain", text="The chain opens it.", supersedes_memory_titles=titles)
    with SimpleMemoryManager.open(path, synthesizer=Answers(answer)) as manager:
        manager.add_memory(5, "Hall", memory("A note"))
        manager.edit_memory(5, "A note", Edit(pinned=True))
        learn(manager, (21,))
        assert {memory.title: memory.status for memory in manager.memory_cache[5]} == {
            "A note": "ACTIVE",
            "Bell": "SUPERSEDED",
            "Chain": "ACTIVE",
            "Lever": "ACTIVE",
        }


def test_edit_in_the_file_counts_at_once_and_after_a_restart(path):
    for _ in range(2):
        with SimpleMemoryManager.open(path) as manager:
            assert not manager.supersede_memory(5, "Hall", "Lever", lever("The chain does it.", title="Chain"))
    with SimpleMemoryManager.open(path) as manager:
        path.write_text(path.read_text().replace("A bell hangs here.", "A silver bell hangs here."))
        assert not manager.invalidate_memory(5, "Bell", "wrong")
        assert on_file(manager) == [(MINE, "ACTIVE"), ("A silver bell hangs here.", "ACTIVE")]


def test_memory_written_or_renamed_in_the_file_is_protected(path):
    path.write_text(
        path.read_text().replace("] Bell**", "] Silver bell**")
        + "\n**[NOTE - PERMANENT] Rope**\nA rope hangs here.\n"
        + "\n**[NOTE - PERMANENT] Chain** *(Ep1, T3, +0)*\nA chain hangs here.\n"
    )
    with SimpleMemoryManager.open(path) as manager:
        for title in ("Lever", "Silver bell", "Rope"):
            assert not manager.invalidate_memory(5, title, "wrong")
        assert manager.invalidate_memory(5, "Chain", "wrong"), "it was written by another memory"


def test_observations_and_removed_pins_are_not_edits(open_):
    manager = open_()
    manager.add_memory(5, "Hall", lever())
    manager.edit_memory(5, "Lever", Edit(pinned=True))
    manager.edit_memory(5, "Lever", Edit(pinned=False))
    manager.add_memory(5, "Hall", lever(turns="9"))
    assert manager.invalidate_memory(5, "Lever", "wrong")


def test_unpinning_an_edited_memory_removes_its_protection(edited):
    manager = edited()
    manager.edit_memory(5, "Lever", Edit(pinned=True))
    manager.edit_memory(5, "Lever", Edit(pinned=False))
    assert manager.invalidate_memory(5, "Lever", "wrong")


def test_edited_memory_stays_protected_after_a_veto(edited):
    manager = edited()
    manager.edit_memory(5, "Lever", Edit(vetoed=True))
    manager.edit_memory(5, "Lever", Edit(vetoed=False))
    assert not manager.invalidate_memory(5, "Lever", "wrong")


def test_update_by_a_program_is_not_an_edit(open_):
    manager = open_()
    manager.add_memory(5, "Hall", lever())
    manager.update("Lever", 5, text=MINE)
    manager.invalidate("Lever", "wrong", 5)
    assert on_file(manager) == [(MINE, "SUPERSEDED")]


def test_edited_memory_stays_protected_when_observed_or_moved(edited):
    manager = edited()
    assert manager.add_memory(5, "Hall", lever(MINE, turns="30"))
    with manager.store.transaction(source="person") as draft:
        draft.move(5, 6)
    assert not manager.invalidate_memory(6, "Lever", "wrong")


def test_deleted_memory_that_is_learned_again_is_unprotected(path):
    path.write_text(path.read_text().split("### Memories")[0])
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", lever())
        assert manager.invalidate_memory(5, "Lever", "wrong")


def test_failures_do_not_invalidate_an_edited_memory(open_):
    manager = open_()
    manager.add_memory(5, "Hall", lever(category="SUCCESS", action="pull lever"))
    manager.edit_memory(5, "Lever", Edit(status="TENTATIVE"))
    manager.edit_memory(5, "Lever", Edit(status="ACTIVE"))
    for turn in (21, 22, 23):
        manager.get_location_memory(5)
        manager.record_action_outcome(5, "Hall", "pull lever", "Nothing.", {"nothing_changed": True, "turn": turn})
    manager.save_session(manager.store.path.with_suffix(".session"))
    [kept] = [memory for memory in manager.memory_cache[5] if memory.action]
    assert (kept.tried, kept.worked, kept.status) == (3, 0, "ACTIVE")
