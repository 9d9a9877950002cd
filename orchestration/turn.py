"""One turn: observe, choose, act, learn, record."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from game_interface.models import Observation, Transition
from managers.base import BaseManager
from managers.checkpoint_manager import CheckpointManager
from managers.context_manager import ContextManager
from managers.extraction_manager import ExtractionManager
from managers.objective_manager import ObjectiveManager
from managers.progress_manager import ProgressManager
from managers.rejection_manager import RejectionManager
from orchestration.learning import TurnLearner
from orchestration.services import Services
from orchestration.undo import UndoHistory
from session.checkpoint import TurnDecision
from session.history import TurnRecord, UsageTotals
from session.stopwatch import Part, Stopwatch
from zorkgpt.critic import Critic
from zorkgpt.errors import MemoryStoreError
from zorkgpt.llm.background_work import Work
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.memory.objects import ThingState
from zorkgpt.player import AgentDecision, Player, UndoRequested
from zorkgpt.runlog.episode_log import LastAnswers
from zorkgpt.runlog.events import PlayerKind
from zorkgpt.runlog.saved_episodes import SavedEpisode


@dataclass(frozen=True)
class Managers:
    """The managers that a turn uses, and all managers in order."""

    extraction: ExtractionManager
    progress: ProgressManager
    objectives: ObjectiveManager
    rejections: RejectionManager
    context: ContextManager
    in_order: tuple[BaseManager, ...]
    """All managers, in the order in which they process a turn."""
    checkpoints: CheckpointManager


class TurnCycle:
    """Plays turns and passes their records to all managers.

    Args:
        critic: Reviews the player's proposals. None without review.
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
        self._learner = TurnLearner(services)
        self._undo = UndoHistory(services, managers.objectives)
        self._decided: TurnDecision | None = None
        """The decision of a turn that is played again after an interruption."""

    def open(self, text: str) -> TurnRecord:
        """Start an episode with the opening text and the arrival at the first location.

        Returns:
            The opening, as turn 0.
        """
        now = self._game.observe()
        step = Transition(before=now, action="", response=text, after=now)
        extraction = self._managers.extraction.of_turn(step)
        opening = TurnRecord(self._state.episode_id, 0, step, "", "", "", extraction=extraction, spent=self._spent())
        self._decided = None
        self._begin(opening)
        if now.location is not None and now.question is None:
            self._learner.learn_arrival(step, now.location)
        # The log has no record of the opening that could contain its changes of the memory.
        self._drain_events()
        return opening

    def resume(self, saved: SavedEpisode) -> None:
        """Continue from a checkpoint, to which the game was restored, and process its turns again."""
        self._begin(saved.opening)
        if self._services.models and saved.opening.spent:
            self._services.models.add_earlier(saved.opening.spent)
        for event in saved.events:
            if isinstance(event, TurnRecord):
                self._state.turn_count = event.turn
                self._state.add_experience(event)
                self._process(event)
            else:
                for manager in self._managers.in_order:
                    manager.repeat(event)
        # The log includes undone turns, but the game does not: the last turn is the one that led to its state.
        now = self._game.observe()
        self._state.observe(now)
        records = reversed([self._state.arrival, *saved.played])
        leading_here = (record for record in records if record and record.after == now)
        self._state.latest = next(leading_here, self._state.latest)
        self._decided = saved.decision

    def play(self, action: str | None, finish: Callable[[TurnRecord], None]) -> TurnRecord:
        """Play one turn, with the given action or the player's choice.

        Args:
            finish: Called with the turn before its changes are committed.

        Raises:
            MemoryStoreError: If its changes can't be committed. The game is in the state before the turn.
        """
        while True:
            try:
                return self._play(action, finish)
            except UndoRequested:
                with self._services.turn():
                    if self._undo.undo():
                        self._managers.checkpoints.save()

    def apply(self, applied: Iterable[Work]) -> LastAnswers:
        """Run background work to its next pause. Return its names and the changes of the memory."""
        names: list[str] = []
        events: list[MemoryEvent] = []
        for work in applied:
            names.append(work.name)
            events += [replace(event, turn=work.turn) for event in self._drain_events()]
        return LastAnswers(tuple(names), tuple(events))

    def _begin(self, opening: TurnRecord) -> None:
        self._undo.clear()
        self._state.begin(opening)
        if (place := opening.after.location) is not None:
            self._services.map.arrive(place.num, place.name, opening.extraction.exits if opening.extraction else ())

    def _play(self, action: str | None, finish: Callable[[TurnRecord], None]) -> TurnRecord:
        """Play one turn, unless the player asks to undo the last one."""
        now = self._game.observe()
        started = perf_counter()
        self._watch.lap(Part.REST)
        memories = self._memories_at(now)
        self._watch.lap(Part.MEMORY)
        notices = self._managers.progress.notices()
        decision = self._decide(action, now, memories, notices)
        if self._services.options.choice.kind == PlayerKind.HUMAN:
            self._undo.add()
        things = self._learner.things()
        game = self._game.save_state()
        step = self._game.act(decision.action)
        # From here on, questions to models belong to this turn.
        self._state.turn_count += 1
        self._watch.lap(Part.INTERPRETER)
        # The extraction compares the response with the last description of the room, which `_process` replaces.
        extraction = self._managers.extraction.of_turn(step)
        self._watch.lap(Part.EXTRACTION)
        played = TurnRecord(
            episode=self._state.episode_id,
            turn=self._state.turn_count,
            transition=step,
            reasoning=decision.reasoning,
            player=decision.player,
            memory_shown=memories,
            rejections=decision.rejections,
            critic_score=decision.score,
            extraction=extraction,
            notices=notices,
            follow=decision.follow,
        )
        try:
            with self._services.turn():
                record = replace(self._learned(played, things), duration_s=perf_counter() - started)
                self._process(record)
                self._watch.lap(Part.MANAGERS)
                finish(record)
        except MemoryStoreError:
            self._game.restore_state(game)
            self._services.map.undo(played.turn)
            raise
        self._watch.lap(Part.LOGGING)
        return record

    def _learned(self, played: TurnRecord, things: Sequence[ThingState]) -> TurnRecord:
        """Learn from a turn and from the answers that have arrived, and return the turn with the results.

        Args:
            things: The visible and carried things before the action.
        """
        noted = self._drain_events()
        # First, so that the question about this turn shows their memories.
        answers = self.apply(self._background.applied())
        self._learner.learn(played.transition, self._state.add_experience(played), things)
        events = (*noted, *answers.memory_events, *self._drain_events())
        self._watch.lap(Part.MEMORY)
        return replace(
            played,
            memory_events=events,
            parts_s=self._watch.take(),
            spent=self._spent(),
            # The exits in the answers of this turn.
            named_exits=self._managers.extraction.take_named_exits(),
            answers=answers.names,
        )

    def _spent(self) -> UsageTotals | None:
        return self._services.models.spent() if self._services.models else None

    def _memories_at(self, now: Observation) -> str:
        if self._memory is None or now.location is None:
            return ""
        return self._memory.get_location_memory(now.location.num, unseen_only=True)

    def _decide(self, action: str | None, now: Observation, memories: str, notices: Sequence[str]) -> TurnDecision:
        """Return the decision of this turn, after recording it unless rules will repeat it.

        A turn that is played again after an interruption has the same decision as before.
        """
        turn = self._state.turn_count + 1
        decided, self._decided = self._decided, None
        if action is None and decided is not None and decided.turn == turn:
            if decided.noted and self._services.tools:
                context = self._managers.context.player_context(now, memories, notices)
                self._services.tools.repeat_notes(decided.noted, context)
            return decided
        chosen = AgentDecision(action, by="given") if action is not None else self._choose(now, memories, notices)
        self._watch.lap(Part.PLAYER)
        decision = TurnDecision(
            turn,
            chosen.action,
            chosen.reasoning,
            player=chosen.by or self._services.options.choice.kind,
            rejections=self._managers.rejections.of_turn(),
            score=self._managers.rejections.score_of(chosen.action),
            follow=chosen.follow,
            noted=self._services.tools.noted if self._services.tools and action is None else (),
        )
        if action is not None or not self._services.is_deterministic:
            self._managers.checkpoints.decide(decision)
        self._watch.lap(Part.LOGGING)
        return decision

    def _choose(self, now: Observation, memories: str, notices: Sequence[str]) -> AgentDecision:
        """Return the player's proposal that the critic accepts or the player insists on."""
        context = self._managers.context.player_context(now, memories, notices)
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

    def _process(self, record: TurnRecord) -> None:
        self._state.record(record)
        for manager in self._managers.in_order:
            manager.process_turn(record)

    def _drain_events(self) -> list[MemoryEvent]:
        """Return the changes of the memory since the last call."""
        return self._memory.drain_events() if self._memory else []
