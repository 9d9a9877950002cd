"""The surest routes, held against the textbook's."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.world.graph import RouteFinder

ROOMS = st.integers(1, 6)
NAMES = st.sampled_from(["north", "east", "up", "out"])
WAYS = st.dictionaries(st.tuples(ROOMS, NAMES), st.tuples(ROOMS, st.sampled_from([1.25, 1.5, 2.0, 3.0])), max_size=16)
DANGERS = st.sets(st.one_of(ROOMS, st.tuples(ROOMS, NAMES)), max_size=4)


def finder_of(ways) -> RouteFinder:
    finder = RouteFinder()
    for room in range(1, 7):
        finder.replace(room, [(name, to, cost) for (start, name), (to, cost) in ways.items() if start == room])
    return finder


@given(WAYS, DANGERS)
def test_no_route_costs_less_and_the_nearest_room_comes_first(ways, dangers):
    graph = nx.DiGraph()
    graph.add_node(1)
    for (start, name), (to, cost) in ways.items():
        if to not in dangers and (start, name) not in dangers:
            known = graph.get_edge_data(start, to, {"weight": cost})["weight"]
            graph.add_edge(start, to, weight=min(known, cost))
    found = finder_of(ways).routes(1, dangers)
    costs = {room: cost_of(ways, route) for room, route in found.items()}
    assert costs == nx.single_source_dijkstra_path_length(graph, 1)
    assert list(costs.values()) == sorted(costs.values())


def cost_of(ways, route) -> float:
    room, cost = 1, 0
    for name in route:
        room, more = ways[room, name]
        cost += more
    return cost


@given(WAYS, ROOMS)
def test_a_way_that_changes_changes_the_routes(ways, start):
    finder = finder_of(ways)
    before = finder.routes(start)
    finder.replace(start, [("in", 9, 1.5)])
    assert finder.routes(start) == {start: [], 9: ["in"]}
    assert 9 not in before
