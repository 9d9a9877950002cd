"""Tests of the manager: adding, superseding, invalidating, counting and episodes."""

import json
import logging
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryEvent


@pytest.fixture
def state():
    return SimpleNamespace(episode_id=1, turn_count=7)


@pytest.fixture
def manager(home, state):
    return home.open(logger=logging.getLogger("test"), game_state=state)


def test_file_is_readable_by_people(manager, home):
    manager.add_memory(5, "Living Room", memory("Sword hangs here", "core", turns="2", text="A sword hangs there."))
    manager.add_memory(5, "Living Room", memory("Troll", category="DANGER", status="TENTATIVE", text="It waits."))
    assert home.text() == (
        "# Location Memories\n"
        "\n"
        "## Location 5: Living Room\n"
        "**Visits:** 1 | **Episodes:** 1\n"
        "\n"
        "### Memories\n"
        "\n"
        "**[NOTE - CORE] Sword hangs here** *(Ep1, T2, +0)*\n"
        "A sword hangs there.\n"
        "\n"
        "**[DANGER - PERMANENT - TENTATIVE] Troll** *(Ep1, T3, +0)*\n"
        "It waits.\n"
        "\n"
        "---\n"
    )


@pytest.mark.parametrize("persistence", ["core", "permanent"])
def test_lasting_memory_is_in_file_and_cache(manager, home, persistence):
    kept = memory(persistence=persistence)
    assert manager.add_memory(5, "Hall", kept) is True
    assert manager.memory_cache == {5: [kept]}
    assert manager.ephemeral_cache == {}
    assert home.open().memory_cache == {5: [kept]}


def test_ephemeral_memory_is_in_the_cache_only(manager, home):
    kept = memory(persistence="ephemeral")
    assert manager.add_memory(5, "Hall", kept) is True
    assert manager.ephemeral_cache == {5: [kept]}
    assert manager.memory_cache == {}
    assert home.text() == ""


def test_agent_sees_lines_with_persistence_markers(manager):
    manager.add_memory(5, "Hall", memory("Dropped", "ephemeral", text="The sword lies here."))
    manager.add_memory(5, "Hall", memory("Rule", "permanent", text="The door is nailed shut."))
    manager.add_memory(5, "Hall", memory("Seen", "core", category="DISCOVERY", text="A lamp is here."))
    manager.add_memory(5, "Hall", memory("Maybe", status="TENTATIVE", category="DANGER", text="The troll may bite."))
    assert manager.get_location_memory(5) == (
        "[DISCOVERY] Seen: A lamp is here. [spawn]\n"
        "[NOTE] Rule: The door is nailed shut.\n"
        "[NOTE] Dropped: The sword lies here. [session]\n"
        "\n"
        "⚠️  TENTATIVE MEMORIES (unconfirmed, may be invalidated):\n"
        "  [DANGER] Maybe: The troll may bite."
    )
    assert manager.get_location_memory(6) == ""


def test_markers_can_be_disabled(tmp_path, state):
    config = SimpleNamespace(zork_game_workdir=tmp_path, show_persistence_markers=False)
    manager = SimpleMemoryManager(None, config, state)
    manager.add_memory(5, "Hall", memory("Seen", "core", text="A lamp."))
    assert manager.get_location_memory(5) == "[NOTE] Seen: A lamp."


TRANSITIONS = [(old, new) for old in ("core", "permanent", "ephemeral") for new in ("core", "permanent", "ephemeral")]


@pytest.mark.parametrize(("old", "new"), TRANSITIONS)
def test_lasting_memory_is_never_superseded_by_an_ephemeral_one(manager, home, old, new, caplog):
    manager.add_memory(5, "Hall", memory("Old", old))
    before = home.text()
    allowed = manager.supersede_memory(5, "Hall", "Old", memory("New", new))
    assert allowed is not (old != "ephemeral" and new == "ephemeral")
    everything = [*manager.memory_cache.get(5, ()), *manager.ephemeral_cache.get(5, ())]
    if allowed:
        marked = memory("Old", old, status="SUPERSEDED", superseded_by="New", superseded_at_turn=7)
        assert sorted(everything, key=lambda kept: kept.title) == [memory("New", new), marked]
    else:
        assert everything == [memory("Old", old)]
        assert home.text() == before
        assert "the restart would lose it, because 'New' is ephemeral" in caplog.text
    assert home.open().memory_cache == manager.memory_cache


def test_unknown_title_is_not_superseded(manager, home):
    assert manager.supersede_memory(5, "Hall", "Nothing", memory("New")) is False
    assert home.text() == ""


