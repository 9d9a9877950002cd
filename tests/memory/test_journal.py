"""Tests of the journal: every change, kills between journal and file, and edits by a person."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fixtures.memory import memory
from tests.fixtures.stores import journal_file, journal_rows
from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import Disk
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.markdown import MarkdownStore


def journal_changes(path):
    return [
        (row["kind"], row["source"], row["location_id"], (row.get("after") or row["before"])["title"])
        for row in journal_rows(path)
    ]


def test_every_change_is_recorded(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("A"))
    manager.add_memory(5, "Hall", memory("A", turns="9"))
    manager.supersede_memory(5, "Hall", "A", memory("B"))
    manager.invalidate_memory(5, "B", "wrong")
    manager.add_memory(5, "Hall", memory("Passing", "ephemeral"))
    assert journal_changes(path) == [
        ("added", "agent", 5, "A"),
        ("seen again", "agent", 5, "A"),
        ("added", "agent", 5, "B"),
        ("superseded", "agent", 5, "A"),
        ("invalidated", "agent", 5, "B"),
        ("added", "agent", 5, "Passing"),
    ]
    assert manager.store.journal.lasting() == manager.memory_cache


def test_new_journal_starts_with_the_memories_of_the_file(path):
    SimpleMemoryManager.open(path).add_memory(5, "Hall", memory("Old"))
    journal_file(path).unlink()
    SimpleMemoryManager.open(path).add_memory(5, "Hall", memory("New"))
    assert journal_changes(path) == [("added", "baseline", 5, "Old"), ("added", "agent", 5, "New")]


class Killed(BaseException):
    """An exception that the code does not catch."""


class KillingDisk(Disk):
    """A disk that ends the process before or after the memory file is replaced."""

    def __init__(self) -> None:
        self.when = ""

    def replace(self, source, target):
        if self.when == "before" and not target.endswith(".backup"):
            raise Killed
        os.replace(source, target)
        if self.when == "after" and not target.endswith(".backup"):
            raise Killed


@pytest.mark.parametrize("when", ["before", "after"])
def test_file_of_a_killed_writer_is_written_later(path, when):
    disk = KillingDisk()
    manager = SimpleMemoryManager(path=MarkdownStore(path, disk=disk))
    manager.add_memory(5, "Hall", memory("A"))
    disk.when = when
    with pytest.raises(Killed):
        manager.supersede_memory(5, "Hall", "A", memory("B"))
    again = SimpleMemoryManager.open(path)
    assert journal_changes(path)[1:] == [("added", "agent", 5, "B"), ("superseded", "agent", 5, "A")]
    assert "] B**" in path.read_text()
    assert again.store.journal.lasting() == again.memory_cache
    assert again.add_memory(5, "Hall", memory("C"))
    assert {source for _, source, *_ in journal_changes(path)} == {"agent"}


def test_failed_change_leaves_no_record(path):
    manager = SimpleMemoryManager(path=MarkdownStore(path, lock_timeout_s=0.1))
    manager.add_memory(5, "Hall", memory("A"))
    with sqlite3.connect(journal_file(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert not manager.add_memory(5, "Hall", memory("B"))
    assert manager.add_memory(5, "Hall", memory("C"))
    assert journal_changes(path) == [("added", "agent", 5, "A"), ("added", "agent", 5, "C")]


def test_damaged_journal_is_set_aside(path, caplog):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("A"))
    journal_file(path).write_bytes(b"no database" * 1000)
    with SimpleMemoryManager.open(path) as again:
        assert again.get_location_memory(5) == "[NOTE] A: The text of A."
        again.add_memory(5, "Hall", memory("B"))
    assert journal_changes(path) == [("added", "baseline", 5, "A"), ("added", "agent", 5, "B")]
    assert "record set aside: the history before now is in the old file" in caplog.text
    assert Path(f"{path}.sqlite.damaged-1").read_bytes() == b"no database" * 1000


def test_journal_of_a_newer_version_is_refused_unchanged(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("A"))
    with sqlite3.connect(journal_file(path)) as database:
        database.execute("PRAGMA user_version = 99")
    before = journal_file(path).read_bytes()
    with pytest.raises(MemoryStoreError, match="written by a later version"):
        SimpleMemoryManager.open(path)
    assert journal_file(path).read_bytes() == before


def test_edits_in_the_file_are_recorded(path):
    manager = SimpleMemoryManager.open(path)
    for title in ("A", "B", "C"):
        manager.add_memory(5, "Hall", memory(title))
    text = path.read_text().replace("The text of A.", "Another text.")
    text = text.replace("**[NOTE - PERMANENT] B** *(Ep1, T3, +0)*\nThe text of B.\n\n", "")
    path.write_text(text + "\nA note.\n")
    SimpleMemoryManager.open(path)
    assert journal_changes(path)[-2:] == [("removed", "hand", 5, "B"), ("edited", "hand", 5, "A")]


def test_invalid_records_are_ignored(path):
    manager = SimpleMemoryManager.open(path)
    manager.add_memory(5, "Hall", memory("A"))
    path.write_text(path.read_text() + "\nA note of mine.\n")
    SimpleMemoryManager.open(path)
    SimpleMemoryManager.open(path)
    assert journal_changes(path) == [("added", "agent", 5, "A")]


def test_unreadable_journal_is_an_error(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("A"))
    with closing(sqlite3.connect(journal_file(path))) as other:
        # Another connection can't read the write-ahead log meanwhile.
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MemoryStoreError, match="database is locked"):
            MarkdownStore(path, lock_timeout_s=0.1)
    assert journal_changes(path) == [("added", "agent", 5, "A")]
