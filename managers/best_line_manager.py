"""Keep the best line, and follow it at the player's request."""

import logging
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from game_interface.game import Game
from game_interface.models import Observation
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.directions import exit_name
from zorkgpt.errors import ZorkGPTError
from zorkgpt.explore.best_line import (
    BestLine,
    FollowedPart,
    LineAhead,
    LineStep,
    improved_line,
    load_line,
    save_line,
    state_digest,
)
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
        self._line = load_line(self._file, game.story.sha256, seed)
        self.resume()

    def reset(self) -> None:
        """Improve the line with the episodes so far."""
        known = self._line
        trails = [trail for trail in self._trails.before(self.game_state.episode_id) if trail.seed == self._seed]
        try:
            self._line = improved_line(trails, known, self._game, self._seed)
        except ZorkGPTError as error:
            self.logger.warning("the best line could not be verified", extra={"reason": str(error)})
        if self._line is not None and self._line is not known:
            save_line(self._file, self._line)
        self.resume()

    def resume(self) -> None:
        """Prepare to continue an episode."""
        self._reached = self._times = 0
        """The position on the line: the number of its steps that were taken; how often the player has followed it."""
        self.followed: FollowedPart | None = None
        """The part of the line that the player last asked for. None if it asked for none in this episode."""

    def ahead(self, now: Observation) -> LineAhead | None:
        """Return the rest of the line. None if this state is not on it or nothing is left."""
        at = self._line.position(now, self._reached) if self._line else None
        return self._line.ahead(at, self._safe_end(self._line, at)) if self._line and at is not None else None

    def follow(self, now: Observation, most: int | None = None) -> FollowedPart | None:
        """Start to follow the line, for at most `most` steps. None if this state is not on it."""
        ahead = self.ahead(now)
        return self._started(now, ahead.steps[:most] if ahead else ())

    def _started(self, now: Observation, steps: Sequence[LineStep]) -> FollowedPart | None:
        if not steps:
            return None
        self._move_to(now)
        self._times += 1
        self.followed = FollowedPart(tuple(step.action for step in steps))
        return self.followed

    def process_turn(self, record: TurnRecord) -> None:
        """Compare the turn with the line. Continue with the next step if the result is the same."""
        step = record.transition
        if record.follow and self._line and (self.followed is None or self.followed.next is None):
            # A turn that is played or processed again after an interruption does not ask the player.
            at = self._line.position(step.before, self._reached)
            self._started(step.before, () if at is None else self._line.steps[at : at + record.follow])
        planned = self.followed.next if self.followed else None
        if self._line is None or self.followed is None or planned is None:
            self._move_to(step.after)
            return
        self.followed.done += 1
        if step.action != planned:
            self.followed.difference = f"{step.action!r} was played instead of {planned!r}"
        elif state_digest(step.after) != self._line.digests[self._reached + 1]:
            self.followed.difference = f"{planned!r} led to another state than before"
        else:
            self._reached += 1

    def _move_to(self, now: Observation) -> None:
        """Take this state as the position on the line, if it is on it."""
        at = self._line.position(now, self._reached) if self._line else None
        self._reached = self._reached if at is None else at

    def _safe_end(self, line: BestLine, at: int) -> int:
        """Return the position from `at` on where the line ends or the next step has killed the player.

        If the episode has played only the line, random events are the same as before, so every step is safe.
        """
        steps = line.steps
        if self.game_state.turn_count == at:
            return len(steps)
        places = [line.start, *(step.location_id for step in steps)]
        spots = ((places[position], exit_name(steps[position].action)) for position in range(at, len(steps)))
        return at + sum(1 for _ in takewhile(lambda spot: spot not in self._graph.moves.deadly, spots))

    def get_status(self) -> dict[str, Any]:
        """Return the score and length of the line, and how often it was followed."""
        score, length = (self._line.score, len(self._line.steps)) if self._line else (0, 0)
        return {"type": "best_line", "metrics": {"score": score, "commands": length, "followed": self._times}}
