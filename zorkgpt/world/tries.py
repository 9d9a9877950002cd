"""The actions that failed at a place and those that opened its exits, and the things that nobody has tried."""

from collections.abc import Collection
from dataclasses import dataclass, field

from session.experience import Result
from zorkgpt.directions import canonical_direction
from zorkgpt.record.experience import Experience, ExperienceRow, Place


@dataclass(slots=True)
class PlaceTries:
    """What the actions at one place led to, in all episodes."""

    failed: dict[str, str] = field(default_factory=dict)
    """Action → the response, for actions whose last try had no effect and that had none before in that episode."""
    opened_by: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Exit → the actions with an effect that preceded every opening: after it led nowhere and before it worked."""

    _successes: dict[str, None] = field(default_factory=dict)
    """The actions that had an effect in this episode, in order."""
    _did_not_open: dict[str, set[str]] = field(default_factory=dict)
    """Exit → actions with an effect after which it led nowhere."""

    def begin_episode(self) -> None:
        self._successes = {}

    def add(self, row: ExperienceRow) -> None:
        action = row.action
        if row.shows(Result.WORKED):
            if canonical_direction(action) and (action in self.opened_by or action in self.failed):
                self._add_opening(action)
            self.failed.pop(action, None)
            self._did_not_open.pop(action, None)
            self._successes[action] = None
        elif row.shows(Result.UNCHANGED) and action not in self._successes:
            # An action that has succeeded before fails now because it is done already.
            self.failed[action] = row.response
            if canonical_direction(action):
                self._did_not_open.setdefault(action, set()).update(self._possible_openers)

    def _add_opening(self, way: str) -> None:
        ineffective = self._did_not_open.get(way, ())
        openers = tuple(action for action in self._possible_openers if action not in ineffective)
        known = self.opened_by.get(way, openers)
        if common := tuple(action for action in known if action in openers) or known:
            self.opened_by[way] = common

    @property
    def _possible_openers(self) -> list[str]:
        """The actions that succeeded and may have opened an exit, which walking can't."""
        return [action for action in self._successes if canonical_direction(action) is None]


def tries_at(experience: Experience, place: Place) -> PlaceTries:
    """Return what the actions at a place led to."""
    tries, episode = PlaceTries(), None
    for row in experience.at(place):
        if row.episode != episode:
            episode = row.episode
            tries.begin_episode()
        tries.add(row)
    return tries


class UntriedThings:
    """Things that no action has named or changed."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[int, str]] = {}
        """Object number → the room where an untried thing was last seen, and its name."""
        self.tried: set[int] = set()
        """The objects that an action has named or changed."""

    def add(self, room_id: int, number: int, name: str) -> None:
        """Record that a thing was seen in a room."""
        if number not in self.tried:
            self.seen[number] = room_id, name

    def add_tried(self, number: int) -> None:
        """Record that an action named or changed a thing."""
        self.tried.add(number)
        self.seen.pop(number, None)

    def at(self, room_id: int, carried: Collection[int] = ()) -> tuple[str, ...]:
        """Return the names of the untried things that were last seen in a room and are not carried."""
        things = self.seen.items()
        return tuple(sorted({name for number, (room, name) in things if room == room_id and number not in carried}))
