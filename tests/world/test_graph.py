"""Tests of the map graph: exits, confidence and routes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.walks import loaded, walk
from zorkgpt.directions import DIRECTIONS, OPPOSITE, canonical_direction
from zorkgpt.world.doors import DoorSign
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import PLACE_KILLS, Move, MoveKind
from zorkgpt.world.routes import RouteStep

WALKS = st.lists(
    st.one_of(
        st.tuples(
            st.just("walk"), st.integers(1, 6), st.sampled_from([*DIRECTIONS, "enter window"]), st.integers(1, 6)
        ),
        st.tuples(st.just("fail"), st.integers(1, 6), st.sampled_from(DIRECTIONS), st.just(0)),
    ),
    max_size=40,
)


def drawn(walks) -> MapGraph:
    graph = MapGraph()
    for kind, start, way, end in walks:
        graph.add_move(Move(start, way, end)) if kind == "walk" else graph.add_failure(start, way)
    return graph


@pytest.mark.parametrize(
    ("name", "meant"),
    [("n", "north"), ("go NW", "northwest"), ("walk  up", "up"), ("enter", "in"), ("enter window", None), ("", None)],
)
def test_direction_names_are_normalized(name, meant):
    assert canonical_direction(name) == meant


def test_opposites_are_mutual():
    assert all(OPPOSITE[OPPOSITE[way]] == way for way in DIRECTIONS)


def test_way_back_is_unproven_until_walked():
    graph = walk(MapGraph(), "1 down 2")
    assert (graph.ways_back(2), graph.exits(2)) == ({"up": 1}, {})
    assert graph.steps(2, graph.route(2, 1)) == (RouteStep("up", 1, unproven=True),)
    walk(graph, "2 up 1")
    assert graph.ways_back(2) == {}
    assert graph.steps(2, graph.route(2, 1)) == (RouteStep("up", 1),)


def test_way_back_is_removed_after_a_failure_or_another_destination():
    graph = walk(MapGraph(), "1 down 2", "3 west 4", "5 north 6")
    graph.add_failure(2, "up")
    walk(graph, "4 east 9")
    graph.add_move(Move(6, "south", 6, MoveKind.DIED))
    assert [graph.route(room + 1, room) for room in (1, 3, 5)] == [None] * 3
    assert graph.route(4, 9) == ["east"]


def test_vehicles_and_words_have_no_way_back():
    graph = MapGraph()
    graph.add_move(Move(1, "east", 2, MoveKind.ABOARD))
    graph.add_move(Move(2, "say plugh", 3, MoveKind.TRANSPORTED))
    walk(graph, "3 enter window 4")
    assert [graph.ways_back(room) for room in (2, 3, 4)] == [{}, {}, {}]


def test_short_detour_is_preferred_to_an_unproven_exit():
    graph = walk(MapGraph(), "1 down 2", "2 east 3", "3 up 1")
    assert graph.route(2, 1) == ["up"]
    walk(graph, "2 in 1")
    assert graph.route(2, 1) == ["in"]


def test_routes_avoid_known_deaths():
    graph = walk(MapGraph(), "1 east 2", "2 east 3", "1 north 4", "4 east 5", "5 south 3")
    assert graph.route(1, 3) == ["east", "east"]
    graph.add_move(Move(1, "east", 1, MoveKind.DIED))
    assert graph.route(1, 3) == ["north", "east", "south"]
    graph.add_move(Move(4, PLACE_KILLS, 4, MoveKind.DIED))
    assert graph.route(4, 3) == ["east", "south"]


def test_door_is_inferred_from_failures_and_successes():
    graph = MapGraph()
    graph.doors.add(1, "down", 7, "hatch", DoorSign.FAILED_CLOSED)
    assert graph.doors.on(1, "down") == frozenset()
    for number, name in ((7, "hatch"), (8, "chest")):
        graph.doors.add(1, "down", number, name, DoorSign.WALKED_OPEN)
    walk(graph, "1 down 2")
    assert graph.doors.on(1, "down") == graph.doors.on(2, "up") == {7}
    graph.doors.set_closed({7})
    assert graph.steps(1, graph.route(1, 2)) == (RouteStep("down", 2, closed_door="hatch"),)
    assert graph.steps(2, graph.route(2, 1)) == (RouteStep("up", 1, unproven=True, closed_door="hatch"),)
    walk(graph, "1 east 3", "3 down 2")
    assert graph.route(1, 2) == ["east", "down"]
    graph.doors.set_closed(())
    assert graph.route(1, 2) == ["down"]
    graph.doors.add(1, "down", 7, "hatch", DoorSign.WALKED_CLOSED)
    assert graph.doors.on(1, "down") == frozenset()


def test_way_back_is_restored_when_its_door_opens():
    graph = MapGraph()
    for sign in (DoorSign.WALKED_OPEN, DoorSign.BETWEEN):
        graph.doors.add(1, "down", 7, "hatch", sign)
    walk(graph, "1 down 2")
    graph.doors.set_closed({7})
    graph.doors.add(2, "up", 7, "hatch", DoorSign.FAILED_CLOSED)
    graph.add_failure(2, "up")
    assert graph.route(2, 1) is None
    graph.doors.set_closed(())
    assert graph.route(2, 1) == ["up"]


def test_confidence_follows_walks_and_contradictions():
    graph = walk(MapGraph(), "1 north 2")
    once = graph.connections.get(1, "north").confidence
    walk(graph, "1 north 2")
    twice = graph.connections.get(1, "north").confidence
    graph.add_failure(1, "north")
    assert 0 < graph.connections.get(1, "north").confidence < twice
    assert once < twice < 1
    assert graph.connections.get(1, "south") is None


def test_changed_destination_is_accepted_eventually():
    graph = walk(MapGraph(), "1 north 2", "1 north 2", "1 north 3")
    assert graph.leads_to(1, "north") == 2
    walk(graph, "1 north 3", "1 north 3")
    assert graph.leads_to(1, "north") == 3


def test_failures_are_counted():
    graph = MapGraph()
    for way in ("n", "north", "up"):
        graph.add_failure(1, way)
    assert graph.failures == {(1, "north"): 2, (1, "up"): 1}


@given(WALKS)
def test_routes_reach_their_destination(walks):
    graph = drawn(walks)
    for start in graph.rooms:
        for room, route in graph.routes(start).items():
            at = start
            for way in route:
                at = graph.leads_to(at, way)
            assert at == room


@pytest.mark.parametrize("content", ["", "{", "[]", '{"rooms": {}}', '{"rooms": {"x": {}}}', "\udcff"])
def test_damaged_map_is_set_aside(tmp_path, content):
    path = tmp_path / "map_state.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert loaded(path).rooms == {}
    assert not path.exists()
    assert (tmp_path / "map_state.json.damaged-1").read_bytes() == content.encode("utf-8", "surrogateescape")


def test_exit_with_many_failures_is_ignored_until_it_works():
    graph = MapGraph(exit_failure_threshold=2)
    walk(graph, "1 north 2")
    graph.add_failure(1, "north")
    assert graph.route(1, 2) == ["north"]
    graph.add_failure(1, "north")
    assert (graph.route(1, 2), graph.exits(1), graph.is_pruned(1, "north")) == (None, {}, True)
    walk(graph, "1 north 2")
    assert (graph.route(1, 2), graph.exits(1), graph.is_pruned(1, "north")) == (["north"], {"north": 2}, False)


def test_random_exit_keeps_its_shares():
    graph = walk(MapGraph(), *(f"1 north {end}" for end in (2, 3, 2, 4)))
    assert graph.connections.get(1, "n").shares == {2: 0.5, 3: 0.25, 4: 0.25}
    assert graph.leads_to(1, "n") == 2
    assert graph.connections.get(1, "n").confidence == 3 / 6
    assert graph.connections.get(2, "n") is None


def test_routes_avoid_dangers_by_default():
    graph = walk(MapGraph(), "1 east 2", "2 east 3", "1 north 4", "4 east 5", "5 south 3")
    assert graph.route(1, 3) == ["east", "east"]
    assert graph.route(1, 3, dangers={2}) == ["north", "east", "south"]
    assert graph.route(1, 3, dangers={(1, "east")}) == ["north", "east", "south"]
    assert graph.route(1, 3, dangers={3}) is None
    assert graph.route(1, 3, dangers={2, (4, "east")}) is None


def test_second_exit_replaces_a_forbidden_one():
    graph = walk(MapGraph(), "1 in 2", "1 in 2", "1 enter window 2")
    assert graph.route(1, 2) == ["in"]
    assert graph.route(1, 2, dangers={(1, "in")}) == ["enter window"]


def test_transporting_word_shortens_only_long_routes():
    graph = walk(MapGraph(), "1 east 2", "2 east 3", "3 east 4", "4 east 5")
    graph.add_move(Move(1, "say plugh", 5, MoveKind.TRANSPORTED))
    graph.add_move(Move(1, "say plugh", 2, MoveKind.TRANSPORTED))
    graph.add_move(Move(1, "say plugh", 5, MoveKind.TRANSPORTED))
    graph.add_move(Move(1, "wait", 5, MoveKind.CARRIED))
    graph.add_move(Move(1, "attack troll", 5, MoveKind.DIED))
    assert graph.route(1, 5) == ["say plugh"]
    assert graph.route(1, 3) == ["east", "east"]
    assert graph.exits(1) == {"east": 2}


def test_frontier_has_an_untried_exit_that_is_not_a_way_back():
    graph = walk(MapGraph(), "1 north 2")
    for way in ("n", "up", "ne", "enter window"):
        graph.add_exit(1, way)
    graph.add_failure(1, "up")
    graph.add_exit(2, "s")
    assert graph.frontiers() == {1: ("northeast", "enter window")}
    graph.add_exit(2, "w")
    assert graph.frontiers() == {1: ("northeast", "enter window"), 2: ("west",)}
