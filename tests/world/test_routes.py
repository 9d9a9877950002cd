"""Tests of routes, compared with a textbook search."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move

ROOMS = st.integers(1, 6)
# Exits without an opposite, so that no way back is assumed.
NAMES = st.sampled_from(["enter door", "enter gate", "climb tree", "enter cave"])
WAYS = st.dictionaries(st.tuples(ROOMS, NAMES), st.tuples(ROOMS, st.integers(1, 4)), max_size=16)
DANGERS = st.sets(st.one_of(ROOMS, st.tuples(ROOMS, NAMES)), max_size=4)


def walk(graph: MapGraph, ways) -> None:
    for (start, name), (to, walks) in ways.items():
        for _ in range(walks):
            graph.add_move(Move(start, name, to))


@given(WAYS, DANGERS)
def test_routes_are_optimal_with_the_nearest_room_first(ways, dangers):
    graph = MapGraph()
    graph.add_room(1, "")
    walk(graph, ways)
    network = nx.DiGraph()
    network.add_node(1)
    costs = {way: 1 / graph.connections.get(*way).confidence for way in ways}
    for (start, name), (to, _) in ways.items():
        if start != to and to not in dangers and (start, name) not in dangers:
            known = network.get_edge_data(start, to, {"weight": 99})["weight"]
            network.add_edge(start, to, weight=min(known, costs[start, name]))
    found = {room: cost_of(graph, costs, route) for room, route in graph.routes(1, dangers=dangers).items()}
    assert found == nx.single_source_dijkstra_path_length(network, 1)
    assert list(found.values()) == sorted(found.values())


def cost_of(graph: MapGraph, costs, route) -> float:
    room, cost = 1, 0
    for name in route:
        cost += costs[room, name]
        room = graph.leads_to(room, name)
    return cost


@given(WAYS, WAYS)
def test_routes_follow_changes_of_the_map(first, second):
    searched, unsearched = MapGraph(), MapGraph()
    for ways in (first, second):
        walk(searched, ways)
        searched.routes(1)
    walk(unsearched, first)
    walk(unsearched, second)
    assert searched.routes(1) == unsearched.routes(1)
