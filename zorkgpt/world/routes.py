"""The most reliable routes over a network of priced ways."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

DangerousSpot = int | tuple[int, str]
"""A room, or one exit of a room."""
Routes = dict[int, list[str]]
"""Every reachable room → the exits to take, nearest room first."""

_MAX_CACHED_ROUTES = 64


@dataclass(frozen=True, slots=True)
class RouteStep:
    """One way of a route."""

    way: str
    leads_to: int
    """The number of the room."""
    unproven: bool = False
    """It was never walked, but is the way back of one that was."""
    closed_door: str = ""
    """The name of the closed door on this way, which must be opened first; "" if there is none."""


class PricedWay(NamedTuple):
    """A way that routes may take from a room."""

    way: str
    leads_to: int
    cost: float
    """The cost in steps."""


class RoutePlanner:
    """Finds the cheapest routes."""

    def __init__(self) -> None:
        # Imported on first use, so that this module can be imported where only the library is installed.
        import networkx

        self._network = networkx.DiGraph()
        """Rooms, with an edge for each pair that ways connect: the ways and their costs, cheapest first."""
        self._cache: dict[tuple[int, frozenset[DangerousSpot]], Routes] = {}
        """The routes found since a way last changed."""

    def clear(self) -> None:
        """Remove all ways."""
        self._network.clear()
        self._cache.clear()

    def set_ways(self, room_id: int, ways: Iterable[PricedWay]) -> None:
        """Replace the ways from a room."""
        self._cache.clear()
        self._network.add_node(room_id)
        self._network.remove_edges_from(list(self._network.out_edges(room_id)))
        for way, leads_to, cost in sorted(ways, key=lambda priced: (priced.cost, priced.way)):
            if leads_to != room_id:
                if not self._network.has_edge(room_id, leads_to):
                    self._network.add_edge(room_id, leads_to, ways=[])
                self._network.edges[room_id, leads_to]["ways"].append((way, cost))

    def routes(self, from_id: int, dangers: Collection[DangerousSpot]) -> Routes:
        """Return the routes to all rooms that can be reached without these dangers."""
        if from_id not in self._network:
            return {from_id: []}
        key = from_id, frozenset(dangers)
        if key not in self._cache:
            if len(self._cache) >= _MAX_CACHED_ROUTES:
                self._cache.clear()
            self._cache[key] = self._shortest_routes(*key)
        return self._cache[key]

    def _shortest_routes(self, from_id: int, dangers: frozenset[DangerousSpot]) -> Routes:
        import networkx

        way_of_edge: dict[tuple[int, int], str] = {}

        def cost_of_edge(start: int, end: int, edge: dict[str, list[tuple[str, float]]]) -> float | None:
            if end in dangers:
                return None
            for way, cost in edge["ways"]:
                if (start, way) not in dangers:
                    way_of_edge[start, end] = way
                    return cost
            return None

        paths = networkx.single_source_dijkstra_path(self._network, from_id, weight=cost_of_edge)
        return {room: [way_of_edge[edge] for edge in pairwise(path)] for room, path in paths.items()}
