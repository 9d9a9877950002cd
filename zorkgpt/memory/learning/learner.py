"""How one turn becomes memories: asked about if it may teach something, checked, then kept."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from zorkgpt.memory.claims import Claim, Relation, differing, holds
from zorkgpt.memory.entailment.comparison import compared
from zorkgpt.memory.keeping.keeper import Keeper
from zorkgpt.memory.learning.judgment_cache import JudgmentCache, is_always_asked, key_of
from zorkgpt.memory.learning.synthesis import MemorySynthesizer, RecentTurn, SynthesisRequest
from zorkgpt.memory.learning.titles import meant
from zorkgpt.memory.learning.triggers import ALL, Trigger, reasons_to_remember
from zorkgpt.memory.models import (
    FurtherFact,
    Memory,
    MemoryStatus,
    MemorySynthesisResponse,
    ZMachineContext,
    outcome_of,
)
from zorkgpt.memory.object_locations import HandledThings
from zorkgpt.memory.storage.changes import is_current, same_words
from zorkgpt.memory.storage.escaping import folded, one_line

Fact = MemorySynthesisResponse | FurtherFact

_ABOUT_AN_ACTION = ("SUCCESS", "FAILURE")
"""Categories that by their definition tell what came of an action."""


@dataclass(slots=True)
class Counts:
    """Counts for one episode."""

    turns: int = 0
    turns_asked: int = 0
    """Turns with at least one question, the opening text left out."""
    judged_before: int = 0
    """Turns that were passed over, since the very same had been judged."""
    triggers: dict[str, int] = field(default_factory=dict)
    """Turns by each reason to ask about them, those passed over too."""
    synthesis_calls: int = 0
    synthesized: int = 0
    """Facts that were to be remembered."""
    synthesis_failures: int = 0
    asked_again: int = 0
    """Answers that looked like a slip and were asked for once more."""
    core_validation_downgrade: int = 0
    persistence_corrected: int = 0
    """Called lasting, and claiming what is so by the agent's own doing."""
    forbidden_by_ground_truth: int = 0
    """Memories that were to be marked as wrong, and that the object tree bears out."""
    contradictions_settled: int = 0
    """Memories about one action with different outcomes, of which one gave way or both now say when they hold."""
    audit: dict[str, int] = field(default_factory=dict)
    """What the fresh world said of the core memories when the episode began, by verdict."""
    unknown_titles: int = 0
    echoes: int = 0
    """What the agent had been shown and the model took for news."""
    turn_failures: int = 0
    """Turns that nothing could be learned from, whatever the reason."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values; `asdict` would take longer, and this is asked for on every turn."""
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: dict(value) if isinstance(value, dict) else value for name, value in values}


