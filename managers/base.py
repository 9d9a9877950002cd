"""The life that every manager has, with plain defaults for what it has no use for."""

import logging
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord


class Manager:
    """Connects an engine with episodes and turns: the engine knows nothing of them, the manager knows little else.

    A manager that is also a `session.checkpoint.Snapshot` and listed as one in `orchestration.assembly` is restored
    from the checkpoint when an episode is resumed. All others process the turns of the episode again.
    """

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        self._log = logger
        self._config = config
        self._state = game_state

    def reset_episode(self) -> None:
        """Begin a new episode: forget what was only true of the old one."""

    def reset(self) -> None:
        """Do the same as `reset_episode`."""
        self.reset_episode()

    def resume_episode(self) -> None:
        """Get ready to go on with an interrupted episode; its turns or the snapshot follow."""
        self.reset_episode()

    def process_turn(self, record: TurnRecord) -> None:
        """Learn from a turn. When an episode is resumed, its turns are processed again."""

    def process_periodic_update(self) -> None:
        """Do what is only due now and then; called after every turn."""

    def get_status(self) -> dict[str, Any]:
        """Return `{"type": ..., "state": ..., "metrics": {...}}`, for people and reports."""
        raise NotImplementedError
