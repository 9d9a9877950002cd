"""Tests of memories in a SQLite file."""

import os
import sys
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.fixtures.memory import Answers, Play, memory, remember
from tests.fixtures.writers import in_separate_process, interrupted_at
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.upkeep.exchange import add_missing


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memories.sqlite"


def titles(manager):
    return [located.memory.title for located in manager.all_memories()]


def test_reading_a_missing_file_creates_nothing(path):
    with SimpleMemoryManager.open(path) as manager:
        assert manager.recall(5) == ""
        assert manager.all_memories() == []
    assert os.listdir(path.parent) == []


def test_change_writes_only_one_row(path):
    with SimpleMemoryManager.open(path) as manager:
        with manager.store.transaction() as draft:
            add_missing(draft, [LocatedMemory(place, "Room", memory(f"At {place}")) for place in range(300)])
        before = dict(manager.store.database.rows("SELECT number, revision FROM zorkgpt_memories"))
        manager.add_memory(7, "Room", memory("Another"))
        after = dict(manager.store.database.rows("SELECT number, revision FROM zorkgpt_memories"))
    assert sum(after[number] != before.get(number) for number in after) == 1


@contextmanager
def without_table(manager, name):
    """Make a table of the file unavailable by renaming it."""
    manager.store.database.put(f"ALTER TABLE {name} RENAME TO elsewhere", [()])
    yield
    manager.store.database.put(f"ALTER TABLE elsewhere RENAME TO {name}", [()])


def test_episode_starts_with_unreadable_memories(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.remember(5, "A brass lamp.", title="Lamp", persistence="ephemeral")
        with without_table(manager, "zorkgpt_memories"):
            manager.new_episode()
        assert manager.all_memories() == []


def test_turn_is_learned_with_unreadable_judgments(path):
    play = Play(path)
    play.manager = SimpleMemoryManager.open(
        path, game_state=play.state, synthesizer=Answers(remember("Bell"), remember("Rope"))
    )
    play.manager.add_memory(5, "Hall", memory("Lever", category="SUCCESS", action="pull lever"))
    with without_table(play.manager, "zorkgpt_judgments"):
        play.turn(1, first_visit=True)
        play.turn(2, first_visit=True)
    assert [memory.title for memory in play.manager.memory_cache[5]] == ["Lever", "Bell", "Rope"]


def test_other_connection_sees_changes(path):
    with SimpleMemoryManager.open(path) as manager, SimpleMemoryManager.open(path) as other:
        manager.add_memory(5, "Hall", memory("First"))
        assert titles(other) == ["First"]


def test_damaged_file_is_an_error_and_unchanged(path):
    path.write_bytes(b"SQLite format 3\0" + b"no database" * 1000)
    before = path.read_bytes()
    with pytest.raises(MemoryStoreError, match="Can't read .*memories.sqlite"):
        SimpleMemoryManager.open(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["memories.sqlite"]


def test_journal_is_not_a_memory_file(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        manager.add_memory(5, "Hall", memory("First"))
    with pytest.raises(MemoryStoreError, match="not a memory"):
        SimpleMemoryManager.open(tmp_path / "Memories.md.sqlite")


def test_forgotten_memory_leaves_no_trace(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.remember(5, "The password is hunter2.", title="Password")
        manager.remember(5, "The rug hides a trap door.", title="Rug")
        manager.add_memory(6, "Office of hunter2", memory("Desk"))
        manager.update("Rug", text="The rug hides hunter2.")
        assert manager.search("password")
        assert manager.forget(text="hunter2") == 2
    assert not [file for file in path.parent.iterdir() if b"hunter2" in file.read_bytes()]


def test_large_markdown_file_recommends_conversion_once(tmp_path, caplog):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        for number in range(3):
            manager.add_memory(number, "Room", memory(f"Number {number}", text="x" * 400_000))
        manager.add_memory(9, "Room", memory("Last"))
    assert caplog.text.count("`zorkgpt memories convert`") == 1


@pytest.mark.parametrize("name", ["Memories.md", "memories.sqlite"])
def test_interrupted_write_leaves_a_usable_memory(tmp_path, name):
    manager = SimpleMemoryManager(path=tmp_path / name)
    manager.add_memory(5, "Hall", memory("First"))
    manager.add_memory(5, "Hall", memory("Second"))
    for at in count(1):
        title = f"Title {at}"
        if not _interrupted(lambda title=title: manager.add_memory(5, "Hall", memory(title)), at):
            break
        assert manager.add_memory(5, "Hall", memory(f"After {at}")), f"interrupted at call {at}: {manager.parts}"
        assert manager.invalidate_memory(5, f"After {at}", "To keep the place short.")
        with SimpleMemoryManager(path=tmp_path / name) as other:
            assert [located.memory for located in other.all_memories()] == [
                located.memory for located in manager.all_memories()
            ]
    assert at > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Memories.md", "memories.sqlite"])
def test_write_in_the_handler_of_an_interrupt_is_in_the_history(tmp_path, name):
    # In a separate process, because an interrupt may leave a lock inside a library locked.
    in_separate_process(write_in_handlers, str(tmp_path / name))


def write_in_handlers(path: str) -> None:
    for at in count(1, 5):
        # A new memory each time, so that the number of calls stays the same.
        folder = Path(path).parent / str(at)
        folder.mkdir()
        with SimpleMemoryManager.open(folder / Path(path).name) as manager:
            manager.add_memory(5, "Hall", memory("First"))
            try:
                checks = interrupted_at(at, partial(manager.add_memory, 5, "Hall", memory("Second")))
            except KeyboardInterrupt:
                # The frames of the interrupted call still exist here.
                assert manager.add_memory(6, "Room", memory("Handler"))
                assert [each.title for each in manager.store.journal.lasting()[6]] == ["Handler"], at
                assert [each.title for each in manager.memory_cache[6]] == ["Handler"], at
            else:
                if checks < at:
                    break
                # Python ignores an interrupt while it closes a generator, so the memory was added.
                assert [each.title for each in manager.memory_cache[5]] == ["First", "Second"], at
    assert at > 500


def _interrupted(call, at):
    """Call this, and interrupt it after this number of calls within the database. Return whether it was interrupted."""
    calls = count(1)

    def profile(frame, event, _):
        if event == "c_return" and frame.f_code.co_filename.endswith("/sqlite.py") and next(calls) == at:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False