def test_memory_can_be_superseded_by_one_with_the_same_title(manager):
    manager.add_memory(5, "Hall", memory("Door", text="It is stuck."))
    assert manager.supersede_memory(5, "Hall", "Door", memory("Door", text="It opens with the key."))
    assert manager.get_location_memory(5) == "[NOTE] Door: It opens with the key."
    assert manager.supersede_memory(5, "Hall", "Door", memory("Door", text="It is gone."))
    assert manager.get_location_memory(5) == "[NOTE] Door: It is gone."


@pytest.mark.parametrize("persistence", ["core", "permanent", "ephemeral"])
def test_invalidated_memory_is_kept_and_not_shown(manager, home, persistence):
    manager.add_memory(5, "Hall", memory("Friendly troll", persistence))
    assert manager.invalidate_memory(5, "Friendly troll", "Proven false by death") is True
    expected = memory(
        "Friendly troll",
        persistence,
        status="SUPERSEDED",
        superseded_by=INVALIDATION_MARKER,
        superseded_at_turn=7,
        invalidation_reason="Proven false by death",
    )
    cache = manager.ephemeral_cache if persistence == "ephemeral" else manager.memory_cache
    assert cache == {5: [expected]}
    assert manager.get_location_memory(5) == ""
    assert home.open().memory_cache == manager.memory_cache


def test_invalidation_requires_a_reason_and_a_memory(manager):
    manager.add_memory(5, "Hall", memory("Kept"))
    assert manager.invalidate_memory(5, "Kept", "  ") is False
    assert manager.invalidate_memory(5, "Kep", "wrong") is False
    assert manager.invalidate_memory(6, "Kept", "wrong") is False
    assert manager.get_memory_breakdown(5) == {"core": 0, "permanent": 1, "ephemeral": 0}


def test_events_of_forgotten_memories_are_dropped(manager):
    secret = memory("Code", text="The code is hunter2.")
    manager.add_memory(5, "Hall", secret)
    manager.add_memory(5, "Hall", memory("Rope"))
    manager.add_memory(6, "Attic", memory("Bell"))
    manager.invalidate_memory(5, "Rope", "Not hunter2.")
    manager.forget(text="hunter2")
    manager.forget(place=6)
    assert [(event.kind, event.title) for event in manager.drain_events()] == [("added", "Rope")]


def test_events_that_nobody_reads_do_not_accumulate():
    with SimpleMemoryManager.open(":memory:") as manager:
        manager.remember_many({"place": number, "text": "A rope."} for number in range(1100))
        events = manager.drain_events()
    assert [event.location_id for event in events] == list(range(100, 1100))


def test_unwritable_session_is_not_an_error(tmp_path, caplog):
    manager = SimpleMemoryManager(path=tmp_path / "Memories.md")
    manager.add_memory(5, "Hall", memory("One"))
    assert manager.save_session(tmp_path / "Memories.md" / "session.json") is False
    assert caplog.messages == ["session not saved"]


def test_ephemeral_memory_needs_no_journal(tmp_path, caplog):
    manager = SimpleMemoryManager(path=tmp_path / "Memories.md")
    (tmp_path / "Memories.md.sqlite").mkdir()
    for title in ("One", "Two"):
        assert manager.add_memory(5, "Hall", memory(title, "ephemeral"))
    assert [kept.title for kept in manager.ephemeral_cache[5]] == ["One", "Two"]
    assert caplog.messages == ["changes of ephemeral memories are not journaled"]


def test_unreadable_memory_is_not_invalidated(tmp_path):
    manager = SimpleMemoryManager(path=tmp_path / "Memories.md")
    manager.add_memory(5, "Hall", memory("One"))
    (tmp_path / "Memories.md").unlink()
    (tmp_path / "Memories.md").mkdir()
    assert manager.invalidate_memory(5, "One", "wrong") is False


def test_several_memories_are_invalidated_together(manager):
    manager.add_memory(5, "Hall", memory("One"))
    manager.add_memory(5, "Hall", memory("Two", "ephemeral"))
    found = manager.invalidate_memories(5, ["One", "Two", "Three"], "wrong", turn=9)
    assert found == {"One": True, "Two": True, "Three": False}
    assert {kept.superseded_at_turn for kept in (*manager.memory_cache[5], *manager.ephemeral_cache[5])} == {9}


def test_counts_include_superseded_memories(manager):
    for title, kind in [("A", "core"), ("B", "permanent"), ("C", "permanent"), ("D", "ephemeral"), ("E", "ephemeral")]:
        manager.add_memory(5, "Hall", memory(title, kind))
    manager.add_memory(6, "Attic", memory("F"))
    manager.invalidate_memories(5, ["B", "D"], "wrong")
    assert manager.get_persistent_count(5) == 3
    assert manager.get_persistent_count() == 4
    assert manager.get_ephemeral_count(5) == 2
    assert manager.get_ephemeral_count() == 2
    assert manager.get_memory_breakdown(5) == {"core": 1, "permanent": 1, "ephemeral": 1}


