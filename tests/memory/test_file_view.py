"""Tests of `Memories.md` as a view of the record: what happens to the file between two openings is understood."""

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.fixtures.disks import Killed, KillingDisk
from tests.fixtures.kills import killed
from tests.fixtures.memory import memory
from tests.fixtures.stores import journal_file, journal_rows
from tests.fixtures.writers import in_separate_process
from zorkgpt.files import Disk
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.markdown import MarkdownStore


def add(path: Path, *titles: str, place: int = 5, **fields: object) -> None:
    with SimpleMemoryManager.open(path) as manager:
        for title in titles:
            assert manager.add_memory(place, "Hall", memory(title, **fields))


def titles(path: Path) -> list[str]:
    with SimpleMemoryManager.open(path) as manager:
        return [each.memory.title for each in manager.all_memories()]


def changes(path: Path, start: int = 0) -> list[tuple[str, str, str]]:
    """Return kind, source and title of the changes of the record."""
    rows = journal_rows(path)[start:]
    return [(row["kind"], row["source"], (row.get("after") or row["before"])["title"]) for row in rows]


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A person", "-c", "user.email=person@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """A memory in a git repository that ignores everything but the memory file."""
    (tmp_path / ".gitignore").write_text("*\n!Memories.md\n")
    git(tmp_path, "init")
    path = tmp_path / "Memories.md"
    add(path, "First")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "First")
    return path


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_first", [True, False])
def test_unfinished_write_is_finished(tmp_path, when, is_first):
    path, whole = tmp_path / "Memories.md", tmp_path / "whole" / "Memories.md"
    known = [] if is_first else ["First"]
    add(path, *known)
    add(whole, *known, "Second")
    manager = SimpleMemoryManager(path=MarkdownStore(path, disk=KillingDisk(when)))
    with pytest.raises(Killed):
        manager.add_memory(5, "Hall", memory("Second"))
    assert titles(path) == [*known, "Second"]
    assert path.read_bytes() == whole.read_bytes()
    assert {source for _, source, _ in changes(path)} == {"agent"}


def test_unfinished_write_is_finished_below_an_edit(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First", "Other")
    manager = SimpleMemoryManager(path=MarkdownStore(path, disk=KillingDisk("before")))
    with pytest.raises(Killed):
        manager.add_memory(5, "Hall", memory("Second"))
    path.write_text(path.read_text().replace("The text of First.", "By hand.") + "\nA note.\n")
    assert titles(path) == ["First", "Other", "Second"]
    assert {"By hand.", "A note."} <= set(path.read_text().split("\n"))
    assert "] Second**" in path.read_text()
    assert changes(path, 2) == [("added", "agent", "Second"), ("edited", "hand", "First")]


def test_older_copy_from_git_is_a_return_of_a_person(repository):
    with SimpleMemoryManager.open(repository) as manager:
        manager.edit_memory(5, "First", Edit(text="Reworded."))
        manager.add_memory(5, "Hall", memory("Second"))
    git(repository.parent, "checkout", "Memories.md")
    with SimpleMemoryManager.open(repository) as manager:
        [first] = [each.memory for each in manager.all_memories()]
        assert (first.title, first.text) == ("First", "The text of First.")
        assert (first.source, first.edited_by_person) == ("agent", False), "it keeps its source"
        assert manager.as_of(1, 3)
    assert changes(repository, 3) == [("reverted", "hand", "Second"), ("reverted", "hand", "First")]


def test_branches_can_be_switched(repository):
    folder = repository.parent
    git(folder, "checkout", "-b", "other")
    add(repository, "Of the branch")
    git(folder, "commit", "-am", "Of the branch")
    git(folder, "checkout", "main")
    assert titles(repository) == ["First"]
    add(repository, "Of main")
    git(folder, "commit", "-am", "Of main")
    git(folder, "checkout", "other")
    with SimpleMemoryManager.open(repository) as manager:
        found = {each.memory.title: each.memory for each in manager.all_memories()}
        assert list(found) == ["First", "Of the branch"]
        assert not any(memory.edited_by_person for memory in found.values())
    git(folder, "checkout", "main")
    assert titles(repository) == ["First", "Of main"]


def test_truncated_file_deletes_nothing_that_may_be_in_the_cut_part(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First", "Second", "Third")
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"] Second**") + 5])
    with SimpleMemoryManager.open(path) as manager:
        assert [each.memory.title for each in manager.all_memories()] == ["First", "Second", "Third"]
        assert any("preserved but not understood" in notice for notice in manager.store.notices)
        assert manager.add_memory(5, "Hall", memory("Fourth"))
    assert changes(path, 3) == [("added", "agent", "Fourth")]
    assert path.read_text().count("] Fourth**") == 1
    path.write_bytes(data)
    assert titles(path) == ["First", "Second", "Third"], "the whole file is an older copy"


