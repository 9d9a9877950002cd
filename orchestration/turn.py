"""One turn: observe, choose, act, learn, record."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from game_interface.models import Observation, ThingState, Transition
from managers.base import Manager
from managers.checkpoint_manager import Saved
from orchestration.parts import Parts
from session.ground_truth import ground_truth
from session.history import TurnRecord
from session.journal import Decided, Opening
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.player import AgentDecision, TakesNotes
from zorkgpt.world.directions import exit_name


class TurnCycle:
    """Plays turns, and lets every part learn from them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._now: Observation | None = None
        self._decided: dict[int, Decided] = {}
        """What had been decided before an interruption, by turn."""
        self._played_before = 0
        """The last turn that was over by then."""

    def open(self, text: str) -> Opening:
        """The game stands at its beginning: the first place is arrived at by the opening text."""
        parts, now = self._parts, self._parts.game.observe()
        opened = Opening(text, now, parts.extraction.of_opening(text, now))
        self._decided = {}
        self._begin(opened)
        if parts.memory and (place := now.location) is not None:
            opening = Transition(before=now, action="", response=text, after=now)
            truth = ground_truth(opening, turn=0, first_visit=True, after=parts.game.things())
            parts.memory.record_arrival(place.num, place.name, text, truth)
            parts.memory.drain_events()
        return opened

    def resume(self, saved: Saved, learning: Sequence[Manager]) -> None:
        """The game stands where the checkpoint was made; what was learned from the turns up to there is learned again.

        Args:
            learning: the managers that learn the turns; the others are put back otherwise.
        """
        parts, opened = self._parts, saved.turns.opening
        parts.extraction.resume_opening(opened.text, opened.observation, opened.extraction)
        self._begin(opened)
        for record in saved.played:
            parts.state.turn_count = record.turn
            self._take_over(record, learning)
        self._decided = saved.decided
        self._played_before = max(saved.turns.played, default=0)
        if isinstance(parts.player, TakesNotes):
            parts.player.resume([decided.notes for _, decided in sorted(saved.turns.decided.items())])

    def learn_map_again(self, saved: Saved) -> None:
        """Its file was put back since the turns were learned; what it holds of them is passed over."""
        self._arrive(saved.turns.opening)
        for record in saved.played:
            self._parts.map.process_turn(record)

    @property
    def is_behind(self) -> bool:
        """Whether a turn that was over before the interruption is still to be played again."""
        return self._parts.state.turn_count < self._played_before and bool(self._decided)

    def _begin(self, opened: Opening) -> None:
        parts, now = self._parts, opened.observation
        self._now = now
        parts.state.observe(now)
        parts.context.open_with(opened.text, now)
        self._arrive(opened)
        if (place := now.location) is not None and opened.extraction.is_room_description:
            parts.state.describe_room(opened.text, place.num)

    def _arrive(self, opened: Opening) -> None:
        if (place := opened.observation.location) is not None:
            self._parts.map.arrive(place.num, place.name, opened.extraction.exits)

    def play(self, action: str | None = None) -> TurnRecord:
        """Play one turn, with the given action or with the one that the player chooses."""
        parts, now = self._parts, self._now or self._parts.game.observe()
        started = perf_counter()
        memories = self._memories_of(now)
        notices = parts.progress.notices()
        decision = self._decide(action, now, memories)
        before = parts.game.things() if parts.memory else ()
        step = parts.game.act(decision.action)
        parts.state.turn_count += 1
        extraction = parts.extraction.of_turn(step)
        events = self._learn(step, before)
        record = TurnRecord(
            episode=parts.state.episode_id,
            turn=parts.state.turn_count,
            transition=step,
            reasoning=decision.reasoning,
            player=decision.player,
            memory_shown=memories,
            memory_events=events,
            duration_s=perf_counter() - started,
            rejections=decision.rejections,
            critic_score=decision.score,
            spent=parts.models.spent() if parts.models else None,
            extraction=extraction,
            notices=notices,
        )
        self._take_over(record, parts.managers)
        return record

    def _decide(self, action: str | None, now: Observation, memories: str) -> Decided:
        """What is played, written down before it is; what had been decided before an interruption stands."""
        parts, turn = self._parts, self._parts.state.turn_count + 1
        if action is None and (again := self._decided.pop(turn, None)) is not None:
            # What the player was told then counts as told.
            parts.context.player_context(now, memories)
            if parts.rejections:
                parts.rejections.resume_turn(again.rejections)
            return again
        self._decided = {}
        chosen = AgentDecision(action) if action is not None else self._choose(now, memories)
        decided = Decided(
            turn,
            chosen.action,
            chosen.reasoning,
            player=(chosen.by or parts.player_name) if action is None else "given",
            rejections=parts.rejections.of_turn() if parts.rejections else (),
            score=parts.rejections.score_of(chosen.action) if parts.rejections else None,
            notes=parts.player.changed_notes() if isinstance(parts.player, TakesNotes) else {},
        )
        parts.checkpoints.decided(decided)
        return decided

    def _memories_of(self, now: Observation) -> str:
        if self._parts.memory is None or now.location is None:
            return ""
        return self._parts.memory.get_location_memory(now.location.num)

    def _choose(self, now: Observation, memories: str) -> AgentDecision:
        """What the player proposes, once the critic lets it pass or the player has had its way."""
        parts = self._parts
        context = parts.context.player_context(now, memories)
        decision = parts.player.get_action_with_reasoning(context)
        if decision.by or parts.critic is None or parts.rejections is None:
            return decision
        scene = parts.game.scene()
        judge = partial(parts.critic.judge, context=context, scene=scene)
        while rejection := parts.rejections.consider(decision.action, partial(judge, decision)):
            again = replace(context, refused=f"{rejection.action}: {rejection.reason}")
            decision = parts.player.get_action_with_reasoning(again)
        return decision

    def _learn(self, step: Transition, before: Sequence[ThingState]) -> tuple[MemoryEvent, ...]:
        """The outcome is kept where the action was taken; the first look at a new place is kept there.

        Args:
            before: what was at hand before the action.
        """
        memory, turn = self._parts.memory, self._parts.state.turn_count
        source, destination = step.before.location, step.after.location
        if memory is None or source is None or step.refused or step.fault:
            return ()
        after = self._parts.game.things()
        truth = ground_truth(
            step,
            turn=turn,
            first_visit=memory.is_first_visit(source.num),
            before=before,
            after=after,
            known_way=self._is_known_way(step),
            failed_before=self._parts.map.graph.has_failed(source.num, step.action),
        )
        memory.record_action_outcome(source.num, source.name, step.action, step.response, truth)
        arrived = destination is not None and destination != source and not step.finished
        if arrived and memory.is_first_visit(destination.num):
            truth = ground_truth(step, turn=turn, first_visit=True, after=after)
            memory.record_arrival(destination.num, destination.name, step.response, truth)
        return tuple(memory.drain_events())

    def _is_known_way(self, step: Transition) -> bool:
        """Whether the map knew before this turn that the walk leads to where it led."""
        source, destination = step.before.location, step.after.location
        if source is None or destination is None or source == destination:
            return False
        return self._parts.map.graph.exits(source.num).get(exit_name(step.action)) == destination.num

    def _take_over(self, record: TurnRecord, managers: Sequence[Manager]) -> None:
        parts = self._parts
        parts.history.add(record)
        parts.state.record(record)
        for manager in managers:
            manager.process_turn(record)
        self._now = record.transition.after
