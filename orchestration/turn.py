"""One turn: observe, choose, act, learn, record."""

from collections import deque
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

from game_interface.models import Observation, Transition
from managers.base import BaseManager
from managers.checkpoint_manager import CheckpointManager
from managers.context_manager import ContextManager
from managers.extraction_manager import ExtractionManager
from managers.objective_manager import ObjectiveManager
from managers.progress_manager import ProgressManager
from managers.rejection_manager import RejectionManager
from managers.state_manager import StateManager
from orchestration.services import Services
from session.ground_truth import ground_truth
from session.history import TurnRecord
from session.journal import Opening, TurnDecision
from session.outcome import shows_outcome
from session.stopwatch import Part, Stopwatch
from zorkgpt.context.tools import ToolNotes
from zorkgpt.critic import Critic
from zorkgpt.llm.background_work import Work
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.synthesis import SynthesisRequest, request_from
from zorkgpt.player import AgentDecision, Player, UndoRequested
from zorkgpt.runlog.episode_log import LastAnswers
from zorkgpt.runlog.saved_episodes import SavedEpisode
from zorkgpt.world.directions import DIRECTIONS, exit_name

MEMORY = "memory"
"""The kind of background work that asks what a turn teaches."""

_LONGEST_STAY = 50
"""Maximum turns to look back for changes at a place."""

_MOST_UNDONE = 100
"""Maximum turns that can be undone."""


@dataclass(frozen=True)
class _UndoPoint:
    """The state before a turn."""

    game: bytes
    observation: Observation
    latest: TurnRecord | None
    memory: dict[str, Any] | None
    objectives: dict[str, Any]


@dataclass(frozen=True)
class Managers:
    """The managers that a turn uses, and all managers in order."""

    extraction: ExtractionManager
    progress: ProgressManager
    objectives: ObjectiveManager
    rejections: RejectionManager
    context: ContextManager
    export: StateManager
    checkpoints: CheckpointManager
    in_order: tuple[BaseManager, ...]
    """All managers, in the order in which they process a turn. Checkpoints come last."""


