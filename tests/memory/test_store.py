"""Tests of atomic file writes, backups and locks."""

import errno
import logging
import os
import re
import sqlite3
import threading
from functools import partial

import pytest
from filelock import FileLock

from tests.fixtures.memory import Answers, memory, remember
from tests.fixtures.stores import journal_file, journal_rows
from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import AtomicFile, Disk
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.markdown import MarkdownStore

FILES = [f"Memories.md{suffix}" for suffix in ("", ".backup", ".lock", ".sqlite")]


def files_beside(path):
    """Return the files in the folder of a memory, without those that SQLite removes when the memory is closed."""
    return sorted(name for name in os.listdir(path.parent) if not name.endswith(("-wal", "-shm")))


class FailingDisk(Disk):
    """A disk whose nth call fails, and optionally each later call of the same name."""

    CALLS = (
        *("create", "write", "flush", "close", "chmod"),
        *("link", "replace", "remove", "stat", "make_folder", "read"),
    )

    def __init__(self) -> None:
        self.made: list[str] = []
        self.fail_at: int | None = None
        self.lasting = False
        self.error = errno.EIO
        for name in self.CALLS:
            setattr(self, name, partial(self._call, name, getattr(Disk(), name)))

    def _call(self, name, call, *args, **kwargs):
        self.made.append(name)
        at = self.fail_at
        again = self.lasting and at is not None and at < len(self.made) and name == self.made[at]
        if again or at == len(self.made) - 1:
            raise OSError(self.error, os.strerror(self.error))
        return call(*args, **kwargs)

    def arm(self, fail_at: int | None, error: int = errno.EIO, *, lasting: bool = False) -> None:
        self.made, self.fail_at, self.error, self.lasting = [], fail_at, error, lasting


class ShortWritingDisk(Disk):
    """A disk that writes at most seven bytes at a time."""

    def write(self, descriptor, data):
        return os.write(descriptor, data[:7])


def titles(path, location_id=5):
    return [kept.title for kept in parse(path.read_bytes()).memories(location_id)]


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_failed_disk_call_leaves_a_complete_file(path, error, lasting):
    disk = FailingDisk()
    manager = SimpleMemoryManager(path=MarkdownStore(path, disk=disk))
    assert manager.add_memory(5, "Hall", memory("First"))
    assert manager.add_memory(6, "Attic", memory("Second"))
    disk.arm(None)
    assert manager.add_memory(5, "Hall", memory("Traced"))
    calls = list(disk.made)
    assert {"create", "write", "flush", "close", "chmod", "link", "replace", "stat"} <= set(calls)
    expected = ["First", "Traced"]
    for number, call in enumerate(calls):
        before = path.read_bytes()
        disk.arm(number, error, lasting=lasting)
        added = manager.add_memory(5, "Hall", memory(f"At {number} {call}"))
        disk.arm(None)
        assert path.read_bytes() == before or titles(path) == [*expected, f"At {number} {call}"]
        expected += [f"At {number} {call}"] if added else []
        assert [kept.title for kept in manager.memory_cache[5]] == expected
        assert manager.add_memory(6, "Attic", memory(f"After {number}"))
        assert titles(path) == expected
    assert manager.add_memory(5, "Hall", memory("Last"))
    assert [kept.title for kept in SimpleMemoryManager.open(path).memory_cache[5]] == [*expected, "Last"]
    added = {row["after"]["title"] for row in journal_rows(path) if row["kind"] == "added" and row["location_id"] == 5}
    assert added == {*expected, "Last"}
    assert files_beside(path) == FILES


class FullDisk(Disk):
    """A disk without space for another file."""

    def write(self, descriptor, data):
        raise OSError(errno.ENOSPC, "No space left")


