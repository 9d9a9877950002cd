"""Checks the objectives on every turn, looks for new ones every few turns, and saves those that outlive the episode."""

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from game_interface.models import Observation
from managers.base import BaseManager
from managers.episode_log import EpisodeLog
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnHistory, TurnRecord
from zorkgpt.errors import LLMError, ZorkGPTError
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.memory.models import Memory
from zorkgpt.objectives.file import ObjectivesFile, objective_to_dict, restore_tracker, tracker_to_dict
from zorkgpt.objectives.finder import ObjectiveFinder, SeenWorld, Situation, objective_from_proposal
from zorkgpt.objectives.models import EpisodeTurn, Objective, ObjectiveStatus, prompt_line
from zorkgpt.objectives.tracker import ObjectiveTracker
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.runlog.events import ObjectivesUpdated
from zorkgpt.world.directions import exit_name
from zorkgpt.world.graph import MapGraph

Recall = Callable[[int], Iterable[Memory]]


class ObjectiveManager(BaseManager):
    """Keeps the objectives that the player pursues.

    Args:
        history: The turns of this episode, kept elsewhere; None to keep those that are processed here.
        graph: The map; None for an empty one.
        episode_log: Gets an event when the set of objectives changes; None for a log that is never begun.
        rules: Find objectives without a model, and thin them out where the model fails; None for the default rules.
        model: Finds objectives by asking a model; None if there is none.
        recall: Returns the memories of a location.
        knowledge: Returns the lines of the knowledge base that apply to an observation.
        remember: Whether the objectives of earlier episodes are read and those of this one saved.

    Raises:
        ZorkGPTError: There is an objectives file, and it can't be read or a later version wrote it.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        history: TurnHistory | None = None,
        graph: MapGraph | None = None,
        episode_log: EpisodeLog | None = None,
        rules: ObjectiveFinder | None = None,
        model: ObjectiveFinder | None = None,
        recall: Recall = lambda location_id: (),
        knowledge: Callable[[Observation], Sequence[str]] = lambda now: (),
        remember: bool = True,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._history = TurnHistory() if history is None else history
        self._keeps_history = history is None
        self._graph = MapGraph() if graph is None else graph
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._rules = rules or RuleObjectiveFinder(recall)
        self._finder = model or self._rules
        self._recall = recall
        self._knowledge = knowledge
        self._remember = remember
        self._file = ObjectivesFile(Path(config.zork_game_workdir) / config.objectives_file)
        self.tracker = ObjectiveTracker(stale_after=config.objective_stale_after_turns, exit_name_of=exit_name)
        self._updated: EpisodeTurn | None = None
        """The turn of the last update."""
        self._logged: list[dict[str, Any]] = []
        self._saved: list[dict[str, Any]] = []
        self._revision = -1
        """The revision of the book that was last saved and logged."""
        self._warned: set[str] = set()
        self.tracker.start_episode(self._file.load() if remember else ())

    def reset(self) -> None:
        """Begin a new episode with the objectives that outlive one, other processes' included."""
        found, problem = self._load()
        self.tracker.start_episode(found, remember=self._remember)
        if problem:
            self._note("file", "the objectives could not be read", problem)
        self._updated, self._logged = None, []
        self._saved = self._lasting()
        if self._keeps_history:
            self._history.clear()

    def process_turn(self, record: TurnRecord) -> None:
        """Check each objective against the Z-machine."""
        if self._keeps_history:
            self._history.add(record)
        self.tracker.update(record)

    def process_periodic_update(self) -> None:
        """Find new objectives and thin them out when that is due, once a turn; then save and log what has changed."""
        now = self.tracker.last
        if now is not None and now != self._updated:
            self._updated = now
            self._update(now)
        self._keep()

    def end_episode(self) -> None:
        """Lay aside the objectives that make sense in this episode only, and save and log what is left."""
        self.tracker.end_episode()
        self._keep()

    def lines(self) -> tuple[str, ...]:
        """Return all pursued objectives as the player is told of them, the most promising first."""
        shown = self.tracker.pursued()
        rooms = self._graph.rooms
        names = {place: rooms[place].name for one in shown for place in one.places if place in rooms}
        return tuple(prompt_line(one, names) for one in shown)

    def destination(self) -> int | None:
        """Return the location of the most promising objective that has one; None if none has."""
        return next((one.places[0] for one in self.tracker.pursued() if one.places), None)

    def _load(self) -> tuple[list[Objective], ZorkGPTError | None]:
        """Return what earlier episodes and other processes have saved, and what kept it from being read."""
        try:
            return (self._file.load() if self._remember else []), None
        except ZorkGPTError as error:
            return [], error

    # Updates

    def _update(self, now: EpisodeTurn) -> None:
        if self._state.finished:
            return
        config = self._config
        if now.turn % config.objective_update_interval == 0:
            self._discover(now)
        if self._is_last_turn():
            return
        due = now.turn % config.objective_refinement_interval == 0
        count = len(self.tracker.pursued())
        too_many = count > config.max_objectives_before_forced_refinement
        if config.enable_objective_refinement and count > config.refined_objectives_target_count and (due or too_many):
            self._refine(now)

    def _discover(self, turn: EpisodeTurn) -> None:
        situation = self._situation(turn)
        try:
            findings = self._finder.discover(situation)
        except LLMError as error:
            self._note("model", "the objectives' model failed, going on without", error)
            return
        self.tracker.accept_reports(findings.reached, {record.turn: record for record in situation.turns})
        proposed = (objective_from_proposal(proposal, situation.known, turn) for proposal in findings.proposals)
        self.tracker.add(one for one in proposed if one is not None)

    def _refine(self, turn: EpisodeTurn) -> None:
        situation, most = self._situation(turn), self._config.refined_objectives_target_count
        keys: Sequence[str] = ()
        try:
            keys = self._finder.refine(situation, most)
        except LLMError as error:
            self._note("model", "the objectives' model failed, going on without", error)
        self.tracker.prioritize(keys or self._rules.refine(situation, most))

    def _situation(self, turn: EpisodeTurn) -> Situation:
        turns = self._history.recent(self._config.objective_update_interval)
        now = turns[-1].transition.after
        here = now.location.num if now.location else None
        rooms, pursued = self._rooms(), tuple(self.tracker.pursued())
        walked = [turn.transition.after.location.num for turn in reversed(turns) if turn.transition.after.location]
        places = dict.fromkeys((*walked, *(place for one in pursued for place in one.places)))
        return Situation(
            episode=turn.episode,
            turn=turn.turn,
            known=SeenWorld(now, rooms, self.tracker.things, self.tracker.visited, self._state.max_score),
            turns=turns,
            objectives=pursued,
            settled=tuple(self.tracker.settled()),
            scored=self.tracker.scored,
            carried=self.tracker.carried,
            untried=self._untried(here),
            memories=tuple(self._memories(places, rooms)),
            knowledge=tuple(self._knowledge(now)),
            is_last_turn=self._is_last_turn(),
        )

    def _is_last_turn(self) -> bool:
        return self._state.finished or self._state.turn_count >= self._config.max_turns_per_episode

    def _rooms(self) -> dict[int, str]:
        return {room.id: room.name for room in self._graph.rooms.values()}

    def _untried(self, here: int | None) -> dict[int, tuple[str, ...]]:
        frontiers = self._graph.frontiers()
        nearest = self._graph.routes(here) if here is not None else {}
        return {room: frontiers[room] for room in nearest if room in frontiers}

    def _memories(self, places: Iterable[int], rooms: dict[int, str]) -> Iterable[str]:
        for place in places:
            for memory in self._recall(place):
                yield f"{rooms.get(place, place)}: {memory.title}: {memory.text}"

    # The file and the log

    def _lasting(self) -> list[dict[str, Any]]:
        return [objective_to_dict(one) for one in self.tracker.lasting()]

    def _keep(self) -> None:
        """Save and log the objectives if they have changed."""
        if self.tracker.revision != self._revision:
            self._revision = self.tracker.revision
            self._save()
            self._write_event()

    def _save(self) -> None:
        lasting = self._lasting() if self._remember else []
        if lasting == self._saved:
            return
        try:
            self._file.save(self.tracker.lasting())
        except ZorkGPTError as error:
            self._note("file", "the objectives could not be saved", error)
        # With a full disk, saving is not tried again on every turn, but with the next change.
        self._saved = lasting

    def _write_event(self) -> None:
        last, objectives = self.tracker.last, self._as_logged()
        if last is not None and objectives != self._logged:
            self._logged = objectives
            self._episode_log.write(ObjectivesUpdated(last.episode, last.turn, objectives))

    def _as_logged(self) -> list[dict[str, Any]]:
        last = self.tracker.last
        return [_for_the_log(one) for one in self.tracker.of_episode(last.episode)] if last else []

    def _note(self, what: str, message: str, error: ZorkGPTError) -> None:
        self.tracker.counts[f"{what}_failures"] += 1
        if what not in self._warned:
            self._warned.add(what)
            self._log.warning(message, extra={"problem": str(error)})

    # Checkpoints

    def snapshot(self) -> dict[str, Any]:
        """Return the objectives of the running episode and when they were last updated."""
        updated = self._updated
        return {
            "book": tracker_to_dict(self.tracker),
            "updated": [updated.episode, updated.turn] if updated else None,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take on what `snapshot` returned; the turns up to then are not processed again.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: It is no such state; the objectives are what they were.
        """
        updated = EpisodeTurn(*map(int, state["updated"])) if state["updated"] else None
        restore_tracker(self.tracker, state["book"])
        self._updated, self._logged = updated, self._as_logged()
        self._saved = []

    def get_status(self) -> dict[str, Any]:
        """Return how many objectives there are, and what became of those of this episode."""
        pursued, counts = self.tracker.pursued(), self.tracker.counts
        metrics = {
            "open": sum(one.status is ObjectiveStatus.OPEN for one in pursued),
            "stale_now": sum(one.status is ObjectiveStatus.STALE for one in pursued),
            **{name: counts[name] for name in _COUNTED},
        }
        return {"type": "objective", "state": "rules" if self._finder is self._rules else "model", "metrics": metrics}


_COUNTED = (
    "discovered",
    "free_text",
    "reached_by_ground_truth",
    "reached_by_model",
    "unsupported",
    "stale",
    "dropped",
    "taken_up_again",
    "refined",
    "ended_with_the_episode",
    "model_failures",
    "file_failures",
)
"""Counts of this episode; "unsupported" counts objectives that a model took for reached although no turn shows it."""


@cached_by_identity
def _for_the_log(one: Objective) -> dict[str, Any]:
    return objective_to_dict(one) | {
        "done_when": one.condition.text,
        "status": str(one.status),
        "scope": str(one.scope),
    }
