"""The map with the turn at which each part of it became known, and where its rooms stand on the page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zorkgpt.memory.models import PlaceKey
from zorkgpt.viewer.episode_index import MapStep
from zorkgpt.viewer.json_lines import turn_key
from zorkgpt.viewer.map_levels import MapLevels
from zorkgpt.world.directions import canonical_direction, exit_name
from zorkgpt.world.layout import COMPASS, paired_exit

_Field = TypeVar("_Field")
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
    reached: dict[int, ExitKey] = field(default_factory=dict)
    """Room → the exit, or the action, by which it was first reached; not of rooms where the player just was."""
    changes: int = 0
    """The number of changes."""

    def add_turns(self, episode: int, turns: Iterable[tuple[int, MapStep]]) -> None:
        for turn, step in turns:
            self._add_turn(step, turn_key(episode, turn))

    def arrive(self, room: int, at: int) -> None:
        """Note that the player was here."""
        self._learn(self.rooms, room, at)

    def _add_turn(self, step: MapStep, at: int) -> None:
        self._reach(step, at)
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

    def _reach(self, step: MapStep, at: int) -> None:
        """Note the way to a room that nobody was in before."""
        if step.void or step.before is None or step.after is None or step.after == step.before:
            return
        if at < self.rooms.get(step.after, at + 1):
            self.reached[step.after] = (step.before, exit_name(step.action))

    def _learn(self, known: dict[_Field, int], what: _Field, at: int) -> None:
        earlier = known.get(what)
        if earlier is None or at < earlier:
            known[what] = at
            self.changes += earlier is None


def map_picture(timeline: MapTimeline, names: Mapping[PlaceKey, str]) -> dict[str, Any]:
    """Return everything that was ever known, with since when; the page draws what was known by a turn.

    `column` and `row` order the rooms of a level: the page leaves out those that hold nothing known yet.
    """
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
        self._levels = MapLevels(timeline.rooms, connections)

    def picture(self) -> dict[str, Any]:
        return {
            "rooms": [self._room(room, since) for room, since in self._timeline.rooms.items()],
            "lines": self._lines(),
            "open": [end for way, since in self._timeline.said.items() if (end := self._open_end(way, since))],
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
        """Return the open end of an exit that a text named, until it was tried; None if it was never open."""
        room, name = way
        until = self._timeline.tried.get(way)
        if name not in COMPASS or room not in self._timeline.rooms or (until is not None and until <= since):
            return None
        return {"room": room, "way": name, "since": since, "until": until}