def test_file_that_cannot_be_written_is_written_later(path, caplog):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("Old"))
    before = path.read_bytes()
    with SimpleMemoryManager(path=MarkdownStore(path, disk=FullDisk())) as manager:
        assert manager.supersede_memory(5, "Hall", "Old", memory("New"))
        assert manager.add_memory(5, "Hall", memory("Newer"))
        assert {"] New:", "] Newer:"} <= set(re.findall(r"\] \w+:", manager.get_location_memory(5)))
        [notice] = manager.store.notices
    assert "No space left. The file is unchanged. The memories are recorded" in notice
    assert caplog.text.count("memory file not written yet") == 1
    assert path.read_bytes() == before
    with SimpleMemoryManager.open(path) as manager:
        assert manager.get_persistent_count(5) == 3
    assert titles(path) == ["Old", "New", "Newer"]
    assert {row["source"] for row in journal_rows(path)} == {"agent"}


def test_failed_write_returns_false_or_raises(path):
    with SimpleMemoryManager(path=path) as manager:
        manager.add_memory(5, "Hall", memory("Old"))
    with sqlite3.connect(journal_file(path)) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON zorkgpt_journal BEGIN SELECT raise(ABORT, 'No space left'); END"
        )
    manager = SimpleMemoryManager.open(path, synthesizer=Answers(remember("Lever")))
    [old] = manager.memory_cache[5]
    assert not manager.add_memory(5, "Hall", memory("New"))
    assert not manager.invalidate_memory(5, "Old", "It is wrong.")
    assert not manager.update_memory_metadata(old, 5, "Hall", 99, 1)
    for change in (
        lambda: manager.supersede("Old", "A newer text."),
        lambda: manager.invalidate("Old", "It is wrong."),
    ):
        with pytest.raises(MemoryStoreError, match="No space left"):
            change()
    before = manager.get_status()["metrics"]
    manager.record_action_outcome(5, "Hall", "pull lever", "It moves.", {"score_delta": 1})
    after = manager.get_status()["metrics"]
    assert (before["write_failures"], after["synthesized"], after["turn_failures"]) == (5, 1, 0)
    assert after["write_failures"] > 5
    assert manager.memory_cache == {5: [old]}


def test_short_writes_are_continued(path):
    manager = SimpleMemoryManager(path=MarkdownStore(path, disk=ShortWritingDisk()))
    assert manager.add_memory(5, "Hall", memory("First"))
    assert titles(path) == ["First"]
    assert journal_rows(path)[-1]["after"]["title"] == "First"


def test_unwritable_folder_returns_false(tmp_path):
    manager = SimpleMemoryManager.open(tmp_path / "in the way" / "Memories.md")
    (tmp_path / "in the way").write_text("a file")
    assert manager.add_memory(5, "Hall", memory()) is False
    assert manager.memory_cache == {}
    assert manager.get_status()["metrics"]["write_failures"] == 1


def test_unreadable_file_keeps_the_cache(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("Known"))
    path.unlink()
    path.mkdir()
    assert manager.get_location_memory(5) == "[NOTE] Known: The text of Known."
    assert manager.add_memory(5, "Hall", memory("New")) is False


def test_previous_file_is_the_backup(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("First"))
    first = path.read_bytes()
    manager.add_memory(5, "Hall", memory("Second"))
    assert path.with_name("Memories.md.backup").read_bytes() == first


def test_deleting_all_files_starts_over(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("First"))
    for file in path.parent.iterdir():
        file.unlink()
    assert manager.get_location_memory(5) == ""
    assert manager.add_memory(5, "Hall", memory("Second"))
    assert titles(path) == ["Second"]


def test_ephemeral_memory_is_in_the_journal_only(path):
    manager = SimpleMemoryManager.open(path)
    assert manager.add_memory(5, "Hall", memory(persistence="ephemeral"))
    assert files_beside(path) == ["Memories.md.sqlite"]


def test_missing_folder_is_created_with_the_first_memory(tmp_path):
    manager = SimpleMemoryManager.open(tmp_path / "a" / "b" / "Memories.md")
    assert not (tmp_path / "a").exists()
    assert manager.add_memory(5, "Hall", memory("First"))
    assert titles(tmp_path / "a" / "b" / "Memories.md") == ["First"]


def test_link_and_file_mode_are_kept(tmp_path):
    real = tmp_path / "kept" / "Memories.md"
    SimpleMemoryManager.open(real).add_memory(5, "Hall", memory("First"))
    real.chmod(0o640)
    (tmp_path / "Memories.md").symlink_to(real)
    SimpleMemoryManager.open(tmp_path).add_memory(5, "Hall", memory("Second"))
    assert (tmp_path / "Memories.md").is_symlink()
    assert titles(real) == ["First", "Second"]
    assert real.stat().st_mode & 0o777 == 0o640


