"""Tests of undoing changes since a checkpoint."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fixtures.memory import memory
from tests.fixtures.stores import Home
from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import AtomicFile, Disk
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.markdown import MarkdownStore, sidecar
from zorkgpt.restore_point import FileRestorer


class Marked:
    """A Markdown memory with one fact at a restore point."""

    def __init__(self, workdir: Path, *, empty: bool = False) -> None:
        self.workdir = workdir
        self.memory = SimpleMemoryManager.open(workdir)
        if not empty:
            self.memory.add_memory(5, "Hall", memory("Before"))
        self.restorer = self.memory.rollback()
        self.point = self.restorer.restore_point(3)
        self.restorer.begin(3, [].append)
        self.files = self.contents()

    def contents(self) -> dict[str, object]:
        """Return the contents of file and journal."""
        path = self.workdir / "Memories.md"
        database = sidecar(path)
        tables = {name: database.rows(f"SELECT * FROM zorkgpt_{name}") for name in _TABLES}
        return {"file": path.read_bytes() if path.exists() else None} | tables

    def put_back(self) -> bool:
        """Restore as a new process would."""
        return SimpleMemoryManager.open(self.workdir).rollback().restore(self.point, ())


_TABLES = ("journal", "judgments")


class MarkedHome:
    """A memory in any store with one fact at a restore point."""

    def __init__(self, home: Home, *, empty: bool) -> None:
        self.home = home
        self.memory = home.open()
        if not empty:
            self.memory.add_memory(5, "Hall", memory("Before"))
            self.memory.store.answers.put("before", {})
        restorer = self.memory.rollback()
        self.point = restorer.restore_point(3)
        restorer.begin(3, [].append)
        self.before = self.contents()

    def contents(self) -> tuple[object, ...]:
        with self.home.open() as opened:
            tables = [opened.store.database.rows(f"SELECT * FROM zorkgpt_{name}") for name in _TABLES]
            return opened.memory_cache, tables, self.home.text()

    def put_back(self) -> bool:
        """Restore as a new process would."""
        with self.home.open() as later:
            return later.rollback().restore(self.point, ())


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("places", [0, 1, 40])
def test_every_store_is_restored(home, empty, places):
    marked = MarkedHome(home, empty=empty)
    for number in range(places):
        marked.memory.add_memory(number, "Room", memory(f"Fact {number}"))
        marked.memory.add_memory(5, "Hall", memory(f"Of the hall {number}"))
        marked.memory.store.answers.put(f"question {number}", {})
    assert marked.put_back()
    assert marked.contents() == marked.before
    assert marked.put_back()
    assert [located.memory.title for located in marked.memory.all_memories()] == ([] if empty else ["Before"])
    assert marked.memory.add_memory(5, "Hall", memory("After"))


def test_undone_edit_does_not_protect_the_memory(home):
    marked = MarkedHome(home, empty=False)
    marked.memory.edit_memory(5, "Before", Edit(text="Reworded."))
    assert not marked.memory.invalidate_memory(5, "Before", "wrong")
    assert marked.put_back()
    assert marked.memory.invalidate_memory(5, "Before", "wrong")


@pytest.mark.parametrize("when", ["between", "after"])
def test_nothing_is_undone_after_others_wrote(home, when):
    marked = MarkedHome(home, empty=False)
    marked.memory.add_memory(5, "Hall", memory("Ours"))
    with home.open() as other:
        other.add_memory(6, "Attic", memory("Theirs"))
    if when == "between":
        marked.memory.add_memory(5, "Hall", memory("Ours again"))
    now = marked.contents()
    with home.open() as later:
        assert later.store.database.rows("SELECT data FROM zorkgpt_undo_parts WHERE data IS NOT NULL") == []
    assert not marked.put_back()
    assert marked.contents() == now


class Killed(BaseException):
    """An exception that the code does not catch."""


class KillingDisk(Disk):
    """A disk that ends the process before the memory file is replaced."""

    @staticmethod
    def replace(source, target):
        raise Killed


def test_kill_before_the_file_is_restored_is_completed(tmp_path):
    marked = Marked(tmp_path)
    marked.memory.add_memory(5, "Hall", memory("After"))
    marked.memory.add_memory(6, "Attic", memory("After that"))
    with pytest.raises(Killed):
        MarkdownStore(tmp_path / "Memories.md", disk=KillingDisk()).restorer.restore(marked.point, ())
    assert marked.contents()["file"] != marked.files["file"]
    with SimpleMemoryManager.open(tmp_path) as again:
        assert [each.memory.title for each in again.all_memories()] == ["Before"]
    assert marked.contents() == marked.files
    assert marked.put_back()
    assert marked.contents() == marked.files


def test_only_changes_after_the_last_point_are_undone(tmp_path):
    marked = Marked(tmp_path)
    marked.memory.add_memory(5, "Hall", memory("Between"))
    marked.point = marked.restorer.restore_point(4)
    marked.restorer.begin(4, [].append)
    marked.memory.add_memory(5, "Hall", memory("After"))
    assert marked.put_back()
    titles = [memory.title for memory in SimpleMemoryManager.open(tmp_path).memory_cache[5]]
    assert titles == ["Before", "Between"]


@pytest.mark.parametrize("whose", ["a person's", "another process's"])
@pytest.mark.parametrize("when", ["between", "after"])
def test_changes_by_others_are_never_undone(tmp_path, whose, when):
    marked = Marked(tmp_path)
    marked.memory.add_memory(5, "Hall", memory("Ours"))
    if whose == "a person's":
        path = tmp_path / "Memories.md"
        path.write_text(path.read_text("utf-8") + "\nA note of my own.\n", "utf-8")
    else:
        SimpleMemoryManager.open(tmp_path).add_memory(5, "Hall", memory("A note of my own."))
    if when == "between":
        marked.memory.add_memory(5, "Hall", memory("Ours too"))
    before = marked.contents()["file"]
    assert not marked.put_back()
    assert marked.contents()["file"] == before
    assert "A note of my own." in (tmp_path / "Memories.md").read_text("utf-8")


def test_changes_by_others_before_our_first_change_stay(tmp_path):
    marked = Marked(tmp_path)
    SimpleMemoryManager.open(tmp_path).add_memory(5, "Hall", memory("Theirs"))
    marked.memory.add_memory(5, "Hall", memory("Ours"))
    assert marked.put_back()
    reopened = SimpleMemoryManager.open(tmp_path)
    assert [memory.title for memory in reopened.memory_cache[5]] == ["Before", "Theirs"]
    assert [record.change.after.title for record in reopened.store.journal.records()][-1] == "Theirs"


def edit(knowledge, text):
    with knowledge.locked():
        knowledge.write(text.encode())


@pytest.mark.parametrize("foreign", ["", "between", "after"])
def test_other_file_is_restored_unless_somebody_else_wrote(tmp_path, foreign):
    knowledge = AtomicFile(tmp_path / "knowledgebase.md")
    edit(knowledge, "- A line\n")
    restorer, notes = FileRestorer(knowledge), []
    point = restorer.restore_point(3)
    restorer.begin(3, notes.append)
    edit(knowledge, "- Line 1\n")
    if foreign == "between":
        knowledge.path.write_text("- Mine\n")
    edit(knowledge, "- Line 2\n")
    if foreign == "after":
        knowledge.path.write_text("- Mine\n")
    now = knowledge.path.read_text()
    assert FileRestorer(AtomicFile(knowledge.path)).restore(point, notes) is (not foreign)
    assert knowledge.path.read_text() == ("- A line\n" if not foreign else now)


@pytest.mark.parametrize("before", [b"", b"- \xff\x00 no text\r\n"])
def test_every_content_is_restored(tmp_path, before):
    knowledge, notes = AtomicFile(tmp_path / "knowledgebase.md"), []
    if before:
        knowledge.path.write_bytes(before)
    restorer = FileRestorer(knowledge)
    point = json.loads(json.dumps(restorer.restore_point(3)))
    restorer.begin(3, notes.append)
    edit(knowledge, "- Line 1\n")
    assert restorer.restore(point, notes)
    assert (knowledge.path.read_bytes() if knowledge.path.exists() else b"") == before


def test_file_notifies_only_the_last_restorer(tmp_path):
    knowledge = AtomicFile(tmp_path / "knowledgebase.md")
    first, second = [], []
    for notes in (first, second):
        FileRestorer(knowledge).begin(1, notes.append)
    edit(knowledge, "- Noted\n")
    assert (first, len(second)) == ([], 1)


def test_failed_restore_can_be_repeated(tmp_path):
    marked = Marked(tmp_path)
    marked.memory.add_memory(5, "Hall", memory("After"))
    store = MarkdownStore(tmp_path / "Memories.md", lock_timeout_s=0.1)
    with closing(sqlite3.connect(store.database.path)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(MemoryStoreError, match="database is locked"):
            store.restorer.restore(marked.point, ())
    with SimpleMemoryManager(path=store) as again:
        assert [memory.title for memory in again.memory_cache[5]] == ["Before", "After"]
        assert store.restorer.restore(marked.point, ())
        assert again.add_memory(5, "Hall", memory("Later"))
        assert [memory.title for memory in again.memory_cache[5]] == ["Before", "Later"]
        assert again.store.journal.lasting() == again.memory_cache
