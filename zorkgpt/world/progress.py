"""Detect a lack of progress in an episode: turns without anything new, and returns to an earlier state."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from game_interface.models import Observation, Transition
from session.history import TurnRecord
from zorkgpt.text import normalized_action


class NoveltyTracker:
    """Counts the turns since the last new room, object, best score or memory of the episode."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._places: set[int] = set()
        self._objects: set[int] = set()
        self._best: int | None = None
        self._last = 0

    def learn(self, record: TurnRecord) -> int:
        """Process a turn and return the number of turns since the last one with something new."""
        step = record.transition
        if not self._places and not self._objects:
            self._observe(step.before)
            self._last = record.turn - 1
        remembered = any(event.kind == "added" for event in record.memory_events)
        if self._observe(step.after) or remembered:
            self._last = record.turn
        return record.turn - self._last

    def _observe(self, now: Observation) -> bool:
        places = {now.location.num} if now.location else set()
        objects = {item.num for item in now.at_hand}
        scored = now.score is not None and (self._best is None or now.score > self._best)
        new = scored or not places <= self._places or not objects <= self._objects
        self._places |= places
        self._objects |= objects
        self._best = now.score if scored else self._best
        return new


_StateKey = int | tuple[int, str]
"""An object whose parent has changed since the start, or (object, attribute) if its value has changed."""
_MIN_UNSEEN_CHANGES = 2
_MIN_LOOP_TURNS = 4
"""Going somewhere and back once does not count as a loop. Twice does."""
_MIN_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Loop:
    """A sequence of turns that led back to an earlier state of the world."""

    since: int
    """The turn after which the world was in the same state as now."""
    turns: int
    """The number of turns since then."""
    repeated: str = ""
    """The repeated action without effect that got the same response each time; "" for a longer loop."""
    times: int = 0
    """The number of repetitions."""
    unnamed: bool = False
    """Whether something other than parents and attributes of objects changed, so the world may differ."""


@dataclass(frozen=True, slots=True)
class _WorldState:
    turn: int
    place: int | None
    vehicle: int | None
    score: int | None
    carried: frozenset[int]
    changes: dict[_StateKey, int]
    """The differences from the start of the episode."""
    action: str = ""
    response: str = ""
    unnamed: int = 0
    """The number of turns so far that changed something other than parents and attributes."""


class RecurrenceDetector:
    """Detects states of the world that are equal to one of the last `window` states.

    The state consists of the place, the score, the carried things, and the parents and attributes of all objects.
    Objects that have changed out of sight more than once, such as a roaming creature, are ignored, because they would
    make every state new.

    Args:
        new_places_count: Whether a new place makes the state new, even if nothing else changed.
    """

    def __init__(self, window: int, *, new_places_count: bool = True) -> None:
        self._past: deque[_WorldState] = deque(maxlen=window)
        self._new_places_count = new_places_count
        self.clear()

    def clear(self) -> None:
        self._past.clear()
        self._origins: dict[_StateKey, int] = {}
        self._changes: dict[_StateKey, int] = {}
        self._out_of_sight: Counter[_StateKey] = Counter()
        self._unnamed = 0

    def learn(self, turn: int, step: Transition) -> Loop | None:
        """Process a turn and return the loop that it closed; None if it closed none."""
        same = self._same_states(turn, step)
        return _loop(same, self._past[-1]) if same else None

    def equal_turns(self, turn: int, step: Transition) -> tuple[int, ...]:
        """Process a turn and return the earlier turns with the same state after them."""
        return tuple(past.turn for past in self._same_states(turn, step))

    def _same_states(self, turn: int, step: Transition) -> list[_WorldState]:
        """Process a turn and return the earlier equal states, oldest first."""
        if not self._past:
            if step.before.location is not None:
                self._changes[step.before.location.num, "seen"] = True
            self._past.append(self._world_state(turn - 1, step.before))
        near = _at_hand(step)
        for move in step.moved:
            origin, destination = move.origin_number or 0, move.destination_number or 0
            self._change(move.number, origin, destination, seen=bool(near & {move.number, origin, destination}))
        for flip in step.changed:
            self._change((flip.number, flip.attribute), not flip.value, flip.value, seen=flip.number in near)
        if step.after.location is not None and self._new_places_count:
            self._changes[step.after.location.num, "seen"] = True
        self._unnamed += step.unnamed_change
        now = self._world_state(turn, step.after, normalized_action(step.action), step.response)
        same = [past for past in self._past if self._equal(past, now)]
        self._past.append(now)
        return same

    def _change(self, what: _StateKey, before: int, after: int, *, seen: bool) -> None:
        self._out_of_sight[what] += not seen
        if self._origins.setdefault(what, before) == after:
            self._changes.pop(what, None)
        else:
            self._changes[what] = after

    def _world_state(self, turn: int, seen: Observation, action: str = "", response: str = "") -> _WorldState:
        return _WorldState(
            turn,
            seen.location_id,
            seen.vehicle.num if seen.vehicle else None,
            seen.score,
            frozenset(item.num for item in seen.carried or ()),
            dict(self._changes),
            action,
            response,
            self._unnamed,
        )

    def _equal(self, one: _WorldState, other: _WorldState) -> bool:
        if (one.place, one.vehicle, one.score, one.carried) != (other.place, other.vehicle, other.score, other.carried):
            return False
        differing = {what for what, _ in one.changes.items() ^ other.changes.items()}
        return all(self._out_of_sight[what] >= _MIN_UNSEEN_CHANGES for what in differing)


def _loop(same: Sequence[_WorldState], now: _WorldState) -> Loop | None:
    """Return the loop from earlier turns with the same state to now.

    Args:
        same: The earlier states, oldest first, at least one.
    """
    turns = now.turn - same[0].turn
    if same[-1].turn < now.turn - 1:
        unnamed = now.unnamed != same[0].unnamed
        return Loop(same[0].turn, turns, unnamed=unnamed) if turns >= _MIN_LOOP_TURNS else None
    alike = [past for past in same if (past.action, past.response) == (now.action, now.response)]
    if len(alike) + 1 < _MIN_REPETITIONS:
        return None
    unnamed = now.unnamed != alike[0].unnamed
    return Loop(alike[0].turn, now.turn - alike[0].turn, now.action, len(alike) + 1, unnamed)


def _at_hand(step: Transition) -> set[int]:
    """Return the objects that the player saw, carried or was in, before or after the turn."""
    near: set[int] = set()
    for state in (step.before, step.after):
        near |= {item.num for item in state.at_hand}
        near |= {place.num for place in (state.location, state.vehicle) if place is not None}
    return near
