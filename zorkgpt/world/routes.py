"""Which way to go: the surest route over what was walked, around what is dangerous."""

from collections.abc import Collection, Iterable

import networkx as nx

Danger = int | tuple[int, str]
"""A room, or one way out of a room."""
Routes = dict[int, list[str]]
"""Every room that can be reached → the ways that lead there, nearest first."""

_MOST_KEPT = 64
"""Answers; a map on which nothing changes can be asked from everywhere."""


class RouteFinder:
    """The ways between rooms as a directed graph, each with what it costs to rely on it."""

    def __init__(self) -> None:
        self._graph = nx.DiGraph()
        self._found: dict[tuple[int, frozenset[Danger]], Routes] = {}
        """What was asked for since a way last changed."""

    def clear(self) -> None:
        self._graph.clear()
        self._found.clear()

    def replace(self, room_id: int, ways: Iterable[tuple[str, int, float]]) -> None:
        """These are the ways out of a room from now on: name, destination, cost above 0."""
        self._found.clear()
        self._graph.add_node(room_id)
        self._graph.remove_edges_from(list(self._graph.out_edges(room_id)))
        for name, leads_to, cost in sorted(ways, key=lambda way: (way[2], way[0])):
            if leads_to != room_id:
                if not self._graph.has_edge(room_id, leads_to):
                    self._graph.add_edge(room_id, leads_to, ways=[])
                self._graph.edges[room_id, leads_to]["ways"].append((name, cost))

    def routes(self, from_id: int, dangers: Collection[Danger] = ()) -> Routes:
        """Every room that can be reached; not to be changed."""
        if from_id not in self._graph:
            return {from_id: []}
        asked = from_id, frozenset(dangers)
        if asked not in self._found:
            if len(self._found) >= _MOST_KEPT:
                self._found.clear()
            self._found[asked] = self._find(*asked)
        return self._found[asked]

    def _find(self, from_id: int, dangers: frozenset[Danger]) -> Routes:
        taken: dict[tuple[int, int], str] = {}

        def cost(start: int, end: int, edge: dict) -> float | None:
            if end in dangers:
                return None
            for name, cost in edge["ways"]:
                if (start, name) not in dangers:
                    taken[start, end] = name
                    return cost
            return None

        paths = nx.single_source_dijkstra_path(self._graph, from_id, weight=cost)
        return {room: [taken[step] for step in nx.utils.pairwise(path)] for room, path in paths.items()}
