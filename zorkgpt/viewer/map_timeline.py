"""The map with the turn at which each part of it became known."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zorkgpt.viewer.episode_index import Step
from zorkgpt.viewer.values import moment
from zorkgpt.world.directions import canonical_direction, exit_name

Way = tuple[int, str]
"""A room and the name of a way out of it."""


@dataclass
class MapTimeline:
    """Every value that is a number without a name is a moment."""

    rooms: dict[int, int] = field(default_factory=dict)
    ways: dict[Way, dict[int, int]] = field(default_factory=dict)
    """Where a way led → since when that is known."""
    said: dict[Way, int] = field(default_factory=dict)
    """Ways out that a text named."""
    tried: dict[Way, int] = field(default_factory=dict)
    deadly: dict[Way, int] = field(default_factory=dict)
    changes: int = 0
    """How often something new was learned."""

    def take(self, episode: int, turns: Iterable[tuple[int, Step]]) -> None:
        for turn, step in turns:
            self._take(step, moment(episode, turn))

    def arrive(self, room: int, at: int) -> None:
        """The player stands here."""
        self._learn(self.rooms, room, at)

    def _take(self, step: Step, at: int) -> None:
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
