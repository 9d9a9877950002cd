"""Tests of the knowledge base on disk: concurrent writers, edits, damage and full disks."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.knowledge import a_line, add
from tests.fixtures.memory import memory as a_memory
from tests.fixtures.reprints import FORMATTERS, original, reprinted
from zorkgpt.files import Disk
from zorkgpt.knowledge.lines import KnowledgeSection, Lessons, line_of
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import KNOWLEDGE
from zorkgpt.memory.storage.sql_store import SqliteStore
from zorkgpt.memory.upkeep.exchange import convert

ROOT = Path(__file__).parents[2]

ADDING = """
import sys
from pathlib import Path
from tests.fixtures.knowledge import a_line, add
from zorkgpt.knowledge.store import KnowledgeStore

store, name = KnowledgeStore.open(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    add(store, f"{name} {number}")
"""


class FullDisk(Disk):
    """A disk without space."""

    def write(self, descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")


def texts(store: KnowledgeStore) -> list[str]:
    return [line.text for line in store.refresh()]


@pytest.mark.slow
def test_several_processes_lose_no_line(tmp_path):
    names = ["a", "b", "c"]
    processes = [
        subprocess.Popen([sys.executable, "-c", ADDING, str(tmp_path), name, "15"], cwd=ROOT) for name in names
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert sorted(texts(KnowledgeStore.open(tmp_path))) == sorted(
        f"{name} {number}" for name in names for number in range(15)
    )


def test_other_store_sees_a_line_at_once(tmp_path):
    one, other = KnowledgeStore.open(tmp_path), KnowledgeStore.open(tmp_path)
    add(one, "It bites.")
    assert texts(other) == ["It bites."]


def test_concurrent_edit_by_a_person_is_kept(tmp_path):
    path = tmp_path / "knowledgebase.md"
    store = KnowledgeStore.open(tmp_path)
    add(store, "It bites.")
    by_hand = path.read_text().replace("## LESSONS LEARNED\n", "## LESSONS LEARNED\n\nMy own words.\n* a tip\n")
    path.write_text(by_hand + "\n## Mine\nends without a line break")
    add(store, "It barks.")
    assert "My own words.\n* a tip\n" in path.read_text()
    assert path.read_text().endswith("\n## Mine\nends without a line break")
    tip = line_of(KnowledgeSection.LESSONS, "a tip")
    assert store.lines == (tip, a_line("It bites."), a_line("It barks."))


def test_damaged_file_is_restored(tmp_path, caplog):
    path = tmp_path / "knowledgebase.md"
    store = KnowledgeStore.open(tmp_path)
    for text in ("First.", "Second."):
        add(store, text)
    path.write_bytes(b"\x00" * 40)
    again = KnowledgeStore.open(tmp_path)
    assert (texts(again), again.recovered) == (["First.", "Second."], True)
    assert "a file was recovered from its backup" in caplog.text
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


@pytest.mark.parametrize("content", [None, b"", b"\n\n"])
@pytest.mark.parametrize("is_open", [True, False])
def test_deleted_lines_are_kept_beside_the_file(tmp_path, content, is_open, caplog):
    path = tmp_path / "knowledgebase.md"
    store = KnowledgeStore.open(tmp_path)
    for text in ("First.", "Second."):
        add(store, text)
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    again = store if is_open else KnowledgeStore.open(tmp_path)
    add(again, "Third.")
    assert (texts(again), texts(KnowledgeStore.open(tmp_path)), again.recovered) == (["Third."], ["Third."], False)
    (report,) = [record for record in caplog.records if "deleted" in record.message]
    assert vars(report)["way_out"] == f"To bring them back, copy {path}.deleted to {path}."
    path.write_bytes((tmp_path / "knowledgebase.md.deleted").read_bytes())
    assert texts(KnowledgeStore.open(tmp_path)) == ["First.", "Second."]


def test_open_store_restores_everything_it_has_read(tmp_path):
    path = tmp_path / "knowledgebase.md"
    store = KnowledgeStore.open(tmp_path)
    for text in ("First.", "Second."):
        add(store, text)
    path.write_bytes(b"\x00" * 40)
    assert texts(store) == ["First.", "Second."]
    add(store, "Third.")
    assert texts(KnowledgeStore.open(tmp_path)) == ["First.", "Second.", "Third."]


def test_change_that_a_full_disk_does_not_show_is_shown_later(tmp_path, caplog):
    path = tmp_path / "knowledgebase.md"
    add(KnowledgeStore.open(tmp_path), "First.")
    before = path.read_bytes()
    store = KnowledgeStore.open(tmp_path, disk=FullDisk())
    add(store, "Second.")
    assert (path.read_bytes(), texts(store)) == (before, ["First.", "Second."])
    assert "No space left" in vars(caplog.records[-1])["error"]
    assert texts(KnowledgeStore.open(tmp_path)) == ["First.", "Second."]
    assert "Second." in path.read_text()


def test_revision_without_changes_writes_nothing(tmp_path):
    store = KnowledgeStore.open(tmp_path)
    store.revise(Lessons(confirmed=(a_line("Unknown."),)))
    assert not (tmp_path / "knowledgebase.md").exists()


def histories(store: KnowledgeStore) -> list[tuple[str, str, str]]:
    records = store._memories.journal.records(KNOWLEDGE)
    return [(record.source, record.change.kind, record.change.memory.title) for record in records]


def test_every_change_is_in_the_journal_with_its_source(tmp_path):
    path = tmp_path / "knowledgebase.md"
    store = KnowledgeStore.open(tmp_path)
    add(store, "It bites.")
    store.revise(Lessons(confirmed=store.lines))
    path.write_text(path.read_text().replace("It bites.", "~~It bites.~~") + "- It barks. *(Ep2, T4)*\n")
    assert texts(KnowledgeStore.open(tmp_path)) == ["It bites.", "It barks."]
    assert histories(store) == [
        ("agent", "added", "It bites."),
        ("agent", "credited", "It bites."),
        ("hand", "invalidated", "It bites."),
        ("import", "added", "It barks."),
    ]


def test_line_without_evidence_and_reworded_line_are_a_persons(tmp_path):
    path = tmp_path / "knowledgebase.md"
    store = KnowledgeStore.open(tmp_path)
    add(store, "It bites.")
    path.write_text(path.read_text().replace("It bites.", "It bites hard.") + "- It barks.\n")
    assert texts(store) == ["It bites hard.", "It barks."]
    assert histories(store)[1:] == [
        ("hand", "removed", "It bites."),
        ("hand", "added", "It bites hard."),
        ("hand", "added", "It barks."),
    ]


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_reprinted_file_changes_no_line(tmp_path, formatter):
    path = tmp_path / "knowledgebase.md"
    path.write_bytes(original("knowledge"))
    store = KnowledgeStore.open(tmp_path)
    before = histories(store), sorted(store.lines, key=repr)
    path.write_bytes(reprinted("knowledge", formatter))
    assert (histories(store), sorted(store.refresh(), key=repr)) == before


def test_lines_are_no_memories_of_a_search_or_a_file(tmp_path):
    add(KnowledgeStore.open(tmp_path), "The grue bites.")
    with SimpleMemoryManager.open(tmp_path) as memory:
        assert memory.add_memory(5, "Hall", a_memory("A grue lives here"))
        assert [found.located.memory.title for found in memory.search("grue bites")] == ["A grue lives here"]
        assert [each.memory.title for each in memory.all_memories()] == ["A grue lives here"]
        assert memory.store.lasting.count() == 1
    assert "bites" not in (tmp_path / "Memories.md").read_text()


def test_file_without_a_record_is_read(tmp_path):
    store = KnowledgeStore.open(tmp_path)
    add(store, "It bites.")
    for file in tmp_path.glob("Memories.md.sqlite*"):
        file.unlink()
    again = KnowledgeStore.open(tmp_path)
    assert texts(again) == ["It bites."]


class Killed(BaseException):
    """The process was killed."""


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize("edited", [False, True])
def test_write_that_a_kill_interrupted_is_finished(tmp_path, shown, edited):
    path = tmp_path / "knowledgebase.md"

    class DeadlyDisk(Disk):
        def replace(self, source, target):
            if target != str(path) or shown:
                super().replace(source, target)
            if target == str(path):
                raise Killed

    add(KnowledgeStore.open(tmp_path), "First.")
    with pytest.raises(Killed):
        add(KnowledgeStore.open(tmp_path, disk=DeadlyDisk()), "Second.")
    assert ("Second." in path.read_text()) is shown
    if edited:
        path.write_text(path.read_text() + "\n## Mine\n")
    assert texts(KnowledgeStore.open(tmp_path)) == ["First.", "Second."]
    assert ("Second." in path.read_text(), "## Mine" in path.read_text()) == (True, edited)


def test_lines_move_to_another_record(tmp_path):
    store = KnowledgeStore.open(tmp_path)
    add(store, "It bites.")
    address = SqliteStore(tmp_path / "memories.sqlite")
    convert(store._memories, address)
    moved = KnowledgeStore(address, store._events, tmp_path / "knowledgebase.md")
    assert (texts(moved), histories(moved)) == (["It bites."], histories(store))
    other = KnowledgeStore(SqliteStore(tmp_path / "other.sqlite"), store._events, tmp_path / "knowledgebase.md")
    assert (texts(other), histories(other)) == (["It bites."], [("import", "added", "It bites.")])
