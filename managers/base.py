"""The lifecycle of a manager."""

import logging
from abc import ABC
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.runlog.events import Event


class BaseManager(ABC):
    """Connects an engine in `zorkgpt` with the episodes and turns of a run.

    When an episode is resumed, it processes the turns and the other events of its log again, in order.

    Attributes:
        logger, config, game_state: The arguments.
    """

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        self.logger = logger
        self.config = config
        self.game_state = game_state

    def reset(self) -> None:
        """Clear the state of the last episode and start a new one."""

    def resume(self) -> None:
        """Prepare to continue an interrupted episode, before its turns. Defaults to `reset`."""
        self.reset()

    def process_turn(self, record: TurnRecord) -> None:
        """Learn from a turn. When an episode is resumed, its turns are processed again."""

    def repeat(self, event: Event) -> None:
        """Repeat an event of a resumed episode that is not a turn: restore what it had changed."""

    def process_periodic_update(self) -> None:
        """Do periodic work if it is due. Called after every turn."""

    def end_episode(self, reason: str) -> None:
        """Finish the episode and save what later episodes need. Errors are logged and don't affect other managers.

        Args:
            reason: An `EpisodeEnding`.
        """

    def get_status(self) -> dict[str, Any]:
        """Return `{"type": ..., "metrics": {...}}`."""
        raise NotImplementedError
