"""Follow the best line on the player's request."""

import logging
from pathlib import Path
from typing import Any

from game_interface.game import Game
from game_interface.models import Observation
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.delegating_players import FOLLOWED
from zorkgpt.errors import ZorkGPTError
from zorkgpt.explore.archive import ArchiveReader
from zorkgpt.explore.best_line import LineAhead, improved_line, load_line, save_line
from zorkgpt.explore.line_following import LineFollower
from zorkgpt.explore.replay import Journey
from zorkgpt.run_folder import BEST_LINE_FILE
from zorkgpt.world.graph import MapGraph


class ReplayManager(BaseManager):
    """Maintains the best line, and follows it as long as its commands have the same results.

    Args:
        game: The game, which verifies the best line between episodes.
        archive: Reads the earlier episodes of the same story and seed.
        graph: The map, for detours and deadly actions.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        game: Game,
        archive: ArchiveReader,
        graph: MapGraph,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._game, self._reader, self._graph = game, archive, graph
        self._file = Path(config.zork_game_workdir) / BEST_LINE_FILE
        self._follower = LineFollower(load_line(self._file, game.story.sha256, archive.seed), graph)
        self._followed = 0
        """How often the player has asked to follow the line in this episode."""

    @property
    def followed(self) -> Journey | None:
        """The part of the best line that the player last asked for. None if it asked for none in this episode."""
        return self._follower.followed

    def reset(self) -> None:
        """Verify the best line in a new game."""
        self.resume()
        known = self._follower.line
        try:
            line = improved_line(self._reader.archive, known, self._game, self._reader.seed, self._graph.route)
        except ZorkGPTError as error:
            self.logger.warning("the best line could not be verified", extra={"reason": str(error)})
            return
        if line is not None and line is not known:
            save_line(self._file, line)
            self._follower = LineFollower(line, self._graph)

    def resume(self) -> None:
        """Prepare to continue an episode."""
        self._followed, self._follower = 0, LineFollower(self._follower.line, self._graph)
        self._reader.refresh(before=self.game_state.episode_id)

    def ahead(self, now: Observation) -> LineAhead | None:
        """Return the rest of the best line. None if this state is not on it or nothing is left."""
        return self._follower.ahead(now, self.game_state.turn_count)

    def follow(self, now: Observation, most: int | None = None) -> Journey | None:
        """Start to follow the best line, for at most `most` steps. None if this state is not on it."""
        part = self._follower.follow(now, self.game_state.turn_count, most)
        self._followed += part is not None
        return part

    def snapshot(self) -> dict[str, Any]:
        """Return the followed part of the line with its progress."""
        return {"times": self._followed, **self._follower.snapshot()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""
        self._follower.restore(state)
        self._followed = state["times"]

    def process_turn(self, record: TurnRecord) -> None:
        """Compare the turn with the line."""
        if record.player == FOLLOWED and not self._follower.is_following:
            # A turn that is played again after an interruption does not ask the player.
            self.follow(record.transition.before)
        self._follower.process(record.transition)

    def get_status(self) -> dict[str, Any]:
        """Return the score and length of the best line, and how often it was followed."""
        line = self._follower.line
        score, length = (line.score, len(line.route.steps)) if line else (0, 0)
        metrics = {"score": score, "commands": length, "followed": self._followed}
        return {"type": "best_line", "metrics": metrics}
