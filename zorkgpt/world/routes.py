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

    def clear(self) -> None:
        self._graph.clear()

    def add_room(self, room_id: int) -> None:
        self._graph.add_node(room_id)

    def replace(self, room_id: int, ways: Iterable[tuple[str, int, float]]) -> None:
        """These are the ways out of a room from now on: name, destination, cost above 0."""
        self._graph.remove_edges_from(list(self._graph.out_edges(room_id)))
        for name, leads_to, cost in sorted(ways, key=lambda way: (way[2], way[0])):
            if leads_to != room_id:
                if not self._graph.has_edge(room_id, leads_to):
                    self._graph.add_edge(room_id, leads_to, ways=[])
                self._graph.edges[room_id, leads_to]["ways"].append((name, cost))

    def routes(
        self, from_id: int, without: LeaveOut | None = None, dangers: Collection[Danger] = ()
    ) -> dict[int, list[str]]:
        """Every room that can be reached → the ways that lead there, nearest first."""
        if from_id not in self._graph:
            return {from_id: []}

        def usable(start: int, end: int, edge: dict) -> tuple[str, float] | None:
            if dangers and end in dangers:
                return None
            for name, cost in edge["ways"]:
                if not (without and without(start, name)) and (start, name) not in dangers:
                    return name, cost
            return None

        def cost(start: int, end: int, edge: dict) -> float | None:
            way = usable(start, end, edge)
            return way and way[1]

        paths = nx.single_source_dijkstra_path(self._graph, from_id, weight=cost)
        edges = self._graph.edges
        return {
            room: [usable(*step, edges[step])[0] for step in nx.utils.pairwise(path)] for room, path in paths.items()
        }
