"""What was tried without effect in an episode: which attempts repeat an earlier one, and how many a place has seen."""

from typing import Any

from zorkgpt.memory.asking import attempt_key, changes_anything
from zorkgpt.memory.models import PlaceKey
from zorkgpt.memory.places import saved_place
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.synthesis import SynthesisRequest


class Attempts:
    """Follows the actions that changed nothing."""

    def __init__(self) -> None:
        self._in_vain: set[str] = set()
        """The attempts that changed nothing, see `attempt_key`, since something was changed last."""
        self._noted: set[tuple[PlaceKey, str]] = set()
        """Each place and action of the episode that was noted."""
        self._waiting: dict[PlaceKey, dict[int, str]] = {}
        """Turn → action, of those that no entry counts yet."""
        self._worked: dict[PlaceKey, set[str]] = {}
        """The actions of the episode that had an effect at a place."""

    def is_repeated(self, turn: SynthesisRequest) -> bool:
        """Return whether the same was tried in the same state before and changed nothing either, and note the turn."""
        if changes_anything(turn):
            self._in_vain.clear()
        if not turn.context.nothing_changed:
            return False
        key = attempt_key(turn)
        repeated = key in self._in_vain
        self._in_vain.add(key)
        return repeated

    def note(self, turn: SynthesisRequest) -> None:
        """Note an action without effect, once an episode for each place. What the parser refused was no attempt."""
        place, action = turn.location_id, folded(turn.action)
        if turn.arrival or turn.context.refused_by_parser:
            return
        if not turn.context.nothing_changed:
            self._worked.setdefault(place, set()).add(action)
            self._waiting.setdefault(place, {})
        elif (place, action) not in self._noted:
            self._noted.add((place, action))
            self._waiting.setdefault(place, {})[turn.context.turn] = action

    def worked(self, location_id: PlaceKey) -> set[str]:
        """Return the actions that had an effect at a place in this episode."""
        return set(self._worked.get(location_id, ()))

    def take(self, location_id: PlaceKey) -> dict[int, str]:
        """Return turn → action of those that are to be counted at a place, in their order, and drop them."""
        return self._waiting.pop(location_id, {})

    @property
    def places(self) -> tuple[PlaceKey, ...]:
        """The places with turns to be counted, or with actions that had an effect."""
        return tuple(self._waiting)

    def snapshot(self) -> dict[str, Any]:
        """Return the attempts of the episode as plain values."""
        return {
            "in_vain": sorted(self._in_vain),
            "noted": [list(attempt) for attempt in sorted(self._noted, key=str)],
            "worked": [[place, sorted(actions)] for place, actions in self._worked.items()],
            "waiting": [[place, list(actions.items())] for place, actions in self._waiting.items()],
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue an interrupted episode from what `snapshot` returned."""
        self._in_vain = set(map(str, saved["in_vain"]))
        self._noted = {(saved_place(place), str(action)) for place, action in saved["noted"]}
        self._worked = {saved_place(place): set(map(str, actions)) for place, actions in saved["worked"]}
        waiting = ((saved_place(place), actions) for place, actions in saved["waiting"])
        self._waiting = {place: {int(turn): str(action) for turn, action in actions} for place, actions in waiting}
