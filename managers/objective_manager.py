"""Check the objectives on every turn, review them when due, and save lasting ones."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from managers.background import BackgroundQuestions
from managers.base import BaseManager
from managers.objective_records import ObjectiveRecords
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.directions import exit_name
from zorkgpt.objectives.file import ObjectivesFile, restore_tracker, tracker_to_dict
from zorkgpt.objectives.models import EpisodeTurn, prompt_line
from zorkgpt.objectives.own_lines import own_lines
from zorkgpt.objectives.review import ReviewClock
from zorkgpt.objectives.search import ObjectiveSearch
from zorkgpt.objectives.tracker import ObjectiveTracker
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.run_folder import OBJECTIVES_FILE
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.world.graph import MapGraph

_UPDATE = "objectives"
"""The kind of work in the background."""


class ObjectiveManager(BaseManager):
    """Keeps the objectives that the player pursues.

    Args:
        search: Finds and refines objectives. Defaults to rules without map and memories.
        episode_log: Records changes of the objectives. Defaults to a log that writes nothing.
        background: Runs the reviews. By default, they are made immediately.
        remember: Whether to load and save the objectives.

    Raises:
        ZorkGPTError: If the objectives file exists, and can't be read or was written by a later version.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        search: ObjectiveSearch | None = None,
        episode_log: EpisodeLog | None = None,
        background: BackgroundQuestions | None = None,
        remember: bool = True,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._search = search or ObjectiveSearch(MapGraph(), rules=RuleObjectiveFinder())
        self.tracker = ObjectiveTracker(stale_after=config.objective_stale_after_turns, exit_name_of=exit_name)
        file = ObjectivesFile(Path(config.zork_game_workdir) / OBJECTIVES_FILE) if remember else None
        episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._records = ObjectiveRecords(logger, self.tracker, episode_log, file)
        self._review = ReviewClock(config)
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_UPDATE, self._find)

    def reset(self) -> None:
        """Start a new episode with the saved objectives, including those of other processes."""
        self._records.start_episode()
        self._review.reset()

    def open(self) -> None:
        """Find the goal of the game in the opening text, unless earlier episodes left objectives."""
        if self._search.asks_model and not self.tracker.objectives:
            self._background.start(_UPDATE, [0, 1])

    def process_turn(self, record: TurnRecord) -> None:
        """Apply the player's own changes, and check each objective against the Z-machine."""
        lines, turn = own_lines(record.reasoning), EpisodeTurn(record.episode, record.turn)
        # Before the update, because the numbers refer to the order in the prompt.
        self.tracker.accept_claims(lines.done, turn, lines.dropped)
        self.tracker.update(record)
        self._search.add_own(self.tracker, lines.new, record)
        self._review.process(record)

    def process_periodic_update(self) -> None:
        """Start a review if one is due, then save and log the changes. Called once per turn."""
        turn = self.game_state.turn_count
        if not (self.game_state.finished or self._background.open.is_open(_UPDATE)):
            reviewed = self._review.take_due(turn)
            if reviewed or self._is_refinement_due(turn):
                self._background.start(_UPDATE, [turn, reviewed])
        self._records.write_changes()

    def end_episode(self, reason: str) -> None:
        """Abandon the objectives that are only valid in this episode, and save and log the others."""
        self.tracker.end_episode()
        self._records.write_changes()

    def lines(self) -> tuple[str, ...]:
        """Return the lines of the prompt for all pursued objectives, the most promising first."""
        names = self._search.room_names()
        return tuple(prompt_line(objective, names) for objective in self.tracker.pursued())

    def destination(self) -> int | None:
        """Return the location of the most promising objective with a location. None if there is none."""
        return next((objective.places[0] for objective in self.tracker.pursued() if objective.places), None)

    def _find(self, about: Sequence[int]) -> None:
        """Find new objectives in the turns up to a turn, and refine the list if that is due.

        Args:
            about: The turn, and the number of turns to review. 0 only refines.
        """
        (turn, reviewed), max_score = about, self.game_state.max_score
        if reviewed and (turns := self.game_state.turns_until(turn, reviewed)):
            with self._records.errors_logged("model", "the model could not review the objectives"):
                is_last = self.game_state.is_last_turn(self.config.max_turns_per_episode)
                self._search.discover(self.tracker, turns, max_score=max_score, is_last_turn=is_last)
        if turn and self._is_refinement_due(turn):
            most = self.config.refined_objectives_target_count
            with self._records.errors_logged("model", "the model could not review the objectives"):
                self._search.refine(self.tracker, self.game_state.turns_until(turn, 1)[-1], most, max_score=max_score)
        self._records.write_changes()

    def _is_refinement_due(self, turn: int) -> bool:
        is_last = self.game_state.is_last_turn(self.config.max_turns_per_episode)
        return not is_last and self._review.is_refinement_due(turn, len(self.tracker.pursued()))

    def snapshot(self) -> dict[str, Any]:
        """Return the objectives of the running episode, and the state of the reviews."""
        return {"book": tracker_to_dict(self.tracker), "review": self._review.snapshot()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`. Earlier turns are not processed again.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: If `state` is malformed. The objectives are unchanged.
        """
        review = ReviewClock(self.config)
        review.restore(state["review"])
        restore_tracker(self.tracker, state["book"])
        self._review = review
        self._records.restart_after_restore()

    def get_status(self) -> dict[str, Any]:
        """Return the number of objectives, and the counts of this episode."""
        return {"type": "objective", "metrics": self.tracker.metrics()}
