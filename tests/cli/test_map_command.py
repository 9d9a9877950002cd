"""Tests of the `map` command."""

import json
import shlex
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import pytest

from tests.fixtures.walks import walk
from zorkgpt.cli.app import run
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.map_file import MapFile
from zorkgpt.world.movement import Move, MoveKind

PAGE = (Path(__file__).parents[2] / "docs" / "knowledge.md").read_text(encoding="utf-8")
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("uv run python main.py ")]


@pytest.fixture
def folder(tmp_path):
    graph = MapGraph()
    for number, name in ((1, "Hall"), (2, "Attic\x1b[31m"), (3, "Pit")):
        graph.add_room(number, name)
    walk(graph, "1 up 2", "1 up 2", "1 up 3", "3 up 1")
    graph.add_move(Move(2, "down", 1, MoveKind.ABOARD))
    graph.add_failure(3, "up")
    graph.add_failure(3, "up")
    graph.add_move(Move(3, "say plugh", 1, MoveKind.TRANSPORTED))
    graph.add_exit(1, "west")
    graph.add_exit(1, "east")
    graph.add_move(Move(1, "east", 1, MoveKind.DIED))
    MapFile(tmp_path / "map_state.json", graph).save()
    (tmp_path / "current_state.json").write_text(json.dumps({"location": {"id": 1, "name": "Hall"}}))
    return tmp_path


def test_show_lists_rooms_and_exits(folder, capsys):
    assert run(["map", "--workdir", str(folder), "show"]) == 0
    assert capsys.readouterr().out == (
        "1 Hall (the player is here)\n"
        "  up → 2 Attic\ufffd[31m 67%, 3 Pit 33% (60% sure)\n"
        "  east ⇢ 1 Hall (died, 1x)\n"
        "  not tried: west\n"
        "2 Attic\ufffd[31m\n"
        "  down → 1 Hall (67% sure, aboard)\n"
        "3 Pit\n"
        "  up → 1 Hall (40% sure, pruned)\n"
        "  say plugh ⇢ 1 Hall (transported, 1x)\n"
        "Rooms: 3. Exits: 3. Rooms with untried exits: 1.\n"
    )


def test_map_without_subcommand_lists_rooms(folder, tmp_path, capsys):
    assert run(["map", "--workdir", str(folder)]) == 0
    listed = capsys.readouterr().out
    run(["map", "show", "--workdir", str(folder)])
    assert listed == capsys.readouterr().out
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(["map", "--workdir", str(empty)]) == 0
    assert capsys.readouterr().out.startswith("No map yet")


def test_svg_and_graphml_files_are_written(folder, capsys):
    assert run(["map", "svg", "--workdir", str(folder), "--out", str(folder / "map.svg")]) == 0
    assert run(["map", "graphml", "--workdir", str(folder), "--out", str(folder / "map.graphml")]) == 0
    assert capsys.readouterr().out == f"Written to {folder / 'map.svg'}.\nWritten to {folder / 'map.graphml'}.\n"
    assert ElementTree.parse(folder / "map.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert len(nx.read_graphml(folder / "map.graphml")) == 3


@pytest.mark.parametrize("command", ["show", "svg", "graphml"])
def test_folder_without_map_is_refused(tmp_path, command, capsys):
    assert run(["map", command, "--workdir", str(tmp_path)]) == 2
    assert "There is no map at" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_unwritable_output_file_is_refused(folder, capsys):
    assert run(["map", "svg", "--workdir", str(folder), "--out", str(folder / "no" / "map.svg")]) == 2
    assert "Name another file with --out" in capsys.readouterr().err


def test_show_changes_no_files(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    run(["map", "show", "--workdir", str(folder)])
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_documented_map_commands_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["play", "--player", "rules", "--episodes", "1", "--max-turns", "10", "--quiet"]) == 0
    assert len(COMMANDS) == 3
    for command in COMMANDS:
        assert run(shlex.split(command.removeprefix("uv run python main.py "))) == 0
        assert capsys.readouterr().out
    assert {"map.svg", "map.graphml"} <= {path.name for path in tmp_path.iterdir()}
