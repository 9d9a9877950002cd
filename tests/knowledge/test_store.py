"""Tests of the knowledge base on disk: concurrent writers, edits, damage and full disks."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.knowledge import a_line
from zorkgpt.errors import FileError
from zorkgpt.files import Disk
from zorkgpt.knowledge.line import KnowledgeSection
from zorkgpt.knowledge.store import KnowledgeStore

ROOT = Path(__file__).parents[2]

ADDING = """
import sys
from tests.fixtures.knowledge import a_line
from zorkgpt.knowledge.store import KnowledgeStore

store, name = KnowledgeStore(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    store.apply(lambda document: document.added(a_line(f"{name} {number}")))
"""


class FullDisk(Disk):
    """A disk without space."""

    def write(self, descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")


def texts(store: KnowledgeStore) -> list[str]:
    return [line.text for line in store.refresh().lines]


@pytest.mark.slow
def test_several_processes_lose_no_line(tmp_path):
    path = tmp_path / "knowledgebase.md"
    names = ["a", "b", "c"]
    processes = [subprocess.Popen([sys.executable, "-c", ADDING, str(path), name, "15"], cwd=ROOT) for name in names]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert sorted(texts(KnowledgeStore(path))) == sorted(f"{name} {number}" for name in names for number in range(15))


def test_other_store_sees_a_line_at_once(tmp_path):
    one, other = KnowledgeStore(tmp_path / "k.md"), KnowledgeStore(tmp_path / "k.md")
    one.apply(lambda document: document.added(a_line("It bites.")))
    assert texts(other) == ["It bites."]


def test_concurrent_edit_by_a_person_is_kept(tmp_path):
    path = tmp_path / "k.md"
    store = KnowledgeStore(path)
    store.apply(lambda document: document.added(a_line("It bites.")))
    by_hand = path.read_text().replace("## LESSONS LEARNED\n", "## LESSONS LEARNED\n\nMy own words.\n* a tip\n")
    path.write_text(by_hand + "\n## Mine\nends without a line break")
    store.apply(lambda document: document.added(a_line("It barks.")))
    assert "My own words.\n* a tip\n" in path.read_text()
    assert path.read_text().endswith("\n## Mine\nends without a line break")
    assert (texts(store), store.document.by_hand) == (
        ["It bites.", "It barks."],
        ((KnowledgeSection.LESSONS, "a tip"),),
    )


def test_damaged_file_is_restored(tmp_path, caplog):
    path = tmp_path / "k.md"
    store = KnowledgeStore(path)
    for text in ("First.", "Second."):
        store.apply(lambda document, text=text: document.added(a_line(text)))
    path.write_bytes(b"\x00" * 40)
    again = KnowledgeStore(path)
    assert (texts(again), again.recovered) == (["First."], True)
    assert "a file was recovered from its backup" in caplog.text
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


@pytest.mark.parametrize("content", [None, b"", b"\n\n"])
@pytest.mark.parametrize("is_open", [True, False])
def test_deleted_lines_are_kept_beside_the_file(tmp_path, content, is_open, caplog):
    path = tmp_path / "k.md"
    store = KnowledgeStore(path)
    for text in ("First.", "Second."):
        store.apply(lambda document, text=text: document.added(a_line(text)))
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    again = store if is_open else KnowledgeStore(path)
    again.apply(lambda document: document.added(a_line("Third.")))
    assert (texts(again), texts(KnowledgeStore(path)), again.recovered) == (["Third."], ["Third."], False)
    (report,) = [record for record in caplog.records if "deleted" in record.message]
    assert vars(report)["way_out"] == f"To bring them back, copy {path}.deleted to {path}."
    path.write_bytes((tmp_path / "k.md.deleted").read_bytes())
    # Only an open store knows the last change: the backup is one write older.
    assert texts(KnowledgeStore(path)) == (["First.", "Second."] if is_open else ["First."])


def test_open_store_restores_everything_it_has_read(tmp_path):
    path = tmp_path / "k.md"
    store = KnowledgeStore(path)
    for text in ("First.", "Second."):
        store.apply(lambda document, text=text: document.added(a_line(text)))
    path.write_bytes(b"\x00" * 40)
    assert texts(store) == ["First.", "Second."]
    store.apply(lambda document: document.added(a_line("Third.")))
    assert texts(KnowledgeStore(path)) == ["First.", "Second.", "Third."]


def test_full_disk_leaves_file_and_document_unchanged(tmp_path):
    path = tmp_path / "k.md"
    KnowledgeStore(path).apply(lambda document: document.added(a_line("First.")))
    before = path.read_bytes()
    store = KnowledgeStore(path, disk=FullDisk())
    with pytest.raises(FileError, match="No space left"):
        store.apply(lambda document: document.added(a_line("Second.")))
    assert (path.read_bytes(), texts(store)) == (before, ["First."])


def test_revision_without_changes_writes_nothing(tmp_path):
    store = KnowledgeStore(tmp_path / "k.md")
    assert store.apply(lambda document: document) is False
    assert not (tmp_path / "k.md").exists()
