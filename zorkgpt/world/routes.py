"""Which way to go: the surest route over what was walked, around what is dangerous."""

from collections.abc import Collection, Iterable
from heapq import heappop, heappush
from itertools import count

Danger = int | tuple[int, str]
"""A room, or one way out of a room."""
Routes = dict[int, list[str]]
"""Every room that can be reached → the ways that lead there, nearest first."""

_MOST_KEPT = 64
"""Answers; a map on which nothing changes can be asked from everywhere."""


class RouteFinder:
    """The ways between rooms, each with what it costs to rely on it."""

    def __init__(self) -> None:
        self._ways: dict[int, dict[int, list[tuple[str, float]]]] = {}
        """Room → destination → the ways there with their costs, the surest first."""
        self._found: dict[tuple[int, frozenset[Danger]], Routes] = {}
        """What was asked for since a way last changed."""

    def clear(self) -> None:
        self._ways.clear()
        self._found.clear()

    def replace(self, room_id: int, ways: Iterable[tuple[str, int, float]]) -> None:
        """These are the ways out of a room from now on: name, destination, cost above 0."""
        self._found.clear()
        leaving = self._ways[room_id] = {}
        for name, leads_to, cost in sorted(ways, key=lambda way: (way[2], way[0])):
            if leads_to != room_id:
                leaving.setdefault(leads_to, []).append((name, cost))

    def routes(self, from_id: int, dangers: Collection[Danger] = ()) -> Routes:
        """Every room that can be reached; not to be changed."""
        asked = from_id, frozenset(dangers)
        if asked not in self._found:
            if len(self._found) >= _MOST_KEPT:
                self._found.clear()
            self._found[asked] = self._find(*asked)
        return self._found[asked]

    def _find(self, from_id: int, dangers: frozenset[Danger]) -> Routes:
        """By Dijkstra's algorithm; of two routes that cost the same, the one that was found first."""
        routes: Routes = {}
        cheapest, nth = {from_id: 0.0}, count()
        last: dict[int, tuple[int, str]] = {}
        waiting = [(0.0, next(nth), from_id)]
        while waiting:
            so_far, _, room = heappop(waiting)
            if room in routes:
                continue
            routes[room] = [*routes[last[room][0]], last[room][1]] if last else []
            for to, ways in self._ways.get(room, {}).items():
                surest = _surest(room, to, ways, dangers) if dangers else ways[0]
                if surest is None:
                    continue
                way, cost = surest
                if to not in cheapest or so_far + cost < cheapest[to]:
                    cheapest[to], last[to] = so_far + cost, (room, way)
                    heappush(waiting, (so_far + cost, next(nth), to))
        return routes


def _surest(room: int, to: int, ways: list[tuple[str, float]], dangers: frozenset[Danger]) -> tuple[str, float] | None:
    """The first way that is no danger."""
    if to in dangers:
        return None
    return next((way for way in ways if (room, way[0]) not in dangers), None)
