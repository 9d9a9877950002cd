"""Tests of `memories audit` and `memories classify`."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.chat_server import ChatServer
from zorkgpt.cli.app import run
from zorkgpt.cli.process import ExitCode
from zorkgpt.memory.storage.document import parse

OLD = """# Location Memories

## Location 5: Hall
**Visits:** 2 | **Episodes:** 1

### Memories

**[DISCOVERY] Sword on the wall** *(Ep01, T2)*
A sword hangs above the mantel.

**[SUCCESS] Rug moves** *(Ep01, T9, +5)*
Moving the rug shows a trap door.

A note of my own.

**[NOTE] Lamp dropped** *(Ep01, T11)*
I left the lamp here.

**[DANGER - PERMANENT] Troll** *(Ep1, T12)*
The troll kills.

**[NOTE - SUPERSEDED] Old** *(Ep01, T3)*
[Superseded at T9 by "Rug moves"]
The rug is nailed down.

---
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "Memories.md"
    path.write_text(OLD, encoding="utf-8")
    return path


def classify(file, *options):
    return run(["memories", "classify", "--file", str(file), *options])


def test_classify_without_yes_changes_nothing(file, capsys):
    assert classify(file) == ExitCode.BAD_INPUT
    output = capsys.readouterr()
    assert "permanent Hall (5): Sword on the wall" in output.out
    assert "permanent Hall (5): Rug moves" in output.out
    assert "Confirm with --yes" in output.err
    assert file.read_text() == OLD


def test_classify_marks_memories_and_keeps_a_backup(file, capsys):
    assert classify(file, "--yes") == ExitCode.OK
    output = capsys.readouterr().out
    assert "4 memories classified" in output
    assert "the default for unmarked memories; no model was asked" in output
    assert file.with_name("Memories.md.unclassified.backup").read_text() == OLD
    marked = file.read_text()
    for header in (
        "**[DISCOVERY - PERMANENT] Sword on the wall** *(Ep",
        "**[SUCCESS - PERMANENT] Rug moves** *(Ep",
        "**[NOTE - PERMANENT] Lamp dropped** *(Ep",
        "**[DANGER - PERMANENT] Troll** *(Ep",
        "**[NOTE - PERMANENT - SUPERSEDED] Old** *(Ep",
        "\nA note of my own.\n",
    ):
        assert header in marked
    before, after = (parse(text.encode()).memories(5) for text in (OLD, marked))
    assert [(entry.title, entry.text, entry.status) for entry in before] == [
        (entry.title, entry.text, entry.status) for entry in after
    ]
    assert classify(file, "--yes") == ExitCode.OK
    assert "Every memory has a class." in capsys.readouterr().out


def test_configured_model_classifies_memories(file, monkeypatch):
    with ChatServer('{"persistences": ["permanent", "core", "core", "core"]}') as server:
        monkeypatch.setenv("ZORKGPT_LLM__AGENT_MODEL", server.model)
        monkeypatch.setenv("ZORKGPT_LLM__CLIENT_BASE_URL", server.url)
        assert classify(file, "--yes") == ExitCode.OK
        assert classify(file, "--yes", "--rules") == ExitCode.OK
    assert [entry.persistence for entry in parse(file.read_bytes()).memories(5)] == [
        "permanent",
        "core",
        "core",
        "permanent",
        "core",
    ]


@pytest.mark.slow
def test_audit_invalidates_memories_that_contradict_a_new_game(file, capsys):
    with JerichoInterface() as game:
        numbers = {thing.room_name: thing.room for thing in game.all_objects()}
        sword = next(thing.number for thing in game.all_objects() if thing.name == "short sword")
    hall, kitchen = numbers["Hall"], numbers["Kitchen"]
    file.write_text(
        f"# Location Memories\n\n## Location {hall}: Hall\n**Visits:** 1 | **Episodes:** 1\n\n### Memories\n\n"
        f"**[DISCOVERY - CORE] Sword** *(Ep1, T2, +0, claims: {sword} here)*\nA short sword hangs here.\n\n---\n\n"
        f"## Location {kitchen}: Kitchen\n**Visits:** 1 | **Episodes:** 1\n\n### Memories\n\n"
        f"**[DISCOVERY - CORE] Sword in the Kitchen** *(Ep1, T4, +0, claims: {sword} here)*\nHere it is.\n\n---\n"
    )
    before = file.read_text()
    assert run(["memories", "audit", "--file", str(file)]) == ExitCode.OK
    assert file.read_text() == before
    output = capsys.readouterr().out
    assert "1 confirmed, 1 contradicted, 0 not checkable. Invalidate them with --apply." in output
    assert run(["memories", "audit", "--file", str(file), "--apply"]) == ExitCode.OK
    output = capsys.readouterr().out
    assert output.endswith("1 confirmed, 1 contradicted, 0 not checkable.\n")
    assert f'[Invalidated at T0: "In a fresh world the short sword is in Hall ({hall})"]' in file.read_text()
    (kept,) = parse(file.read_bytes()).memories(hall)
    assert kept.status == "ACTIVE"
