"""The map: the turn in which each part became known, and its place on the page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.memory.models import SubjectKey
from zorkgpt.viewer.episode_index import DIED, REFUSED, IndexedTurn
from zorkgpt.world.layout import BOX, COMPASS, MapLine, PixelLayout, lines_of

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

    def arrive(self, room: int, at: int) -> None:
        """Record that the player was in a room."""
        self._learn(self.rooms, room, at)

    def add_turn(self, turn: IndexedTurn, at: int) -> None:
        """Add what a turn shows of the map."""
        place, after = turn.place, turn.place_after
        way = None if place is None or turn.marks & REFUSED else (place, exit_name(turn.action))
        reached = after if way is not None and after != place else None
        if way is not None and reached is not None and at < self.rooms.get(reached, at + 1):
            self.reached[reached] = way
        for room in (place, after):
            if room is not None:
                self._learn(self.rooms, room, at)
        for exit_key in turn.exits:
            self._learn(self.mentioned, exit_key, at)
        if way is None:
            return
        if turn.marks & DIED:
            self._learn(self.deadly, way, at)
        elif reached is not None:
            self._learn(self.ways.setdefault(way, {}), reached, at)
            self._learn(self.tried, way, at)
        elif canonical_direction(turn.action) is not None:
            self._learn(self.tried, way, at)

    def _learn(self, known: dict[_Component, int], part: _Component, at: int) -> None:
        earlier = known.get(part)
        if earlier is None or at < earlier:
            known[part] = at
            self.changes += earlier is None


def map_picture(timeline: MapTimeline, names: Mapping[SubjectKey, str]) -> dict[str, Any]:
    """Return the final map with the turn in which each part became known. The page shows the parts known at a turn."""
    connections = _connections(timeline)
    pixels = PixelLayout(timeline.rooms, connections)
    lines = [_line(timeline, pixels, line) for line in _drawn(timeline, pixels, connections)]
    return {
        "rooms": [_room(timeline, pixels, room, names) for room in timeline.rooms],
        "lines": lines,
        "open": [_open_end(timeline, pixels, way) for way in timeline.mentioned if _was_open(timeline, way)],
        "changes": timeline.changes,
        "box": BOX,
    }


def _connections(timeline: MapTimeline) -> dict[int, dict[str, int]]:
    """Return room → exit → the destination that became known last."""
    connections: dict[int, dict[str, int]] = {}
    for (room, name), ends in timeline.ways.items():
        connections.setdefault(room, {})[name] = max(reversed(ends), key=ends.__getitem__)
    return connections


def _drawn(
    timeline: MapTimeline, pixels: PixelLayout, connections: Mapping[int, Mapping[str, int]]
) -> Iterator[MapLine]:
    """Yield the lines that are not confusingly long, and for each room the one by which it was first reached."""
    reached = {frozenset((origin, room)) for room, (origin, _) in timeline.reached.items()}
    drawn: dict[frozenset[int], int] = {}
    for line in lines_of(connections):
        line = _in_order(timeline, line)
        ends = frozenset((line.room, line.to))
        if line.room != line.to and (ends in reached or not pixels.is_long(line)):
            drawn[ends] = min(_since(timeline, line), drawn.get(ends, _since(timeline, line)))
            yield line
    for room, (origin, way) in timeline.reached.items():
        if drawn.get(frozenset((origin, room)), timeline.rooms[room] + 1) > timeline.rooms[room]:
            yield MapLine(origin, way, room, None)


def _in_order(timeline: MapTimeline, line: MapLine) -> MapLine:
    """Return the line with the direction that became known first."""
    if line.back is None or timeline.ways[line.to, line.back][line.room] >= _since(timeline, line):
        return line
    return MapLine(line.to, line.back, line.room, line.way)


def _since(timeline: MapTimeline, line: MapLine) -> int:
    return timeline.ways.get((line.room, line.way), {}).get(line.to, timeline.rooms[line.to])


def _room(timeline: MapTimeline, pixels: PixelLayout, room: int, names: Mapping[SubjectKey, str]) -> dict[str, Any]:
    x, y = pixels.centre(room)
    deadly = {name: at for (here, name), at in timeline.deadly.items() if here == room}
    return {"id": room, "name": names.get(room, ""), "since": timeline.rooms[room], "x": x, "y": y, "deadly": deadly}


def _line(timeline: MapTimeline, pixels: PixelLayout, line: MapLine) -> dict[str, Any]:
    return {
        "from": line.room,
        "to": line.to,
        "way": line.way,
        "compass": line.by_compass,
        "d": pixels.path(line),
        "since": _since(timeline, line),
        "back_since": timeline.ways[line.to, line.back][line.room] if line.back else None,
    }


def _was_open(timeline: MapTimeline, way: ExitKey) -> bool:
    """Return whether a mentioned exit was known before it was tried."""
    room, name = way
    tried = timeline.tried.get(way)
    return name in COMPASS and room in timeline.rooms and (tried is None or tried > timeline.mentioned[way])


def _open_end(timeline: MapTimeline, pixels: PixelLayout, way: ExitKey) -> dict[str, Any]:
    """Return the open end of a mentioned exit, until it was tried."""
    room, name = way
    x, y, dx, dy = pixels.stub(room, COMPASS[name])
    place = {"room": room, "way": name, "x": x, "y": y, "dx": dx, "dy": dy}
    return place | {"since": timeline.mentioned[way], "until": timeline.tried.get(way)}