def test_new_episode_forgets_ephemeral_memories(manager, home):
    manager.add_memory(5, "Hall", memory("Dropped", "ephemeral"))
    manager.add_memory(5, "Hall", memory("Rule"))
    before = home.text()
    manager.reset_episode()
    assert manager.ephemeral_cache == {}
    assert manager.memory_cache == {5: [memory("Rule")]}
    assert home.text() == before


def test_repeated_fact_is_counted(manager, home):
    manager.add_memory(5, "Hall", memory("Rug", turns="25", text="It hides a door."))
    manager.add_memory(5, "Hall", memory("rug", turns="48", text="It  hides a\nDOOR.", episode=2))
    manager.add_memory(5, "Hall", memory("rug", turns="48", text="It hides a door.", episode=2))
    expected = memory("Rug", turns="25→48", text="It hides a door.", episode=2, observation_count=2, first_episode=1)
    assert manager.memory_cache == {5: [expected]}
    assert "**[NOTE - PERMANENT] Rug** *(Ep1→Ep2, T25→T48, +0, seen 2x)*" in home.text()
    assert "**Visits:** 2 | **Episodes:** 1, 2" in home.text()


def test_repeated_words_confirm_a_tentative_memory(manager):
    manager.add_memory(5, "Hall", memory("Troll", status="TENTATIVE"))
    manager.add_memory(5, "Hall", memory("Troll", turns="9"))
    assert manager.get_location_memory(5) == "[NOTE] Troll: The text of Troll."


def test_repeated_fact_that_lasts_moves_to_the_file(manager):
    manager.add_memory(5, "Hall", memory("Lever", "ephemeral"))
    manager.add_memory(5, "Hall", memory("Lever"))
    assert manager.get_memory_breakdown(5) == {"core": 0, "permanent": 1, "ephemeral": 0}


@pytest.mark.parametrize(
    ("known", "turn", "episode", "expected"),
    [
        (("25", 1), 48, 1, ("25→48", 1, 2)),
        (("25→48", 1), 60, 1, ("25→60", 1, 2)),
        (("23-24", 1), 48, 2, ("23→48", 2, 2)),
        (("25", 2), 48, 1, ("25→25", 2, 2)),
        (("25", 1), 25, 1, ("25", 1, 1)),
        (("25→48", 1), 48, 1, ("25→48", 1, 1)),
        (("25", 2), 5, "new", ("25→5", "new", 2)),
    ],
)
def test_observations_extend_turns_and_episodes(manager, known, turn, episode, expected):
    manager.add_memory(5, "Hall", memory("Other", episode=1))
    manager.add_memory(5, "Hall", memory("Other 2", episode=2))
    kept = memory("Rug", turns=known[0], episode=known[1])
    manager.add_memory(5, "Hall", kept)
    assert manager.update_memory_metadata(kept, 5, "Hall", turn, episode) is True
    found = manager.memory_cache[5][2]
    assert (found.turns, found.episode, found.observation_count) == expected


def test_unknown_memory_cannot_be_observed_again(manager):
    assert manager.update_memory_metadata(memory(), 5, "Hall", 9, 1) is False
    assert manager.update_memory_metadata(memory(persistence="ephemeral"), 5, "Hall", 9, 1) is False


def test_events_are_reported_once(manager):
    manager.add_memory(5, "Hall", memory("A"))
    manager.add_memory(5, "Hall", memory("D", "ephemeral"))
    manager.supersede_memory(5, "Hall", "A", memory("B"))
    manager.invalidate_memory(5, "B", "wrong")
    assert manager.drain_events() == [
        MemoryEvent("added", 5, "A", "permanent", "NOTE", "", "The text of A."),
        MemoryEvent("added", 5, "D", "ephemeral", "NOTE", "", "The text of D."),
        MemoryEvent("added", 5, "B", "permanent", "NOTE", "", "The text of B."),
        MemoryEvent("superseded", 5, "A", "permanent", "NOTE", "B", "The text of A.", "SUPERSEDED"),
        MemoryEvent("invalidated", 5, "B", "permanent", "NOTE", "wrong", "The text of B.", "SUPERSEDED"),
    ]
    assert manager.drain_events() == []


def test_status_describes_files_and_counts(manager):
    manager.add_memory(5, "Hall", memory("A", status="TENTATIVE"))
    manager.add_memory(6, "Attic", memory("B", "ephemeral"))
    status = manager.get_status()
    assert status["type"] == "simple_memory"
    wanted = {"locations": 2, "persistent_memories": 1, "ephemeral_memories": 1, "open_tentative": 1}
    assert wanted.items() <= status["metrics"].items()


