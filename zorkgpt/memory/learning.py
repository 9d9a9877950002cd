"""Learns from turns: whether one is worth asking about, what it teaches, and whether the ground truth allows that."""

import logging
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from zorkgpt import telemetry
from zorkgpt.errors import LLMError
from zorkgpt.memory.asking import (
    AnsweredQuestion,
    Judgments,
    confirmed_memory,
    handled_numbers,
    look_key,
    routine_key,
    should_ask,
    tells,
    turn_key,
)
from zorkgpt.memory.attempts import Attempts
from zorkgpt.memory.claims import Claim, State
from zorkgpt.memory.conditions import Rivals, conditions, is_opposed, rivals
from zorkgpt.memory.credit import tells_of_loss, things_met
from zorkgpt.memory.episode import EpisodeState
from zorkgpt.memory.facts import (
    as_known,
    is_location,
    memory_of_fact,
    moved_thing_named_in,
    named_apart,
    refuted_by_turn,
    subject_of,
    titled,
)
from zorkgpt.memory.models import (
    GAME,
    Category,
    Memory,
    MemoryEvent,
    MemoryKind,
    MemoryStatus,
    Persistence,
    PlaceKey,
    SubjectKey,
    Thing,
    TurnSpan,
    ZMachineContext,
    episode_key,
    outcome_of,
)
from zorkgpt.memory.places import checked_place, is_place
from zorkgpt.memory.retrieval import LocatedMemory, shown
from zorkgpt.memory.settings import MemorySettings, setting
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.lasting import Filters
from zorkgpt.memory.storage.versions import is_current, same_words
from zorkgpt.memory.synthesis import MemorySynthesizer, SynthesisRequest
from zorkgpt.memory.things import (
    NOW_HERE,
    STARTS_HERE,
    TRIED,
    ThingsLedger,
    is_ledger_entry,
    is_of_attempts,
    ledger_entry,
)
from zorkgpt.memory.writer import MemoryWriter, NewMemory
from zorkgpt.prompts.render import one_line
from zorkgpt.text import quoted, with_article

if TYPE_CHECKING:
    from zorkgpt.memory.answers import FurtherFact, MemorySynthesisResponse
    from zorkgpt.memory.facts import Fact

_QUOTED = re.compile(r'"[^"]+"')
_MOST_TRIED = 10
"""The actions that the entry of attempts names, the newest."""
_MOST_UNCONFIRMED = 5
_RECENT = 20
"""In turns: how long ago an unconfirmed memory of another place was observed that is listed."""


@dataclass(slots=True)
class LearningCounts:
    """Counts for one episode."""

    turns: int = 0
    turns_asked: int = 0
    """Turns with at least one question, the opening text left out."""
    judged_before: int = 0
    """Questions that were not asked, since the same was answered before, or the like taught nothing."""
    triggers: dict[str, int] = field(default_factory=dict)
    """Questions by each reason to ask."""
    synthesis_calls: int = 0
    synthesized: int = 0
    """Facts that were to be remembered."""
    synthesis_failures: int = 0
    asked_again: int = 0
    """Answers that looked like a slip and were asked for once more."""
    changes_questioned: int = 0
    """Lasting memories over the limit that the model was to confirm before they were superseded or invalidated."""
    changes_not_confirmed: int = 0
    """Those of them that stay as they were."""
    core_validation_downgrade: int = 0
    persistence_corrected: int = 0
    """Called lasting, and claiming what is so in this episode only."""
    refused_by_ledger: int = 0
    """Memories of where something is that the game state contradicts, or that it already has."""
    forbidden_by_ground_truth: int = 0
    """Memories that were to be marked as wrong, and that the object tree bears out."""
    contradictions_settled: int = 0
    """Memories about one action with different outcomes, of which one gave way or both now say when they hold."""
    audit: dict[str, int] = field(default_factory=dict)
    """What the fresh world said of the core memories when the episode began, by verdict."""
    unknown_titles: int = 0
    turn_failures: int = 0
    """Turns that nothing could be learned from, whatever the reason."""


