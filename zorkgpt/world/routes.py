"""The most reliable routes on a map."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from zorkgpt.world.connections import UNPROVEN_CONFIDENCE
from zorkgpt.world.movement import PLACE_KILLS

if TYPE_CHECKING:
    from zorkgpt.world.graph import MapGraph

DangerousSpot = int | tuple[int, str]
"""A room, or one exit of a room."""
Routes = dict[int, list[str]]
"""Every reachable room → the exits to take, nearest room first."""

# An action that transports the player is preferred to a walk that is longer than this.
_TRANSPORT_COST = 3.0
_UNPROVEN_COST = 1 / UNPROVEN_CONFIDENCE
# A detour of this many steps is preferred to a known death.
_DEADLY_COST = 20.0
# A closed door is as uncertain as a way without any walk: it may be locked.
_CLOSED_DOOR_COST = _UNPROVEN_COST
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


class RoutePlanner:
    """Finds the most reliable routes on a map."""

    def __init__(self, graph: "MapGraph") -> None:
        # Imported on first use, so that this module can be imported where only the library is installed.
        import networkx

        self._graph = graph
        self._network = networkx.DiGraph()
        """Rooms, with an edge for each pair that ways connect: the ways and their costs, cheapest first."""
        self._cache: dict[tuple[int, frozenset[DangerousSpot]], Routes] = {}
        """The routes found since the map last changed."""

    def clear(self) -> None:
        """Forget the map."""
        self._network.clear()
        self._cache.clear()

    def route(self, from_id: int, to_id: int, *, dangers: Collection[DangerousSpot] = ()) -> list[str] | None:
        """Return the actions that lead to a room on the most reliable route; None if no route is known."""
        return self.routes(from_id, dangers=dangers).get(to_id)

    def routes(self, from_id: int, *, dangers: Collection[DangerousSpot] = ()) -> Routes:
        """Return every reachable room → the actions that lead there, nearest first; the room itself with none.

        The result must not be modified.

        Args:
            dangers: Rooms and (room, exit) pairs that routes must avoid.
        """
        self._update_network()
        if from_id not in self._network:
            return {from_id: []}
        key = from_id, frozenset(dangers)
        if key not in self._cache:
            if len(self._cache) >= _MAX_CACHED_ROUTES:
                self._cache.clear()
            self._cache[key] = self._shortest_routes(*key)
        return self._cache[key]

    def steps(self, from_id: int, ways: Iterable[str]) -> tuple[RouteStep, ...]:
        """Return the steps of a route that `route` or `routes` returned."""
        steps: list[RouteStep] = []
        for way in ways:
            leads_to = self._graph.leads_to(from_id, way)
            assert leads_to is not None
            proven = way in self._graph.connections.of(from_id) or way in self._graph.moves.transports(from_id)
            steps.append(RouteStep(way, leads_to, not proven, self._graph.doors.closed_on(from_id, way)))
            from_id = leads_to
        return tuple(steps)

    def _update_network(self) -> None:
        """Replace the ways of the rooms that have changed."""
        changed = self._graph.take_changed()
        if changed:
            self._cache.clear()
        for room_id in changed:
            self._network.add_node(room_id)
            self._network.remove_edges_from(list(self._network.out_edges(room_id)))
            for way, leads_to, cost in sorted(self._priced_ways(room_id), key=lambda priced: (priced[2], priced[0])):
                if leads_to != room_id:
                    if not self._network.has_edge(room_id, leads_to):
                        self._network.add_edge(room_id, leads_to, ways=[])
                    self._network.edges[room_id, leads_to]["ways"].append((way, cost))

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

    def _priced_ways(self, room_id: int) -> list[tuple[str, int, float]]:
        """Return the ways that routes may take from a room: name, destination, cost in steps."""
        graph = self._graph
        walked = graph.connections.of(room_id)
        ways = [
            (way, connection.leads_to, 1 / connection.confidence)
            for way, connection in walked.items()
            if not graph.is_pruned(room_id, way)
        ]
        ways += [(way, room, _UNPROVEN_COST) for way, room in graph.ways_back(room_id).items()]
        transports = graph.moves.transports(room_id)
        ways += [(way, room, _TRANSPORT_COST) for way, room in transports.items() if way not in walked]
        priced: list[tuple[str, int, float]] = []
        for way, room, cost in ways:
            if not graph.moves.deadly.isdisjoint({(room_id, way), (room, PLACE_KILLS)}):
                cost += _DEADLY_COST
            if graph.doors.closed_on(room_id, way):
                cost += _CLOSED_DOOR_COST
            priced.append((way, room, cost))
        return priced
