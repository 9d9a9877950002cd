"""The map, as the specification shows it."""

# These names are promised by the specification: users rely on them, and no clean-up removes them.

import json
from pathlib import Path

import pytest

from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.log import get_logger
from zorkgpt.world.graph import MapGraph, Room


def a_graph() -> MapGraph:
    graph = MapGraph()
    graph.add_room(15, "West of House")
    graph.add_room(180, "North of House")
    for _ in range(3):
        graph.add_connection(15, "north", 180)
    graph.add_failure(15, "west")
    graph.add_failure(15, "west")
    return graph


def test_rooms_and_connections_are_keyed_by_location_id():
    graph = a_graph()
    assert graph.rooms[15] == Room(15, "West of House", {"north"})
    assert graph.route(15, 180) == ["north"]


def test_rooms_with_the_same_name_are_different():
    graph = MapGraph()
    graph.add_room(1, "Forest")
    graph.add_room(2, "Forest")
    graph.add_connection(1, "north", 2)
    assert {room.id for room in graph.rooms.values() if room.name == "Forest"} == {1, 2}


def test_map_is_saved_to_json(tmp_path: Path):
    path = tmp_path / "map_state.json"
    a_graph().save_to_json(path)
    state = json.loads(path.read_text("utf-8"))
    assert state["rooms"]["15"] == {"id": 15, "name": "West of House", "exits": ["north"]}
    assert state["connections"] == {"15": {"north": 180}}
    assert state["connection_confidence"] == {"15_north": 0.8}
    assert state["connection_verifications"] == {"15_north": 3}
    assert state["exit_failure_counts"] == {"15_west": 2}
    assert state["pruned_exits"] == {"15": ["west"]}
    assert state["metadata"].keys() == {"version", "total_rooms", "total_connections", "timestamp"}
    assert (state["metadata"]["total_rooms"], state["metadata"]["total_connections"]) == (2, 1)


def test_map_is_loaded_from_json(tmp_path: Path):
    a_graph().save_to_json(str(tmp_path / "map_state.json"))
    loaded = MapGraph.load_from_json(str(tmp_path / "map_state.json"))
    assert loaded.to_dict() == a_graph().to_dict() == MapGraph.from_dict(a_graph().to_dict()).to_dict()


def test_map_with_the_promised_keys_only_is_loaded(tmp_path: Path):
    state = {
        "rooms": {"15": {"id": 15, "name": "West of House", "exits": ["north", "west"]}},
        "connections": {"15": {"north": 180}},
        "connection_confidence": {"15_north": 0.95},
        "connection_verifications": {"15_north": 3},
        "exit_failure_counts": {"15_west": 2},
        "pruned_exits": {"15": ["west"]},
        "metadata": {"version": "1.0", "total_rooms": 2, "total_connections": 1, "timestamp": "2025-10-31T12:00:00Z"},
    }
    (tmp_path / "map_state.json").write_text(json.dumps(state))
    loaded = MapGraph.load_from_json(tmp_path / "map_state.json")
    assert loaded.exits(15) == {"north": 180}
    assert loaded.is_pruned(15, "west")


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"rooms": 5}', '{"rooms": {"a": {}}}'])
def test_missing_or_damaged_map_is_none(tmp_path: Path, content: str | None):
    path = tmp_path / "map_state.json"
    if content is not None:
        path.write_text(content)
    assert MapGraph.load_from_json(path) is None


def test_map_manager_saves_and_loads_the_map(tmp_path: Path):
    def manager() -> MapManager:
        config = GameConfiguration(zork_game_workdir=str(tmp_path))
        return MapManager(get_logger("specification"), config, GameState())

    first = manager()
    first.graph.add_connection(15, "north", 180)
    assert first.save_map_state()
    assert manager().graph.exits(15) == {"north": 180}
    (tmp_path / "map_state.json").unlink()
    assert manager().graph.rooms == {}
