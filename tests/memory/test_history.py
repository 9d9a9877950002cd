"""Every change is a line; what a kill or a person left out is added."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager


@pytest.fixture
def path(tmp_path):
    return tmp_path / "Memories.md"


def lines(path):
    return path.with_suffix(".history.jsonl").read_text().splitlines(keepends=True)


def rows(path):
    return [json.loads(line) for line in lines(path)]


def told(path):
    return [
        (row["kind"], row["source"], row["location_id"], (row["after"] or row["before"])["title"])
        for row in rows(path)
        if row["kind"] != "noted"
    ]


def test_every_change_is_a_line(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("A"))
    manager.add_memory(5, "Hall", memory("A", turns="9"))
    manager.supersede_memory(5, "Hall", "A", memory("B"))
    manager.invalidate_memory(5, "B", "wrong")
    manager.add_memory(5, "Hall", memory("Passing", "ephemeral"))
    assert told(path) == [
        ("added", "agent", 5, "A"),
        ("seen again", "agent", 5, "A"),
        ("added", "agent", 5, "B"),
        ("superseded", "agent", 5, "A"),
        ("invalidated", "agent", 5, "B"),
    ]
    assert manager.store.history.replayed() == manager.memory_cache


def test_an_older_file_begins_its_history_with_what_it_holds(path):
    SimpleMemoryManager.open(path).add_memory(5, "Hall", memory("Old"))
    path.with_suffix(".history.jsonl").unlink()
    SimpleMemoryManager.open(path).add_memory(5, "Hall", memory("New"))
    assert told(path) == [("added", "baseline", 5, "Old"), ("added", "agent", 5, "New")]


@pytest.mark.parametrize("missing", [1, 2])
def test_a_line_that_a_kill_left_out_is_added_at_the_next_load(path, missing):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("A"))
    manager.supersede_memory(5, "Hall", "A", memory("B"))
    history = path.with_suffix(".history.jsonl")
    history.write_text("".join(lines(path)[:-missing]))
    SimpleMemoryManager.open(path)
    new = ("added", "agent", 5, "B") if missing == 1 else ("added", "recovered", 5, "B")
    assert sorted(told(path)[1:]) == sorted([new, ("superseded", told(path)[-1][1], 5, "A")])
    assert manager.store.history.replayed() == manager.memory_cache


def test_the_very_first_line_may_be_left_out_too(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("A"))
    path.with_suffix(".history.jsonl").write_text(lines(path)[0])
    SimpleMemoryManager.open(path)
    assert told(path) == [("added", "recovered", 5, "A")]


def test_a_line_that_a_kill_cut_short_is_passed_over_and_written_anew(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("A"))
    manager.add_memory(5, "Hall", memory("B"))
    history = path.with_suffix(".history.jsonl")
    history.write_text("".join(lines(path))[:-40])
    again = SimpleMemoryManager.open(path)
    again.add_memory(5, "Hall", memory("C"))
    changes = [record.change for record in again.store.history.records()]
    assert [change.after.title for change in changes] == ["A", "B", "C"]
    assert again.store.history.replayed() == again.memory_cache


def test_edits_by_hand_are_lines(path):
    manager = SimpleMemoryManager.open(path)
    for title in ("A", "B", "C"):
        manager.add_memory(5, "Hall", memory(title))
    text = path.read_text().replace("The text of A.", "Another text.")
    text = text.replace("**[NOTE - PERMANENT] B** *(Ep1, T3, +0)*\nThe text of B.\n\n", "")
    path.write_text(text + "\nA note.\n")
    SimpleMemoryManager.open(path)
    assert told(path)[-2:] == [("edited", "hand", 5, "A"), ("removed", "hand", 5, "B")]


def test_what_is_no_memory_is_no_line(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("A"))
    path.write_text(path.read_text() + "\nA note of mine.\n")
    SimpleMemoryManager.open(path)
    SimpleMemoryManager.open(path)
    assert told(path) == [("added", "agent", 5, "A")]
    assert [row["kind"] for row in rows(path)] == ["noted", "added", "noted"]


def test_a_compacted_history_tells_the_same_but_for_the_counts_in_between(path):
    manager = SimpleMemoryManager.open(path)
    for turn in range(10, 40):
        manager.add_memory(5, "Hall", memory("A", turns=str(turn)))
        manager.add_memory(6, "Attic", memory("B", turns=str(turn)))
    manager.invalidate_memory(5, "A", "wrong")
    manager.add_memory(5, "Hall", memory("C", turns="50"))
    manager.add_memory(6, "Attic", memory("B", turns="51"))
    assert manager.store.compact_history() == (64, 6)
    assert told(path) == [
        ("added", "agent", 5, "A"),
        ("added", "agent", 6, "B"),
        ("seen again", "agent", 5, "A"),
        ("invalidated", "agent", 5, "A"),
        ("added", "agent", 5, "C"),
        ("seen again", "agent", 6, "B"),
    ]
    assert manager.store.history.replayed() == manager.memory_cache
    assert manager.store.compact_history() == (6, 6)
    assert SimpleMemoryManager.open(path).add_memory(5, "Hall", memory("D"))
    assert {row["source"] for row in rows(path)} == {"agent"}


def test_a_history_with_lines_that_can_not_be_read_keeps_them(path):
    manager = SimpleMemoryManager.open(path)
    for turn in range(10, 14):
        manager.add_memory(5, "Hall", memory("A", turns=str(turn)))
    history = path.with_suffix(".history.jsonl")
    history.write_text("".join([*lines(path)[:3], '{"of": "a later version"}\n', "half a li\n", *lines(path)[3:]]))
    manager.store.compact_history()
    assert lines(path)[1:3] == ['{"of": "a later version"}\n', "half a li\n"]
    assert manager.store.history.replayed() == manager.memory_cache


@given(st.lists(st.tuples(st.integers(1, 2), st.sampled_from("ABC"), st.sampled_from(["add", "wrong"])), max_size=25))
@settings(max_examples=30, deadline=None)
def test_whatever_happened_a_compacted_history_leads_to_the_same_memories(steps):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Memories.md"
        manager = SimpleMemoryManager.open(path)
        for turn, (place, title, step) in enumerate(steps):
            if step == "add":
                manager.add_memory(place, "Room", memory(title, turns=str(turn)))
            else:
                manager.invalidate_memory(place, title, "wrong", turn)
        before = [record for record in manager.store.history.records() if record.change.kind != "seen again"]
        manager.store.compact_history()
        after = [record for record in manager.store.history.records() if record.change.kind != "seen again"]
        assert after == before
        replayed = {place: kept for place, kept in manager.store.history.replayed().items() if kept}
        assert replayed == manager.memory_cache


def test_a_merge_conflict_is_said_and_both_sides_are_read_until_it_is_resolved(path, caplog):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("A"))
    text = path.read_text()
    both = text.replace("**[NOTE", "<<<<<<< ours\n**[NOTE").replace(
        "\n---", "=======\n**[NOTE - PERMANENT] B** *(Ep1, T3, +0)*\nTheirs.\n\n>>>>>>> theirs\n\n---"
    )
    path.write_text(both)
    assert "[NOTE] B: Theirs." in manager.get_location_memory(5)
    manager.get_location_memory(5)
    assert caplog.text.count("a merge conflict is not resolved") == 1
    path.write_text(text)
    assert manager.get_location_memory(5) == "[NOTE] A: The text of A."