def test_held_lock_is_an_error_after_the_timeout(path, caplog):
    manager = SimpleMemoryManager(path=MarkdownStore(path, lock_timeout_s=0.05))
    manager.add_memory(5, "Hall", memory("First"))
    with FileLock(f"{path}.lock"), caplog.at_level(logging.ERROR):
        assert manager.add_memory(5, "Hall", memory("Second")) is False
        with pytest.raises(MemoryStoreError, match=r"has been held by another process for 0\.05 s"):
            manager.invalidate("First", "It is wrong.")
    assert titles(path) == ["First"]
    assert manager.add_memory(5, "Hall", memory("Second"))


def test_stale_lock_file_is_harmless(path):
    path.with_name("Memories.md.lock").write_text("pid 1")
    assert SimpleMemoryManager(path=MarkdownStore(path, lock_timeout_s=0.5)).add_memory(5, "Hall", memory("First"))


def test_leftovers_of_a_killed_writer_are_overwritten(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("First"))
    path.with_name("Memories.md.tmp").write_bytes(b"half of a f")
    os.link(path, path.with_name("Memories.md.tmp.backup"))
    assert manager.add_memory(5, "Hall", memory("Second"))
    assert manager.add_memory(5, "Hall", memory("Third"))
    assert titles(path) == ["First", "Second", "Third"]
    assert files_beside(path) == FILES


@pytest.mark.timeout(20)
@pytest.mark.parametrize("suffix", [".tmp", ".tmp.backup"])
def test_pipe_at_the_temporary_path_does_not_hang(path, suffix):
    manager = SimpleMemoryManager.open(path)
    path.with_name(f"Memories.md{suffix}").unlink(missing_ok=True)
    os.mkfifo(f"{path}{suffix}")
    for number in range(3):
        assert manager.add_memory(5, "Hall", memory(f"Number {number}"))
    assert len(titles(path)) == 3


@pytest.mark.parametrize("suffix", ["", ".backup"])
def test_other_files_are_never_overwritten(path, suffix):
    manager = SimpleMemoryManager.open(path)
    for number in range(4):
        manager.add_memory(5, "Hall", memory(f"Before {number}"))
    kept = path.with_name("kept")
    os.link(f"{path}{suffix}", kept)
    was = kept.read_bytes()
    for number in range(4):
        before = path.read_bytes()
        manager.add_memory(5, "Hall", memory(f"After {number}"))
        assert path.with_name("Memories.md.backup").read_bytes() == before
        assert kept.read_bytes() == was
    assert len(titles(path)) == 8


class CutShort(Exception):
    """An unexpected error that acts like a kill, because nothing handles it."""


class CutShortDisk(FailingDisk):
    """A disk that does nothing from the nth call on."""

    def _call(self, name, call, *args, **kwargs):
        self.made.append(name)
        if name != "close" and self.fail_at is not None and self.fail_at < len(self.made):
            raise CutShort
        return call(*args, **kwargs)


def test_write_cut_short_leaves_file_and_backup_complete(path):
    for number in range(4):
        AtomicFile(path).write(b"%d" % number * 100)
    disk = CutShortDisk()
    AtomicFile(path, disk=disk).write(b"4" * 100)
    steps = [at for at, call in enumerate(disk.made) if call != "close"]
    known = [b"%d" % number * 100 for number in (3, 4)]
    for at in steps:
        disk.arm(at)
        new = b"%d" % at * 90
        with pytest.raises(CutShort):
            AtomicFile(path, disk=disk).write(new)
        disk.arm(None)
        file = AtomicFile(path)
        assert file.read()[0] in (known[-1], new)
        known += [new] if file.read()[0] == new else []
        assert file.read_backup() in known[-2:]
        file.write(b"longer" * 100)
        file.write(b"on" * 100)
        known += [b"longer" * 100, b"on" * 100]
        assert (file.read()[0], file.read_backup()) == (known[-1], known[-2])


