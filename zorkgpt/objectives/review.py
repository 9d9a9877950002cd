"""Decide when the objectives are reviewed."""

from collections.abc import Collection
from typing import Any

from session.game_configuration import GameConfiguration
from session.history import TurnRecord

_AREA_PLACES = 5
"""The number of new places that count as a new area."""
_MIN_TURNS = 10
"""Minimum turns between two reviews."""


class ReviewClock:
    """Decides when a review is due.

    Events make a review due: points, a death, something opened, or a new area. So do `objective_update_interval` turns
    without an event.
    """

    def __init__(self, config: GameConfiguration) -> None:
        self._config = config
        self._interval = config.objective_update_interval
        self.reset()

    def reset(self) -> None:
        """Start an episode."""
        self._last = self._progressed = 0
        self._has_event = False
        self._new_places = 0

    def process(self, record: TurnRecord, visited: Collection[int]) -> None:
        """Record what a turn did.

        Args:
            visited: The rooms visited before the turn. The one where it begins may be missing.
        """
        step = record.transition
        here, there = step.before.location_id, step.after.location_id
        if there is not None and there != here and there not in visited:
            self._new_places += 1
            self._progressed = record.turn
        opened = any(change.attribute == "open" and change.value and not change.by_itself for change in step.changed)
        if step.points > 0 or step.died or opened or self._new_places >= _AREA_PLACES:
            self._has_event = True

    def take_due(self, turn: int) -> int:
        """Start a review if one is due, and return the number of turns to review, up to this one; 0 if none is due."""
        since = turn - self._last
        if self._has_event:
            is_due = since >= min(_MIN_TURNS, self._interval)
        else:
            is_due = turn - max(self._last, self._progressed) >= self._interval
        if not is_due:
            return 0
        self._last = self._progressed = turn
        self._has_event, self._new_places = False, 0
        return since

    def is_refinement_due(self, turn: int, pursued: int) -> bool:
        """Return whether the number of pursued objectives must be reduced after this turn."""
        config = self._config
        is_due = turn % config.objective_refinement_interval == 0
        too_many = pursued > config.max_objectives_before_forced_refinement
        enough = pursued > config.refined_objectives_target_count
        return bool(config.enable_objective_refinement and enough and (is_due or too_many))

    def snapshot(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "last": self._last,
            "progressed": self._progressed,
            "has_event": self._has_event,
            "new_places": self._new_places,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`.

        Raises:
            KeyError, TypeError, ValueError: If `state` is malformed.
        """
        self._last, self._progressed = int(state["last"]), int(state["progressed"])
        self._has_event, self._new_places = bool(state["has_event"]), int(state["new_places"])
