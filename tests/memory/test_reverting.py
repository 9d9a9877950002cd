"""Tests of returning to a checkpoint."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import memory
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import OBJECTIVES
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.markdown import MarkdownStore


class Marked:
    """A memory in any store, with a checkpoint after turn 3 of an episode."""

    def __init__(self, home, *, empty: bool = False, episode: int = 2) -> None:
        self.home = home
        self.state = SimpleNamespace(episode_id=episode, turn_count=3)
        self.memory = home.open(game_state=self.state)
        if not empty:
            self.add("Before")
        self.memory.process_turn()
        self.point = self.memory.snapshot()
        self.before = self.contents()
        self.state.turn_count += 1

    def add(self, title: str, place: int = 5, name: str = "Hall") -> bool:
        fact = replace(memory(title), episode=self.state.episode_id, turns=str(self.state.turn_count))
        return self.memory.add_memory(place, name, fact)

    def contents(self) -> tuple[object, ...]:
        with self.home.open() as opened:
            turns = opened.store.database.rows(
                "SELECT id, turn FROM zorkgpt_journal WHERE kind = 'ended' AND reverted_by IS NULL"
            )
            places = opened.store.lasting.places()
            every = opened.store.lasting.memories
            return {place: every(place) for place in places}, opened.store.lasting.headings(places), turns, self.text()

    def text(self) -> str:
        """Return the text of the memories. "" for a file that has only its title."""
        return self.home.text().removesuffix("# Location Memories\n")

    def revert(self) -> None:
        """Return to the checkpoint, as a new process would."""
        with self.home.open(game_state=self.state) as later:
            later.revert_to(self.point)

    def titles(self) -> list[str]:
        with self.home.open() as opened:
            return [located.memory.title for located in opened.all_memories()]


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("places", [0, 1, 40])
def test_every_store_returns_to_a_checkpoint(home, empty, places):
    marked = Marked(home, empty=empty)
    for number in range(places):
        marked.add(f"Fact {number}", number, "Room")
        marked.add(f"Of the hall {number}")
        marked.memory.process_turn()
    marked.revert()
    assert marked.contents() == marked.before
    marked.revert()
    assert marked.contents() == marked.before
    assert marked.add("After")


def test_every_kind_of_change_is_undone(home):
    marked = Marked(home)
    marked.add("To be replaced")
    marked.add("To be removed")
    marked.point, marked.before = marked.memory.snapshot(), marked.contents()
    marked.state.turn_count += 1
    marked.add("Before")
    marked.memory.invalidate_memory(5, "To be replaced", "wrong")
    with marked.memory._writer.changing(lasting=True) as draft:
        [gone] = [each for each in draft.lasting.memories(5) if each.title == "To be removed"]
        draft.remove(5, gone)
    assert len(marked.titles()) < 3
    marked.revert()
    assert marked.contents()[1:] == marked.before[1:]
    # A memory that was removed comes back at the end of its place.
    assert sorted(marked.titles()) == ["Before", "To be removed", "To be replaced"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_changes_by_other_episodes_stay(home, when):
    marked = Marked(home)
    theirs = Marked(home, empty=True, episode=3)
    if when == "after":
        marked.add("Ours")
    theirs.add("Theirs")
    theirs.add("Of the attic", 6, "Attic")
    marked.add("Ours too")
    marked.add("Ours", 6, "Attic")
    marked.revert()
    assert marked.titles() == ["Before", "Theirs", "Of the attic"]
    headings = marked.contents()[1]
    assert [heading.episodes for heading in headings.values()] == [(2, 3), (3,)]
    with home.open() as opened:
        effective = [each for each in opened.store.journal.records(start=1) if not each.is_of_repeated_turn]
        assert {record.turn_stamp.episode for record in effective} == {3}


@pytest.mark.parametrize("whose", ["a person's", "another episode's"])
def test_memory_that_others_have_changed_since_stays(home, whose):
    marked = Marked(home)
    marked.add("Ours")
    marked.add("Ours too")
    if whose == "a person's":
        with home.open() as opened:
            assert opened.edit_memory(5, "Ours", Edit(text="Reworded."))
    else:
        Marked(home, empty=True, episode=3).add("Ours")
    now = marked.contents()[0]
    marked.revert()
    assert marked.titles() == ["Before", "Ours"]
    assert marked.contents()[0][5][1] == now[5][1]


def test_reverted_changes_are_in_the_history(home):
    marked = Marked(home)
    marked.add("Ours")
    marked.revert()
    marked.add("Ours")
    with home.open() as opened:
        changes = opened.history("Ours")
        assert [(change.kind, change.turn) for change in changes] == [("added", 4), ("reverted", None), ("added", 4)]
        [explained] = opened.explain("Ours")
        assert explained.made == explained.records[-1]
        titles = [[each.title for each in opened.as_of(2, turn).get(5, ())] for turn in (2, 3, 4)]
        assert titles == [[], ["Before"], ["Before", "Ours"]]


def test_undone_turn_keeps_lasting_memories_and_counts(home):
    state = SimpleNamespace(episode_id=2, turn_count=3)
    with home.open(game_state=state) as manager:
        manager.add_memory(5, "Hall", memory("Lamp is lit", "ephemeral"))
        point = manager.snapshot()
        state.turn_count += 1
        manager.invalidate_memory(5, "Lamp is lit", "It went out.")
        manager.add_memory(5, "Hall", memory("Door is open", "ephemeral"))
        manager.add_memory(5, "Hall", memory("Bell"))
        with manager.store.transaction(turn_stamp=TurnStamp(2, 4)) as draft:
            draft.add(OBJECTIVES, "", memory("Open the chest"))
        manager.undo_to(point)
        assert [(each.title, each.status) for each in manager.ephemeral_cache[5]] == [("Lamp is lit", "ACTIVE")]
        assert [each.title for each in manager.memory_cache[5]] == ["Bell"]
        assert manager.store.lasting.memories(OBJECTIVES) == []
        again = home.open(game_state=state)
        again.restore(manager.snapshot())
        assert again.ephemeral_cache == manager.ephemeral_cache


def test_note_that_a_person_wrote_into_the_file_stays(tmp_path):
    path = tmp_path / "Memories.md"
    state = SimpleNamespace(episode_id=1, turn_count=1)
    manager = SimpleMemoryManager(path=path, game_state=state)
    manager.add_memory(5, "Hall", memory("Before"))
    point = manager.snapshot()
    manager.add_memory(5, "Hall", memory("Ours"))
    path.write_text(path.read_text("utf-8") + "\nA note of my own.\n", "utf-8")
    manager.revert_to(point)
    assert [each.title for each in manager.memory_cache[5]] == ["Before"]
    assert "A note of my own." in path.read_text("utf-8")


def test_failed_return_can_be_repeated(tmp_path):
    path = tmp_path / "Memories.md"
    state = SimpleNamespace(episode_id=1, turn_count=1)
    with SimpleMemoryManager(path=path, game_state=state) as manager:
        manager.add_memory(5, "Hall", memory("Before"))
        point = manager.snapshot()
        manager.add_memory(5, "Hall", memory("After"))
    store = MarkdownStore(path, lock_timeout_s=0.1)
    with SimpleMemoryManager(path=store, game_state=state) as again:
        with closing(sqlite3.connect(store.database.path)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            with pytest.raises(MemoryStoreError, match="database is locked"):
                again.revert_to(point)
        assert [each.title for each in again.memory_cache[5]] == ["Before", "After"]
        again.revert_to(point)
        assert [each.title for each in again.memory_cache[5]] == ["Before"]
        assert again.store.journal.lasting() == again.memory_cache
