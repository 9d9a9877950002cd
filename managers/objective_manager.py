"""Check the objectives on every turn, review them when due, and remember lasting ones."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.errors import ZorkGPTError
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.objectives.models import EpisodeTurn, Objective, prompt_line, restarted
from zorkgpt.objectives.own_lines import own_lines
from zorkgpt.objectives.review import ReviewClock
from zorkgpt.objectives.saved import ObjectiveMemories, logged_objective, restore_tracker, saved_tracker
from zorkgpt.objectives.search import ObjectiveSearch
from zorkgpt.objectives.tracker import ObjectiveTracker
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.events import ObjectivesUpdated
from zorkgpt.world.graph import MapGraph

_UPDATE = "objectives"
"""The kind of work in the background."""


class ObjectiveManager(BaseManager):
    """Keeps the objectives that the player pursues.

    Args:
        search: Finds and refines objectives. Defaults to rules without map and memories.
        episode_log: Records changes of the objectives. Defaults to a log that writes nothing.
        background: Runs the reviews. By default, they are made immediately.
        store: Where lasting objectives are remembered. By default, they are not.

    Raises:
        ZorkGPTError: If the objectives can't be read.
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
        store: Store | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._search = search or ObjectiveSearch(MapGraph(), rules=RuleObjectiveFinder())
        self.tracker = ObjectiveTracker(stale_after=config.objective_stale_after_turns)
        self._memories = ObjectiveMemories(store) if store else None
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._logged: list[dict[str, Any]] = []
        self._saved: list[Objective] = []
        self._revision = -1
        """The revision of the tracker that was last saved and logged."""
        self._warned: set[str] = set()
        self.tracker.start_episode(self._memories.load() if self._memories else ())
        self._review = ReviewClock(config)
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_UPDATE, self._find)

    def reset(self) -> None:
        """Start a new episode with the saved objectives, including those of other processes."""
        self.tracker.start_episode((), remember=self._memories is not None)
        if self._memories:
            with self._errors_logged("file", "the objectives could not be read"):
                self.tracker.start_episode(self._memories.load(), remember=True)
        self._logged, self._saved = [], self._lasting()
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
        self._review.process(record, self.tracker.visited)
        self.tracker.update(record)
        self._search.add_own(self.tracker, lines.new, record)

    def process_periodic_update(self) -> None:
        """Start a review if one is due, then save and log the changes. Called once per turn."""
        turn = self.game_state.turn_count
        if not (self.game_state.finished or self._background.is_open(_UPDATE)):
            reviewed = self._review.take_due(turn)
            if reviewed or self._is_refinement_due(turn):
                self._background.start(_UPDATE, [turn, reviewed])
        self._write_changes()

    def end_episode(self, reason: str) -> None:
        """Abandon the objectives that are only valid in this episode, and save and log the others."""
        self.tracker.end_episode()
        self._write_changes()

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
            with self._errors_logged("model", "the model could not review the objectives"):
                is_last = self.game_state.is_last_turn(self.config.max_turns_per_episode)
                self._search.discover(self.tracker, turns, max_score=max_score, is_last_turn=is_last)
        if turn and self._is_refinement_due(turn):
            most = self.config.refined_objectives_target_count
            with self._errors_logged("model", "the model could not review the objectives"):
                self._search.refine(self.tracker, self.game_state.turns_until(turn, 1)[-1], most, max_score=max_score)
        self._write_changes()

    def _is_refinement_due(self, turn: int) -> bool:
        is_last = self.game_state.is_last_turn(self.config.max_turns_per_episode)
        return not is_last and self._review.is_refinement_due(turn, len(self.tracker.pursued()))

    def _write_changes(self) -> None:
        """Save and log the objectives if they have changed."""
        if self.tracker.revision == self._revision:
            return
        self._revision = self.tracker.revision
        lasting = self._lasting()
        if self._memories and lasting != self._saved:
            with self._errors_logged("file", "the objectives could not be saved"):
                self._memories.save(self.tracker.lasting(), self.game_state.turn_stamp())
            # After a failure, such as a full disk, try again at the next change, not on every turn.
            self._saved = lasting
        last, objectives = self.tracker.last, self._as_logged()
        if last is not None and objectives != self._logged:
            self._logged = objectives
            self._episode_log.write(ObjectivesUpdated(last.episode, last.turn, objectives))

    def _lasting(self) -> list[Objective]:
        """Return what outlives the episode."""
        return [restarted(objective) for objective in self.tracker.lasting()]

    def _as_logged(self) -> list[dict[str, Any]]:
        last = self.tracker.last
        return [logged_objective(each) for each in self.tracker.of_episode(last.episode)] if last else []

    @contextmanager
    def _errors_logged(self, part: str, message: str) -> Iterator[None]:
        """Count errors, and log the first one of each part."""
        try:
            yield
        except ZorkGPTError as error:
            self.tracker.counts[f"{part}_failures"] += 1
            if part not in self._warned:
                self._warned.add(part)
                self.logger.warning(message, extra={"problem": str(error)})

    def snapshot(self) -> dict[str, Any]:
        """Return the objectives of the running episode, and the state of the reviews."""
        return {"book": saved_tracker(self.tracker), "review": self._review.snapshot()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`, after the turns were processed again.

        Raises:
            KeyError, TypeError, ValueError: If `state` is malformed.
        """
        self._review.restore(state["review"])
        restore_tracker(self.tracker, state["book"])
        # The base for later changes.
        self._logged, self._saved = self._as_logged(), []

    def get_status(self) -> dict[str, Any]:
        """Return the number of objectives, and the counts of this episode."""
        return {"type": "objective", "metrics": self.tracker.metrics()}