class Learner:
    """Takes the turns of an episode in, and keeps what they teach.

    Args:
        synthesizer: Says what a turn teaches. If None, turns only count as visits and as trials of what was advised.
    """

    def __init__(
        self,
        writer: MemoryWriter,
        synthesizer: MemorySynthesizer | None,
        state: EpisodeState,
        settings: MemorySettings,
        log: logging.Logger,
    ) -> None:
        self.synthesizer = synthesizer
        self.counts = LearningCounts()
        self._writer = writer
        self._known = writer.known
        self._observations = writer.observations
        self._visits = writer.visits
        self._state = state
        self._settings = settings
        self._log = log
        # A synthesizer that doesn't say otherwise asks a model, so its answers cost something and may hold slips.
        self._asks_a_model = setting(synthesizer, "asks_a_model", True)
        is_cached = settings.ask_only_once and self._asks_a_model
        self._judgments = Judgments(writer.store.judgments, log) if is_cached else None
        self._changed_at: list[int] = []
        """When each of the last lasting memories was superseded or invalidated by the model, as `LearningCounts.turns`:
        not everyone numbers turns."""
        self._ledger = ThingsLedger()
        self._last_action = (-1, "")
        """Turn and action: what led to an arrival of the same turn."""
        self._last_asked_turn = -1
        self._attempts = Attempts()

    def take_turn(
        self,
        location_id: PlaceKey,
        name: str,
        action: str,
        response: str,
        given: ZMachineContext | Mapping[str, object] | None,
        *,
        arrival: bool,
        facts: Mapping[str, object] | None = None,
    ) -> SynthesisRequest | None:
        """Learn what the ground truth of a turn decides. Never raises.

        Args:
            facts: what whoever is asked is told beside the ground truth, by name.

        Returns:
            The question for `learn`; None if nobody is asked.
        """
        question = None
        with self._recording(location_id):
            turn = self._taken_in(location_id, name, action, response, given, arrival=arrival)
            if self.synthesizer is not None:
                question = self._question(replace(turn, facts=facts) if facts else turn)
            if not arrival and (turn.context.moved or turn.context.changed):
                self._drop_what_is_no_longer_so(turn.context.turn)
        if question is None:
            self._writer.count(self._state.turn)
        return question

    def note_moves(self, turn: ZMachineContext) -> None:
        """Take in what moved and changed on a turn that shows nothing else."""
        self._ledger.note_moves(turn)

    def learn(self, question: SynthesisRequest | None) -> None:
        """Ask what a turn teaches, unless that is known, and keep it. Never raises.

        Args:
            question: What `take_turn` returned for this or an earlier turn of the episode.
        """
        if question is None:
            return
        with self._recording(question.location_id):
            self._state.begin_recording(self._stamp(question))
            if self.synthesizer is not None and self._learn_from(question, self.synthesizer):
                self._drop_what_is_no_longer_so(self._state.turn or question.context.turn)
        self._writer.count(self._state.turn)

    @contextmanager
    def _recording(self, location_id: PlaceKey) -> Iterator[None]:
        """Log and count errors."""
        try:
            yield
        except LLMError as error:
            self.counts.synthesis_failures += 1
            extra = {"location_id": location_id, "error": str(error)}
            self._log.warning("the model could not be asked what to remember", extra=extra)
        except Exception as error:
            # Not only our own errors: the synthesizer may be anybody's, and the turn loop must not stop for it.
            self.counts.turn_failures += 1
            extra = {"location_id": location_id, "error": repr(error)}
            self._log.warning("nothing learned from the turn", extra=extra, exc_info=True)
        finally:
            self._state.end_recording()

    def _stamp(self, turn: SynthesisRequest) -> TurnStamp:
        context = turn.context
        return TurnStamp.of(self._state.episode, context.turn, turn.action, turn.response, context.state)

    def note(
        self, location_id: PlaceKey, subject: SubjectKey, name: str, fact: "FurtherFact"
    ) -> tuple[MemoryEvent, ...]:
        """Keep a fact that the player states before it acts, as far as the ground truth allows it.

        Args:
            location_id: Where the player is.
            subject: What the fact is about.
            name: The subject's name.

        Returns:
            What it changed; () if it is known already.

        Raises:
            MemoryStoreError: If it could not be written.
        """
        self._writer.refresh()
        memories = tuple(self._known.current(location_id))
        context = ZMachineContext(turn=self._state.turn)
        request = SynthesisRequest(location_id, name, "", "", context, memories=memories, arrival=True)
        begun = len(self._writer.events.waiting)
        kept = self._keep(request, fact, (subject, name), is_judged=False)
        if not kept and self._writer.last_error is not None:
            raise self._writer.last_error
        return tuple(self._writer.events.waiting[begun:])

    def contradicting_state(self, location_id: PlaceKey, memory: Memory) -> str:
        """Return the observed state that contradicts a memory's claims; "" if none is known."""
        return self._ledger.contradicting_state(location_id, memory.claims) if memory.claims else ""

    def unseen(self, memories: Iterable[Memory]) -> list[Memory]:
        """Return memories, those of where things start or lie without what the player sees now or has moved."""
        return [left for memory in memories if (left := self._ledger.unseen(memory)) is not None]

    def things_at(self, location_id: PlaceKey) -> tuple[Thing, ...]:
        """Return the things and creatures that are at a location, or start there as far as is known."""
        return self._ledger.things_at(location_id, self._starting(location_id))

    def forget(self) -> None:
        """Forget every text that is known from before."""
        self._last_action = (-1, "")

    def reset(self) -> None:
        """Begin a new episode."""
        self.counts = LearningCounts()
        self._last_action = (-1, "")
        self._last_asked_turn = -1
        self._changed_at = []
        self._ledger, self._attempts = ThingsLedger(), Attempts()
        self._visits.reset()

    def snapshot(self) -> dict[str, Any]:
        """Return all that an interrupted episode needs to be learned from as if nothing had happened."""
        return {
            "visits": self._visits.snapshot(),
            "ledger": self._ledger.snapshot(),
            "counts": asdict(self.counts),
            "last_action": list(self._last_action),
            "last_asked_turn": self._last_asked_turn,
            "changed_at": list(self._changed_at),
            "attempts": self._attempts.snapshot(),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue an interrupted episode from what `snapshot` returned."""
        self._visits.restore(saved["visits"])
        self._ledger = ThingsLedger.restored(saved["ledger"])
        self.counts = LearningCounts(**saved["counts"])
        turn, action = saved["last_action"]
        self._last_action = int(turn), str(action)
        self._last_asked_turn = int(saved["last_asked_turn"])
        self._changed_at = list(map(int, saved["changed_at"]))
        self._attempts.restore(saved["attempts"])

    # Taking a turn in

    def _taken_in(
        self,
        location_id: PlaceKey,
        name: str,
        action: str,
        response: str,
        given: ZMachineContext | Mapping[str, object] | None,
        *,
        arrival: bool,
    ) -> SynthesisRequest:
        """Count the visit, complete the ground truth, and try what was advised; return the turn as a bare question."""
        with self._known.store.guard:
            context = self._completed(location_id, given, arrival=arrival)
            self._visits.enter(location_id, self._state.episode)
            if not arrival:
                self._visits.processed(location_id, context.turn)
                if context.location_changed:
                    # A death may be followed by any place, or by none.
                    reached = context.location_after if context.first_look or not context.died else None
                    self._visits.record_move(reached, self._state.episode)
        action = self._action_of(action, context, arrival=arrival)
        turn = SynthesisRequest(location_id, name, action, response, context, arrival=arrival)
        self._state.begin_recording(self._stamp(turn))
        if not arrival:
            with self._known.store.guard:
                dangers = [
                    (subject, memory)
                    for subject in (location_id, *things_met(context), self._known.store.scope.whole)
                    for memory in self._known.current(subject)
                    if memory.persistence.outlives_episode and tells_of_loss(memory)
                ]
                self._writer.evidence.note(location_id, action, context, self._state.episode, dangers=dangers)
        self._keep_ledger(location_id, name, context)
        self._attempts.note(turn)
        self._known.note_name(location_id, name)
        if context.first_look and context.location_after is not None:
            self._known.note_name(context.location_after, context.destination_name)
        if context.location_changed:
            self.count_attempts()
        return turn

    def _keep_ledger(self, location_id: PlaceKey, name: str, turn: ZMachineContext) -> None:
        """Take the turn into the ledger of things, and renew the entries of the places that it concerns."""
        place = location_id
        if turn.location_changed and turn.location_after is not None:
            place, name = turn.location_after, turn.destination_name or name
        self._ledger.record(turn, place)
        known = ledger_entry(self._known.current(place), STARTS_HERE)
        claims = self._ledger.start_claims(known.claims if known else ())
        if claims:
            entry = self._entry(STARTS_HERE, claims, Persistence.CORE, turn)
            self._writer.keep_entry(place, name, entry, known, seen=(turn.turn,) if self._ledger.is_first_look else ())
        found = self._ledger.now_here(self._starting)
        for other in dict.fromkeys((*found, *filter(is_place, self._known.ephemeral))):
            known, claims = ledger_entry(self._known.ephemeral.get(other, ()), NOW_HERE), found.get(other, ())
            if claims:
                entry = self._entry(NOW_HERE, claims, Persistence.EPHEMERAL, turn)
                self._writer.keep_entry(other, self._known.name_of(other), entry, known)
            elif known is not None:
                remove = partial(_remove, other, "what was here is gone")
                self._writer.alter(other, known, remove, also_settled=True)

    def count_attempts(self) -> None:
        """Write what was tried without effect at the places that the player has left, and has had none there yet."""
        for place in self._attempts.places:
            worked, new = self._attempts.worked(place), self._attempts.take(place)
            memories = self._known.current(place)
            worked |= {folded(one.action) for one in memories if one.action and one.outcome != "nothing"}
            seen = {turn: one_line(action) for turn, action in new.items() if action not in worked}
            known = ledger_entry(memories, TRIED)
            before = _QUOTED.findall(known.text) if known else []
            tried = [action for action in before if action not in {*seen.values(), *map(one_line, worked)}]
            tried += dict.fromkeys(seen.values())
            if not tried and known is not None:
                self._writer.invalidate(place, TRIED, "all of these have worked since", self._state.turn)
            elif seen or tried != before:
                entry = Memory(
                    Category.NOTE,
                    TRIED,
                    self._state.episode,
                    str(next(iter(seen), self._state.turn)),
                    0,
                    f"{', '.join(tried[-_MOST_TRIED:])} changed nothing here.",
                    Persistence.PERMANENT,
                    kind=MemoryKind.INSIGHT,
                )
                self._writer.keep_entry(place, self._known.name_of(place), entry, known, seen=tuple(seen))

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
            self._ledger.described(claims),
            persistence,
            claims=claims,
            kind=MemoryKind.LOCATION,
        )

    def _completed(
        self, location_id: PlaceKey, given: ZMachineContext | Mapping[str, object] | None, *, arrival: bool
    ) -> ZMachineContext:
        """Return the ground truth with the turn, and with whether this is the first visit of the episode."""
        context = ZMachineContext.of(given)
        if not context.turn:
            context = replace(context, turn=self._state.turn)
        says = isinstance(given, ZMachineContext) or "first_visit" in (given or {})
        first = context.first_visit if says and not arrival else self._visits.is_first(location_id, context.turn)
        return replace(context, first_visit=first)

    def _action_of(self, action: str, context: ZMachineContext, *, arrival: bool) -> str:
        """Return the action, or the one of this turn that led to the arrival; "" for the opening text."""
        if arrival:
            turn, led_here = self._last_action
            return action or (led_here if turn == context.turn else "")
        self.counts.turns += 1
        self._last_action = (context.turn, action)
        return action

    def _question(self, turn: SynthesisRequest) -> SynthesisRequest:
        """Return the turn with everything that a model would see of it."""
        self._writer.refresh()
        if not turn.arrival:
            self._observe(turn)
            repeated = self._attempts.is_repeated(turn) or turn.context.repeated
            turn = replace(turn, context=replace(turn.context, repeated=repeated))
        history = self._state.history(self._settings.history_window)
        request = replace(self._of_place(turn), history=history, reached=self._reached(turn))
        return replace(request, responses=self._responses(request), elsewhere=self._elsewhere(request))

    def _reached(self, turn: SynthesisRequest) -> SynthesisRequest | None:
        """Return the turn as it concerns the place that it led to, if the response holds the first look at it."""
        place = turn.context.location_after
        if not turn.context.first_look or place is None:
            return None
        name, context = self._known.name_of(place), replace(turn.context, first_visit=True)
        return self._of_place(SynthesisRequest(place, name, turn.action, turn.response, context, arrival=True))

    def _of_place(self, turn: SynthesisRequest) -> SynthesisRequest:
        """Return the turn with what is known of its place."""
        place = turn.location_id
        memories = self._memories_of(place)
        with self._known.store.guard:
            visits = self._visits.totals(self._known.store.lasting, place)
        told = ((memory.title, self.contradicting_state(place, memory)) for memory in memories)
        return replace(
            turn,
            memories=memories,
            now={title: now for title, now in told if now},
            visits=visits,
            first_stay=self._visits.stays(place) == 1,
        )

    def _updated(self, request: SynthesisRequest) -> SynthesisRequest:
        """Return the request with the memories as they are when the answer has come."""
        self._writer.refresh()
        subjects = {one.location_id for one in request.elsewhere}
        current = {each: {memory.title: memory for memory in self._known.current(each)} for each in subjects}
        elsewhere = tuple(
            replace(one, memory=current[one.location_id][one.memory.title])
            for one in request.elsewhere
            if one.memory.title in current[one.location_id]
        )
        memories, reached = self._memories_of(request.location_id), request.reached
        if reached is not None:
            reached = replace(reached, memories=self._memories_of(reached.location_id))
        return replace(request, memories=memories, elsewhere=elsewhere, reached=reached)

    def _memories_of(self, location_id: PlaceKey) -> tuple[Memory, ...]:
        return tuple(one for one in self._known.current(location_id) if not is_of_attempts(one))

    def _elsewhere(self, turn: SynthesisRequest) -> tuple[LocatedMemory, ...]:
        """Return the memories of other subjects that the model sees, see `SynthesisRequest.elsewhere`."""
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
            seen = [near[id(memory)] for memory in shown([one.memory for one in near.values()], []).memories]
            unconfirmed = [
                LocatedMemory(subject, known.name_of(subject), memory)
                for subject, memory in known.book.find(Filters(status=MemoryStatus.TENTATIVE))
                if subject not in near_places
            ]
        return (*seen, *self._open(turn, [one for one in unconfirmed if one not in seen]))

    def _open(self, turn: SynthesisRequest, found: Sequence[LocatedMemory]) -> list[LocatedMemory]:
        """Return the unconfirmed memories about a thing that the action handled, then the newest."""
        handled = set() if turn.arrival else handled_numbers(turn.context)
        about = [one for one in found if not handled.isdisjoint(claim.number for claim in one.memory.claims)]
        recent = [one for one in found if one not in about and self._age(one.memory, turn.context.turn) <= _RECENT]
        recent.sort(key=lambda one: self._age(one.memory, turn.context.turn))
        return [*about, *recent][:_MOST_UNCONFIRMED]

    def _age(self, memory: Memory, turn: int) -> float:
        """Return how many turns ago a memory was observed. Infinite if in another episode."""
        last = TurnSpan.parse(memory.turns).last_number
        is_of_this_episode = episode_key(memory.episode) == episode_key(self._state.episode)
        return turn - last if last is not None and is_of_this_episode else math.inf

    def _responses(self, turn: SynthesisRequest) -> dict[str, str]:
        """Return the known responses with which memories about this action were learned, by title."""
        outcome = outcome_of(turn.context)
        about = [one for one in turn.memories if not turn.arrival and tells(one, turn.action, outcome)]
        learned = ((one.title, self._observations.turn_when_learned(turn.location_id, one)) for one in about)
        return {title: stamp.response for title, stamp in learned if stamp is not None and stamp.response}

    def _observe(self, turn: SynthesisRequest) -> None:
        """Take the turn as one more observation of the memories that tell this outcome, and see again when they hold.

        What is believed of the action and came out otherwise in the same state gives way.
        """
        place, number, known = turn.location_id, turn.context.turn, self._known
        outcome = outcome_of(turn.context)
        for title in [one.title for one in known.current(place) if tells(one, turn.action, outcome)]:
            memory = next((one for one in known.current(place) if one.title == title), None)
            if memory is None:
                continue
            if any(is_opposed(one, memory) for one in known.current(place)):
                self._see_again(place, memory, number)
            self._qualify(place, title, f"it came out so in another state too, in turn {number}", turn.context.state)
            self._settle(place, memory, rivals(self._observations, place, memory, known.current(place)), number)

    def _settle(self, location_id: SubjectKey, memory: Memory, found: Rivals, turn: int) -> None:
        """Note of rivals in which states they hold. What is contradicted gives way to the newer ground truth."""
        for rival in found.separated:
            reason = f"in another state it comes out otherwise: “{memory.title}”"
            self.counts.contradictions_settled += self._qualify(location_id, rival.title, reason)
        for rival in found.contradicted:
            # The restart would lose what is known for good.
            if memory.persistence.outlives_episode or not rival.persistence.outlives_episode:
                reason = f"in the same state “{memory.action}” came out otherwise in turn {turn}: {memory.outcome}"
                supersede = partial(_supersede, location_id, memory.title, reason, turn)
                self.counts.contradictions_settled += self._writer.alter(location_id, rival, supersede)

    def _qualify(self, location_id: SubjectKey, title: str, reason: str, now: State | None = None) -> bool:
        """Note in which states a memory holds by what was observed up to now. False if nothing was changed."""
        believed = self._known.current(location_id)
        memory = next((one for one in believed if one.title == title), None)
        if memory is None:
            return False
        when = conditions(self._observations, location_id, memory, believed, now=now)
        return when != memory.when and self._writer.alter(
            location_id,
            memory,
            lambda draft, known: draft.replace(location_id, known, replace(known, when=when), "qualified", reason),
        )

    def _see_again(self, location_id: SubjectKey, memory: Memory, turn: int) -> None:
        """Count one more observation of a memory."""
        self._writer.alter(
            location_id,
            memory,
            lambda draft, known: draft.see_again(location_id, known, turn, self._state.episode),
            also_settled=True,
        )

    # Asking

    def _learn_from(self, request: SynthesisRequest, synthesizer: MemorySynthesizer) -> bool:
        """Ask what the turn teaches, or take the answer to exactly the same question, and keep it.

        Returns:
            Whether there was an answer.
        """
        judgments = self._judgments
        judge = type(synthesizer).__name__
        key, routine, look = (make(request, judge) for make in (turn_key, routine_key, look_key))
        answered = judgments.answer(key) if judgments is not None else None
        like = judgments.answer(routine or look) if judgments is not None and (routine or look) else None
        if like is not None and not like.holds(request.believed):
            like = None
        answer = None
        is_routine = like is not None
        reasons = should_ask(request, answered=answered, is_routine=is_routine, enabled=self._settings.triggers)
        if reasons:
            request = replace(request, triggers=tuple(reason.value for reason in reasons))
            answer = self._asked(synthesizer, request)
        elif answered is not None and answered.holds(request.believed):
            self.counts.judged_before += 1
            answer = answered.answer
        elif like is not None:
            self.counts.judged_before += 1
            self._see_answer_again(request, like.answer)
        elif not request.context.location_changed and (known := confirmed_memory(request)):
            self._see_again(request.location_id, known, request.context.turn)
        if answer is None:
            return False
        stay = self._unconfirmed(synthesizer, request, answer) if self._asks_a_model else set()
        seen, request = request, self._updated(request)
        was_all_seen = {one.memory.title for one in request.of_places} <= {one.memory.title for one in seen.of_places}
        here, elsewhere = request.of_places, request.elsewhere
        unconfirmed = [one for one in (*here, *elsewhere) if one.memory.status == MemoryStatus.TENTATIVE]
        for title in sorted(answer.confirm_memory_titles):
            if one := titled(title, unconfirmed):
                self._confirm(one, request.context.turn)
        for one in self._named(answer.invalidate_memory_titles, here, elsewhere):
            if (one.location_id, one.memory.title) not in stay:
                self._invalidate(request, one.location_id, one.memory, answer.invalidation_reason or "")
        # An answer that was taken back in part is not taken once more without asking.
        all_kept = not stay
        for fact in answer.facts():
            subject = subject_of(request, fact, self._known.name_of)
            if subject is None:
                memory = memory_of_fact(request, fact, request.location_id, self._state.episode)
                self._writer.events.ignore(
                    request.location_id, memory, f"the question names nothing with number {fact.place}"
                )
                continue
            all_kept = self._keep(request, fact, subject, is_judged=was_all_seen, stay=stay) and all_kept
        if all_kept and reasons and judgments is not None:
            after = [memory for each in request.places for memory in self._known.current(each.location_id)]
            judgments.keep(key, AnsweredQuestion.of(answer, seen.believed, after))
            if routine and not (answer.facts() or answer.confirm_memory_titles or answer.invalidate_memory_titles):
                judgments.keep(routine, AnsweredQuestion(answer, frozenset()))
            if look:
                learned = self._known.current(seen.places[-1].location_id)
                judgments.keep(look, AnsweredQuestion.of(answer, (), learned))
        return True

    def _confirm(self, located: LocatedMemory, turn: int) -> None:
        """Believe a tentative memory, and count one more observation of it."""

        def confirm(draft: Draft, known: Memory) -> None:
            seen = draft.see_again(located.location_id, known, turn, self._state.episode)
            sure = replace(seen, status=MemoryStatus.ACTIVE)
            draft.replace(located.location_id, seen, sure, "edited", "confirmed")

        self._writer.alter(located.location_id, located.memory, confirm)

    def _see_answer_again(self, request: SynthesisRequest, answer: "MemorySynthesisResponse") -> None:
        """Count what an earlier answer said of the place that the player sees now as seen again."""
        place, titles = request.places[-1].location_id, {fact.memory_title for fact in answer.facts()}
        for memory in [one for one in self._known.current(place) if one.title in titles]:
            self._see_again(place, memory, request.context.turn)

    def _asked(self, synthesizer: MemorySynthesizer, request: SynthesisRequest) -> "MemorySynthesisResponse | None":
        """Ask, and once more where the answer looks like a slip; None: there was no answer."""
        answer = self._answer(synthesizer, request)
        if answer is not None and (doubts := self._doubts(request, answer)):
            self.counts.asked_again += 1
            answer = self._answer(synthesizer, replace(request, doubts=doubts)) or answer
        if answer is None:
            extra = {"location_id": request.location_id, "turn": request.context.turn}
            self._log.warning("no answer about what to remember", extra=extra)
            return None
        self.counts.synthesized += len(answer.facts())
        return answer

    def _answer(self, synthesizer: MemorySynthesizer, request: SynthesisRequest) -> "MemorySynthesisResponse | None":
        try:
            answer = synthesizer.synthesize(request)
        finally:
            # Counted only now: an interrupted question is asked again.
            self._count(request)
        if answer is None:
            self.counts.synthesis_failures += 1
        return answer

    def _count(self, request: SynthesisRequest) -> None:
        self.counts.synthesis_calls += 1
        for reason in () if request.doubts else request.triggers:
            self.counts.triggers[reason] = self.counts.triggers.get(reason, 0) + 1
        turn = request.context.turn
        if turn and turn != self._last_asked_turn:
            self._last_asked_turn = turn
            self.counts.turns_asked += 1

    def _doubts(self, request: SynthesisRequest, answer: "MemorySynthesisResponse") -> tuple[str, ...]:
        """Return what in the answer looks like a slip; a rule makes none."""
        if not self._asks_a_model:
            return ()
        doubts, deduplicator = [], self._writer.deduplicator
        for fact in answer.facts():
            new = memory_of_fact(request, fact, request.location_id, self._state.episode)
            if subject_of(request, fact, self._known.name_of) is None:
                doubts.append(f"“{new.title}” is about {fact.place}, which is no number of a place or thing above.")
            if (moved := moved_thing_named_in(new, request)) is not None:
                doubts.append(
                    f"The restart puts {with_article(moved.name)} back where it was. Is “{new.title}” true in every "
                    "episode? Say which kind it is: a rule or solution stays, a location is kept by the game's ledger."
                )
            if new.category == Category.SUCCESS and new.outcome == "nothing":
                doubts.append(
                    f"“{new.title}” is called a SUCCESS, and “{request.action}” changed nothing in the game. If "
                    "the game refused it, it is a FAILURE."
                )
            for title in fact.supersedes_memory_titles:
                located = titled(title, request.of_places)
                if located is None or located.memory.is_settled_by_person:
                    continue
                old = located.memory
                if old.persistence.outlives_episode and not new.persistence.outlives_episode:
                    doubts.append(
                        f"“{old.title}” is true in every episode and “{new.title}” in this one only: the first is not "
                        "replaced by the second, which is lost when the episode is over."
                    )
                elif deduplicator and deduplicator.is_about_something_else(located.location_id, old, new):
                    doubts.append(f"“{old.title}” is to be replaced by “{new.title}”, which seems to be about another.")
        return tuple(doubts)

    def _unconfirmed(
        self, synthesizer: MemorySynthesizer, request: SynthesisRequest, answer: "MemorySynthesisResponse"
    ) -> set[tuple[SubjectKey, str]]:
        """Ask the model to confirm each change over the limit; return the memories that stay, by subject and title."""
        limit, counts = self._settings.change_limit, self.counts
        self._changed_at = [turn for turn in self._changed_at if turn > counts.turns - limit.window_turns]
        stay = set()
        for old, how in self._planned_changes(request, answer)[max(0, limit.changes - len(self._changed_at)) :]:
            if not counts.changes_questioned:
                self._log.warning(
                    "the model changes many memories: it has to confirm each further change",
                    extra={"turn": request.context.turn, "changes": limit.changes, "turns": limit.window_turns},
                )
            counts.changes_questioned += 1
            text = quoted(old.memory.text)
            doubt = f"You have changed many memories. “{old.memory.title}” says {text}. {how}. Is this right?"
            again = self._answer(synthesizer, replace(request, doubts=(doubt,)))
            if again is None or old not in [one for one, _ in self._planned_changes(request, again)]:
                counts.changes_not_confirmed += 1
                stay.add((old.location_id, old.memory.title))
        return stay

    def _planned_changes(
        self, request: SynthesisRequest, answer: "MemorySynthesisResponse"
    ) -> list[tuple[LocatedMemory, str]]:
        """Return the lasting memories that the answer would supersede or invalidate, and how, in words."""
        found: dict[str, list[LocatedMemory | None]] = {}
        for fact in answer.facts():
            how = f"It is to be replaced by “{fact.memory_title}”, which says {quoted(fact.memory_text)}"
            subject = subject_of(request, fact, self._known.name_of)
            replaceable = [] if subject is None else self._replaceable(request, subject)
            found[how] = [titled(title, replaceable) for title in sorted(fact.supersedes_memory_titles)]
        how = f"It is to be marked as wrong, because {quoted(answer.invalidation_reason)}"
        places = request.of_places, request.elsewhere
        found[how] = [titled(title, *places) for title in sorted(answer.invalidate_memory_titles)]
        return [(one, how) for how, olds in found.items() for one in olds if one and _is_models(one.memory)]

    # Keeping

    def _keep(
        self,
        request: SynthesisRequest,
        fact: "Fact",
        subject: tuple[SubjectKey, str],
        *,
        is_judged: bool = True,
        stay: Collection[tuple[SubjectKey, str]] = (),
    ) -> bool:
        """Keep a fact about a subject as far as the ground truth allows it. False: it could not be written.

        Args:
            is_judged: See `MemoryWriter.keep`.
            stay: Memories that it doesn't replace, by subject and title.
        """
        location_id, name = subject
        if location_id is GAME:
            location_id = self._known.store.scope.whole
        replaceable = self._replaceable(request, subject)
        known = [one.memory for one in replaceable]
        memory = memory_of_fact(request, fact, location_id, self._state.episode)
        if refusal := self._refusal(request, fact, location_id, memory):
            self.counts.refused_by_ledger += 1
            self._writer.events.ignore(location_id, memory, refusal)
            return True
        memory = self._checked(request, as_known(memory, known), location_id)
        if self._writer.is_forbidden(location_id, name, memory):
            return True
        same_title = [one for one in known if folded(one.title) == folded(memory.title)]
        if any(one.is_settled_by_person and not same_words(one, memory) for one in same_title):
            self._writer.events.ignore(location_id, memory, f"a person says otherwise: {memory.title}")
            return True
        replaced = [one.memory.title for one in self._named(fact.supersedes_memory_titles, replaceable)]
        replaced = [title for title in replaced if (location_id, title) not in stay]
        replaced = self._writer.replaceable(location_id, replaced, memory)
        memory = named_apart(memory, [one for one in known if one.title not in replaced])
        believed = [one for one in self._known.current(location_id) if one.title not in replaced]
        now = request.context.state
        found = rivals(self._observations, location_id, memory, believed, now=now)
        if others := [one.title for one in found.contradicted if one.is_settled_by_person]:
            self._writer.events.ignore(location_id, memory, f"a person says otherwise: {others[0]}")
            return True
        memory = replace(memory, when=conditions(self._observations, location_id, memory, found.separated, now=now))
        new, kept = NewMemory(checked_place(location_id), name, memory), False
        if replaced:
            superseding = replace(new, replaces=replaced, turn=request.context.turn)
            with telemetry.memory_operation("supersede", location_id, memory.text):
                kept = bool(self._writer.keep([superseding]))
            lasting = [one for one in known if one.title in replaced and one.persistence.outlives_episode]
            self._changed_at += [self.counts.turns] * (len(lasting) if kept else 0)
        if not kept:
            # Also where the old one may not be replaced: what was learned is then true beside it.
            with telemetry.memory_operation("remember", location_id, memory.text):
                kept = bool(self._writer.keep([new], is_judged=is_judged))
        if kept:
            self._settle(location_id, memory, found, request.context.turn)
        return kept

    def _replaceable(self, request: SynthesisRequest, subject: tuple[SubjectKey, str]) -> list[LocatedMemory]:
        """Return the memories that a fact about a subject can replace."""
        location_id, name = subject
        if location_id is GAME:
            location_id = self._known.store.scope.whole
        known = request.memories if location_id == request.location_id else self._known.current(location_id)
        return [LocatedMemory(location_id, name, memory) for memory in known]

    def _invalidate(self, request: SynthesisRequest, location_id: SubjectKey, memory: Memory, reason: str) -> None:
        """Mark a memory as wrong, unless by the object tree it was so before the agent changed it, or still is."""
        lasting = memory.persistence.outlives_episode
        if self._ledger.bears_out(location_id, memory, request.context.things):
            self.counts.forbidden_by_ground_truth += 1
            self._log.warning(
                "not invalidated: the object tree bears it out",
                extra={"location_id": location_id, "title": memory.title, "reason": reason},
            )
            return
        with telemetry.memory_operation("invalidate", location_id, memory.text):
            is_changed = self._writer.invalidate(location_id, memory.title, reason, request.context.turn)
        if is_changed and lasting:
            self._changed_at.append(self.counts.turns)

    def _drop_what_is_no_longer_so(self, turn: int) -> None:
        """Mark memories of this episode as wrong that claim of a thing what the object tree denies by now."""
        for location_id, kept in list(self._known.ephemeral.items()):
            for memory in [one for one in kept if is_current(one) and not is_ledger_entry(one)]:
                denied = self._ledger.denied(location_id, memory.claims)
                if denied is not None:
                    reason = f"contradicted by the game state ({with_article(denied)})"
                    invalidate = partial(_invalidate, location_id, reason, turn)
                    self._writer.alter(location_id, memory, invalidate, also_settled=True)

    def _checked(self, request: SynthesisRequest, memory: Memory, location_id: SubjectKey) -> Memory:
        """Return the memory with the persistence that the ground truth allows."""
        turn = request.context
        is_about_more = memory.kind not in (None, MemoryKind.LOCATION)
        if is_about_more or (turn.score_delta > 0 and not request.arrival):
            # A rule, a solution or a danger stays as it was classified. Where things are now is no part of it.
            memory = replace(memory, claims=self._ledger.right_claims(location_id, memory))
        if not memory.persistence.outlives_episode:
            return memory
        passing = self._ledger.of_this_episode(location_id, memory.claims)
        if passing is not None:
            self.counts.persistence_corrected += 1
            self._log.warning(
                "%s about what is so in this episode only kept for the episode",
                memory.persistence,
                extra={"title": memory.title, "claim": str(passing), "turn": turn.turn},
            )
            return replace(memory, persistence=Persistence.EPHEMERAL)
        first = turn.first_visit
        if location_id != request.location_id:
            first = is_place(location_id) and self._visits.is_first(location_id, turn.turn)
        if memory.persistence is Persistence.CORE and not first:
            self.counts.core_validation_downgrade += 1
            self._log.warning(
                "core on a later visit kept as permanent", extra={"title": memory.title, "turn": turn.turn}
            )
            return replace(memory, persistence=Persistence.PERMANENT)
        return memory

    def _refusal(self, request: SynthesisRequest, fact: "Fact", location_id: SubjectKey, memory: Memory) -> str:
        """Return why the game state doesn't allow a memory to be kept; "" if it does.

        Where things are is in the ledger already, so that of this only what can be checked is kept.
        """
        if is_location(memory) and not memory.claims:
            return "where things are is known from the game state"
        wrong = [refuted_by_turn(request, fact, location_id, memory)]
        if not any(wrong) and (is_location(memory) or memory.persistence is Persistence.CORE):
            wrong = [self._ledger.correction(location_id, memory, claim) for claim in memory.claims]
            # What else the text tells of a start may be true, unless the game state denies all that it claims.
            wrong = wrong if is_location(memory) or all(wrong) else []
        return next((f"contradicted by the game state: {one}" for one in wrong if one), "")

    def _named(self, titles: set[str], *groups: Sequence[LocatedMemory]) -> list[LocatedMemory]:
        """Return the memory with each title, from the first group that has it. The ledger's entries are left to it."""
        found: list[LocatedMemory] = []
        for title in sorted(titles):
            match = titled(title, *groups)
            if match is None:
                self.counts.unknown_titles += 1
                self._log.warning("no memory of this title", extra={"title": title})
            elif not is_ledger_entry(match.memory) and match not in found:
                found.append(match)
        return found


def _is_models(memory: Memory) -> bool:
    """Return whether it outlives the episode, and a model may change it."""
    return memory.persistence.outlives_episode and not memory.is_settled_by_person and not is_ledger_entry(memory)


def _remove(place: SubjectKey, reason: str, draft: Draft, old: Memory) -> None:
    draft.remove(place, old, reason)


def _invalidate(place: SubjectKey, reason: str, turn: int, draft: Draft, old: Memory) -> None:
    draft.invalidate(place, old, reason, turn)


def _supersede(place: SubjectKey, new_title: str, reason: str, turn: int, draft: Draft, old: Memory) -> None:
    draft.supersede(place, old, new_title, turn, reason)
