"""Learning from turns: decides whether to ask about a turn, checks the answer against the ground truth, and stores it.

`Learner.take_turn` records the turn and makes the question (`recording.py`). `Learner.learn` asks it.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from zorkgpt import telemetry
from zorkgpt.errors import LLMError, MemoryRefused, MemoryStoreError
from zorkgpt.memory.asking import AnswerCache, confirmed_memory, should_ask, states_outcome
from zorkgpt.memory.claims import State
from zorkgpt.memory.conditions import Rivals, conditions, is_opposed, rivals
from zorkgpt.memory.episode import EpisodeState
from zorkgpt.memory.facts import match_by_title, memory_of_fact, moved_thing_in, subject_of
from zorkgpt.memory.guards import NewMemory, TurnEvidence
from zorkgpt.memory.models import (
    GAME,
    NO_EFFECT,
    Category,
    Memory,
    MemoryEvent,
    MemoryStatus,
    PlaceKey,
    SubjectKey,
    ZMachineContext,
    outcome_of,
)
from zorkgpt.memory.places import checked_place, is_place
from zorkgpt.memory.recording import TurnRecorder
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.settings import setting
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.synthesis import MemorySynthesizer, SynthesisRequest
from zorkgpt.memory.things import is_ledger_entry
from zorkgpt.memory.writer import MemoryWriter
from zorkgpt.record.experience import ExperienceRow
from zorkgpt.text import quoted, with_article

if TYPE_CHECKING:
    from zorkgpt.memory.answers import FurtherFact, MemorySynthesisResponse
    from zorkgpt.memory.facts import Fact

_MOST_CHANGES, _WINDOW_TURNS = 10, 20
"""How many lasting memories a model may supersede or invalidate within this number of turns without confirming them."""


@dataclass(slots=True)
class LearningCounts:
    """Counts for one episode."""

    turns: int = 0
    turns_asked: int = 0
    """Turns with at least one question. The opening text doesn't count."""
    judged_before: int = 0
    """Questions that were not asked because an earlier answer applied."""
    triggers: dict[str, int] = field(default_factory=dict)
    """Number of questions by trigger."""
    synthesis_calls: int = 0
    synthesized: int = 0
    """Facts in the answers."""
    synthesis_failures: int = 0
    asked_again: int = 0
    """Questions that were repeated because the first answer looked wrong."""
    changes_questioned: int = 0
    """Changes of lasting memories beyond the limit, which the model was asked to confirm."""
    changes_not_confirmed: int = 0
    """Those that the model didn't confirm. They were not made."""
    forbidden_by_ground_truth: int = 0
    """Invalidations refused because the object tree confirms the memory."""
    contradictions_settled: int = 0
    """Memories that were superseded or got conditions because the same action had another outcome."""
    audit: dict[str, int] = field(default_factory=dict)
    """Results of the audit at the start of the episode, by verdict."""
    unknown_titles: int = 0
    """Titles in answers that no memory has."""
    turn_failures: int = 0
    """Turns on which learning failed with an unexpected error."""