def test_broken_part_stays_protected_after_a_change_of_its_section(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First", "Second", "Third")
    add(path, "Elsewhere", place=6)
    text = path.read_text()
    path.write_text(
        text.replace("] Second** *(Ep1, T3, +0)*", "] Second").replace("**[NOTE - PERMANENT] Third", "Third")
    )
    with SimpleMemoryManager.open(path) as manager:
        assert manager.add_memory(5, "Hall", memory("Fourth"))
        path.write_text(path.read_text().replace("The text of Elsewhere.", "By hand."))
        found = {each.memory.title: each.memory.text for each in manager.all_memories()}
    assert list(found) == ["First", "Second", "Third", "Fourth", "Elsewhere"]
    assert found["Elsewhere"] == "By hand."
    assert ("removed", "hand") not in [change[:2] for change in changes(path)]


def test_truncation_between_memories_is_said_and_can_be_undone(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First", "Second")
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"**[NOTE - PERMANENT] Second**")])
    with SimpleMemoryManager.open(path) as manager:
        assert [each.memory.title for each in manager.all_memories()] == ["First"]
        [notice] = manager.store.notices
        assert "1 memory is no longer in the file (1 memory left). To bring them back: `memories undo`" in notice
    path.write_bytes(data)
    assert titles(path) == ["First", "Second"]


