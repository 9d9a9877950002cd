"""Tests of the map file: formats, versions and concurrent processes."""

import json
import subprocess
import sys

import pytest
from hypothesis import example, given

from tests.fixtures.walks import SIGHTINGS, loaded, manager_in, walked
from zorkgpt.errors import MapFileError
from zorkgpt.world.doors import DoorSign
from zorkgpt.world.graph import MapGraph, read_map
from zorkgpt.world.map_file import MapFile
from zorkgpt.world.movement import Move, MoveKind

FILE = "map_state.json"


def test_file_has_the_documented_format(tmp_path):
    graph = MapGraph()
    graph.add_room(15, "Cellar")
    for _ in range(2):
        graph.add_move(Move(15, "n", 16))
    graph.add_move(Move(15, "north", 17))
    graph.add_move(Move(16, "s", 15, MoveKind.ABOARD))
    graph.add_failure(16, "s")
    graph.add_failure(15, "up")
    graph.add_failure(15, "up")
    graph.doors.add(15, "down", 30, "lid", DoorSign.FAILED_CLOSED)
    MapFile(tmp_path / FILE, graph).save()
    state = json.loads((tmp_path / FILE).read_text())
    assert state.pop("metadata") | {"timestamp": ""} == {
        "version": 2,
        "total_rooms": 3,
        "total_connections": 2,
        "timestamp": "",
    }
    assert state == {
        "rooms": {
            "15": {"id": 15, "name": "Cellar", "exits": ["north"]},
            "16": {"id": 16, "name": "", "exits": ["south"]},
            "17": {"id": 17, "name": "", "exits": []},
        },
        "connections": {"15": {"north": 16}, "16": {"south": 15}},
        "connection_confidence": {"15_north": 0.6, "16_south": 0.5},
        "connection_verifications": {"15_north": 2, "16_south": 1},
        "connection_failures": {"16_south": 1},
        "connection_shares": {"15_north": {"16": 2, "17": 1}},
        "connection_kinds": {"16_south": "aboard"},
        "exit_failure_counts": {"16_south": 1, "15_up": 2},
        "pruned_exits": {"15": ["up"]},
        "doors": [{"room": 15, "way": "down", "door": 30, "name": "lid", "sign": "failed closed"}],
        "other_moves": [],
        "contains": {},
    }
    assert loaded(tmp_path / FILE).to_dict() == graph.to_dict()


@given(SIGHTINGS)
def test_map_is_read_back_with_the_same_routes(map_changes):
    graph = walked(map_changes)
    again = MapGraph.from_dict(json.loads(json.dumps(graph.to_dict())))
    assert again.to_dict() == graph.to_dict()
    assert all(again.routes(room) == graph.routes(room) for room in graph.rooms)


SMALL = {
    "rooms": {"1": {"id": 1, "name": "Hall", "exits": ["north"]}, "2": {"id": 2, "name": "Attic", "exits": []}},
    "connections": {"1": {"north": 2}},
}


@pytest.mark.parametrize("version", [3, "2.1", 1e400])
def test_file_of_a_newer_version_is_refused_and_kept(tmp_path, version):
    text = json.dumps(SMALL | {"metadata": {"version": version}})
    (tmp_path / FILE).write_text(text)
    with pytest.raises(MapFileError, match="later version"):
        loaded(tmp_path / FILE)
    file = MapFile(tmp_path / FILE, MapGraph())
    for _ in range(2):
        with pytest.raises(MapFileError, match="later version"):
            file.save()
    assert (tmp_path / FILE).read_text() == text


def test_reading_a_damaged_file_leaves_it_in_place(tmp_path):
    (tmp_path / FILE).write_text("{")
    with pytest.raises(MapFileError, match="is no map"):
        read_map(tmp_path / FILE)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert read_map(tmp_path / "none.json") is None


def counts(graph: MapGraph) -> dict:
    """Return all counts, independent of order."""
    walks = {(room, name): dict(sorted(way.ends.items())) for room, name, way in graph.connections}
    failures = {(room, name): way.failures for room, name, way in graph.connections}
    exits = {room.id: room.exits for room in graph.rooms.values()}
    return {"walks": walks, "failures": failures, "moves": graph.moves.counts, "exits": exits}


@pytest.mark.slow
@given(SIGHTINGS, SIGHTINGS)
@example([], [("add_move", (Move(2, "north", 1),)), ("add_failure", (2, "north")), ("reopen", ())])
def test_alternating_writers_lose_and_double_nothing(tmp_path_factory, first, second):
    path = tmp_path_factory.mktemp("map") / FILE
    base = [("add_move", (Move(1, "north", 2),))]
    MapFile(path, walked(base)).save()
    one, other = MapGraph(), MapGraph()
    files = [MapFile(path, one), MapFile(path, other)]
    for file in files:
        file.load()
    files[0].change(lambda: walked(first, one))
    files[1].change(lambda: walked(second, other))
    for file in (*files, files[0]):
        file.save()
    assert one.to_dict() == other.to_dict() == loaded(path).to_dict()
    assert counts(one) == counts(walked([*base, *first, *second]))


_WALKER = """
import sys
from pathlib import Path
from zorkgpt.world.graph import MapGraph, read_map
from zorkgpt.world.map_file import MapFile
from zorkgpt.world.movement import Move
path, own = Path(sys.argv[1]), int(sys.argv[2])
graph = MapGraph()
file = MapFile(path, graph)
file.load()
for turn in range(30):
    file.change(lambda: graph.add_move(Move(1, "north", 2)))
    file.change(lambda turn=turn: graph.add_move(Move(own, "east", own * 1000 + turn)))
    file.save()
"""


@pytest.mark.slow
def test_concurrent_processes_share_one_map(tmp_path):
    path = tmp_path / FILE
    walkers = [subprocess.Popen([sys.executable, "-c", _WALKER, str(path), str(own)]) for own in (10, 20, 30)]
    assert [walker.wait(timeout=120) for walker in walkers] == [0, 0, 0]
    graph = loaded(path)
    assert graph.connections.get(1, "north").walks == 90
    assert {room: len(graph.connections.get(room, "east").shares) for room in (10, 20, 30)} == {10: 30, 20: 30, 30: 30}


def test_unwritable_folder_is_a_warning(tmp_path, caplog):
    manager = manager_in(tmp_path)
    manager.arrive(1, "Hall")
    (tmp_path / f"{FILE}.lock").mkdir()
    assert manager.save_map_state() is False
    assert "the map could not be saved" in caplog.text
    (tmp_path / f"{FILE}.lock").rmdir()
    assert manager.save_map_state() is True
    assert manager_in(tmp_path).graph.rooms.keys() == {1}