class Learner:
    """Learns from the turns of an episode. After a change that can't be written, it continues with the next one.

    Args:
        synthesizer: Decides what a turn teaches. If None, turns only count as visits and as trials of memories.
    """

    def __init__(
        self,
        writer: MemoryWriter,
        recorder: TurnRecorder,
        synthesizer: MemorySynthesizer | None,
        state: EpisodeState,
        log: logging.Logger,
    ) -> None:
        self.synthesizer = synthesizer
        self.counts = LearningCounts()
        self._writer = writer
        self._known = writer.known
        self._journal = writer.store.journal
        self._recorder = recorder
        self._state = state
        self._log = log
        # By default, assume that a model answers: this costs something, and the answer may have mistakes.
        self._asks_a_model = setting(synthesizer, "asks_a_model", True)
        judge = type(synthesizer).__name__
        self._answers = AnswerCache(writer.store.answers, judge, log) if self._asks_a_model else None
        self._changed_at: list[int] = []
        """The value of `LearningCounts.turns` at each recent change of a lasting memory by the model. (Turn numbers are
        optional.)"""
        self._last_asked_turn = -1

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
        row: ExperienceRow | None = None,
    ) -> SynthesisRequest | None:
        """Learn from the ground truth of a turn. Never raises.

        Args:
            facts: Further facts for the question, by name.
            row: The row of the turn in the experience of the game's state, if that has it already.

        Returns:
            The question for `learn`. None without a synthesizer, or after an error.
        """
        question = None
        with self._errors_logged(location_id):
            self.counts.turns += not arrival
            turn = self._recorder.record(location_id, name, action, response, given, arrival=arrival, row=row)
            if self.synthesizer is not None:
                question = self._question(replace(turn, facts=facts) if facts else turn)
            if not arrival and (turn.context.moved or turn.context.changed):
                self._invalidate_contradicted(turn.context.turn)
        # Before an answer comes, the player may act again.
        if question is None or self._writer.credit.is_pending:
            self._writer.count()
        return question

    def learn(self, question: SynthesisRequest | None) -> None:
        """Ask what a turn teaches, unless an earlier answer applies, and store it. Never raises.

        Args:
            question: What `take_turn` returned for this or an earlier turn of the episode.
        """
        if question is None:
            return
        with self._errors_logged(question.location_id):
            self._state.begin_recording(question)
            if self.synthesizer is not None and self._learn_from(question, self.synthesizer):
                self._invalidate_contradicted(self._state.turn or question.context.turn)
        self._writer.count()

    @contextmanager
    def _errors_logged(self, location_id: PlaceKey) -> Iterator[None]:
        """Log and count errors, and end the recording of the turn."""
        try:
            yield
        except LLMError as error:
            self.counts.synthesis_failures += 1
            extra = {"location_id": location_id, "error": str(error)}
            self._log.warning("the model could not be asked what to remember", extra=extra)
        except Exception as error:
            # A user's synthesizer can raise anything, and the turn loop must continue.
            self.counts.turn_failures += 1
            extra = {"location_id": location_id, "error": repr(error)}
            self._log.warning("nothing learned from the turn", extra=extra, exc_info=True)
        finally:
            self._state.end_recording()

    def note(
        self, location_id: PlaceKey, subject: SubjectKey, name: str, fact: "FurtherFact"
    ) -> tuple[MemoryEvent, ...]:
        """Store a fact that the player states before it acts, unless the ground truth contradicts it.

        Args:
            location_id: Where the player is.
            subject: What the fact is about.
            name: The subject's name.

        Returns:
            The changes. Empty if the fact is already known.

        Raises:
            MemoryStoreError: If it can't be written.
        """
        self._writer.refresh()
        memories = tuple(self._known.current(location_id))
        context = ZMachineContext(turn=self._state.turn)
        request = SynthesisRequest(location_id, name, "", "", context, memories=memories, arrival=True)
        earlier = self._writer.events.count
        with suppress(MemoryRefused):
            self._keep(request, fact, (subject, name), is_informed=False)
        return self._writer.events.since(earlier)

    def reset(self) -> None:
        """Begin a new episode."""
        self.counts = LearningCounts()
        self._last_asked_turn = -1
        self._changed_at = []
        self._recorder.reset()

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the episode as plain values, for `restore`."""
        return self._recorder.snapshot() | {
            "counts": asdict(self.counts),
            "last_asked_turn": self._last_asked_turn,
            "changed_at": list(self._changed_at),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue an interrupted episode from what `snapshot` returned."""
        self._recorder.restore(saved)
        self.counts = LearningCounts(**saved["counts"])
        self._last_asked_turn = int(saved["last_asked_turn"])
        self._changed_at = list(map(int, saved["changed_at"]))

    def _question(self, turn: SynthesisRequest) -> SynthesisRequest:
        """Return the turn with everything that the model sees."""
        self._writer.refresh()
        if not turn.arrival:
            self._observe(turn)
        return self._recorder.question(turn)

    def _observe(self, turn: SynthesisRequest) -> None:
        """Record the turn as an observation of the memories that state its outcome, and update their conditions.

        Memories of another outcome in the same state are superseded.
        """
        place, number, known = turn.location_id, turn.context.turn, self._known
        outcome = outcome_of(turn.context)
        for memory in [memory for memory in known.current(place) if states_outcome(memory, turn.action, outcome)]:
            if any(is_opposed(other, memory) for other in known.current(place)):
                self._see_again(place, memory, number)
            reason = f"the same outcome in another state in turn {number}"
            with self._writer.refusals_logged():
                self._qualify(place, memory, reason, turn.context.state)
            self._resolve_rivals(place, memory, rivals(self._journal, place, memory, known.current(place)), number)

    def _resolve_rivals(self, location_id: SubjectKey, memory: Memory, opposed: Rivals, turn: int) -> None:
        """Add conditions to rivals that hold in other states, and supersede those that the memory contradicts."""
        for rival in opposed.separated:
            reason = f"another outcome in another state: “{memory.title}”"
            with self._writer.refusals_logged():
                self.counts.contradictions_settled += self._qualify(location_id, rival, reason)
        for rival in opposed.contradicted:
            # An ephemeral memory can't supersede a lasting one: the restart would lose both.
            if memory.persistence.outlives_episode or not rival.persistence.outlives_episode:
                reason = f"“{memory.action}” had another outcome in the same state in turn {turn}: {memory.outcome}"
                writer = self._writer
                with writer.refusals_logged():
                    with writer.changing_memory(location_id, rival) as (draft, known):
                        draft.supersede(location_id, known, memory.title, turn, reason)
                    self.counts.contradictions_settled += 1

    def _qualify(self, location_id: SubjectKey, memory: Memory, reason: str, now: State | None = None) -> bool:
        """Update the conditions of a memory from the observations, and return whether they changed.

        Raises:
            MemoryRefused, MemoryStoreError: If the memory can't be changed.
        """
        when = conditions(self._journal, location_id, memory, self._known.current(location_id), now=now)
        if when == memory.when:
            return False
        with self._writer.changing_memory(location_id, memory) as (draft, known):
            draft.replace(location_id, known, replace(known, when=when), "qualified", reason)
        return True

    def _see_again(self, location_id: SubjectKey, memory: Memory, turn: int) -> None:
        """Count one more observation of a memory."""
        writer = self._writer
        changing = writer.changing_memory(location_id, memory, also_settled=True)
        with writer.refusals_logged(), changing as (draft, known):
            draft.see_again(location_id, known, turn, self._state.episode)

    # Asking

    def _learn_from(self, request: SynthesisRequest, synthesizer: MemorySynthesizer) -> bool:
        """Ask what the turn teaches, or reuse the answer to the same question, and store it.

        Returns:
            Whether there was an answer.
        """
        asked, answer = self._asked_or_reused(request, synthesizer)
        if answer is None:
            return False
        protected = self._unconfirmed(synthesizer, asked, answer) if self._asks_a_model else set()
        request = self._recorder.updated(asked)
        self._confirm_memories(request, answer)
        self._invalidate_memories(request, answer, protected)
        # Memories added while the model answered need the word check.
        is_informed = {each.memory.title for each in request.of_places} <= {
            each.memory.title for each in asked.of_places
        }
        # An answer that the model revised must not be reused.
        all_kept = not protected
        for fact in answer.facts():
            try:
                subject = self._known_subject(request, fact)
                self._keep(request, fact, subject, is_informed=is_informed, protected=protected)
            except MemoryRefused as refusal:
                self._log.info("memory ignored: %s", refusal, extra={"location_id": request.location_id})
            except MemoryStoreError:
                all_kept = False
        if all_kept and asked.triggers and self._answers is not None:
            self._answers.keep(asked, answer, [self._known.current(each.location_id) for each in asked.places])
        return True

    def _asked_or_reused(
        self, request: SynthesisRequest, synthesizer: MemorySynthesizer
    ) -> "tuple[SynthesisRequest, MemorySynthesisResponse | None]":
        """Return the request, with its triggers if it was asked, and the answer.

        The answer is None if there is none, or if the turn only confirms memories, which are then counted.
        """
        same = similar = None
        if self._answers is not None:
            same = self._answers.same(request)
            similar = self._answers.similar(request) if same is None else None
        reasons = should_ask(request, is_answered=same is not None or similar is not None)
        if reasons:
            request = replace(request, triggers=tuple(reason.value for reason in reasons))
            return request, self._asked(synthesizer, request)
        self.counts.judged_before += same is not None or similar is not None
        if similar is not None:
            # It may be about another action. The place of arrival is the same.
            place, titles = request.places[-1].location_id, {fact.memory_title for fact in similar.facts()}
            for memory in self._known.current(place):
                if memory.title in titles:
                    self._see_again(place, memory, request.context.turn)
        elif same is None and not request.context.location_changed and (known := confirmed_memory(request)):
            self._see_again(request.location_id, known, request.context.turn)
        return request, same

    def _confirm_memories(self, request: SynthesisRequest, answer: "MemorySynthesisResponse") -> None:
        memories = (*request.of_places, *request.elsewhere)
        unconfirmed = [each for each in memories if each.memory.status == MemoryStatus.TENTATIVE]
        for title in sorted(answer.confirm_memory_titles):
            if match := match_by_title(title, unconfirmed):
                self._confirm(match, request.context.turn)

    def _confirm(self, located: LocatedMemory, turn: int) -> None:
        """Mark a tentative memory as active, and count another observation."""
        place, writer = located.location_id, self._writer
        with writer.refusals_logged(), writer.changing_memory(place, located.memory) as (draft, known):
            observed = draft.see_again(place, known, turn, self._state.episode)
            draft.replace(place, observed, replace(observed, status=MemoryStatus.ACTIVE), "edited", "confirmed")

    def _asked(self, synthesizer: MemorySynthesizer, request: SynthesisRequest) -> "MemorySynthesisResponse | None":
        """Ask, and ask again if the answer looks wrong. Returns None if there was no answer."""
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
            # Count after the call, because an interrupted question is asked again.
            self._count(request)
        if answer is None:
            self.counts.synthesis_failures += 1
        return answer

    def _count(self, request: SynthesisRequest) -> None:
        self.counts.synthesis_calls += 1
        for reason in () if request.doubts else request.triggers:
            self.counts.triggers[reason] = self.counts.triggers.get(reason, 0) + 1
        turn = request.context.turn
        # The opening text has the turn 0.
        if turn and turn != self._last_asked_turn:
            self._last_asked_turn = turn
            self.counts.turns_asked += 1

    def _doubts(self, request: SynthesisRequest, answer: "MemorySynthesisResponse") -> tuple[str, ...]:
        """Return reasons why a model's answer looks wrong."""
        if not self._asks_a_model:
            return ()
        doubts, deduplicator = [], self._writer.deduplicator
        for fact in answer.facts():
            new = memory_of_fact(request, fact, request.location_id, self._state.episode)
            if self._subject_of(request, fact) is None:
                doubts.append(
                    f"“{new.title}” is about {fact.place}, which is not the number of a place or thing above."
                )
            if (moved := moved_thing_in(new, request)) is not None:
                doubts.append(
                    f"The restart puts {with_article(moved.name)} back where it was. Is “{new.title}” true in every "
                    "episode? Give its kind: rules and solutions stay true; locations are tracked by the game's ledger."
                )
            if new.category == Category.SUCCESS and new.outcome == NO_EFFECT:
                doubts.append(
                    f"“{new.title}” is a SUCCESS, but “{request.action}” changed nothing in the game. If "
                    "the game refused it, it is a FAILURE."
                )
            for title in sorted(fact.supersedes_memory_titles):
                located = match_by_title(title, request.of_places)
                if located is None or located.memory.is_settled_by_person:
                    continue
                old = located.memory
                if old.persistence.outlives_episode and not new.persistence.outlives_episode:
                    doubts.append(
                        f"“{old.title}” is true in every episode, but “{new.title}” only in this one. It can't replace "
                        "the first, because it is lost when the episode ends."
                    )
                elif deduplicator and deduplicator.is_about_something_else(old, new):
                    doubts.append(
                        f"“{new.title}” would replace “{old.title}”, but they seem to be about different facts."
                    )
        return tuple(doubts)

    def _unconfirmed(
        self, synthesizer: MemorySynthesizer, request: SynthesisRequest, answer: "MemorySynthesisResponse"
    ) -> set[tuple[SubjectKey, str]]:
        """Ask the model to confirm each change beyond the limit. Return the others' subjects and titles."""
        counts = self.counts
        self._changed_at = [turn for turn in self._changed_at if turn > counts.turns - _WINDOW_TURNS]
        unconfirmed = set()
        allowed = max(0, _MOST_CHANGES - len(self._changed_at))
        for old, change in self._planned_changes(request, answer)[allowed:]:
            if not counts.changes_questioned:
                self._log.warning(
                    "the model changes many memories and must confirm each further change",
                    extra={"turn": request.context.turn, "changes": _MOST_CHANGES, "turns": _WINDOW_TURNS},
                )
            counts.changes_questioned += 1
            text = quoted(old.memory.text)
            doubt = f"You have changed many memories. “{old.memory.title}” says {text}. {change}. Is this right?"
            second_answer = self._answer(synthesizer, replace(request, doubts=(doubt,)))
            second_changes = self._planned_changes(request, second_answer) if second_answer is not None else []
            if old not in [located for located, _ in second_changes]:
                counts.changes_not_confirmed += 1
                unconfirmed.add((old.location_id, old.memory.title))
        return unconfirmed

    def _planned_changes(
        self, request: SynthesisRequest, answer: "MemorySynthesisResponse"
    ) -> list[tuple[LocatedMemory, str]]:
        """Return the lasting memories that the answer would change, each with a sentence about the change."""
        matches: list[tuple[LocatedMemory | None, str]] = []
        for fact in answer.facts():
            change = f"You want to replace it with “{fact.memory_title}”, which says {quoted(fact.memory_text)}"
            subject = self._subject_of(request, fact)
            replaceable = [] if subject is None else self._replaceable(request, subject)
            for title in sorted(fact.supersedes_memory_titles):
                matches.append((match_by_title(title, replaceable), change))
        change = f"You want to mark it as wrong, because {quoted(answer.invalidation_reason)}"
        for title in sorted(answer.invalidate_memory_titles):
            matches.append((match_by_title(title, request.of_places, request.elsewhere), change))
        return [(match, change) for match, change in matches if match and _is_changeable(match.memory)]

    # Storing

    def _known_subject(self, request: SynthesisRequest, fact: "Fact") -> tuple[SubjectKey, str]:
        """Return the subject of a fact.

        Raises:
            MemoryRefused: If it is unknown. This is recorded.
        """
        subject = self._subject_of(request, fact)
        if subject is None:
            memory = memory_of_fact(request, fact, request.location_id, self._state.episode)
            reason = f"unknown subject {fact.place}"
            self._writer.events.ignore(request.location_id, memory, reason)
            raise MemoryRefused(f"{quoted(memory.title)} was not stored: {reason}.", reason)
        return subject

    def _subject_of(self, request: SynthesisRequest, fact: "Fact") -> tuple[SubjectKey, str] | None:
        """Return the stored key and the name of the subject of a fact. None if unknown."""
        subject = subject_of(request, fact, self._known.name_of)
        if subject is not None and subject[0] is GAME:
            return self._known.store.scope.whole, subject[1]
        return subject

    def _keep(
        self,
        request: SynthesisRequest,
        fact: "Fact",
        subject: tuple[SubjectKey, str],
        *,
        is_informed: bool,
        protected: Collection[tuple[SubjectKey, str]] = (),
    ) -> None:
        """Store a fact about a subject.

        Args:
            is_informed: See `MemoryWriter.keep`.
            protected: Memories that must not be replaced, by subject and title.

        Raises:
            MemoryRefused: If a guard refuses it. This is recorded.
            MemoryStoreError: If it can't be written.
        """
        (location_id, name), turn = subject, request.context.turn
        memory = memory_of_fact(request, fact, location_id, self._state.episode)
        titles = [
            located.memory.title
            for located in self._titled(fact.supersedes_memory_titles, self._replaceable(request, subject))
            if (location_id, located.memory.title) not in protected
        ]
        is_first_visit = request.context.first_visit
        if location_id != request.location_id:
            is_first_visit = is_place(location_id) and self._recorder.is_first_visit(location_id, turn)
        evidence = TurnEvidence(request, fact, self._recorder.ledger, self._journal, is_first_visit)
        new = NewMemory(checked_place(location_id), name, memory, replaces=titles, turn=turn, evidence=evidence)
        with telemetry.memory_operation("supersede" if titles else "remember", location_id, memory.text):
            ((kept, _),) = self._writer.keep([new], is_informed=is_informed)
        self._changed_at += [self.counts.turns] * sum(old.persistence.outlives_episode for old in kept.replaced)
        believed = self._known.current(location_id)
        opposed = rivals(self._journal, location_id, kept.memory, believed, now=request.context.state)
        self._resolve_rivals(location_id, kept.memory, opposed, turn)

    def _replaceable(self, request: SynthesisRequest, subject: tuple[SubjectKey, str]) -> list[LocatedMemory]:
        """Return the memories that a fact about a subject can replace."""
        location_id, name = subject
        known = request.memories if location_id == request.location_id else self._known.current(location_id)
        return [LocatedMemory(location_id, name, memory) for memory in known]

    def _invalidate_memories(
        self,
        request: SynthesisRequest,
        answer: "MemorySynthesisResponse",
        protected: Collection[tuple[SubjectKey, str]],
    ) -> None:
        for located in self._titled(answer.invalidate_memory_titles, request.of_places, request.elsewhere):
            if (located.location_id, located.memory.title) not in protected:
                with self._writer.refusals_logged():
                    self._invalidate(request, located.location_id, located.memory, answer.invalidation_reason or "")

    def _invalidate(self, request: SynthesisRequest, location_id: SubjectKey, memory: Memory, reason: str) -> None:
        """Mark a memory as wrong.

        Raises:
            MemoryRefused: If the object tree confirms it, or it can't be changed.
            MemoryStoreError: If it can't be written.
        """
        if self._recorder.ledger.confirms(location_id, memory, request.context.things):
            self.counts.forbidden_by_ground_truth += 1
            raise MemoryRefused(f"{quoted(memory.title)} was not marked as wrong: the object tree confirms it.")
        with telemetry.memory_operation("invalidate", location_id, memory.text):
            self._writer.invalidate(location_id, memory.title, reason, request.context.turn)
        if memory.persistence.outlives_episode:
            self._changed_at.append(self.counts.turns)

    def _invalidate_contradicted(self, turn: int) -> None:
        """Invalidate the ephemeral memories that the object tree contradicts."""
        for location_id, memories in list(self._known.ephemeral.items()):
            for memory in memories:
                if not is_current(memory) or is_ledger_entry(memory):
                    continue
                if state := self._recorder.ledger.contradicting_state(location_id, memory.claims):
                    reason = f"contradicted by the game state: {state}"
                    writer = self._writer
                    changing = writer.changing_memory(location_id, memory, also_settled=True)
                    with writer.refusals_logged(), changing as (draft, known):
                        draft.invalidate(location_id, known, reason, turn)

    def _titled(self, titles: set[str], *groups: Sequence[LocatedMemory]) -> list[LocatedMemory]:
        """Return the memory with each title, from the first group that has it. Entries of the ledger are omitted."""
        matches: list[LocatedMemory] = []
        for title in sorted(titles):
            match = match_by_title(title, *groups)
            if match is None:
                self.counts.unknown_titles += 1
                self._log.warning("no memory has this title", extra={"title": title})
            elif not is_ledger_entry(match.memory) and match not in matches:
                matches.append(match)
        return matches


def _is_changeable(memory: Memory) -> bool:
    """Return whether a memory is lasting and the model may change it."""
    return memory.persistence.outlives_episode and not memory.is_settled_by_person and not is_ledger_entry(memory)
