"""The map with the turn at which each part of it became known, as values and as coordinates for the page."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from zorkgpt.viewer.episode_index import MapStep
from zorkgpt.viewer.json_lines import turn_key
from zorkgpt.world.directions import OPPOSITE, canonical_direction, exit_name
from zorkgpt.world.layout import BOX, COMPASS, PixelLayout, Square, lay_out, scaled

ExitKey = tuple[int, str]
"""A room and the name of a way out of it."""


@dataclass
class MapTimeline:
    """Every value that is a number without a name is a moment."""

    rooms: dict[int, int] = field(default_factory=dict)
    ways: dict[ExitKey, dict[int, int]] = field(default_factory=dict)
    """Where a way led → since when that is known."""
    said: dict[ExitKey, int] = field(default_factory=dict)
    """Ways out that a text named."""
    tried: dict[ExitKey, int] = field(default_factory=dict)
    deadly: dict[ExitKey, int] = field(default_factory=dict)
    changes: int = 0
    """How often something new was learned."""

    def add_turns(self, episode: int, turns: Iterable[tuple[int, MapStep]]) -> None:
        for turn, step in turns:
            self._take(step, turn_key(episode, turn))

    def arrive(self, room: int, at: int) -> None:
        """The player stands here."""
        self._learn(self.rooms, room, at)

    def _take(self, step: MapStep, at: int) -> None:
        for room in (step.before, step.after):
            if room is not None:
                self._learn(self.rooms, room, at)
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
        if step.after is not None:
            for direction in step.exits:
                self._learn(self.said, (step.after, direction), at)

    def _learn(self, known: dict, what: object, at: int) -> None:
        earlier = known.get(what)
        if earlier is None or at < earlier:
            known[what] = at
            self.changes += earlier is None


_STUB = 16
_BESIDE_A_LINE = 10
_FAR = 2
"""Squares; what is further apart and no compass direction is told in words."""


def map_picture(timeline: MapTimeline, names: dict[int, str]) -> dict[str, Any]:
    """The picture of everything that was ever known, so that no room moves when an earlier turn is looked at."""
    return _MapPicture(timeline, names).picture()


class _MapPicture:
    def __init__(self, timeline: MapTimeline, names: dict[int, str]) -> None:
        self._timeline = timeline
        self._names = names
        self._ends = {way: max(reversed(ends), key=ends.__getitem__) for way, ends in timeline.ways.items()}
        """Where each way led last."""
        connections: dict[int, dict[str, int]] = {}
        for (room, name), to in self._ends.items():
            connections.setdefault(room, {})[name] = to
        self._pixels = PixelLayout(lay_out(timeline.rooms, connections))
        self._used: set[tuple[int, Square]] = set()

    def picture(self) -> dict[str, Any]:
        width, height = self._pixels.size
        lines = self._lines()
        return {
            "width": width,
            "height": height,
            "box": list(BOX),
            "rooms": [self._room(room, since) for room, since in self._timeline.rooms.items()],
            "lines": lines,
            "open": [end for way, since in self._timeline.said.items() if (end := self._open(way, since))],
            "changes": self._timeline.changes,
        }

    def _room(self, room: int, since: int) -> dict[str, Any]:
        x, y = self._pixels.centre(room)
        deaths = {name: at for (here, name), at in self._timeline.deadly.items() if here == room}
        return {"id": room, "name": self._names.get(room, ""), "x": x, "y": y, "since": since, "deadly": deaths}

    def _lines(self) -> list[dict[str, Any]]:
        lines, done = [], set()
        for (room, name), to in self._ends.items():
            if (room, name) in done:
                continue
            back = self._way_back(room, name, to, done)
            done |= {(room, name)} | ({(to, back)} if back else set())
            lines.append(self._line(room, name, to, back))
        return lines

    def _way_back(self, room: int, name: str, to: int, done: set[ExitKey]) -> str | None:
        """The way back that shares the line: the opposite, or else one whose own opposite leads elsewhere."""
        if room == to:
            return None
        returns = [n for (here, n), end in self._ends.items() if here == to and end == room and (here, n) not in done]
        if OPPOSITE.get(name) in returns:
            return OPPOSITE[name]
        free = [way for way in returns if self._ends.get((room, OPPOSITE.get(way, ""))) != to]
        return next((way for way in free if (way in COMPASS) == (name in COMPASS)), None)

    def _line(self, room: int, name: str, to: int, back: str | None) -> dict[str, Any]:
        since = self._timeline.ways[room, name][to]
        back_since = self._timeline.ways[to, back][room] if back else None
        line = {"from": room, "to": to, "way": name, "back": back, "since": since, "back_since": back_since}
        compass = name in COMPASS
        if room == to or not (compass or self._pixels.distance(room, to) <= _FAR):
            return line | {"kind": "told"}
        leaving = COMPASS[name] if compass else self._pixels.toward(room, to)
        arriving = COMPASS[back] if compass and back else (-leaving[0], -leaving[1])
        if not compass:
            arriving = self._pixels.toward(to, room)
        self._used |= {(room, leaving), (to, arriving)}
        path = self._pixels.path(room, leaving, to, arriving)
        return line | {"kind": "compass" if compass else "other", "d": path, "at": self._pixels.port(room, leaving)}

    def _open(self, way: ExitKey, since: int) -> dict[str, Any] | None:
        """A way that a text named, until it was tried; None if it was never open."""
        room, name = way
        until = self._timeline.tried.get(way)
        if name not in COMPASS or room not in self._timeline.rooms or (until is not None and until <= since):
            return None
        side = COMPASS[name]
        (x, y), (dx, dy) = self._pixels.port(room, side), scaled(side, _STUB)
        if (room, side) in self._used and until is None:
            x, y = (x, y + _BESIDE_A_LINE) if side[0] else (x + _BESIDE_A_LINE, y)
        return {"room": room, "way": name, "x": x, "y": y, "dx": dx, "dy": dy, "since": since, "until": until}
