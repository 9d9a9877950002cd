"""Undo the last turns of a person who plays."""

from collections import deque
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from managers.objective_manager import ObjectiveManager
from orchestration.services import Services
from session.history import TurnRecord
from zorkgpt.runlog.events import ObjectivesUpdated

_MOST_UNDONE = 100
"""Maximum turns that can be undone."""


@dataclass(frozen=True)
class _UndoState:
    """The state before a turn."""

    game: bytes
    latest: TurnRecord | None
    memory: dict[str, Any] | None
    objectives: ObjectivesUpdated


class UndoHistory:
    """The states before the last turns of the episode."""

    def __init__(self, services: Services, objectives: ObjectiveManager) -> None:
        self._game, self._state, self._memory = services.game, services.state, services.memory
        self._objectives = objectives
        self._states: deque[_UndoState] = deque(maxlen=_MOST_UNDONE)

    def clear(self) -> None:
        """Forget all states, because another episode starts."""
        self._states.clear()

    def add(self) -> None:
        """Save the state before a turn."""
        memory = deepcopy(self._memory.snapshot()) if self._memory else None
        self._states.append(_UndoState(self._game.save_state(), self._state.latest, memory, self._objectives.state()))

    def undo(self) -> bool:
        """Restore the game, the episode's memory and the objectives to the state before the last turn.

        The record of the turn remains. Returns False if there is nothing to undo.
        """
        if not self._states:
            return False
        before = self._states.pop()
        self._game.restore_state(before.game)
        if self._memory and before.memory is not None:
            self._memory.undo_to(before.memory)
        self._objectives.undo_to(before.objectives)
        self._state.latest = before.latest
        self._state.observe(self._game.observe())
        return True
