"""Which way to go: the surest route over what was walked, around what is dangerous."""

from collections.abc import Callable, Collection, Iterable

import networkx as nx

Danger = int | tuple[int, str]
"""A room, or one way out of a room."""
LeaveOut = Callable[[int, str], bool]


class RouteFinder:
    """The ways between rooms as a directed graph, each with what it costs to rely on it."""

    def __init__(self) -> None:
        self._graph = nx.DiGraph()
        self._asked: tuple[int, dict[int, list[str]]] | None = None
        """From where all routes were asked for last since the graph changed, and what they were."""

    def clear(self) -> None:
        self._graph.clear()
        self._asked = None

    def add_room(self, room_id: int) -> None:
        self._graph.add_node(room_id)
        self._asked = None

    def replace(self, room_id: int, ways: Iterable[tuple[str, int, float]]) -> None:
        """These are the ways out of a room from now on: name, destination, cost above 0."""
        self._asked = None
        self._graph.remove_edges_from(list(self._graph.out_edges(room_id)))
        for name, leads_to, cost in sorted(ways, key=lambda way: (way[2], way[0])):
            if leads_to != room_id:
                if not self._graph.has_edge(room_id, leads_to):
                    self._graph.add_edge(room_id, leads_to, ways=[])
                self._graph.edges[room_id, leads_to]["ways"].append((name, cost))

    def routes(
        self, from_id: int, without: LeaveOut | None = None, dangers: Collection[Danger] = ()
    ) -> dict[int, list[str]]:
        """Every room that can be reached → the ways that lead there, nearest first; not to be changed."""
        if from_id not in self._graph:
            return {from_id: []}
        if without or dangers:
            return self._find(from_id, without, dangers)
        if self._asked is None or self._asked[0] != from_id:
            self._asked = from_id, self._find(from_id, None, ())
        return self._asked[1]

    def _find(self, from_id: int, without: LeaveOut | None, dangers: Collection[Danger]) -> dict[int, list[str]]:
        taken: dict[tuple[int, int], str] = {}

        def cost(start: int, end: int, edge: dict) -> float | None:
            if dangers and end in dangers:
                return None
            for name, cost in edge["ways"]:
                if not (without and without(start, name)) and (start, name) not in dangers:
                    taken[start, end] = name
                    return cost
            return None

        paths = nx.single_source_dijkstra_path(self._graph, from_id, weight=cost)
        return {room: [taken[step] for step in nx.utils.pairwise(path)] for room, path in paths.items()}
