"""Replays commands: what a search has found, and the best line on the player's request."""

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
from zorkgpt.explore.archive import ArchiveReader, TrailReader
from zorkgpt.explore.best_line import LineAhead, improved_line, load_line, save_line
from zorkgpt.explore.line_following import LineFollower
from zorkgpt.explore.replay import Journey, ReplayRoute
from zorkgpt.explore.trail import observed_state
from zorkgpt.run_folder import BEST_LINE_FILE
from zorkgpt.world.graph import MapGraph

RouteSearch = Callable[[ReplayRoute | None], ReplayRoute | None]
"""Searches on from the best commands that are known, and returns the best so far; None if nothing was found."""


class ReplayManager(BaseManager):
    """Provides the commands of earlier episodes, as long as they lead where they did before.

    Args:
        game: The game; only episodes of its story, with the same seed, can be replayed. Between episodes the best line
            is verified in it.
        trails: Reads the earlier episodes.
        graph: Leads back to a way that is lost, and says what is deadly.
        keeps_line: Whether the best line is kept and offered.
        search: Searches for commands to begin an episode with; None if it begins without.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        game: Game,
        seed: int,
        graph: MapGraph,
        trails: TrailReader,
        keeps_line: bool,
        search: RouteSearch | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._game, self._seed, self._graph = game, seed, graph
        workdir = Path(config.zork_game_workdir)
        self._reader = ArchiveReader(trails, seed)
        self._line_file = workdir / BEST_LINE_FILE if keeps_line else None
        self._search = search
        line = load_line(self._line_file, game.story.sha256, seed) if self._line_file else None
        self._follower = LineFollower(line, graph)
        self.journey: Journey | None = None
        """What a search has found for the beginning of this episode; None if it began without it."""
        self._counts = {"searches": 0, "arrived": 0, "diverged": 0, "turns_replayed": 0, "followed": 0}

    @property
    def followed(self) -> Journey | None:
        """The part of the best line that the player asked for last; None if it asked for none in this episode."""
        return self._follower.followed

    def reset(self) -> None:
        """Verify the best line, and search for what this episode begins with."""
        self.resume()
        if self._line_file is not None:
            self._improve_line(self._line_file)
        if self._search is not None:
            self._play_found(self._search)

    def resume(self) -> None:
        """Leave the journeys to `restore`: they were chosen before the interruption."""
        self._counts = dict.fromkeys(self._counts, 0)
        self.journey, self._follower = None, LineFollower(self._follower.line, self._graph)
        self._reader.refresh(before=self._state.episode_id)

    def _play_found(self, search: RouteSearch) -> None:
        try:
            route = search(self._follower.line.route if self._follower.line else None)
        except ZorkGPTError as error:
            self._log.warning("the search failed", extra={"reason": str(error)})
            return
        if route is not None:
            self.journey = Journey(route)
            self._counts["searches"] += 1

    def _improve_line(self, path: Path) -> None:
        known = self._follower.line
        try:
            line = improved_line(self._reader.archive, known, self._game, self._seed, self._graph.planner.route)
        except ZorkGPTError as error:
            self._log.warning("the best line could not be verified", extra={"reason": str(error)})
            return
        if line is not None and line is not known:
            save_line(path, line)
            self._follower = LineFollower(line, self._graph)

    def ahead(self, now: Observation) -> LineAhead | None:
        """Return the rest of the best line; None if there is none, or this state is not on it."""
        return self._follower.ahead(now, self._state.turn_count)

    def follow(self, now: Observation, most: int | None = None) -> Journey | None:
        """Begin to follow the best line, for at most so many steps; None if this state is not on it."""
        part = self._follower.follow(now, self._state.turn_count, most)
        self._counts["followed"] += part is not None
        return part

    def snapshot(self) -> dict[str, Any]:
        """Return the journeys and how far they have got."""
        journey = self.journey.snapshot() if self.journey else None
        return {"journey": journey, "counts": dict(self._counts), **self._follower.snapshot()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue the journeys that `snapshot` returned."""
        self.journey = Journey.restored(state["journey"], self._graph.planner.route) if state["journey"] else None
        self._follower.restore(state)
        self._counts |= state["counts"]

    def process_turn(self, record: TurnRecord) -> None:
        """Compare the turn with the step that was planned, and log if it led elsewhere."""
        if record.player == FOLLOWED and not self._follower.is_following:
            # The turn is played again after an interruption, so the player was not asked.
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
            self._log.warning("the commands that were found led elsewhere", extra=extra)

    def get_status(self) -> dict[str, Any]:
        """Return how many journeys there were and how they ended, and the best line."""
        archive, line = self._reader.archive, self._follower.line
        metrics = self._counts | {"cells": len(archive.cells), "episodes": archive.episodes}
        metrics |= {"best_line_score": line.score if line else 0, "best_line": len(line.route.steps) if line else 0}
        replaying = self._follower.is_following or (self.journey is not None and self.journey.next is not None)
        return {"type": "replay", "state": "replaying" if replaying else "exploring", "metrics": metrics}
