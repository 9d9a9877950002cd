"""Replay the commands that a search has found, and the best line on the player's request."""

import logging
from collections.abc import Callable
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
from zorkgpt.explore.replay import Journey, ReplayRoute
from zorkgpt.explore.trail import observed_state
from zorkgpt.run_folder import BEST_LINE_FILE
from zorkgpt.world.graph import MapGraph

RouteSearch = Callable[[ReplayRoute | None], ReplayRoute | None]
"""Continues a search from the best known commands, and returns the best so far. None if nothing was found."""


class ReplayManager(BaseManager):
    """Provides the commands of earlier episodes, as long as they have the same results.

    Args:
        game: The game, which verifies the best line between episodes.
        archive: Reads the earlier episodes of the same story and seed.
        graph: The map, for detours and deadly actions.
        keeps_line: Whether to maintain and offer the best line.
        search: Searches for commands to start an episode with. None without a search.
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
        keeps_line: bool,
        search: RouteSearch | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._game, self._reader, self._graph = game, archive, graph
        self._line_file = Path(config.zork_game_workdir) / BEST_LINE_FILE if keeps_line else None
        self._search = search
        line = load_line(self._line_file, game.story.sha256, archive.seed) if self._line_file else None
        self._follower = LineFollower(line, graph)
        self.journey: Journey | None = None
        """The commands that a search found for the start of this episode. None without a search."""
        self._counts = {"searches": 0, "arrived": 0, "diverged": 0, "turns_replayed": 0, "followed": 0}

    @property
    def followed(self) -> Journey | None:
        """The part of the best line that the player last asked for. None if it asked for none in this episode."""
        return self._follower.followed

    def reset(self) -> None:
        """Verify the best line, and search for the first commands of this episode."""
        self.resume()
        if self._line_file is not None:
            self._improve_line(self._line_file)
        if self._search is not None:
            self._start_search(self._search)

    def resume(self) -> None:
        """Prepare to continue an episode. `restore` restores its journeys."""
        self._counts = dict.fromkeys(self._counts, 0)
        self.journey, self._follower = None, LineFollower(self._follower.line, self._graph)
        self._reader.refresh(before=self.game_state.episode_id)

    def _start_search(self, search: RouteSearch) -> None:
        try:
            route = search(self._follower.line.route if self._follower.line else None)
        except ZorkGPTError as error:
            self.logger.warning("the search failed", extra={"reason": str(error)})
            return
        if route is not None:
            self.journey = Journey(route)
            self._counts["searches"] += 1

    def _improve_line(self, path: Path) -> None:
        known = self._follower.line
        try:
            line = improved_line(self._reader.archive, known, self._game, self._reader.seed, self._graph.route)
        except ZorkGPTError as error:
            self.logger.warning("the best line could not be verified", extra={"reason": str(error)})
            return
        if line is not None and line is not known:
            save_line(path, line)
            self._follower = LineFollower(line, self._graph)

    def ahead(self, now: Observation) -> LineAhead | None:
        """Return the rest of the best line. None if this state is not on it or nothing is left."""
        return self._follower.ahead(now, self.game_state.turn_count)

    def follow(self, now: Observation, most: int | None = None) -> Journey | None:
        """Start to follow the best line, for at most `most` steps. None if this state is not on it."""
        part = self._follower.follow(now, self.game_state.turn_count, most)
        self._counts["followed"] += part is not None
        return part

    def snapshot(self) -> dict[str, Any]:
        """Return the journeys with their progress."""
        journey = self.journey.snapshot() if self.journey else None
        return {"journey": journey, "counts": dict(self._counts), **self._follower.snapshot()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""
        self.journey = Journey.restored(state["journey"], self._graph.route) if state["journey"] else None
        self._follower.restore(state)
        self._counts |= state["counts"]

    def process_turn(self, record: TurnRecord) -> None:
        """Compare the turn with the planned step, and log a difference."""
        if record.player == FOLLOWED and not self._follower.is_following:
            # A turn that is played again after an interruption does not ask the player.
            self.follow(record.transition.before)
        self._follower.process(record.transition)
        journey = self.journey
        if journey is None or journey.next is None:
            return
        journey.follow(record.transition.action, observed_state(record.transition.after))
        self._counts["turns_replayed"] += 1
        if journey.next is None:
            self._counts["arrived" if journey.arrived else "diverged"] += 1
        if journey.difference:
            extra = {"turn": record.turn, "reason": journey.difference}
            self.logger.warning("replayed commands had another result", extra=extra)

    def get_status(self) -> dict[str, Any]:
        """Return the counts of journeys by their results, and the size of the best line."""
        archive, line = self._reader.archive, self._follower.line
        metrics = self._counts | {"cells": len(archive.cells), "episodes": archive.episodes}
        metrics |= {"best_line_score": line.score if line else 0, "best_line": len(line.route.steps) if line else 0}
        return {"type": "replay", "metrics": metrics}
