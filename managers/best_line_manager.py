"""Keep the best line, and follow it at the player's request."""

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
from zorkgpt.explore.best_line import LineAhead, improved_line, load_line, save_line
from zorkgpt.explore.line_following import FollowedPart, LineFollower
from zorkgpt.explore.trails import Trails
from zorkgpt.run_folder import BEST_LINE_FILE
from zorkgpt.world.graph import MapGraph


class BestLineManager(BaseManager):
    """Improves the best line before each episode, and follows it as long as its commands have the same results.

    Args:
        game: The game, which verifies the line between episodes.
        trails: Reads the earlier episodes of the story.
        seed: The seed of this run. Only episodes with the same seed are used.
        graph: The map, which knows the deadly actions.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        game: Game,
        trails: Trails,
        seed: int,
        graph: MapGraph,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._game, self._trails, self._seed, self._graph = game, trails, seed, graph
        self._file = Path(config.zork_game_workdir) / BEST_LINE_FILE
        self._follower = LineFollower(load_line(self._file, game.story.sha256, seed), graph)
        self._times = 0
        """How often the player has asked to follow the line in this episode."""

    @property
    def followed(self) -> FollowedPart | None:
        """The part of the line that the player last asked for. None if it asked for none in this episode."""
        return self._follower.followed

    def reset(self) -> None:
        """Improve the line with the episodes so far."""
        known = self._follower.line
        trails = [trail for trail in self._trails.before(self.game_state.episode_id) if trail.seed == self._seed]
        try:
            line = improved_line(trails, known, self._game, self._seed)
        except ZorkGPTError as error:
            self.logger.warning("the best line could not be verified", extra={"reason": str(error)})
            line = known
        if line is not None and line is not known:
            save_line(self._file, line)
        self._follower, self._times = LineFollower(line, self._graph), 0

    def resume(self) -> None:
        """Prepare to continue an episode."""
        self._follower, self._times = LineFollower(self._follower.line, self._graph), 0

    def ahead(self, now: Observation) -> LineAhead | None:
        """Return the rest of the line. None if this state is not on it or nothing is left."""
        return self._follower.ahead(now, self.game_state.turn_count)

    def follow(self, now: Observation, most: int | None = None) -> FollowedPart | None:
        """Start to follow the line, for at most `most` steps. None if this state is not on it."""
        part = self._follower.follow(now, self.game_state.turn_count, most)
        self._times += part is not None
        return part

    def snapshot(self) -> dict[str, Any]:
        """Return the followed part with its progress."""
        return {"times": self._times, **self._follower.snapshot()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""
        self._follower.restore(state)
        self._times = state["times"]

    def process_turn(self, record: TurnRecord) -> None:
        """Compare the turn with the line."""
        if record.player == FOLLOWED and not self._follower.is_following:
            # A turn that is played again after an interruption does not ask the player.
            self.follow(record.transition.before)
        self._follower.process(record.transition)

    def get_status(self) -> dict[str, Any]:
        """Return the score and length of the line, and how often it was followed."""
        line = self._follower.line
        score, length = (line.score, len(line.steps)) if line else (0, 0)
        return {"type": "best_line", "metrics": {"score": score, "commands": length, "followed": self._times}}