class Learner:
    """Asks what a turn teaches and applies the answer. Raises what the synthesizer raises."""

    def __init__(
        self,
        keeper: Keeper,
        synthesizer: MemorySynthesizer,
        counts: Counts,
        is_echo: Callable[[int, Memory, SynthesisRequest], bool],
        is_first_visit: Callable[[int, int], bool],
        log: logging.Logger,
        *,
        handled: HandledThings | None = None,
        judged: JudgmentCache | None = None,
        triggers: frozenset[Trigger] = ALL,
    ) -> None:
        """
        Args:
            is_first_visit: (location, turn) → whether no earlier turn of the episode was played there.
            handled: what the agent has moved or changed in this episode.
            judged: answers that need not be asked for again; None: everything is asked.
            triggers: the reasons to ask that count.
        """
        self._handled = handled or HandledThings()
        self._judged = judged
        self._triggers = triggers
        self._keeper = keeper
        self._synthesizer = synthesizer
        self._counts = counts
        self._is_echo = is_echo
        self._is_first_visit = is_first_visit
        self._log = log

    def learn(
        self,
        location_id: int,
        location_name: str,
        action: str,
        response: str,
        context: ZMachineContext,
        *,
        episode: int | str,
        history: tuple[RecentTurn, ...] = (),
        recalled: tuple[str, ...] = (),
        arrival: bool = False,
    ) -> None:
        """Learn from a turn, and stop believing what it has made untrue of this episode."""
        self._ask_about(
            location_id,
            location_name,
            action,
            response,
            context,
            episode=episode,
            history=history,
            recalled=recalled,
            arrival=arrival,
        )
        if not arrival and (context.moved or context.changed):
            self._drop_what_is_no_longer_so(context.turn)

    def _ask_about(
        self,
        location_id: int,
        location_name: str,
        action: str,
        response: str,
        context: ZMachineContext,
        *,
        episode: int | str,
        history: tuple[RecentTurn, ...],
        recalled: tuple[str, ...],
        arrival: bool,
    ) -> None:
        memories = tuple(self._keeper.current(location_id))
        triggers = reasons_to_remember(
            context,
            response_length=len(response),
            enabled=self._triggers,
            is_known_way=not arrival and _is_known_way(action, context, memories),
        )
        for trigger in triggers:
            self._counts.triggers[trigger.value] = self._counts.triggers.get(trigger.value, 0) + 1
        before, moved = self._handled.numbers(), self._handled.moved()
        if not arrival:
            self._handled.note(context)
            self._widen(location_id, action, context, memories)
        if not triggers:
            return
        request = SynthesisRequest(
            location_id,
            location_name,
            action,
            response,
            context,
            memories=memories,
            history=history,
            triggers=tuple(trigger.value for trigger in triggers),
            arrival=arrival,
            recalled=recalled,
            handled=before,
            moved=moved,
        )
        if self._judged is None:
            self._ask(request, episode)
            return
        key = key_of(request, type(self._synthesizer).__name__, self._replaced(location_id))
        if not is_always_asked(request) and (answer := self._judged.answer(key)) is not None:
            self._counts.judged_before += 1
            self._apply(request, answer, episode)
        elif answer := self._ask(request, episode):
            self._judged.keep(key, answer)

    def _drop_what_is_no_longer_so(self, turn: int) -> None:
        """Memories of this episode that claim of a thing what the object tree says is otherwise by now."""
        for location_id, kept in list(self._keeper.ephemeral.items()):
            for memory in [one for one in kept if is_current(one)]:
                denied = next((one for one in memory.claims if self._handled.denies(location_id, one)), None)
                if denied is not None:
                    reason = f"by the object tree the {self._handled.name_of(denied.number)} is otherwise by now"
                    self._keeper.invalidate_ephemeral(location_id, memory, reason, turn)

    def _widen(self, location_id: int, action: str, turn: ZMachineContext, memories: Sequence[Memory]) -> None:
        """What came out again as a memory says, in another state than it says, does not depend on that state."""
        outcome = outcome_of(turn)
        for memory in memories:
            if not memory.when or folded(memory.action) != folded(action) or memory.outcome != outcome:
                continue
            when = tuple(claim for claim in memory.when if holds(claim, turn.state) is not False)
            if when != memory.when:
                reason = f"it came out so in another state too, in turn {turn.turn}"
                self._keeper.qualify(location_id, memory, when, reason)

    def _replaced(self, location_id: int) -> list[Memory]:
        with self._keeper.store.guard:
            return [one for one in self._keeper.store.cache.get(location_id, ()) if not is_current(one)]

    def _ask(self, request: SynthesisRequest, episode: int | str) -> MemorySynthesisResponse | None:
        """Ask, and apply the answer; None: there was none, or it could not be kept."""
        answer = self._answer(request)
        if answer is not None and (doubts := self._doubts(request, answer)):
            self._counts.asked_again += 1
            answer = self._answer(replace(request, doubts=doubts)) or answer
        if answer is None:
            extra = {"location_id": request.location_id, "turn": request.context.turn}
            self._log.warning("no answer about what to remember", extra=extra)
            return None
        self._counts.synthesized += len(answer.facts())
        return answer if self._apply(request, answer, episode) else None

    def _answer(self, request: SynthesisRequest) -> MemorySynthesisResponse | None:
        self._counts.synthesis_calls += 1
        answer = self._synthesizer.synthesize(request)
        if answer is None:
            self._counts.synthesis_failures += 1
        return answer

    def _doubts(self, request: SynthesisRequest, answer: MemorySynthesisResponse) -> tuple[str, ...]:
        """What in the answer looks like a slip."""
        if not getattr(self._synthesizer, "asks_a_model", True):
            return ()
        doubts = []
        for fact in answer.facts():
            new = self._memory(request, fact, request.location_id, 0)
            for title in fact.supersedes_memory_titles:
                old = meant(title, request.memories)
                if old is None or old.pinned:
                    continue
                if old.persistence != "ephemeral" and new.persistence == "ephemeral":
                    doubts.append(
                        f"“{old.title}” is true in every episode and “{new.title}” in this one only: the first is not "
                        "replaced by the second, since the restart would lose it."
                    )
                elif self._keeper.is_about_something_else(request.location_id, old, new):
                    doubts.append(f"“{old.title}” is to be replaced by “{new.title}”, which seems to be about another.")
        return tuple(doubts)

    # Keeping

    def _apply(self, request: SynthesisRequest, answer: MemorySynthesisResponse, episode: int | str) -> bool:
        for memory in self._existing(request.location_id, request.memories, answer.invalidate_memory_titles):
            self._invalidate(request, memory, answer.invalidation_reason or "")
        kept = [self._keep(request, fact, episode) for fact in answer.facts()]
        return all(kept)

    def _invalidate(self, request: SynthesisRequest, memory: Memory, reason: str) -> None:
        """Unless the object tree says that it was so, before the agent changed it or still."""
        lasting = memory.persistence != "ephemeral"
        if memory.claims and all(self._is_or_was_so(request, claim, lasting=lasting) for claim in memory.claims):
            self._counts.forbidden_by_ground_truth += 1
            self._log.warning(
                "not invalidated: the object tree bears it out",
                extra={"location_id": request.location_id, "title": memory.title, "reason": reason},
            )
            return
        self._keeper.invalidate(request.location_id, memory.title, reason, request.context.turn)

    def _is_or_was_so(self, request: SynthesisRequest, claim: Claim, *, lasting: bool) -> bool:
        if lasting and self._handled.was_so_before(request.location_id, claim):
            return True
        now = {told.short for thing in request.context.things for told in thing.claims()}
        return claim.short in now and claim.number not in self._handled

    def _keep(self, request: SynthesisRequest, fact: Fact, episode: int | str) -> bool:
        location_id, name = self._place(request, fact)
        known = request.memories if location_id == request.location_id else self._keeper.current(location_id)
        memory = self._checked(request, self._memory(request, fact, location_id, episode), location_id)
        if self._is_echo(location_id, memory, request):
            self._counts.echoes += 1
            self._keeper.ignore(location_id, memory, "the agent had been shown it elsewhere")
            return True
        if self._keeper.is_forbidden(location_id, name, memory):
            return True
        replaced = [old.title for old in self._existing(location_id, known, fact.supersedes_memory_titles)]
        replaced = self._keeper.replaceable(location_id, replaced, memory)
        memory = _named_apart(memory, [one for one in known if one.title not in replaced])
        memory, settled = self._against_what_is_believed(request, location_id, memory, replaced)
        if memory is None:
            return True
        kept = bool(replaced) and self._keeper.supersede(location_id, name, replaced, memory, request.context.turn)
        # Also where the old one may not be replaced: what was learned is then true beside it.
        kept = kept or self._keeper.add(location_id, name, memory, is_judged=True)
        if kept:
            for settle in settled:
                settle()
        return kept

    def _place(self, request: SynthesisRequest, fact: Fact) -> tuple[int, str]:
        """Where the fact is kept: the location of the action or of the arrival, as the model says."""
        turn = request.context
        here = request.location_id, request.location_name
        if request.arrival and fact.place == "action" and turn.location_before is not None:
            return turn.location_before, self._keeper.names.get(turn.location_before, "")
        led_on = not request.arrival and turn.location_changed and not turn.died
        if led_on and fact.place == "arrival" and turn.location_after is not None:
            return turn.location_after, turn.destination_name
        return here

    def _memory(self, request: SynthesisRequest, fact: Fact, location_id: int, episode: int | str) -> Memory:
        turn = request.context
        action = " ".join((_action_of(request, fact) or "").split())
        is_this_one = bool(action) and folded(action) == folded(request.action) and not request.arrival
        return Memory(
            fact.category or "NOTE",
            fact.memory_title or "",
            episode,
            str(turn.turn),
            turn.score_delta if location_id == request.location_id and not request.arrival else 0,
            fact.memory_text or "",
            fact.persistence or "permanent",
            fact.status if fact.status != MemoryStatus.SUPERSEDED else MemoryStatus.ACTIVE,
            action=action,
            outcome=outcome_of(turn) if is_this_one and location_id == request.location_id else "",
            claims=_known_claims(fact.claims, turn),
        )

    def _checked(self, request: SynthesisRequest, memory: Memory, location_id: int) -> Memory:
        """With the persistence that the ground truth allows."""
        turn = request.context
        if memory.persistence == "ephemeral":
            return memory
        owed = self._handled.owed_to_the_agent(location_id, memory.claims)
        if owed is not None and turn.score_delta > 0 and not request.arrival:
            # How it was scored lasts, where the thing is now does not.
            lasting = (one for one in memory.claims if self._handled.owed_to_the_agent(location_id, [one]) is None)
            memory = replace(memory, claims=tuple(lasting))
        elif owed is not None:
            self._counts.persistence_corrected += 1
            self._log.warning(
                "%s about what is so by the agent's own doing kept for the episode",
                memory.persistence,
                extra={"title": memory.title, "claim": str(owed), "turn": turn.turn},
            )
            return replace(memory, persistence="ephemeral")
        first = turn.first_visit if location_id == request.location_id else self._is_first_visit(location_id, turn.turn)
        if memory.persistence == "core" and not first:
            self._counts.core_validation_downgrade += 1
            self._log.warning(
                "core on a later visit kept as permanent", extra={"title": memory.title, "turn": turn.turn}
            )
            return replace(memory, persistence="permanent")
        return memory

    def _against_what_is_believed(
        self, request: SynthesisRequest, location_id: int, memory: Memory, replaced: Sequence[str]
    ) -> tuple[Memory | None, list[Callable[[], object]]]:
        """Settle what is believed of the same action and came out otherwise.

        Where the states differed, both say in which they hold; else the newer ground truth wins, unless a person has
        pinned the older one.

        Returns:
            The memory as it is to be kept, None if it is not, and what is to be done once it is.
        """
        settled: list[Callable[[], object]] = []
        turn = request.context
        for rival in self._keeper.current(location_id):
            if rival.title in replaced or not _is_opposed(rival, memory):
                continue
            then, now = differing(self._keeper.state_when_learned(location_id, rival), turn.state)
            if then:
                memory = replace(memory, when=tuple(dict.fromkeys((*memory.when, *now))))
                when = tuple(dict.fromkeys((*rival.when, *then)))
                reason = f"in another state it comes out otherwise: “{memory.title}”"
                settled.append(
                    lambda rival=rival, when=when, reason=reason: self._qualify(rival, when, reason, location_id)
                )
            elif self._keeper.is_by_a_person(location_id, rival):
                self._keeper.ignore(location_id, memory, f"a person says otherwise: {rival.title}")
                return None, []
            elif rival.persistence == "ephemeral" or memory.persistence != "ephemeral":
                reason = f"in the same state “{memory.action}” came out otherwise in turn {turn.turn}: {memory.outcome}"
                settled.append(
                    lambda rival=rival, reason=reason, new=memory: self._give_way(
                        location_id, rival, new, reason, turn.turn
                    )
                )
        return memory, settled

    def _qualify(self, rival: Memory, when: tuple[Claim, ...], reason: str, location_id: int) -> None:
        self._counts.contradictions_settled += self._keeper.qualify(location_id, rival, when, reason)

    def _give_way(self, location_id: int, rival: Memory, new: Memory, reason: str, turn: int) -> None:
        self._counts.contradictions_settled += self._keeper.give_way(location_id, rival, new, reason, turn)

    def _existing(self, location_id: int, memories: Sequence[Memory], titles: set[str]) -> list[Memory]:
        found: list[Memory] = []
        for title in sorted(titles):
            memory = meant(title, memories)
            if memory is None:
                self._counts.unknown_titles += 1
                self._log.warning("no memory of this title", extra={"location_id": location_id, "title": title})
            elif memory not in found:
                found.append(memory)
        return found


