"""Tests of restoring a file as it was at a checkpoint."""

import json

import pytest

from zorkgpt.files import AtomicFile
from zorkgpt.restore_point import FileRestorer


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