def test_pull_with_foreign_entries_is_an_import(repository, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "clone"
    git(repository.parent, "clone", str(repository.parent), str(elsewhere))
    with SimpleMemoryManager.open(elsewhere) as other:
        other.add_memory(6, "Attic", memory("Theirs", episode=4))
    git(elsewhere, "commit", "-am", "Theirs")
    git(repository.parent, "pull", str(elsewhere))
    with SimpleMemoryManager.open(repository) as manager:
        found = {each.memory.title: each.memory for each in manager.all_memories()}
        assert list(found) == ["First", "Theirs"]
        assert (found["Theirs"].source, found["Theirs"].edited_by_person) == ("import", False)
        assert manager.invalidate_memory(6, "Theirs", "It is not so.")
    assert changes(repository)[:2] == [("added", "agent", "First"), ("added", "import", "Theirs")]


def test_changes_of_both_are_merged_entry_by_entry(repository, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "clone"
    git(repository.parent, "clone", str(repository.parent), str(elsewhere))
    with SimpleMemoryManager.open(elsewhere) as other:
        other.add_memory(2, "Attic", memory("Theirs"))
    git(elsewhere, "commit", "-am", "Theirs")
    add(repository, "Ours", place=7)
    git(repository.parent, "commit", "-am", "Ours")
    git(repository.parent, "pull", "--no-rebase", str(elsewhere))
    assert titles(repository) == ["Theirs", "First", "Ours"]
    assert ("added", "import", "Theirs") in changes(repository)


def test_deleted_file_means_deleted_memories(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First", "Second")
    data = path.read_bytes()
    path.unlink()
    with SimpleMemoryManager.open(path) as manager:
        assert manager.all_memories() == []
        [notice] = manager.store.notices
        assert "2 memories are no longer in the file (the file was deleted)" in notice
    assert changes(path, 2) == [("removed", "hand", "First"), ("removed", "hand", "Second")]
    path.write_bytes(data)
    assert titles(path) == ["First", "Second"]


def test_deleted_database_is_rebuilt_from_the_file(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First")
    with SimpleMemoryManager.open(path) as manager:
        known = manager.all_memories()
    journal_file(path).unlink()
    data = path.read_bytes()
    with SimpleMemoryManager.open(path) as manager:
        assert [(each.id, each.memory) for each in manager.all_memories()] == [(each.id, each.memory) for each in known]
        assert not journal_file(path).exists(), "reading creates no files"
        assert manager.add_memory(5, "Hall", memory("Second"))
    assert path.read_bytes().startswith(data.partition(b"---\n")[0])
    assert changes(path) == [("added", "baseline", "First"), ("added", "agent", "Second")]


def test_two_writers_and_an_editor_lose_nothing(tmp_path):
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(path) as one, SimpleMemoryManager.open(path) as other:
        for number in range(5):
            assert one.add_memory(5, "Hall", memory(f"One {number}"))
            assert other.add_memory(6, "Attic", memory(f"Other {number}"))
            path.write_text(path.read_text() + f"\n**[NOTE] By hand {number}**\nA text {number}.\n")
        wanted = {f"{name} {number}" for name in ("One", "Other", "By hand") for number in range(5)}
        assert {each.memory.title for each in one.all_memories()} == wanted
        assert {each.memory.title for each in other.all_memories()} == wanted
    assert sorted(changes(path)) == sorted(
        ("added", "hand" if name == "By hand" else "agent", f"{name} {number}")
        for name in ("One", "Other", "By hand")
        for number in range(5)
    )


def test_edit_is_read_but_not_recorded_while_another_process_writes(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First")
    with SimpleMemoryManager.open(path) as reader, SimpleMemoryManager.open(path) as writer:
        with writer.store.transaction() as draft:
            path.write_text(path.read_text().replace("The text of First.", "By hand."))
            assert reader.get_location_memory(5) == "[NOTE] First: By hand."
            draft.add(5, "Hall", memory("Second"))
        assert [each.memory.text for each in reader.all_memories()] == ["By hand.", "The text of Second."]
    assert sorted(changes(path)) == [
        ("added", "agent", "First"),
        ("added", "agent", "Second"),
        ("edited", "hand", "First"),
    ]


def test_entry_that_is_deleted_and_brought_back_stays_protected(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First", "Second")
    with SimpleMemoryManager.open(path) as manager:
        manager.edit_memory(5, "First", Edit(text="Reworded."))
    text = path.read_text()
    entry = text[text.index("**[NOTE - PERMANENT] First") : text.index("**[NOTE - PERMANENT] Second")]
    path.write_text(text.replace(entry, "") + "\nA note.\n")
    assert titles(path) == ["Second"]
    path.write_text(path.read_text().replace("**[NOTE - PERMANENT] Second", entry + "**[NOTE - PERMANENT] Second"))
    with SimpleMemoryManager.open(path) as manager:
        [first] = [each.memory for each in manager.all_memories() if each.memory.title == "First"]
        assert first.edited_by_person
        assert not manager.invalidate_memory(5, "First", "It is not so.")


def test_ephemeral_memory_is_kept_while_an_edit_waits_to_be_recorded(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First")
    with SimpleMemoryManager.open(path) as reader, SimpleMemoryManager.open(path) as writer:
        with writer.store.file.locked():
            path.write_text(path.read_text().replace("The text of First.", "By hand."))
            assert reader.get_location_memory(5) == "[NOTE] First: By hand."
            assert reader.add_memory(5, "Hall", memory("Passing", "ephemeral"))
        assert [each.memory.text for each in writer.all_memories()] == ["By hand."]
    assert ("added", "agent", "Passing") in changes(path)


def test_entries_of_a_file_without_a_record_are_no_edits(tmp_path):
    path = tmp_path / "Memories.md"
    path.write_text("# Location Memories\n\n## Location 5: Hall\n\n**[NOTE] By hand**\nA text.\n")
    with SimpleMemoryManager.open(path) as manager:
        assert manager.add_memory(5, "Hall", memory("Passing", "ephemeral"))
        assert manager.add_memory(5, "Hall", memory("Second"))
        assert manager.invalidate_memory(5, "By hand", "It is not so.")
    assert [change[:2] for change in changes(path)] == [
        ("added", "agent"),
        ("added", "baseline"),
        ("added", "agent"),
        ("invalidated", "agent"),
    ]


class CountingDisk(Disk):
    """A disk that counts how often a file is replaced."""

    def __init__(self) -> None:
        self.replaced: list[str] = []

    def replace(self, source, target):
        self.replaced.append(Path(target).name)
        os.replace(source, target)


def test_changes_of_a_turn_are_shown_together(tmp_path):
    path, disk = tmp_path / "Memories.md", CountingDisk()
    with SimpleMemoryManager(path=MarkdownStore(path, disk=disk)) as manager, SimpleMemoryManager.open(path) as other:
        with manager.store.turn():
            for title in ("First", "Second", "Third"):
                assert manager.add_memory(5, "Hall", memory(title))
            assert [each.memory.title for each in manager.all_memories()] == ["First", "Second", "Third"]
            assert (disk.replaced, other.all_memories()) == ([], [])
        assert disk.replaced.count("Memories.md") == 1
        assert [each.memory.title for each in other.all_memories()] == ["First", "Second", "Third"]
    assert [source for _, source, _ in changes(path)] == ["agent"] * 3


def failing_turn(manager: SimpleMemoryManager) -> None:
    with manager.store.turn():
        assert manager.add_memory(5, "Hall", memory("Second"))
        raise LookupError


def failing_change(manager: SimpleMemoryManager) -> None:
    with manager.store.transaction() as draft:
        draft.add(5, "Hall", memory("Second"))
        raise LookupError


def test_failed_turn_changes_nothing(home):
    with home.open() as manager:
        manager.add_memory(5, "Hall", memory("First"))
        before = home.text()
        with pytest.raises(LookupError):
            failing_turn(manager)
        assert [each.memory.title for each in manager.all_memories()] == ["First"]
        assert manager.store.journal.size() == 1
        assert manager.add_memory(6, "Attic", memory("Third"))
    with home.open() as manager:
        assert [each.memory.title for each in manager.all_memories()] == ["First", "Third"]
    assert home.text() != before


def test_failed_change_in_a_turn_undoes_only_itself(home):
    with home.open() as manager:
        with manager.store.turn():
            assert manager.add_memory(5, "Hall", memory("First"))
            with pytest.raises(LookupError):
                failing_change(manager)
            assert manager.add_memory(5, "Hall", memory("Third"))
        assert [each.memory.title for each in manager.all_memories()] == ["First", "Third"]
        assert manager.store.journal.lasting() == {5: manager.store.lasting.memories(5)}
    with home.open() as manager:
        assert [each.memory.title for each in manager.all_memories()] == ["First", "Third"]


def test_edit_within_a_turn_is_kept(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First")
    with SimpleMemoryManager.open(path) as manager:
        with manager.store.turn():
            assert manager.add_memory(5, "Hall", memory("Second"))
            path.write_text(path.read_text().replace("The text of First.", "By hand."))
        assert [each.memory.text for each in manager.all_memories()] == ["By hand.", "The text of Second."]
    assert "By hand." in path.read_text()
    assert path.read_text().count("] Second**") == 1


def add_and_die(path: str) -> None:
    manager = SimpleMemoryManager.open(path)
    with manager.store.turn():
        assert manager.add_memory(5, "Hall", memory("Second"))
        os.kill(os.getpid(), signal.SIGKILL)


def test_turn_of_a_killed_process_changes_nothing(tmp_path):
    path = tmp_path / "Memories.md"
    add(path, "First")
    before = path.read_bytes()
    killed(add_and_die, str(path))
    assert titles(path) == ["First"]
    assert path.read_bytes() == before


def read_without_writing(path: str) -> None:
    # Loads all modules, which another user may not be able to read.
    with SimpleMemoryManager.open(Path(path).with_name("other")) as other:
        other.add_memory(5, "Hall", memory("First"))
        assert other.history("First")
    Path(path).parent.chmod(0o555)
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    with SimpleMemoryManager.open(path) as manager:
        assert [change.kind for change in manager.history("First")] == ["added", "edited"]
        assert [each.memory.source for each in manager.all_memories()] == ["person"]
        assert not manager.add_memory(5, "Hall", memory("Second"))


def test_folder_that_cannot_be_written_is_read_with_its_history():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder) / "Memories.md"
        with SimpleMemoryManager.open(path) as manager:
            manager.add_memory(5, "Hall", memory("First"))
            manager.edit_memory(5, "First", Edit(text="Reworded."))
        in_separate_process(read_without_writing, str(path))
        os.chmod(folder, 0o755)
