"""Tests of `memories audit`."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from zorkgpt.cli.app import run
from zorkgpt.cli.process import ExitCode
from zorkgpt.memory.storage.document import parse


@pytest.mark.slow
def test_audit_invalidates_memories_that_contradict_a_new_game(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "Memories.md"
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
