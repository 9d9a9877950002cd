"""The lifecycle that all managers share."""

import logging
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord


class BaseManager:
    """Connects an engine in `zorkgpt` with the episodes and turns of a run.

    A manager that is also a `session.checkpoint.Snapshot`, and listed as one in `orchestration.assembly`, is restored
    from the checkpoint when an episode is resumed. All others process the turns of the episode again.
    """

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        self._log = logger
        self._config = config
        self._state = game_state

    def reset(self) -> None:
        """Forget what belongs to the last episode and begin a new one."""

    def resume(self) -> None:
        """Prepare to continue an interrupted episode, before its turns. By default, the same as `reset`."""
        self.reset()

    def process_turn(self, record: TurnRecord) -> None:
        """Learn from a turn. When an episode is resumed, its turns are processed again."""

    def process_periodic_update(self) -> None:
        """Do periodic work if it is due. Called after every turn."""

    def get_status(self) -> dict[str, Any]:
        """Return `{"type": ..., "state": ..., "metrics": {...}}`, for people and reports."""
        raise NotImplementedError