def _is_known_way(action: str, turn: ZMachineContext, memories: Sequence[Memory]) -> bool:
    """Whether a walk led to where the map, or a memory of this place, says that it leads."""
    if not turn.location_changed or any(memory.status == MemoryStatus.TENTATIVE for memory in memories):
        return False
    wanted, came_to = folded(action), outcome_of(turn)
    return turn.known_way or any(folded(one.action) == wanted and one.outcome == came_to for one in memories)


def _action_of(request: SynthesisRequest, fact: Fact) -> str | None:
    """What the fact is about; where the field was left out, a success or a failure is one of this turn's action."""
    if fact.action is None and fact.category in _ABOUT_AN_ACTION and not request.arrival:
        return request.action
    return fact.action


def _known_claims(claims: Sequence[Claim], turn: ZMachineContext) -> tuple[Claim, ...]:
    """The claims about things that the Z-machine listed, with their names; ways and darkness need none."""
    names = {thing.number: thing.name for thing in turn.things}
    names |= {one.number: one.name for one in (*turn.moved, *turn.changed)}
    found = []
    for claim in claims:
        if claim.relation in (Relation.DARK, Relation.LIGHT):
            found.append(Claim(claim.relation))
        elif claim.relation is Relation.LEADS:
            if claim.name.strip() and claim.other is not None:
                found.append(Claim(Relation.LEADS, None, one_line(claim.name), claim.other, one_line(claim.other_name)))
        elif claim.number in names and (claim.relation not in (Relation.IN, Relation.ON) or claim.other is not None):
            found.append(replace(claim, name=names[claim.number], other_name=names.get(claim.other, "")))
    return tuple(dict.fromkeys(found))


def _is_opposed(known: Memory, new: Memory) -> bool:
    """Whether both tell what came of the same action, and not the same; surviving once disproves no danger."""
    if not known.action or folded(known.action) != folded(new.action) or known.outcome == new.outcome:
        return False
    outcomes = {known.outcome, new.outcome}
    if "" in outcomes or known.outcome == "died":
        return False
    return new.outcome == "died" or "nothing" in outcomes or all(one.startswith("to ") for one in outcomes)


def _named_apart(memory: Memory, others: Sequence[Memory]) -> Memory:
    """With a title of its own, where another fact of the place has the same one."""
    taken = {folded(one.title): one for one in others}
    known = taken.get(folded(memory.title))
    if known is None or same_words(known, memory) or compared(known, memory, None).relation in ("same", "adds"):
        return memory
    number = 2
    while folded(f"{memory.title} ({number})") in taken:
        number += 1
    return replace(memory, title=f"{memory.title} ({number})")
