"""Tests of the kind of a memory."""

import json

import pytest
from typer.testing import CliRunner

from tests.fixtures.memory import memory
from zorkgpt.cli.memory_changes import app
from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.models import MemoryKind
from zorkgpt.memory.storage.document import parse, render

HEAD = "# Location Memories\n\n## Location 5: Hall\n\n### Memories\n\n"


@pytest.mark.parametrize("kind", [None, *MemoryKind])
def test_kind_is_stored_and_in_the_journal(home, kind):
    with home.open() as manager:
        manager.add_memory(5, "Hall", memory("Lever", kind=kind))
        manager.add_memory(5, "Hall", memory("Gate", "ephemeral", kind=kind))
        assert [memory.kind for memory in manager.ephemeral_cache[5]] == [kind]
    with home.open() as manager:
        assert [memory.kind for memory in manager.memory_cache[5]] == [kind]
        assert [record.change.memory.kind for record in manager.store.journal.records()] == [kind, kind]
    assert (f"kind: {kind}" in home.text()) == (kind is not None)


def test_unknown_kind_is_an_error():
    with pytest.raises(ValueError, match=r"Invalid kind 'riddle' of memory 'Lever': must be None or one of 'rule', 'p"):
        memory("Lever", kind="riddle")


def test_kind_of_a_newer_version_is_kept():
    header = "**[NOTE - PERMANENT] {}** *(Ep1, T3, {})*\nIt opens the gate.\n\n"
    text = HEAD + header.format("A", "kind: Rule, +5") + header.format("B", "kind: riddle") + header.format("C", "+0")
    document = parse(text.encode())
    assert [memory.kind for memory in document.memories(5)] == [MemoryKind.RULE, None, None]
    assert render(document) == text.encode()


def test_find_by_kind(home):
    with home.open() as manager:
        manager.remember(5, "The lever opens the gate.", title="Lever", kind="rule")
        manager.remember(5, "Pull the lever, then walk through the gate.", title="Way out", kind="procedure")
        manager.remember(5, "The lever squeaks.", title="Noise", persistence="ephemeral")
    with home.open() as manager:
        for kind, titles in (("rule", ["Lever"]), ("PROCEDURE", ["Way out"]), ("text", [])):
            assert [hit.located.memory.title for hit in manager.search("lever", kind=kind)] == titles
        with pytest.raises(ValueError, match="The kind is 'riddle'; it must be one of rule, procedure"):
            manager.search("lever", kind="riddle")


def test_kind_can_be_changed_and_removed(home):
    with home.open() as manager:
        manager.remember(5, "The lever opens the gate.", title="Lever", kind="rule")
        manager.supersede("Lever", "The chain opens the gate.", title="Chain")
        assert manager.get("Chain").memory.kind == "rule"
        assert manager.update("Chain", kind="insight").memory.kind is MemoryKind.INSIGHT
        assert manager.update("Chain", kind="").memory.kind is None
        assert manager.edit_memory(5, "Chain", Edit(kind="danger")).kind == "danger"
        with pytest.raises(MemoryEditError, match="The kind is 'riddle'; it must be one of rule"):
            manager.update("Chain", kind="riddle")
    with home.open() as manager:
        assert manager.get("Chain").memory.kind == "danger"


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_commands_accept_kinds(tmp_path):
    path = tmp_path / "Memories.md"
    path.write_text(f"{HEAD}**[NOTE - PERMANENT] Lever** *(Ep1, T3, +0)*\nIt opens the gate.\n\n---\n")
    assert "kind: 1 unknown" in run("stats", "--file", path)
    assert "[NOTE rule permanent] Lever" in run("edit", "Lever", "--kind", "RULE", "--file", path)
    assert "kind: rule)*" in path.read_text()
    assert "Lever" in run("search", "gate", "--kind", "rule", "--file", path)
    assert run("search", "gate", "--kind", "danger", "--file", path) == "No matches.\n"
    line = run("export", "--to", "jsonl", "--file", path)
    assert json.loads(line)["kind"] == "rule"
    exported = tmp_path / "all.json"
    exported.write_text(line)
    run("import", exported, "--file", tmp_path / "new.sqlite")
    assert "[NOTE rule permanent] Lever" in run("show", "--file", tmp_path / "new.sqlite")
    run("edit", "Lever", "--kind", "", "--file", path)
    assert "kind:" not in path.read_text()


@pytest.mark.parametrize("answer", ["riddle", [], {"rule": 1}])
def test_unknown_kind_in_an_answer_is_none(answer):
    assert MemorySynthesisResponse.model_validate({"should_remember": False, "kind": answer}).kind is None
