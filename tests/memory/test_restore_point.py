"""What was written after a checkpoint is taken back, unless somebody else wrote too."""

from pathlib import Path

import pytest

from tests.fixtures.memory import memory
from zorkgpt.files import AtomicFile
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.restore_point import FileRestorer, RestorePoint


class Marked:
    """A memory with one fact at a mark."""

    def __init__(self, workdir: Path, *, empty: bool = False) -> None:
        self.folder = workdir / "undo"
        self.workdir = workdir
        self.memory = SimpleMemoryManager.open(workdir)
        if not empty:
            self.memory.add_memory(5, "Hall", memory("Before"))
        self.restorer = self.memory.rollback()
        self.point: RestorePoint = self.restorer.restore_point(3)
        self.restorer.begin(self.folder, 3)
        self.files = self.contents()

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.workdir.glob("Memories.*") if path.suffix != ".lock"}

    def put_back(self) -> bool:
        """By a process that comes after this one."""
        return SimpleMemoryManager.open(self.workdir).rollback().restore(self.folder, self.point)


def without_backup(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if not name.endswith(".backup")}


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("writes", [0, 1, 3])
def test_the_files_are_what_they_were(tmp_path, empty, writes):
    marked = Marked(tmp_path, empty=empty)
    for number in range(writes):
        marked.memory.add_memory(number, "Room", memory(f"Fact {number}"))
    assert marked.put_back()
    assert without_backup(marked.contents()) == without_backup(marked.files)
    assert marked.put_back()
    assert not list(marked.folder.glob("*")) if marked.folder.exists() else True


@pytest.mark.parametrize(
    "written", ["", "\n{", '\n{"number": 3, "lengths": [12, 3', '\n{"number": 2, "lengths": [1]}\nabc\n']
)
def test_a_kill_before_the_first_change_leaves_the_files_as_they_are(tmp_path, written):
    marked = Marked(tmp_path)
    marked.folder.mkdir()
    (marked.folder / "3.Memories.md").write_bytes(marked.files["Memories.md"])
    (marked.folder / "Memories.md.written").write_text(written)
    assert marked.put_back()
    assert marked.contents() == marked.files
    assert not list(marked.folder.glob("*"))


def test_what_was_kept_for_an_earlier_mark_need_not_be_removable(tmp_path):
    marked = Marked(tmp_path)
    marked.memory.add_memory(5, "Hall", memory("Between"))
    kept = marked.folder / "3.Memories.md"
    kept.unlink()
    (kept / "in it").mkdir(parents=True)
    marked.point = marked.restorer.restore_point(4)
    marked.restorer.begin(marked.folder, 4)
    between = marked.contents()
    marked.memory.add_memory(5, "Hall", memory("After"))
    assert marked.put_back()
    assert without_backup(marked.contents()) == without_backup(between)


def test_what_is_written_after_a_later_mark_only_is_taken_back(tmp_path):
    marked = Marked(tmp_path)
    marked.memory.add_memory(5, "Hall", memory("Between"))
    marked.point = marked.restorer.restore_point(4)
    marked.restorer.begin(marked.folder, 4)
    marked.memory.add_memory(5, "Hall", memory("After"))
    assert marked.put_back()
    titles = [one.title for one in SimpleMemoryManager.open(tmp_path).memory_cache[5]]
    assert titles == ["Before", "Between"]


@pytest.mark.parametrize("whose", ["a person's", "another process's"])
@pytest.mark.parametrize("when", ["between", "after"])
def test_what_others_wrote_is_never_taken_back(tmp_path, whose, when):
    marked = Marked(tmp_path)
    marked.memory.add_memory(5, "Hall", memory("Ours"))
    if whose == "a person's":
        path = tmp_path / "Memories.md"
        path.write_text(path.read_text("utf-8") + "\nA note of my own.\n", "utf-8")
    else:
        SimpleMemoryManager.open(tmp_path).add_memory(5, "Hall", memory("A note of my own."))
    if when == "between":
        marked.memory.add_memory(5, "Hall", memory("Ours too"))
    before = marked.contents()["Memories.md"]
    assert not marked.put_back()
    assert marked.contents()["Memories.md"] == before
    assert "A note of my own." in (tmp_path / "Memories.md").read_text("utf-8")


def test_what_others_wrote_before_our_first_change_stays(tmp_path):
    marked = Marked(tmp_path)
    SimpleMemoryManager.open(tmp_path).add_memory(5, "Hall", memory("Theirs"))
    marked.memory.add_memory(5, "Hall", memory("Ours"))
    assert marked.put_back()
    reopened = SimpleMemoryManager.open(tmp_path)
    assert [one.title for one in reopened.memory_cache[5]] == ["Before", "Theirs"]
    assert [record.change.after.title for record in reopened.store.history.records()][-1] == "Theirs"


def test_another_file_of_the_episode_is_not_taken_for_a_shelf(tmp_path):
    marked = Marked(tmp_path)
    knowledge = AtomicFile(tmp_path / "knowledgebase.md")
    knowledge.path.write_text("- A line\n")
    restorer = FileRestorer(knowledge)
    restorer.begin(marked.folder, 3)
    for number in range(2):
        marked.memory.add_memory(5, "Hall", memory(f"Fact {number}"))
        with knowledge.locked():
            knowledge.write(f"- Line {number}\n".encode())
    assert marked.put_back()
    assert without_backup(marked.contents()) == without_backup(marked.files)


def test_a_folder_that_cannot_be_written_stops_no_memory(tmp_path):
    marked = Marked(tmp_path)
    marked.folder.write_text("a file where the folder should be")
    assert marked.memory.add_memory(5, "Hall", memory("Kept all the same"))


def test_a_file_tells_the_last_restorer_only(tmp_path):
    manager = SimpleMemoryManager.open(tmp_path)
    for name in ("first", "second"):
        restorer = manager.rollback()
        assert isinstance(restorer, FileRestorer)
        restorer.begin(tmp_path / name, 1)
    manager.add_memory(5, "Hall", memory("Noted"))
    assert [folder.name for folder in tmp_path.iterdir() if folder.is_dir()] == ["second"]
