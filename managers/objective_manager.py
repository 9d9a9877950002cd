"""Checks the objectives on every turn, looks for new ones now and then, and keeps those that are of the world."""

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from game_interface.models import Observation
from managers.episode_log import EpisodeLog
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import History, TurnRecord
from zorkgpt.errors import LLMError, ZorkGPTError
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.memory.models import Memory
from zorkgpt.objectives.book import ObjectiveBook
from zorkgpt.objectives.file import ObjectivesFile
from zorkgpt.objectives.finder import ObjectiveFinder, Situation
from zorkgpt.objectives.models import Moment, Objective, Status
from zorkgpt.objectives.plain import book_to_dict, kept, restore_book
from zorkgpt.objectives.proposals import Known, settled
from zorkgpt.objectives.shown import line_of
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.runlog.events import ObjectivesUpdated
from zorkgpt.world.directions import exit_name
from zorkgpt.world.graph import MapGraph

Recall = Callable[[int], Iterable[Memory]]


class ObjectiveManager:
    """What the player pursues.

    Args:
        history: the turns of this episode, kept by somebody else; None: those that are processed here.
        graph: the map; None: an empty one.
        episode_log: is told when the set of objectives changes; None: a log that nobody has begun.
        rules: look for objectives where no model does, and thin them out where it fails; None: those of this project.
        model: looks for objectives; None: there is none.
        recall: location → what is remembered of it.
        knowledge: the lines of the knowledge base that apply at a moment.
        remember: whether earlier episodes' objectives are read and this one's kept.

    Raises:
        ZorkGPTError: the file that is there can't be read, or a later version wrote it.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        history: History | None = None,
        graph: MapGraph | None = None,
        episode_log: EpisodeLog | None = None,
        rules: ObjectiveFinder | None = None,
        model: ObjectiveFinder | None = None,
        recall: Recall = lambda location_id: (),
        knowledge: Callable[[Observation], Sequence[str]] = lambda now: (),
        remember: bool = True,
    ) -> None:
        self._log = logger
        self._config = config
        self._state = game_state
        self._history = History() if history is None else history
        self._keeps_history = history is None
        self._graph = MapGraph() if graph is None else graph
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._rules = rules or RuleObjectiveFinder(recall)
        self._finder = model or self._rules
        self._recall = recall
        self._knowledge = knowledge
        self._remember = remember
        self._file = ObjectivesFile(Path(config.zork_game_workdir) / config.objectives_file)
        self.book = ObjectiveBook(stale_after=config.objective_stale_after_turns, way_of=exit_name)
        self._updated: Moment | None = None
        self._told: list[dict[str, Any]] = []
        self._saved: list[dict[str, Any]] = []
        self._seen = -1
        self._warned: set[str] = set()
        self.book.restart(self._file.load() if remember else ())

    def reset_episode(self) -> None:
        """What is of the world is kept, with what other processes have found meanwhile."""
        found, problem = self._found()
        self.book.restart(found, remember=self._remember)
        if problem:
            self._note("file", "the objectives could not be read", problem)
        self._updated, self._told = None, []
        self._saved = self._lasting()
        if self._keeps_history:
            self._history.clear()

    reset = reset_episode

    def process_turn(self, record: TurnRecord) -> None:
        """Check each objective against the Z-machine."""
        if self._keeps_history:
            self._history.add(record)
        self.book.take_over(record)

    def process_periodic_update(self) -> None:
        """Look for new ones and thin them out when that is due, once a turn; then keep and tell what has changed."""
        now = self.book.last
        if now is not None and now != self._updated:
            self._updated = now
            self._update(now.turn)
        if self.book.revision != self._seen:
            self._seen = self.book.revision
            self._save()
            self._tell()

    def lines(self) -> tuple[str, ...]:
        """The pursued objectives as the player is told of them, the most promising first."""
        shown = self.book.pursued()[: self._config.refined_objectives_target_count]
        rooms = self._graph.rooms
        names = {place: rooms[place].name for one in shown for place in one.places if place in rooms}
        return tuple(line_of(one, names) for one in shown)

    def destination(self) -> int | None:
        """The place of the most promising objective that has one; None if none has."""
        return next((one.places[0] for one in self.book.pursued() if one.places), None)

    def _found(self) -> tuple[list[Objective], ZorkGPTError | None]:
        """What earlier episodes and other processes have left."""
        try:
            return (self._file.load() if self._remember else []), None
        except ZorkGPTError as error:
            return [], error

    # Updates

    def _update(self, turn: int) -> None:
        if self._state.finished:
            return
        config = self._config
        if turn % config.objective_update_interval == 0:
            self._discover()
        due = turn % config.objective_refinement_interval == 0
        count = len(self.book.pursued())
        too_many = count > config.max_objectives_before_forced_refinement
        if config.enable_objective_refinement and count > config.refined_objectives_target_count and (due or too_many):
            self._refine()

    def _discover(self) -> None:
        situation = self._situation()
        try:
            findings = self._finder.discover(situation)
        except LLMError as error:
            self._note("model", "the objectives' model failed, going on without", error)
            return
        self.book.judge(findings.reached, {record.turn: record for record in situation.turns})
        origin = Moment(situation.episode, situation.turn)
        proposed = (settled(proposal, situation.known, origin) for proposal in findings.proposals)
        self.book.add(one for one in proposed if one is not None)

    def _refine(self) -> None:
        situation, most = self._situation(), self._config.refined_objectives_target_count
        keys: Sequence[str] = ()
        try:
            keys = self._finder.refine(situation, most)
        except LLMError as error:
            self._note("model", "the objectives' model failed, going on without", error)
        self.book.keep(keys or self._rules.refine(situation, most))

    def _situation(self) -> Situation:
        turns = self._history.recent(self._config.objective_update_interval)
        now = turns[-1].transition.after
        here = now.location.num if now.location else None
        last = self.book.last
        rooms, pursued = self._rooms(), tuple(self.book.pursued())
        walked = [turn.transition.after.location.num for turn in reversed(turns) if turn.transition.after.location]
        places = dict.fromkeys((*walked, *(place for one in pursued for place in one.places)))
        return Situation(
            episode=last.episode,
            turn=last.turn,
            known=Known(now, rooms, self.book.things, self.book.visited, self._state.max_score),
            turns=turns,
            objectives=pursued,
            settled=tuple(self.book.settled()),
            scored=self.book.scored,
            carried=self.book.carried,
            untried=self._untried(here),
            memories=tuple(self._memories(places, rooms)),
            knowledge=tuple(self._knowledge(now)),
        )

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

    # Keeping and telling

    def _lasting(self) -> list[dict[str, Any]]:
        return [kept(one) for one in self.book.of_the_world()]

    def _save(self) -> None:
        lasting = self._lasting() if self._remember else []
        if lasting == self._saved:
            return
        try:
            self._file.save(self.book.of_the_world())
        except ZorkGPTError as error:
            self._note("file", "the objectives could not be saved", error)
        # A disk that is full is not tried again on every turn, but with the next change.
        self._saved = lasting

    def _tell(self) -> None:
        last, shown = self.book.last, self._to_tell()
        if last is not None and shown != self._told:
            self._told = shown
            self._episode_log.write(ObjectivesUpdated(last.episode, last.turn, shown))

    def _to_tell(self) -> list[dict[str, Any]]:
        last = self.book.last
        return [_for_the_log(one) for one in self.book.of_episode(last.episode)] if last else []

    def _note(self, what: str, message: str, error: ZorkGPTError) -> None:
        self.book.counts[f"{what}_failures"] += 1
        if what not in self._warned:
            self._warned.add(what)
            self._log.warning(message, extra={"problem": str(error)})

    # Stopping and going on

    def to_dict(self) -> dict[str, Any]:
        """What is held of the running episode, as plain values."""
        updated = self._updated
        return {
            "book": book_to_dict(self.book),
            "updated": [updated.episode, updated.turn] if updated else None,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Hold what `to_dict` gave; turns up to then are not taken over again.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is no such value; the objectives are what they were.
        """
        updated = Moment(*map(int, state["updated"])) if state["updated"] else None
        restore_book(self.book, state["book"])
        self._updated, self._told = updated, self._to_tell()
        self._saved = []

    def get_status(self) -> dict[str, Any]:
        pursued, counts = self.book.pursued(), self.book.counts
        metrics = {
            "open": sum(one.status is Status.OPEN for one in pursued),
            "stale_now": sum(one.status is Status.STALE for one in pursued),
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
    "model_failures",
    "file_failures",
)
"""Of this episode; "unsupported": a model held them to be reached, and no turn showed it."""


@cached_by_identity
def _for_the_log(one: Objective) -> dict[str, Any]:
    return kept(one) | {"done_when": one.condition.text, "status": str(one.status), "scope": str(one.scope)}