def test_memories_of_another_manager_are_seen_at_the_next_call(path):
    one, other = SimpleMemoryManager.open(path), SimpleMemoryManager.open(path)
    one.add_memory(5, "Hall", memory("Mine"))
    assert other.get_location_memory(5) == "[NOTE] Mine: The text of Mine."
    other.add_memory(5, "Hall", memory("Yours"))
    assert one.get_persistent_count(5) == 2
    assert titles(path) == ["Mine", "Yours"]


def test_edit_in_the_file_is_seen_and_kept(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("First", text="a wooden door"))
    path.write_text(path.read_text().replace("a wooden door", "an iron door"))
    assert manager.get_location_memory(5) == "[NOTE] First: an iron door"
    manager.add_memory(5, "Hall", memory("Second"))
    assert "an iron door" in path.read_text()
    edited = [row for row in journal_rows(path) if row["source"] == "hand"]
    assert [(row["kind"], row["before"]["text"], row["after"]["text"]) for row in edited] == [
        ("edited", "a wooden door", "an iron door")
    ]


class MeddlingDisk(Disk):
    """A disk on which a person saves the file during the nth flush."""

    def __init__(self, path) -> None:
        self.path, self.left, self.rewritten = path, 0, b""
        """What the person saves. If empty, a note is added at the end."""

    def flush(self, descriptor):
        os.fsync(descriptor)
        self.left -= 1
        if self.left == 0 and self.rewritten:
            self.path.write_bytes(self.rewritten)
        elif self.left == 0:
            with self.path.open("a") as file:
                file.write("\nA note by hand.\n")


@pytest.mark.parametrize("at", [1, 2])
def test_file_saved_during_a_write_is_kept(path, at):
    disk = MeddlingDisk(path)
    with SimpleMemoryManager(path=MarkdownStore(path, disk=disk)) as manager:
        manager.add_memory(5, "Hall", memory("First"))
        disk.left = at
        assert manager.add_memory(5, "Hall", memory("Second"))
        assert manager.add_memory(5, "Hall", memory("Third"))
    assert titles(path) == ["First", "Second", "Third"]
    assert "A note by hand." in path.read_text()
    assert [row["kind"] for row in journal_rows(path)] == ["added"] * 3


def test_older_copy_saved_during_a_change_wins(path):
    disk = MeddlingDisk(path)
    with SimpleMemoryManager(path=MarkdownStore(path, disk=disk)) as manager:
        manager.add_memory(5, "Hall", memory("First"))
        disk.rewritten = path.read_bytes()
        manager.add_memory(5, "Hall", memory("Second"))
        disk.left = 1
        assert manager.invalidate_memory(5, "Second", "It is not so.")
        assert titles(path) == ["First"]
        assert manager.add_memory(5, "Hall", memory("Third"))
    assert titles(path) == ["First", "Third"]
    assert [(row["kind"], row["source"]) for row in journal_rows(path)][2:] == [
        ("invalidated", "agent"),
        ("reverted", "hand"),
        ("added", "agent"),
    ]


@pytest.mark.slow
def test_ten_threads_on_one_manager_lose_nothing(path):
    manager = SimpleMemoryManager.open(path)
    wanted = {f"Thread {thread} memory {number}" for thread in range(10) for number in range(50)}

    def work(thread: int) -> None:
        for number in range(50):
            assert manager.add_memory(number % 7, "Room", memory(f"Thread {thread} memory {number}"))
            manager.get_location_memory(number % 7)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [located.memory.title for located in SimpleMemoryManager.open(path).all_memories()]
    assert sorted(found) == sorted(wanted)
    assert sorted(located.memory.title for located in manager.all_memories()) == sorted(wanted)


def test_two_managers_of_one_process_lose_nothing(path):
    managers = [SimpleMemoryManager.open(path) for _ in range(4)]

    def work(number: int) -> None:
        for count in range(25):
            assert managers[number].add_memory(count % 3, "Room", memory(f"Manager {number} memory {count}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [manager.get_persistent_count() for manager in managers] == [100] * 4
    assert len(journal_rows(path)) == 100
