"""Check the objectives on every turn, review them when due, and save those that outlive the episode."""

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
from zorkgpt.objectives.file import ObjectivesFile, restore_tracker, tracker_to_dict
from zorkgpt.objectives.models import EpisodeTurn, prompt_line
from zorkgpt.objectives.own_lines import own_lines
from zorkgpt.objectives.review import ReviewClock
from zorkgpt.objectives.search import ObjectiveSearch
from zorkgpt.objectives.tracker import ObjectiveTracker
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.world.directions import exit_name
from zorkgpt.world.graph import MapGraph

_UPDATE = "objectives"
"""The kind of work in the background."""


class ObjectiveManager(BaseManager):
    """Keeps the objectives that the player pursues.

    Args:
        search: Finds objectives and thins them out; None for rules that know neither map nor memories.
        episode_log: Gets an event when the set of objectives changes; None for a log that is never begun.
        background: Runs the updates; None to do them at once.
        remember: Whether the objectives of earlier episodes are read and those of this one saved.

    Raises:
        ZorkGPTError: If there is an objectives file, and it can't be read or a later version wrote it.
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
        file = ObjectivesFile(Path(config.zork_game_workdir) / config.objectives_file) if remember else None
        episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._records = ObjectiveRecords(logger, self.tracker, episode_log, file)
        self._review = ReviewClock(config)
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_UPDATE, self._find)

    def reset(self) -> None:
        """Begin a new episode with the saved objectives, including those of other processes."""
        self._records.start_episode()
        self._review.reset()

    def open(self) -> None:
        """Look for the goal of the game in the opening text, unless objectives of earlier episodes are known."""
        if self._search.asks_model and not self.tracker.objectives:
            self._background.start(_UPDATE, [0, 1])

    def process_turn(self, record: TurnRecord) -> None:
        """Take the player's own objectives, and check each objective against the Z-machine."""
        lines, turn = own_lines(record.reasoning), EpisodeTurn(record.episode, record.turn)
        # Before the update: numbers mean the order that the player was shown.
        self.tracker.accept_claims(lines.done, turn, lines.dropped)
        self.tracker.update(record)
        self._search.add_own(self.tracker, lines.new, record)
        self._review.process(record)

    def process_periodic_update(self) -> None:
        """Find new objectives and thin them out when due, then save and log the changes. Called once per turn."""
        turn = self._state.turn_count
        if not (self._state.finished or self._background.open.is_open(_UPDATE)):
            reviewed = self._review.take_due(turn)
            if reviewed or self._is_refinement_due(turn):
                self._background.start(_UPDATE, [turn, reviewed])
        self._records.write_changes()

    def end_episode(self) -> None:
        """Drop the objectives of this episode only, and save and log the others."""
        self.tracker.end_episode()
        self._records.write_changes()

    def lines(self) -> tuple[str, ...]:
        """Return all pursued objectives as the player is shown them, the most promising first."""
        names = self._search.room_names()
        return tuple(prompt_line(objective, names) for objective in self.tracker.pursued())

    def destination(self) -> int | None:
        """Return the location of the most promising objective that has one; None if none has."""
        return next((objective.places[0] for objective in self.tracker.pursued() if objective.places), None)

    def _find(self, about: Sequence[int]) -> None:
        """Find new objectives in the last turns up to one, and thin them out if that is due.

        Args:
            about: The turn, and how many turns are looked at; 0: nothing new is looked for.
        """
        (turn, reviewed), max_score = about, self._state.max_score
        if reviewed and (turns := self._state.turns_until(turn, reviewed)):
            with self._records.going_on("model", "the objectives' model failed, going on without"):
                is_last = self._state.is_last_turn(self._config.max_turns_per_episode)
                self._search.discover(self.tracker, turns, max_score=max_score, is_last_turn=is_last)
        if turn and self._is_refinement_due(turn):
            most = self._config.refined_objectives_target_count
            with self._records.going_on("model", "the objectives' model failed, going on without"):
                self._search.refine(self.tracker, self._state.turns_until(turn, 1)[-1], most, max_score=max_score)
        self._records.write_changes()

    def _is_refinement_due(self, turn: int) -> bool:
        is_last = self._state.is_last_turn(self._config.max_turns_per_episode)
        return not is_last and self._review.is_refinement_due(turn, len(self.tracker.pursued()))

    def snapshot(self) -> dict[str, Any]:
        """Return the objectives of the running episode and when they were last reviewed."""
        return {"book": tracker_to_dict(self.tracker), "review": self._review.snapshot()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `snapshot` returned; the turns up to then are not processed again.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: If it is no such state; the objectives are what they were.
        """
        review = ReviewClock(self._config)
        review.restore(state["review"])
        restore_tracker(self.tracker, state["book"])
        self._review = review
        self._records.restart_after_restore()

    def get_status(self) -> dict[str, Any]:
        """Return how many objectives there are, and the results of those of this episode."""
        state = "model" if self._search.asks_model else "rules"
        return {"type": "objective", "state": state, "metrics": self.tracker.metrics()}