class TurnCycle:
    """Plays turns and passes their records to all managers.

    Args:
        critic: Reviews the player's proposals; None without review.
        watch: Measures the time of each part.
    """

    def __init__(
        self, services: Services, managers: Managers, player: Player, critic: Critic | None, watch: Stopwatch
    ) -> None:
        self._services = services
        self._watch = watch
        self._managers = managers
        self._player = player
        self._critic = critic
        self._game, self._state, self._memory = services.game, services.state, services.memory
        self._background = services.background
        if services.memory is not None:
            self._background.add(MEMORY, services.memory.learn_from, request_from)
        self._now: Observation | None = None
        self._undo_points: deque[_UndoPoint] = deque(maxlen=_MOST_UNDONE)
        """The states before the last turns. Only a person can undo."""
        self._decided: dict[int, TurnDecision] = {}
        """Turn → its decision, for turns that are played again after an interruption."""
        self._logged_answers: dict[int, tuple[str, ...]] = {}
        """Turn → the background questions whose answers were applied in it, for those of these turns in the log."""
        self._played_before = 0
        """The last turn that was finished before the interruption."""

    def open(self, text: str) -> Opening:
        """Start an episode with the opening text and the arrival at the first location."""
        now = self._game.observe()
        opening = Opening(text, now, self._managers.extraction.of_opening(text, now))
        self._decided = {}
        self._begin(opening)
        arrival = self._state.arrival
        if self._memory and arrival and (place := now.location) is not None and now.question is None:
            truth = ground_truth(arrival.transition, turn=0, first_visit=True, after=self._game.things())
            self._learn(self._memory.take_arrival(place.num, place.name, text, truth))
            self._memory.drain_events()
        self._managers.objectives.open()
        return opening

    def resume(self, saved: SavedEpisode, learning: Sequence[BaseManager]) -> None:
        """Continue from a checkpoint, to which the game was restored, and process its turns again.

        Args:
            learning: The managers that process the turns. The others are restored from the checkpoint.
        """
        opening = saved.journal.opening
        self._begin(opening)
        for record in saved.played:
            self._state.turn_count = record.turn
            self._process(record, learning)
        # The log includes undone turns, but the game state does not.
        self._now = self._game.observe()
        self._state.observe(self._now)
        self._decided = saved.decided
        self._logged_answers = {turn: record.answers for turn, record in saved.turns.items()}
        self._played_before = max(saved.turns, default=0)
        self._player.resume([decision.notes for _, decision in sorted(saved.journal.decided.items())])

    def left_to_try(self) -> dict[int, tuple[str, ...]]:
        """Return the actions that the player left untried, by location."""
        return self._player.left_to_try()

    def learn_map_again(self, saved: SavedEpisode) -> None:
        """Process those turns again that are missing in the map file, which was rolled back to the checkpoint."""
        self._arrive(saved.journal.opening)
        for record in saved.played:
            self._services.map.process_turn(record)

    @property
    def is_behind(self) -> bool:
        """Whether turns from before the interruption must still be played again."""
        return self._state.turn_count < self._played_before and bool(self._decided)

    def _begin(self, opening: Opening) -> None:
        now = self._now = opening.observation
        self._undo_points.clear()
        step = Transition(before=now, action="", response=opening.text, after=now)
        self._state.arrival = self._state.latest = TurnRecord(self._state.episode_id, 0, step, "", "", "")
        self._state.observe(now)
        self._arrive(opening)
        if now.location is not None and opening.extraction.is_room_description:
            self._state.describe_room(opening.text, now.location.num)

    def _arrive(self, opening: Opening) -> None:
        if (place := opening.observation.location) is not None:
            self._services.map.arrive(place.num, place.name, opening.extraction.exits)

    def play(self, action: str | None = None) -> TurnRecord:
        """Play one turn, with the given action or the player's choice."""
        while True:
            try:
                return self._play(action)
            except UndoRequested:
                self._undo()

    def _undo(self) -> None:
        """Restore the game, the episode's memory and the objectives to the state before the last turn.

        The record of the turn remains.
        """
        if not self._undo_points:
            return
        before = self._undo_points.pop()
        self._game.restore_state(before.game)
        if self._memory and before.memory is not None:
            self._memory.restore(before.memory)
        self._managers.objectives.restore(before.objectives)
        self._now, self._state.latest = before.observation, before.latest
        self._state.observe(before.observation)
        self._managers.checkpoints.save()

    def _add_undo_point(self, now: Observation) -> None:
        memory = deepcopy(self._memory.snapshot()) if self._memory else None
        objectives = deepcopy(self._managers.objectives.snapshot())
        self._undo_points.append(_UndoPoint(self._game.save_state(), now, self._state.latest, memory, objectives))

    def _play(self, action: str | None) -> TurnRecord:
        now = self._now or self._game.observe()
        started = perf_counter()
        self._watch.lap(Part.REST)
        is_repeated = action is None and self._state.turn_count + 1 in self._decided
        memories = self._memories_at(now)
        self._watch.lap(Part.MEMORY)
        notices = self._managers.progress.notices()
        decision = self._decide(action, now, memories)
        if self._services.options.choice.kind == "human":
            self._add_undo_point(now)
        before = self._game.things() if self._memory else ()
        step = self._game.act(decision.action)
        self._state.turn_count += 1
        self._watch.lap(Part.INTERPRETER)
        extraction = self._managers.extraction.of_turn(step)
        self._watch.lap(Part.EXTRACTION)
        noted = self._memory.drain_events() if self._memory else ()
        # Apply earlier answers first, so that the question about this turn shows their memories.
        names = self._logged_answers.get(self._state.turn_count) if is_repeated else None
        answers = self.apply(self._background.applied(names))
        self._remember(step, before)
        events = (*noted, *answers.memory_events, *(self._memory.drain_events() if self._memory else ()))
        self._watch.lap(Part.MEMORY)
        record = TurnRecord(
            episode=self._state.episode_id,
            turn=self._state.turn_count,
            transition=step,
            reasoning=decision.reasoning,
            player=decision.player,
            memory_shown=memories,
            memory_events=events,
            duration_s=perf_counter() - started,
            parts_s=self._watch.take(),
            rejections=decision.rejections,
            critic_score=decision.score,
            spent=self._services.models.spent() if self._services.models else None,
            extraction=extraction,
            named_exits=self._managers.extraction.take_named_exits(),
            notices=notices,
            answers=answers.names,
        )
        self._process(record, self._managers.in_order)
        return record

    def apply(self, applied: Iterable[Work]) -> LastAnswers:
        """Continue background work, and return the applied answers and their changes of the memory."""
        names: list[str] = []
        events: list[MemoryEvent] = []
        for work in applied:
            names.append(work.name)
            if self._memory is not None:
                events += [replace(event, turn=work.turn) for event in self._memory.drain_events()]
        return LastAnswers(tuple(names), tuple(events))

    def _learn(self, question: SynthesisRequest | None) -> None:
        if question is not None:
            self._background.start(MEMORY, question)

    def _memories_at(self, now: Observation) -> str:
        if self._memory is None or now.location is None:
            return ""
        return self._memory.get_location_memory(now.location.num, unseen_only=True)

    def _decide(self, action: str | None, now: Observation, memories: str) -> TurnDecision:
        """Return the decision of this turn, after adding it to the journal.

        A turn that is played again after an interruption has the same decision as before.
        """
        turn = self._state.turn_count + 1
        if action is None and (decided := self._decided.pop(turn, None)) is not None:
            if decided.noted and self._services.tools:
                context = self._managers.context.player_context(now, memories)
                self._services.tools.repeat_notes(decided.noted, context)
            self._managers.rejections.resume_turn(decided.rejections)
            return decided
        self._decided = {}
        chosen = AgentDecision(action, by="given") if action is not None else self._choose(now, memories)
        self._watch.lap(Part.PLAYER)
        tool_notes = self._services.tools.notes if self._services.tools and action is None else ToolNotes()
        decision = TurnDecision(
            turn,
            chosen.action,
            "\n".join(filter(None, (*tool_notes.lines, chosen.reasoning))),
            player=chosen.by or self._services.options.choice.kind,
            rejections=self._managers.rejections.of_turn(),
            score=self._managers.rejections.score_of(chosen.action),
            notes=self._player.changed_notes(),
            noted=tool_notes.facts,
        )
        self._managers.checkpoints.files.append(decision)
        self._watch.lap(Part.LOGGING)
        return decision

    def _choose(self, now: Observation, memories: str) -> AgentDecision:
        """Return the player's proposal that the critic accepts or the player insists on."""
        context = self._managers.context.player_context(now, memories)
        if self._services.tools:
            self._services.tools.begin_turn()
        self._watch.lap(Part.PROMPTS)
        proposal = self._player.get_action_with_reasoning(context)
        self._managers.context.request_summary(proposal.summarize_to)
        if proposal.by or self._critic is None:
            return proposal
        judge = partial(self._critic.judge, context=context, scene=self._game.scene())
        while rejection := self._managers.rejections.consider(proposal.action, partial(judge, proposal)):
            rejected = replace(context, refused=f"{rejection.action}: {rejection.reason}")
            proposal = self._player.get_action_with_reasoning(rejected)
        return proposal

    def _remember(self, step: Transition, before: Sequence[ThingState]) -> None:
        """Record the outcome of the action, and the first arrival at its destination.

        Args:
            before: The visible and carried things before the action.
        """
        memory, turn = self._memory, self._state.turn_count
        source, destination = step.before.location, step.after.location
        if memory is None or step.refused or step.fault:
            return
        if source is None or not shows_outcome(step):
            self._remember_without_outcome(step)
            return
        arrived_at = destination if destination != source and not step.finished else None
        truth = ground_truth(
            step,
            turn=turn,
            first_visit=memory.is_first_visit(source.num),
            first_look=arrived_at is not None and memory.is_first_visit(arrived_at.num),
            before=before,
            after=self._game.things(),
            known_way=self._is_known_way(step),
            failed_before=self._services.map.graph.has_failed(source.num, step.action),
        )
        self._learn(memory.take_outcome(source.num, source.name, step.action, step.response, truth))

    def _remember_without_outcome(self, step: Transition) -> None:
        """Record the first arrival at a place, for example after answering a question, or else the moved objects."""
        memory, place, turn = self._memory, step.after.location, self._state.turn_count
        if memory is None:
            return
        reads_commands = step.after.question is None and not step.finished
        if place is not None and reads_commands and memory.is_first_visit(place.num):
            truth = ground_truth(step, turn=turn, first_visit=True, after=self._game.things())
            self._learn(memory.take_arrival(place.num, place.name, step.response, truth))
        else:
            memory.note_moves(ground_truth(step, turn=turn, first_visit=False))

    def _is_known_way(self, step: Transition) -> bool:
        """Return whether the map knew or expected the destination of this walk.

        If the player has changed something here, a way that was not walked before counts as unknown, because the change
        may be a condition of the way.
        """
        source, destination = step.before.location, step.after.location
        if source is None or destination is None or source == destination:
            return False
        graph, way = self._services.map.graph, exit_name(step.action)
        if graph.exits(source.num).get(way) == destination.num:
            return True
        if way not in DIRECTIONS or graph.has_failed(source.num, way) or self._has_changed_something(source.num):
            return False
        return way in graph.rooms[source.num].exits or graph.ways_back(source.num).get(way) == destination.num

    def _has_changed_something(self, place: int) -> bool:
        """Return whether the player has changed something since arriving at the current place."""
        for record in reversed(self._state.history.recent(_LONGEST_STAY)):
            step = record.transition
            if step.before.location is None or step.before.location.num != place or step.after.location is None:
                return False
            if step.after.location.num == place and any(not change.by_itself for change in step.changed):
                return True
        return False

    def _process(self, record: TurnRecord, managers: Sequence[BaseManager]) -> None:
        self._state.record(record)
        writing = (self._managers.export, self._managers.checkpoints)
        for manager in managers:
            manager.process_turn(record)
            self._watch.lap(Part.LOGGING if manager in writing else Part.MANAGERS)
        self._now = record.after
