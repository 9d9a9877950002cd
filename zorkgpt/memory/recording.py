"""Recording of turns: the visits, the trials of memories, the things and the experience. No model is asked.

A question about a turn has the memories that the model sees. Entries of places list the things and the attempts. They
are derived from the game state.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from typing import Any

from zorkgpt.memory.asking import changes_anything, handled_numbers, state_key, states_outcome
from zorkgpt.memory.claims import Claim
from zorkgpt.memory.conditions import turn_when_learned
from zorkgpt.memory.credit import creatures_met, is_observed_loss
from zorkgpt.memory.episode import EpisodeState
from zorkgpt.memory.models import (
    NO_EFFECT,
    Category,
    Memory,
    MemoryKind,
    MemoryStatus,
    Persistence,
    PlaceKey,
    SubjectKey,
    Thing,
    ZMachineContext,
    episode_key,
    outcome_of,
)
from zorkgpt.memory.places import is_place
from zorkgpt.memory.retrieval import LocatedMemory, shown
from zorkgpt.memory.storage.escaping import folded, single_spaced
from zorkgpt.memory.storage.lasting import Filters
from zorkgpt.memory.storage.traces import FORGOTTEN
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.memory.things import NOW_HERE, STARTS_HERE, TRIED, ThingsLedger, is_attempts_entry, ledger_entry
from zorkgpt.memory.writer import MemoryWriter
from zorkgpt.prompts.render import one_line
from zorkgpt.record.experience import ActionResult, Experience, ExperienceRow, Place
from zorkgpt.text import first_paragraph

_QUOTED = re.compile(r'"[^"]+"')
_MOST_TRIED = 10
"""Maximum number of actions in the entry of attempts. The newest are kept."""
_MOST_UNCONFIRMED = 5
_RECENT_TURNS = 20
"""Maximum age of an unconfirmed memory of another place that is shown to the model."""


class TurnRecorder:
    """Records the turns of an episode, and makes the questions about them.

    Args:
        history_window: Number of earlier turns in a question.
    """

    def __init__(self, writer: MemoryWriter, state: EpisodeState, *, history_window: int) -> None:
        self.ledger = ThingsLedger()
        self._listed = 0
        """The number of rows of the experience that the entries of attempts include."""
        self.visits = writer.visits
        self._writer = writer
        self._known = writer.known
        self._state = state
        self._history_window = history_window

    @property
    def experience(self) -> Experience:
        """What the actions of this episode led to."""
        return self._state.experience

    def record(
        self,
        location_id: PlaceKey,
        name: str,
        action: str,
        response: str,
        given: ZMachineContext | Mapping[str, object] | None,
        *,
        arrival: bool,
        row: ExperienceRow | None = None,
    ) -> SynthesisRequest:
        """Record the visit, the trials of memories and the things of a turn. Return the turn without its memories.

        Args:
            row: The row of the turn, if the experience has it already.
        """
        with self._known.store.guard:
            context = self._completed(location_id, given, arrival=arrival)
            self.visits.enter(location_id, self._state.episode)
            if not arrival and context.location_changed:
                # After a death the game may continue anywhere, or end.
                reached = context.location_after if context.first_look or not context.died else None
                self.visits.record_move(reached, self._state.episode)
        if arrival and not action:
            action = self._action_in(context.turn)
        turn = SynthesisRequest(location_id, name, action, response, context, arrival=arrival)
        self._state.begin_recording(turn)
        if not arrival:
            if row is None:
                self.experience.add(_row_of(turn, self._state.episode))
            repeated = context.repeated or self.experience.repeats_itself
            turn = replace(turn, context=replace(context, repeated=repeated))
            with self._known.store.guard:
                dangers = [
                    (subject, memory)
                    for subject in (location_id, *creatures_met(context), self._known.store.scope.whole)
                    for memory in self._known.current(subject)
                    if memory.persistence.outlives_episode and is_observed_loss(memory)
                ]
                self._writer.credit.note(
                    location_id, action, context, self._state.episode, experience=self.experience, dangers=dangers
                )
        self._keep_ledger(location_id, name, context)
        self._known.note_name(location_id, name)
        if context.first_look and context.location_after is not None:
            self._known.note_name(context.location_after, context.destination_name)
        if context.location_changed:
            self.count_attempts()
        return turn

    def _keep_ledger(self, location_id: PlaceKey, name: str, turn: ZMachineContext) -> None:
        """Record the turn in the ledger of things, and update the entries of the affected places."""
        place = location_id
        if turn.location_after is not None:
            place, name = turn.location_after, turn.destination_name or name
        self.ledger.record(turn, place)
        known = ledger_entry(self._known.current(place), STARTS_HERE)
        claims = self.ledger.start_claims(known.claims if known else ())
        if claims:
            entry = self._entry(STARTS_HERE, claims, Persistence.CORE, turn)
            self._writer.keep_entry(place, name, entry, known, seen=(turn.turn,) if self.ledger.is_first_look else ())
        claims_by_place = self.ledger.now_here(self._starting)
        for other_place in dict.fromkeys((*claims_by_place, *filter(is_place, self._known.ephemeral))):
            known = ledger_entry(self._known.ephemeral.get(other_place, ()), NOW_HERE)
            claims = claims_by_place.get(other_place, ())
            if claims:
                entry = self._entry(NOW_HERE, claims, Persistence.EPHEMERAL, turn)
                self._writer.keep_entry(other_place, self._known.name_of(other_place), entry, known)
            elif known is not None:
                writer = self._writer
                changing = writer.changing_memory(other_place, known, also_settled=True)
                with writer.refusals_logged(), changing as (draft, stored):
                    draft.remove(other_place, stored, "nothing is left here")

    def count_attempts(self) -> None:
        """Update the entries that list the actions without effect at a place."""
        new = [row for row in self.experience.rows[self._listed :] if row.shows(ActionResult.SHOWN)]
        self._listed = len(self.experience.rows)
        for place in filter(is_place, dict.fromkeys(row.place for row in new)):
            memories = self._known.current(place)
            worked = {folded(row.command) for row in self._shown_at(place) if not row.shows(_FAILED)}
            worked |= {folded(memory.action) for memory in memories if memory.action and memory.outcome != NO_EFFECT}
            attempts = (row for row in new if row.place == place and folded(row.command) not in worked)
            failed = {row.turn: one_line(folded(row.command)) for row in attempts if self._is_first_attempt(row)}
            known = ledger_entry(memories, TRIED)
            before = _QUOTED.findall(known.text) if known else []
            tried = [action for action in before if action not in {*failed.values(), *map(one_line, worked)}]
            tried += dict.fromkeys(failed.values())
            if not tried and known is not None:
                with self._writer.refusals_logged():
                    self._writer.invalidate(place, TRIED, "all of these actions have worked since", self._state.turn)
            elif failed or tried != before:
                entry = Memory(
                    Category.NOTE,
                    TRIED,
                    self._state.episode,
                    str(next(iter(failed), self._state.turn)),
                    0,
                    f"{', '.join(tried[-_MOST_TRIED:])} changed nothing here.",
                    Persistence.PERMANENT,
                    kind=MemoryKind.INSIGHT,
                )
                self._writer.keep_entry(place, self._known.name_of(place), entry, known, seen=tuple(failed))

    def _is_first_attempt(self, row: ExperienceRow) -> bool:
        """Return whether an action had no effect for the first time at its place in this episode."""
        tries = self.experience.tries(row.place)[row.action]
        return row is next((each for each in tries if _is_attempt(each)), None)

    def _shown_at(self, place: Place) -> list[ExperienceRow]:
        """Return the rows at a place in this episode that show an outcome."""
        rows = chain.from_iterable(self.experience.tries(place).values())
        return [row for row in rows if row.shows(ActionResult.SHOWN)]

    def _starting(self, location_id: PlaceKey) -> tuple[Claim, ...]:
        entry = ledger_entry(self._known.current(location_id), STARTS_HERE)
        return entry.claims if entry else ()

    def _entry(self, title: str, claims: tuple[Claim, ...], persistence: Persistence, turn: ZMachineContext) -> Memory:
        category = Category.DISCOVERY if persistence is Persistence.CORE else Category.NOTE
        return Memory(
            category,
            title,
            self._state.episode,
            str(turn.turn),
            0,
            self.ledger.described(claims),
            persistence,
            claims=claims,
            kind=MemoryKind.LOCATION,
        )

    def _completed(
        self, location_id: PlaceKey, given: ZMachineContext | Mapping[str, object] | None, *, arrival: bool
    ) -> ZMachineContext:
        """Return the ground truth with `turn` and `first_visit` filled in."""
        context = ZMachineContext.of(given)
        if not context.turn:
            context = replace(context, turn=self._state.turn)
        has_first_visit = isinstance(given, ZMachineContext) or "first_visit" in (given or {})
        if has_first_visit and not arrival:
            return context
        return replace(context, first_visit=self.is_first_visit(location_id, context.turn))

    def _action_in(self, turn: int) -> str:
        """Return the last action of this turn, to which an arrival is due. "" for the opening."""
        rows = (row for row in self.experience.rows[-1:] if row.turn == turn and row.shows(ActionResult.SHOWN))
        return next((row.command for row in rows), "")

    # Questions

    def question(self, turn: SynthesisRequest) -> SynthesisRequest:
        """Return a turn with everything that the model sees."""
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
            visits = self.visits.totals(self._known.store.lasting, place)
        states = {memory.title: self.ledger.contradicting_state(place, memory.claims) for memory in memories}
        return replace(
            turn,
            memories=memories,
            now={title: state for title, state in states.items() if state},
            visits=visits,
            first_stay=self.is_first_stay(place),
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
                for subject, memory in known.find(Filters(status=MemoryStatus.TENTATIVE))
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
                stamp = turn_when_learned(self._known.store.journal, turn.location_id, memory)
                if stamp is not None and stamp.response:
                    responses[memory.title] = stamp.response
        return responses

    # What was recorded

    def is_first_visit(self, location_id: PlaceKey, turn: int) -> bool:
        """Return True until the end of the first turn *at* the location in this episode."""
        return all(row.turn >= turn for row in self._shown_at(location_id))

    def is_first_stay(self, location_id: PlaceKey) -> bool:
        """Return whether the player has not left the location in this episode, or is there for the first time."""
        shown = (row for row in reversed(self.experience.rows) if row.shows(ActionResult.SHOWN))
        stay = takewhile(lambda row: row.place == location_id, shown)
        return sum(1 for _ in stay) == len(self._shown_at(location_id))

    def things_at(self, location_id: PlaceKey) -> tuple[Thing, ...]:
        """Return the things and creatures at a location, or those that start there if it isn't the current one."""
        return self.ledger.things_at(location_id, self._starting(location_id))

    def unseen(self, memories: Iterable[Memory]) -> list[Memory]:
        """Return the memories, with visible and moved things removed from the entries of the ledger."""
        remaining = map(self.ledger.unseen, memories)
        return [memory for memory in remaining if memory is not None]

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Forget the text of each action of the episode for which this is true.

        Args:
            is_forgotten: Receives a text in the form of `folded`.
        """
        rows = self.experience.rows
        self.experience.clear()
        for row in rows:
            forgotten = is_forgotten(folded(row.command))
            self.experience.add(replace(row, action=FORGOTTEN, command=FORGOTTEN) if forgotten else row)

    def reset(self) -> None:
        """Begin a new episode."""
        self.ledger, self._listed = ThingsLedger(), 0
        self.experience.clear()
        self.visits.reset()

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the episode as plain values, for `restore`. The experience is not included."""
        return {
            "visits": self.visits.snapshot(),
            "ledger": self.ledger.snapshot(),
            "listed": self._listed,
        }

    def undo_to(self, saved: dict[str, Any]) -> None:
        """Return to the place and the things at the time of `snapshot`. Visits and experience stay."""
        self.visits.return_to(saved["visits"])
        self.ledger = ThingsLedger.restored(saved["ledger"])

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue an interrupted episode from what `snapshot` returned."""
        self.visits.restore(saved["visits"])
        self.ledger = ThingsLedger.restored(saved["ledger"])
        self._listed = int(saved["listed"])


_FAILED = ActionResult.FAILED | ActionResult.REFUSED


def _is_attempt(row: ExperienceRow) -> bool:
    """Return whether the game understood an action that had no effect."""
    return row.shows(ActionResult.SHOWN) and row.shows(ActionResult.FAILED) and not row.shows(ActionResult.REFUSED)


def _row_of(turn: SynthesisRequest, episode: int | str) -> ExperienceRow:
    """Return what the action of a turn led to."""
    context = turn.context
    flags = {
        ActionResult.SHOWN: True,
        ActionResult.FAILED: context.nothing_changed,
        ActionResult.REFUSED: context.refused_by_parser,
        ActionResult.CHANGED: changes_anything(turn),
    }
    return ExperienceRow(
        episode,
        context.turn,
        turn.location_id,
        folded(turn.action),
        state_key(turn) if context.nothing_changed else "",
        sum(flag for flag, is_set in flags.items() if is_set),
        result=outcome_of(context),
        response=single_spaced(first_paragraph(turn.response)) if context.nothing_changed else "",
        command=turn.action,
    )
