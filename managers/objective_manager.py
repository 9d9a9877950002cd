"""Check the objectives on every turn, review them when due, and remember lasting ones."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from game_interface.models import Observation
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.errors import ZorkGPTError
from zorkgpt.memory.retrieval import Recall
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.objectives.finder import ObjectiveFinder, SeenWorld, Situation, new_objective, own_lines
from zorkgpt.objectives.models import EpisodeTurn, Objective, prompt_line, restarted
from zorkgpt.objectives.saved import ObjectiveMemories, logged_objective, objective_in_log
from zorkgpt.objectives.tracker import ObjectiveTracker
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.events import Event, ObjectivesUpdated
from zorkgpt.world.graph import MapGraph

_UPDATE = "objectives"
"""The kind of work in the background."""
_AREA_PLACES = 5
"""The number of new places that count as a new area."""
_MIN_TURNS = 10
"""Minimum turns between two reviews."""


@dataclass(frozen=True)
class ObjectiveSources:
    """What a finder learns about the world besides the turns."""

    graph: MapGraph = field(default_factory=MapGraph)
    recall: Recall = lambda location_id: ()
    """Returns the memories of a location."""
    knowledge: Callable[[Observation], Sequence[str]] = lambda now: ()
    """Returns the lines of the knowledge base that are relevant to an observation."""

    def room_names(self) -> dict[int, str]:
        """Return the names of the rooms on the map."""
        return {room.id: room.name for room in self.graph.rooms.values()}

    def untried(self, here: int | None) -> dict[int, tuple[str, ...]]:
        """Return the untried exits of each room that can be reached, the nearest rooms first."""
        frontiers = self.graph.frontiers()
        nearest = self.graph.routes(here) if here is not None else {}
        return {room: frontiers[room] for room in nearest if room in frontiers}

    def memories(self, places: Iterable[int]) -> tuple[str, ...]:
        """Return the memories of these places, one line each."""
        rooms = self.room_names()
        return tuple(
            f"{rooms.get(place, place)}: {memory.title}: {memory.text}"
            for place in places
            for memory in self.recall(place)
        )


class ObjectiveManager(BaseManager):
    """Keeps the objectives that the player pursues.

    Points, a death, something opened, a new area or too many objectives make a review due. So do
    `objective_update_interval` turns without a new place.

    Args:
        finder: Finds objectives. Defaults to rules.
        sources: What the finder learns about the world. Defaults to an empty map without memories.
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
        finder: ObjectiveFinder | None = None,
        sources: ObjectiveSources | None = None,
        episode_log: EpisodeLog | None = None,
        background: BackgroundQuestions | None = None,
        store: Store | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._finder = finder or RuleObjectiveFinder()
        self._sources = sources or ObjectiveSources()
        self.tracker = ObjectiveTracker()
        self._memories = ObjectiveMemories(store) if store else None
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._base: list[Objective] = []
        """The objectives at the start of the episode."""
        self._logged: list[Objective] = []
        self._saved: list[Objective] = []
        self._revision = -1
        """The revision of the tracker that was last saved and logged."""
        self._warned: set[str] = set()
        self.tracker.start_episode(self._memories.load() if self._memories else ())
        self._reviewed = 0
        """The turn of the last review."""
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_UPDATE, self._find)

    def reset(self) -> None:
        """Start a new episode with the saved objectives, including those of other processes."""
        self.tracker.start_episode((), remember=self._memories is not None)
        if self._memories:
            with self._errors_logged("file", "the objectives could not be read"):
                self.tracker.start_episode(self._memories.load(), remember=True)
        self._base = list(self.tracker.objectives.values())
        self._logged, self._saved = [], self._lasting()
        self._reviewed = 0

    def open(self) -> None:
        """Find the goal of the game in the opening text, unless earlier episodes left objectives."""
        if self._finder.asks_a_model and not self.tracker.objectives:
            self._background.start(_UPDATE, [0, 1, 0])

    def process_turn(self, record: TurnRecord) -> None:
        """Apply the player's own changes, and check each objective against the Z-machine."""
        lines, turn = own_lines(record.reasoning), EpisodeTurn(record.episode, record.turn)
        # Before the update, because the numbers refer to the order in the prompt.
        self.tracker.accept_claims(lines.done, turn, lines.dropped)
        self.tracker.update(record)
        seen = self._seen(record.transition.after)
        self.tracker.add(filter(None, (new_objective(text, seen, turn) for text in lines.new)))

    def process_periodic_update(self) -> None:
        """Start a review if one is due, then save and log the changes. Called once per turn."""
        turn = self.game_state.turn_count
        if not (self.game_state.finished or self._background.is_open(_UPDATE)):
            most = self._most(turn)
            if reviewed := self._turns_due(turn, too_many=bool(most)):
                self._reviewed = turn
                self._background.start(_UPDATE, [turn, reviewed, most])
        self._write_changes()

    def _turns_due(self, turn: int, *, too_many: bool) -> int:
        """Return the number of turns to review, up to this one. 0 if no review is due."""
        since, interval = turn - self._reviewed, self.config.objective_update_interval
        arrivals = [first for first in self.tracker.visited.values() if first > self._reviewed]
        events = map(_is_event, self.game_state.turns_until(turn, since))
        if too_many or len(arrivals) >= _AREA_PLACES or any(events):
            return since if since >= min(_MIN_TURNS, interval) else 0
        return since if turn - max(arrivals, default=self._reviewed) >= interval else 0

    def _most(self, turn: int) -> int:
        """Return to how many objectives a review must shorten the list. 0 if it need not."""
        config, pursued = self.config, len(self.tracker.pursued())
        is_due = turn // config.objective_refinement_interval > self._reviewed // config.objective_refinement_interval
        is_too_long = pursued > config.max_objectives_before_forced_refinement
        if not config.enable_objective_refinement or self._is_last_turn or not (is_due or is_too_long):
            return 0
        most = config.refined_objectives_target_count
        return most if pursued > most else 0

    @property
    def _is_last_turn(self) -> bool:
        return self.game_state.is_last_turn(self.config.max_turns_per_episode)

    def end_episode(self, reason: str) -> None:
        """Abandon the objectives that are only valid in this episode, and save and log the others."""
        self.tracker.end_episode()
        self._write_changes()

    def lines(self) -> tuple[str, ...]:
        """Return the lines of the prompt for all pursued objectives, the most promising first."""
        names = self._sources.room_names()
        return tuple(prompt_line(objective, names) for objective in self.tracker.pursued())

    def destination(self) -> int | None:
        """Return the location of the most promising objective with a location. None if there is none."""
        return next((objective.places[0] for objective in self.tracker.pursued() if objective.places), None)

    def _find(self, about: Sequence[int]) -> None:
        """Find new objectives in the turns up to a turn, and shorten the list if that is due.

        Args:
            about: The turn, the number of turns to review, and the number of objectives to keep. 0 keeps all.
        """
        turn, reviewed, most = about
        if turns := self.game_state.turns_until(turn, reviewed):
            with self._errors_logged("model", "the model could not review the objectives"):
                self._discover(self._situation(turns, most or None))
        self._reviewed = max(self._reviewed, turn)
        self._write_changes(is_reviewed=True)

    def _discover(self, situation: Situation) -> None:
        """Add the objectives that the finder finds, accept its reports of reached ones, and shorten the list.

        Raises:
            LLMError: If a model gave no answer. Nothing was changed.
        """
        findings = self._finder.discover(situation)
        self.tracker.accept_reports(findings.reached, {record.turn: record for record in situation.turns})
        if findings.kept:
            self.tracker.prioritize(findings.kept, among={objective.key for objective in situation.objectives})
        self.tracker.add(findings.new)

    def _seen(self, now: Observation) -> SeenWorld:
        tracker = self.tracker
        return SeenWorld(now, self._sources.room_names(), tracker.things, tracker.visited, self.game_state.max_score)

    def _situation(self, turns: Sequence[TurnRecord], most: int | None) -> Situation:
        """Return the situation after the last of these turns."""
        last, tracker, pursued = turns[-1], self.tracker, self.tracker.pursued()
        now = last.transition.after
        walked = [turn.transition.after.location.num for turn in reversed(turns) if turn.transition.after.location]
        places = dict.fromkeys((*walked, *(place for objective in pursued for place in objective.places)))
        return Situation(
            episode=last.episode,
            turn=last.turn,
            known=self._seen(now),
            turns=tuple(turns),
            objectives=tuple(pursued),
            settled=tuple(tracker.settled()),
            scored=tracker.scored,
            carried=tracker.carried,
            untried=self._sources.untried(now.location_id),
            memories=self._sources.memories(places),
            knowledge=tuple(self._sources.knowledge(now)),
            is_last_turn=self._is_last_turn,
            most=most,
        )

    def _write_changes(self, *, is_reviewed: bool = False) -> None:
        """Save and log the objectives if they were reviewed or have changed."""
        if self.tracker.revision == self._revision and not is_reviewed:
            return
        self._revision = self.tracker.revision
        lasting = self._lasting()
        if self._memories and lasting != self._saved:
            with self._errors_logged("file", "the objectives could not be saved"):
                self._memories.save(self.tracker.lasting(), self.game_state.turn_stamp())
            # After a failure, such as a full disk, try again at the next change, not on every turn.
            self._saved = lasting
        changed = self._without_progress() != self._logged
        if is_reviewed or changed:
            self._logged = self._without_progress()
            self._episode_log.write(self.state())

    def _lasting(self) -> list[Objective]:
        """Return what outlives the episode."""
        return [restarted(objective) for objective in self.tracker.lasting()]

    def _without_progress(self) -> list[Objective]:
        """Return what is logged, without what follows from the turns."""
        return [replace(each, progressed=0) for each in self.tracker.of_episode(self.game_state.episode_id)]

    def state(self) -> ObjectivesUpdated:
        """Return the objectives of the running episode, for `repeat`."""
        positions = {key: position for position, key in enumerate(self.tracker.objectives)}
        objectives = [
            logged_objective(each) | {"position": positions[each.key]}
            for each in self.tracker.of_episode(self.game_state.episode_id)
        ]
        return ObjectivesUpdated(
            self.game_state.episode_id,
            self.game_state.turn_count,
            objectives,
            self._reviewed,
            dict(self.tracker.counts),
        )

    def repeat(self, event: Event) -> None:
        """Replace the objectives of the episode.

        Raises:
            KeyError, TypeError, ValueError: If they are malformed.
        """
        if isinstance(event, ObjectivesUpdated):
            logged = [(int(each["position"]), objective_in_log(each)) for each in event.objectives]
            keys = {objective.key for _, objective in logged}
            settled = [each for each in enumerate(self._base) if each[1].key not in keys]
            ordered = sorted([*settled, *logged], key=lambda each: each[0])
            self.tracker.replace_all([objective for _, objective in ordered], event.counts)
            self._reviewed = event.reviewed
            self._logged, self._saved = self._without_progress(), []

    def undo_to(self, state: ObjectivesUpdated) -> None:
        """Return to what `state` returned, and log this."""
        self.repeat(state)
        self._episode_log.write(self.state())

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

    def get_status(self) -> dict[str, Any]:
        """Return the number of objectives, and the counts of this episode."""
        return {"type": "objective", "metrics": self.tracker.metrics()}


def _is_event(record: TurnRecord) -> bool:
    """Return whether a turn makes a review due: by points, a death, or something that the action opened."""
    step = record.transition
    opened = any(change.attribute == "open" and change.value and not change.by_itself for change in step.changed)
    return step.points > 0 or step.died or opened
