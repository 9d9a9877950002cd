"""The map: the turn in which each part became known, and the positions of the rooms on the page."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.memory.models import SubjectKey
from zorkgpt.viewer.episode_index import MapStep
from zorkgpt.viewer.json_lines import turn_key
from zorkgpt.world.layout import COMPASS, ExitTargets, Square, lay_out, nearest_fit, paired_exit

_Component = TypeVar("_Component")
ExitKey = tuple[int, str]
"""A room and the name of one of its exits."""


@dataclass
class MapTimeline:
    """The parts of the map, each with the turn in which it became known: see `turn_key`."""

    rooms: dict[int, int] = field(default_factory=dict)
    ways: dict[ExitKey, dict[int, int]] = field(default_factory=dict)
    """Exit → destination → turn."""
    mentioned: dict[ExitKey, int] = field(default_factory=dict)
    """Exits that a text mentions."""
    tried: dict[ExitKey, int] = field(default_factory=dict)
    deadly: dict[ExitKey, int] = field(default_factory=dict)
    reached: dict[int, ExitKey] = field(default_factory=dict)
    """Room → the exit or action by which it was first reached. Missing for starting rooms."""
    changes: int = 0
    """The number of changes."""

    def add_turns(self, episode: int, turns: Iterable[tuple[int, MapStep]]) -> None:
        for turn, step in turns:
            self._add_turn(step, turn_key(episode, turn))

    def arrive(self, room: int, at: int) -> None:
        """Record that the player was in a room."""
        self._learn(self.rooms, room, at)

    def _add_turn(self, step: MapStep, at: int) -> None:
        self._reach(step, at)
        for room in (step.before, step.after):
            if room is not None:
                self._learn(self.rooms, room, at)
        for exit_key in step.exits:
            self._learn(self.mentioned, exit_key, at)
        if step.before is None or step.void:
            return
        way = (step.before, exit_name(step.action))
        if step.died:
            self._learn(self.deadly, way, at)
        elif step.after is not None and step.after != step.before:
            self._learn(self.ways.setdefault(way, {}), step.after, at)
            self._learn(self.tried, way, at)
        elif canonical_direction(step.action) is not None:
            self._learn(self.tried, way, at)

    def _reach(self, step: MapStep, at: int) -> None:
        """Record how a new room was reached."""
        if step.void or step.before is None or step.after is None or step.after == step.before:
            return
        if at < self.rooms.get(step.after, at + 1):
            self.reached[step.after] = (step.before, exit_name(step.action))

    def _learn(self, known: dict[_Component, int], part: _Component, at: int) -> None:
        earlier = known.get(part)
        if earlier is None or at < earlier:
            known[part] = at
            self.changes += earlier is None


def map_picture(timeline: MapTimeline, names: Mapping[SubjectKey, str]) -> dict[str, Any]:
    """Return the final map with the turn in which each part became known. The page draws the map at any turn.

    `column` and `row` order the rooms of a level. The page skips columns and rows without known rooms.
    """
    return _MapPicture(timeline, names).picture()


class _MapPicture:
    def __init__(self, timeline: MapTimeline, names: Mapping[SubjectKey, str]) -> None:
        self._timeline = timeline
        self._names = names
        self._ends = {way: max(reversed(ends), key=ends.__getitem__) for way, ends in timeline.ways.items()}
        """Exit → the destination that became known last."""
        connections: dict[int, dict[str, int]] = {}
        for (room, name), to in self._ends.items():
            connections.setdefault(room, {})[name] = to
        self._connections = connections
        self._levels = MapLevels(timeline.rooms, connections)

    def picture(self) -> dict[str, Any]:
        return {
            "rooms": [self._room(room, since) for room, since in self._timeline.rooms.items()],
            "lines": self._lines(),
            "open": [end for way, since in self._timeline.mentioned.items() if (end := self._open_end(way, since))],
            "changes": self._timeline.changes,
        }

    def _room(self, room: int, since: int) -> dict[str, Any]:
        column, row = self._levels.squares[room]
        origin, way = self._timeline.reached.get(room, (None, ""))
        return {
            "id": room,
            "name": self._names.get(room, ""),
            "since": since,
            "level": self._levels.levels[room],
            "region": self._levels.regions[room],
            "column": column,
            "row": row,
            "reached": None if origin is None else {"from": origin, "way": way},
            "deadly": {name: at for (here, name), at in self._timeline.deadly.items() if here == room},
        }

    def _lines(self) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        done: set[ExitKey] = set()
        for (room, name), to in self._ends.items():
            if (room, name) in done or room == to:
                continue
            back = paired_exit(self._connections, room, name, to, done)
            done |= {(room, name)} | ({(to, back)} if back else set())
            lines.append(self._line(room, name, to, back))
        return lines

    def _line(self, room: int, name: str, to: int, back: str | None) -> dict[str, Any]:
        since = self._timeline.ways[room, name][to]
        back_since = self._timeline.ways[to, back][room] if back else None
        return {"from": room, "to": to, "way": name, "back": back, "since": since, "back_since": back_since}

    def _open_end(self, way: ExitKey, since: int) -> dict[str, Any] | None:
        """Return the open end of a mentioned exit, until it was tried. None if it was never open."""
        room, name = way
        until = self._timeline.tried.get(way)
        if name not in COMPASS or room not in self._timeline.rooms or (until is not None and until <= since):
            return None
        return {"room": room, "way": name, "since": since, "until": until}


_CLIMBS = {"up": 1, "down": -1}
_UP_AND_DOWN = frozenset(_CLIMBS)


class MapLevels:
    """The level, region and square of each room.

    Rooms connected by exits other than up and down are on the same level. Each level has its own squares.

    Args:
        known: Room → the turn in which it became known.
    """

    def __init__(self, known: Mapping[int, int], connections: ExitTargets) -> None:
        self._connections = connections
        self.levels: dict[int, int] = {}
        self.squares: dict[int, Square] = {}
        storeys = _joined(sorted(known, key=known.__getitem__), connections)
        self._of_room = {room: storey for storey in storeys for room in storey}
        while waiting := [storey for storey in storeys if storey[0] not in self.levels]:
            anchor, entry, level = next(self._stairs(), (None, waiting[0][0], 0))
            self._place(self._of_room[entry], level, entry, anchor)
        self.regions = regions_of(known, _ways_within(self.levels, connections))

    def _stairs(self) -> Iterator[tuple[int, int, int]]:
        """Yield (placed room, unplaced room, its level) for exits up and down between the two."""
        for room, ways in self._connections.items():
            for way in _CLIMBS.keys() & ways.keys():
                to = ways[way]
                if room in self.levels and to not in self.levels:
                    yield room, to, self.levels[room] + _CLIMBS[way]
                elif to in self.levels and room not in self.levels:
                    yield to, room, self.levels[to] - _CLIMBS[way]

    def _place(self, storey: tuple[int, ...], level: int, entry: int, anchor: int | None) -> None:
        """Place the rooms of a storey. If possible, its entry is directly above or below the anchor."""
        shape = lay_out(storey, _restricted(storey, self._connections))
        taken = {self.squares[room] for room, at in self.levels.items() if at == level}
        column = shape[entry][0] if anchor is None else self.squares[anchor][0]
        dx, dy = nearest_fit(shape.values(), taken, set(), (column - shape[entry][0], 0))
        self.squares |= {room: (x + dx, y + dy) for room, (x, y) in shape.items()}
        self.levels |= dict.fromkeys(storey, level)


def _joined(rooms: Iterable[int], connections: ExitTargets) -> list[tuple[int, ...]]:
    """Return the groups of rooms connected by exits other than up and down, in the order of their first rooms."""
    neighbors: dict[int, list[int]] = {room: [] for room in rooms}
    for room, ways in connections.items():
        for way, to in ways.items():
            if way not in _UP_AND_DOWN:
                neighbors[room].append(to)
                neighbors[to].append(room)
    groups: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for first in neighbors:
        if first not in seen:
            group = dict.fromkeys([first])
            waiting = [first]
            while waiting:
                new = [room for room in neighbors[waiting.pop()] if room not in group]
                group |= dict.fromkeys(new)
                waiting += new
            seen |= group.keys()
            groups.append(tuple(group))
    return groups


def _restricted(storey: Iterable[int], connections: ExitTargets) -> dict[int, dict[str, int]]:
    rooms = set(storey)
    return {
        room: {way: to for way, to in connections[room].items() if to in rooms and way not in _UP_AND_DOWN}
        for room in rooms & connections.keys()
    }


def _ways_within(levels: Mapping[int, int], connections: ExitTargets) -> set[tuple[int, int]]:
    """Return the pairs of connected rooms on the same level, each once."""
    pairs = {(min(room, to), max(room, to)) for room, ways in connections.items() for to in ways.values()}
    return {(low, high) for low, high in pairs if low != high and levels[low] == levels[high]}


def regions_of(rooms: Iterable[int], pairs: set[tuple[int, int]]) -> dict[int, int]:
    """Return room → region. A region is a group of rooms with more connections than expected by chance.

    Merges the two groups with the largest gain in modularity while there is a gain: Clauset, Newman and Moore, Finding
    community structure in very large networks, 2004.
    """
    # Imported on use, because it takes a while.
    import networkx

    graph = networkx.Graph(sorted(pairs))
    graph.add_nodes_from(rooms)
    regions = networkx.community.greedy_modularity_communities(graph) if pairs else [{room} for room in graph]
    return {room: min(region) for region in regions for room in region}
