"""The map with the turn at which each part of it became known, as values and as coordinates for the page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zorkgpt.memory.models import PlaceKey
from zorkgpt.viewer.episode_index import MapStep
from zorkgpt.viewer.json_lines import turn_key
from zorkgpt.world.directions import canonical_direction, exit_name
from zorkgpt.world.layout import BOX, COMPASS, PixelLayout, Square, lay_out, paired_exit, scaled

_Key = TypeVar("_Key")
ExitKey = tuple[int, str]
"""A room and the name of one of its exits."""


@dataclass
class MapTimeline:
    """What is known of the map, with the turn key (see `turn_key`) since when: the values of all mappings."""

    rooms: dict[int, int] = field(default_factory=dict)
    ways: dict[ExitKey, dict[int, int]] = field(default_factory=dict)
    """Exit → destination → since when it is known."""
    said: dict[ExitKey, int] = field(default_factory=dict)
    """Exits that a text named."""
    tried: dict[ExitKey, int] = field(default_factory=dict)
    deadly: dict[ExitKey, int] = field(default_factory=dict)
    changes: int = 0
    """The number of changes."""

    def add_turns(self, episode: int, turns: Iterable[tuple[int, MapStep]]) -> None:
        for turn, step in turns:
            self._add_turn(step, turn_key(episode, turn))

    def arrive(self, room: int, at: int) -> None:
        """Note that the player was here."""
        self._learn(self.rooms, room, at)

    def _add_turn(self, step: MapStep, at: int) -> None:
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

    def _learn(self, known: dict[_Key, int], what: _Key, at: int) -> None:
        earlier = known.get(what)
        if earlier is None or at < earlier:
            known[what] = at
            self.changes += earlier is None


_STUB = 16
_BESIDE_A_LINE = 10
_FAR = 2
"""Squares; an exit that is no compass direction and leads further is listed instead of drawn."""


def map_picture(timeline: MapTimeline, names: Mapping[PlaceKey, str]) -> dict[str, Any]:
    """Return the picture of everything that was ever known, so that no room moves when an earlier turn is shown."""
    return _MapPicture(timeline, names).picture()


class _MapPicture:
    def __init__(self, timeline: MapTimeline, names: Mapping[PlaceKey, str]) -> None:
        self._timeline = timeline
        self._names = names
        self._ends = {way: max(reversed(ends), key=ends.__getitem__) for way, ends in timeline.ways.items()}
        """Exit → the destination that became known last."""
        connections: dict[int, dict[str, int]] = {}
        for (room, name), to in self._ends.items():
            connections.setdefault(room, {})[name] = to
        self._connections = connections
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
            "open": [end for way, since in self._timeline.said.items() if (end := self._open_end(way, since))],
            "changes": self._timeline.changes,
        }

    def _room(self, room: int, since: int) -> dict[str, Any]:
        x, y = self._pixels.centre(room)
        deaths = {name: at for (here, name), at in self._timeline.deadly.items() if here == room}
        return {"id": room, "name": self._names.get(room, ""), "x": x, "y": y, "since": since, "deadly": deaths}

    def _lines(self) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        done: set[ExitKey] = set()
        for (room, name), to in self._ends.items():
            if (room, name) in done:
                continue
            back = paired_exit(self._connections, room, name, to, done)
            done |= {(room, name)} | ({(to, back)} if back else set())
            lines.append(self._line(room, name, to, back))
        return lines

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

    def _open_end(self, way: ExitKey, since: int) -> dict[str, Any] | None:
        """Return the open end of an exit that a text named, until it was tried; None if it was never open."""
        room, name = way
        until = self._timeline.tried.get(way)
        if name not in COMPASS or room not in self._timeline.rooms or (until is not None and until <= since):
            return None
        side = COMPASS[name]
        (x, y), (dx, dy) = self._pixels.port(room, side), scaled(side, _STUB)
        if (room, side) in self._used and until is None:
            x, y = (x, y + _BESIDE_A_LINE) if side[0] else (x + _BESIDE_A_LINE, y)
        return {"room": room, "way": name, "x": x, "y": y, "dx": dx, "dy": dy, "since": since, "until": until}
