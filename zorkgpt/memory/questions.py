"""Questions about turns: what the model sees of the memory when it is asked what a turn teaches."""

import math
from collections.abc import Sequence
from dataclasses import replace

from zorkgpt.memory.asking import handled_numbers, states_outcome
from zorkgpt.memory.episode import EpisodeState
from zorkgpt.memory.models import (
    Memory,
    MemoryStatus,
    PlaceKey,
    SubjectKey,
    Thing,
    episode_key,
    outcome_of,
)
from zorkgpt.memory.recording import TurnRecorder
from zorkgpt.memory.retrieval import LocatedMemory, shown
from zorkgpt.memory.storage.lasting import Filters
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.memory.things import is_attempts_entry
from zorkgpt.memory.writer import MemoryWriter

_MOST_UNCONFIRMED = 5
_RECENT_TURNS = 20
"""Maximum age of an unconfirmed memory of another place that is shown to the model."""


class Questions:
    """Adds to a turn the memories that the model sees.

    Args:
        history_window: Number of earlier turns.
    """

    def __init__(
        self, writer: MemoryWriter, recorder: TurnRecorder, state: EpisodeState, *, history_window: int
    ) -> None:
        self._writer = writer
        self._known = writer.known
        self._observations = writer.observations
        self._recorder = recorder
        self._state = state
        self._history_window = history_window

    def about(self, turn: SynthesisRequest) -> SynthesisRequest:
        """Return the turn with everything that the model sees."""
        history = self._state.history(self._history_window)
        request = replace(self._of_place(turn), history=history, reached=self._reached(turn))
        return replace(request, responses=self._responses(request), elsewhere=self._elsewhere(request))

    def _reached(self, turn: SynthesisRequest) -> SynthesisRequest | None:
        """Return the request for the place that the turn led to, if the response has the first look at it."""
        place = turn.context.location_after
        if not turn.context.first_look or place is None:
            return None
        name, context = self._known.name_of(place), replace(turn.context, first_visit=True)
        return self._of_place(SynthesisRequest(place, name, turn.action, turn.response, context, arrival=True))

    def _of_place(self, turn: SynthesisRequest) -> SynthesisRequest:
        """Return the turn with the memories and visits of its place."""
        place = turn.location_id
        memories = self._memories_of(place)
        with self._known.store.guard:
            visits = self._recorder.visits.totals(self._known.store.lasting, place)
        states = {memory.title: self._recorder.ledger.contradicting_state(place, memory.claims) for memory in memories}
        return replace(
            turn,
            memories=memories,
            now={title: state for title, state in states.items() if state},
            visits=visits,
            first_stay=self._recorder.is_first_stay(place),
        )

    def updated(self, request: SynthesisRequest) -> SynthesisRequest:
        """Return the request with the current memories, which may have changed before the answer came."""
        self._writer.refresh()
        elsewhere = []
        for located in request.elsewhere:
            current = {memory.title: memory for memory in self._known.current(located.location_id)}
            if located.memory.title in current:
                elsewhere.append(replace(located, memory=current[located.memory.title]))
        reached = request.reached
        if reached is not None:
            reached = replace(reached, memories=self._memories_of(reached.location_id))
        memories = self._memories_of(request.location_id)
        return replace(request, memories=memories, elsewhere=tuple(elsewhere), reached=reached)

    def _memories_of(self, location_id: PlaceKey) -> tuple[Memory, ...]:
        return tuple(memory for memory in self._known.current(location_id) if not is_attempts_entry(memory))

    def _elsewhere(self, turn: SynthesisRequest) -> tuple[LocatedMemory, ...]:
        """Return the memories of other subjects that the model sees. See `SynthesisRequest.elsewhere`."""
        known = self._known
        things = (Thing(thing.number) for thing in turn.context.things)
        subjects: tuple[SubjectKey, ...] = (*things, known.store.scope.whole)
        near_places = [each.location_id for each in turn.places]
        with known.store.guard:
            near = {
                id(memory): LocatedMemory(subject, known.name_of(subject), memory)
                for subject in subjects
                for memory in known.current(subject)
            }
            visible = [near[id(memory)] for memory in shown([each.memory for each in near.values()], []).memories]
            unconfirmed = [
                LocatedMemory(subject, known.name_of(subject), memory)
                for subject, memory in known.book.find(Filters(status=MemoryStatus.TENTATIVE))
                if subject not in near_places
            ]
        return (*visible, *self._relevant(turn, [each for each in unconfirmed if each not in visible]))

    def _relevant(self, turn: SynthesisRequest, unconfirmed: Sequence[LocatedMemory]) -> list[LocatedMemory]:
        """Return the unconfirmed memories about things that the action handled, then the newest."""
        handled = set() if turn.arrival else handled_numbers(turn.context)
        about_handled = [
            located
            for located in unconfirmed
            if not handled.isdisjoint(claim.number for claim in located.memory.claims)
        ]
        by_age = sorted(unconfirmed, key=lambda located: self._age(located.memory, turn.context.turn))
        recent = [
            located
            for located in by_age
            if located not in about_handled and self._age(located.memory, turn.context.turn) <= _RECENT_TURNS
        ]
        return [*about_handled, *recent][:_MOST_UNCONFIRMED]

    def _age(self, memory: Memory, turn: int) -> float:
        """Return how many turns ago a memory was observed. Infinite for another episode."""
        last = memory.last_turn
        is_of_this_episode = episode_key(memory.episode) == episode_key(self._state.episode)
        return turn - last if last is not None and is_of_this_episode else math.inf

    def _responses(self, turn: SynthesisRequest) -> dict[str, str]:
        """Return title → response for the memories of this outcome, if the response they were learned from is known."""
        if turn.arrival:
            return {}
        outcome = outcome_of(turn.context)
        responses = {}
        for memory in turn.memories:
            if states_outcome(memory, turn.action, outcome):
                stamp = self._observations.turn_when_learned(turn.location_id, memory)
                if stamp is not None and stamp.response:
                    responses[memory.title] = stamp.response
        return responses
