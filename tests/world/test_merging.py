"""Tests of merging the maps of episodes that started with the same one."""

from tests.fixtures.walks import walk
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.map_file import merge_maps
from zorkgpt.world.movement import Move, MoveKind


def copied(graph: MapGraph) -> MapGraph:
    return MapGraph.from_dict(graph.to_dict())


def a_map() -> MapGraph:
    graph = MapGraph()
    graph.add_room(1, "Yard")
    graph.add_move(Move(1, "north", 2))
    graph.add_failure(1, "east")
    graph.tries.add_failure(1, "open gate", "It is locked.")
    return graph


def test_walks_and_failures_are_counted_once():
    base = a_map()
    one, other = copied(base), copied(base)
    walk(one, "1 north 2")
    one.add_failure(1, "west")
    walk(other, "1 north 2", "2 up 3")
    other.add_failure(1, "west")
    other.add_failure(1, "west")
    merged = merge_maps(copied(base), [one, other])
    assert [merged.exits(room) for room in (1, 2, 3)] == [{"north": 2}, {"up": 3}, {}]
    assert merged.connections.get(1, "north").walks == 3
    assert merged.failures.of(1) == {"east": 1, "west": 3}


def test_success_removes_failures():
    base = a_map()
    one = copied(base)
    one.add_move(Move(1, "east", 4))
    one.tries.add_success(1, "open gate")
    merged = merge_maps(copied(base), [one, copied(base)])
    assert merged.exits(1) == {"north": 2, "east": 4}
    assert merged.failures.of(1) == {}
    assert merged.tries.without_effect.get(1, {}) == {}


def test_maps_without_news_change_nothing():
    base = a_map()
    assert merge_maps(copied(base), [copied(base), copied(base)]).to_dict() == base.to_dict()


def test_walk_without_a_vehicle_is_counted_once():
    base = MapGraph()
    base.add_move(Move(1, "east", 2, MoveKind.ABOARD))
    base.add_move(Move(1, "east", 2, MoveKind.ABOARD))
    one = copied(base)
    one.add_move(Move(1, "east", 2))
    merged = merge_maps(base, [one])
    assert merged.to_dict() == one.to_dict()


def test_failures_before_and_after_a_walk_are_distinguished():
    base = a_map()
    one = copied(base)
    one.add_failure(1, "north")
    one.add_move(Move(1, "north", 2))
    one.add_failure(1, "north")
    one.add_failure(1, "north")
    merged = merge_maps(base, [one])
    assert merged.to_dict() == one.to_dict()