def test_memory_works_without_a_game(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Own.md") as manager:
        assert manager.add_memory(5, "Hall", memory("A"))
        assert manager.supersede_memory(5, "Hall", "A", memory("B", turns="4-9"))
    with SimpleMemoryManager.open(tmp_path / "Own.md") as manager:
        assert [kept.superseded_at_turn for kept in manager.memory_cache[5]] == [9, None]
        assert [found.located.memory.title for found in manager.search("text of B")] == ["B"]


def test_search_finds_current_memories_of_any_location(manager):
    manager.add_memory(5, "Hall", memory("Brass key", text="It opens the stone door."))
    manager.add_memory(6, "Attic", memory("Rope", "ephemeral", text="A coil of rope lies here."))
    manager.add_memory(7, "Cellar", memory("Rusty keys", text="They fit nothing."))
    manager.invalidate_memory(7, "Rusty keys", "they do")
    found = manager.search("where are keys or ropes?", 5)
    assert [(located.located.location_name, located.located.memory.title) for located in found] == [
        ("Attic", "Rope"),
        ("Hall", "Brass key"),
    ]
    assert manager.search("xyzzy") == []


def test_unknown_persistence_is_an_error():
    with pytest.raises(ValueError, match="'forever'.*'core', 'permanent', 'ephemeral'"):
        Memory("NOTE", "T", 1, "1", 0, "x", "forever")


def test_session_is_restored_into_its_own_episode_only(tmp_path, state, manager):
    manager.add_memory(5, "Hall", memory("Dropped", "ephemeral"))
    manager.record_action_outcome(5, "Hall", "look", "x", {"turn": 7})
    saved = tmp_path / "runs" / "1" / "ephemeral_session.json"
    assert manager.save_session(saved) is True
    content = saved.read_bytes()
    store = manager.store
    resumed = SimpleMemoryManager(None, None, SimpleNamespace(episode_id=1, turn_count=8), path=store)
    assert resumed.restore_session(saved) is True
    assert resumed.ephemeral_cache == {5: [memory("Dropped", "ephemeral")]}
    assert resumed.is_first_visit(5) is False
    other = SimpleMemoryManager(None, None, SimpleNamespace(episode_id=2, turn_count=0), path=store)
    other.add_memory(6, "Attic", memory("Mine", "ephemeral"))
    assert other.restore_session(saved) is False
    assert other.ephemeral_cache == {6: [memory("Mine", "ephemeral")]}
    assert saved.read_bytes() == content


def test_session_without_its_journal_loses_ephemeral_memories(tmp_path, caplog):
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager(path=path) as manager:
        manager.add_memory(5, "Hall", memory("Lasting"))
        manager.add_memory(5, "Hall", memory("Dropped", "ephemeral"))
        assert manager.save_session(tmp_path / "s.json")
    path.with_name("Memories.md.sqlite").unlink()
    with SimpleMemoryManager(path=path) as resumed:
        assert resumed.restore_session(tmp_path / "s.json")
        assert (resumed.ephemeral_cache, list(resumed.memory_cache)) == ({}, [5])
    assert "ephemeral memories of episode 1 are lost" in caplog.text


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"episode": 1}', b'{"episode": 1, "memories": {"x": []}}'])
def test_damaged_session_is_not_restored(tmp_path, manager, content):
    (tmp_path / "s.json").write_bytes(content)
    assert manager.restore_session(tmp_path / "s.json") is False
    assert manager.restore_session(tmp_path / "nothing.json") is False


@pytest.mark.parametrize(
    ("part", "value"), [("experience", [5]), ("experience", None), ("learner", {"a": 1}), ("position", "x")]
)
def test_session_with_a_damaged_part_is_not_restored(tmp_path, manager, caplog, part, value):
    saved = tmp_path / "s.json"
    assert manager.save_session(saved)
    saved.write_text(json.dumps(json.loads(saved.read_text()) | {part: value}))
    manager.record_action_outcome(5, "Hall", "pull rope", "The bell rings.", {"turn": 3, "nothing_changed": True})
    manager.add_memory(5, "Hall", memory("Rope", persistence="ephemeral"))
    assert manager.save_session(tmp_path / "before.json")
    assert manager.restore_session(saved) is False
    assert "session not restored" in caplog.text
    assert manager.save_session(tmp_path / "after.json")
    assert (tmp_path / "after.json").read_bytes() == (tmp_path / "before.json").read_bytes()
    assert [each.title for each in manager.ephemeral_cache[5]] == ["Rope"]
