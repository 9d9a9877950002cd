"""One turn: observe, choose, act, learn, record."""

from dataclasses import replace
from functools import partial
from time import perf_counter

from game_interface.models import Observation, Transition
from orchestration.parts import Parts
from session.ground_truth import ground_truth
from session.history import TurnRecord
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.player import AgentDecision


class TurnCycle:
    """Plays turns, and lets every part learn from them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._now: Observation | None = None

    def open(self, text: str) -> None:
        """The game stands at its beginning: the first place is arrived at by the opening text."""
        parts = self._parts
        self._now = parts.game.observe()
        parts.state.observe(self._now)
        parts.context.open_with(text, self._now)
        if (place := self._now.location) is not None:
            extraction = parts.extraction.of_opening(text, self._now)
            parts.map.arrive(place.num, place.name, extraction.exits)
            if extraction.is_room_description:
                parts.state.describe_room(text, place.num)
            if parts.memory:
                opening = Transition(before=self._now, action="", response=text, after=self._now)
                truth = ground_truth(opening, turn=0, first_visit=True)
                parts.memory.record_arrival(place.num, place.name, text, truth)
                parts.memory.drain_events()

    def play(self, action: str | None = None) -> TurnRecord:
        """Play one turn, with the given action or with the one that the player chooses."""
        parts, now = self._parts, self._now or self._parts.game.observe()
        started = perf_counter()
        memories = self._memories_of(now)
        notices = parts.progress.notices()
        decision = AgentDecision(action) if action is not None else self._choose(now, memories)
        step = parts.game.act(decision.action)
        parts.state.turn_count += 1
        extraction = parts.extraction.of_turn(step)
        events = self._learn(step)
        record = TurnRecord(
            episode=parts.state.episode_id,
            turn=parts.state.turn_count,
            transition=step,
            reasoning=decision.reasoning,
            player=(decision.by or parts.player_name) if action is None else "given",
            memory_shown=memories,
            memory_events=events,
            duration_s=perf_counter() - started,
            rejections=parts.rejections.of_turn() if parts.rejections else (),
            critic_score=parts.rejections.score_of(decision.action) if parts.rejections else None,
            spent=parts.models.spent() if parts.models else None,
            extraction=extraction,
            notices=notices,
        )
        self._take_over(record)
        return record

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

    def _learn(self, step: Transition) -> tuple[MemoryEvent, ...]:
        """The outcome is kept where the action was taken; the first look at a new place is kept there."""
        memory, turn = self._parts.memory, self._parts.state.turn_count
        source, destination = step.before.location, step.after.location
        if memory is None or source is None or step.refused or step.fault:
            return ()
        truth = ground_truth(step, turn=turn, first_visit=memory.is_first_visit(source.num))
        memory.record_action_outcome(source.num, source.name, step.action, step.response, truth)
        arrived = destination is not None and destination != source and not step.finished
        if arrived and memory.is_first_visit(destination.num):
            truth = ground_truth(step, turn=turn, first_visit=True)
            memory.record_arrival(destination.num, destination.name, step.response, truth)
        return tuple(memory.drain_events())

    def _take_over(self, record: TurnRecord) -> None:
        parts = self._parts
        parts.history.add(record)
        parts.state.record(record)
        for manager in parts.managers:
            manager.process_turn(record)
        self._now = record.transition.after
