"""Guards: the checks of a new memory against the game state, the turn that taught it, and the stored memories.

`guarded` runs them in order: before a model is asked about a memory, and again inside the transaction that stores it,
because the stored memories may have changed meanwhile.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from zorkgpt.errors import MemoryRefused
from zorkgpt.memory.conditions import conditions, rivals
from zorkgpt.memory.entailment.comparison import ComparisonsByWords, compared, with_verdicts
from zorkgpt.memory.facts import is_location, refuted_by_turn, with_known_wording, with_unique_title
from zorkgpt.memory.models import Memory, MemoryKind, Persistence, SubjectKey
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import is_current, same_words, titled
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.memory.things import ThingsLedger
from zorkgpt.text import quoted

if TYPE_CHECKING:
    from zorkgpt.memory.facts import Fact

SETTLED = "it is pinned, or edited by a person"


class GuardCount(StrEnum):
    """The metrics of an episode that count what the guards did."""

    HIDDEN = "vetoes_obeyed"
    """Memories that were not stored because a person hid them."""
    SETTLED = "person_edits_kept"
    """Attempts to replace or invalidate a memory that a person pinned or edited."""
    REFUTED = "refused_by_ledger"
    """Memories not stored because the game state contradicts or already includes them."""
    TEMPORARY = "persistence_corrected"
    """Lasting memories stored as ephemeral because a claim holds in this episode only."""
    LATER_VISIT = "core_validation_downgrade"
    """Core memories from later visits, stored as permanent."""


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """The turn that taught a memory, and the state of the game."""

    request: SynthesisRequest
    fact: "Fact"
    """The fact in the answer from which the memory was made."""
    ledger: ThingsLedger
    journal: Journal
    is_first_visit: bool
    """Whether the player sees the subject, a place, for the first time in this episode."""


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to store, and what its guards compare it with."""

    location_id: SubjectKey
    """A valid place, see `checked_place`."""
    name: str
    """The name of the place; "" if unknown."""
    memory: Memory
    given: Mapping[str, Any] = field(default_factory=dict)
    """Fields to set on a known memory if the new one only repeats it."""
    replaces: Sequence[str] = ()
    """The titles or `MemoryId`s of the memories that it supersedes."""
    turn: int | None = None
    """The turn in which it supersedes them. None if unknown."""
    evidence: TurnEvidence | None = None
    """None if a caller states the memory."""
    verdicts: ComparisonsByWords = field(default_factory=dict)
    """What a judge found about it and memories of the place, also those that a person hid."""
    present: Sequence[Memory] = ()
    """The stored memories of the place, lasting ones first."""
    replaced: Sequence[Memory] = ()
    """Those that it supersedes, as found by the guards."""
    corrections: tuple[tuple[str, str], ...] = ()
    """What guards changed instead of refusing it: messages for the log, each with its `GuardCount` or ""."""

    @property
    def learned_from(self) -> TurnEvidence:
        """The evidence of a memory that a turn taught."""
        assert self.evidence is not None
        return self.evidence

    @property
    def beside(self) -> list[Memory]:
        """The current memories of the place, without those that it supersedes by their titles."""
        titles = {old.title for old in self.replaced}
        return [old for old in self.present if is_current(old) and old.title not in titles]

    def corrected(self, memory: Memory, message: str, count: str = "") -> "NewMemory":
        """Return it with a corrected memory."""
        return replace(self, memory=memory, corrections=(*self.corrections, (message, count)))

    def refusal(self, reason: str, count: str = "") -> MemoryRefused:
        """Return the error that refuses it."""
        return MemoryRefused(f"{quoted(self.memory.title)} was not stored: {reason}.", reason, count)


def guarded(new: NewMemory) -> NewMemory:
    """Return a memory as all guards accept it.

    Raises:
        MemoryRefused: If a guard refuses it.
    """
    for guard in GUARDS_OF_STATEMENTS if new.evidence is None else GUARDS:
        new = guard(new)
    return new


# Against the game state


def not_refuted(new: NewMemory) -> NewMemory:
    """Refuse what the turn or the ledger contradicts, and locations without claims, which the ledger already has."""
    evidence, memory = new.learned_from, new.memory
    if is_location(memory) and not memory.claims:
        raise new.refusal("the whereabouts of things are known from the game state", GuardCount.REFUTED)
    corrections = [refuted_by_turn(evidence.request, evidence.fact, new.location_id, memory)]
    if not any(corrections) and (is_location(memory) or memory.persistence is Persistence.CORE):
        corrections = [evidence.ledger.correction(new.location_id, memory, claim) for claim in memory.claims]
        # If only some claims of another core memory are wrong, the rest of its text may still be true.
        if not is_location(memory) and not all(corrections):
            return new
    for correction in filter(None, corrections):
        raise new.refusal(f"contradicted by the game state: {correction}", GuardCount.REFUTED)
    return new


def in_known_words(new: NewMemory) -> NewMemory:
    """Give a loss the words of the known memory of the same loss."""
    return replace(new, memory=with_known_wording(new.memory, list(filter(is_current, new.present))))


def with_valid_claims(new: NewMemory) -> NewMemory:
    """Drop the wrong claims of rules, solutions and dangers. Their persistence stays as it is."""
    evidence, memory = new.learned_from, new.memory
    scored = evidence.request.context.score_delta > 0 and not evidence.request.arrival
    if memory.kind in (None, MemoryKind.LOCATION) and not scored:
        return new
    return replace(new, memory=replace(memory, claims=evidence.ledger.valid_claims(new.location_id, memory)))


def ephemeral_if_temporary(new: NewMemory) -> NewMemory:
    """Make a memory ephemeral if one of its claims holds in this episode only."""
    memory = new.memory
    if not memory.persistence.outlives_episode:
        return new
    claim = new.learned_from.ledger.temporary_claim(new.location_id, memory.claims)
    if claim is None:
        return new
    message = f"{memory.persistence} memory kept as ephemeral: its claim holds in this episode only ({claim})"
    return new.corrected(replace(memory, persistence=Persistence.EPHEMERAL), message, GuardCount.TEMPORARY)


def core_at_first_visit(new: NewMemory) -> NewMemory:
    """Make a core memory from a later visit permanent."""
    if new.memory.persistence is not Persistence.CORE or new.learned_from.is_first_visit:
        return new
    memory = replace(new.memory, persistence=Persistence.PERMANENT)
    return new.corrected(memory, "core on a later visit kept as permanent", GuardCount.LATER_VISIT)


# Against the stored memories


def not_hidden(new: NewMemory) -> NewMemory:
    """Refuse what a hidden memory says, by its words or as found by a judge."""
    hidden = [old for old in new.present if old.vetoed]
    for each in with_verdicts([compared(old, new.memory) for old in hidden], new.verdicts) if hidden else ():
        if each.merges or same_words(each.known, new.memory):
            raise new.refusal(f"a person has hidden {quoted(each.known.title)}", GuardCount.HIDDEN)
    return new


def not_against_person(new: NewMemory) -> NewMemory:
    """Refuse another text under the title of a memory that a person settled."""
    memory, title = new.memory, folded(new.memory.title)
    alike = (old for old in new.present if is_current(old) and folded(old.title) == title)
    _check_person(new, (old for old in alike if not same_words(old, memory)))
    return new


def replacing_named(new: NewMemory) -> NewMemory:
    """Find the memories that it replaces. If it can't replace one, a statement is refused.

    A memory that a turn taught is stored beside the ones that it can't replace.
    """
    if not new.replaces:
        return new
    # Those that last as long as the new one take precedence.
    is_lasting = new.memory.persistence.outlives_episode
    present = sorted(new.present, key=lambda old: old.persistence.outlives_episode != is_lasting)
    replaced: dict[str, Memory] = {}
    for name in new.replaces:
        old = titled(present, name, new.location_id)
        if old is None:
            continue
        if old.is_settled_by_person:
            reason, count = SETTLED, str(GuardCount.SETTLED)
        elif old.persistence.outlives_episode and not is_lasting:
            reason, count = f"the restart would lose it, because {quoted(new.memory.title)} is ephemeral", ""
        else:
            replaced[name] = old
            continue
        message = f"{quoted(old.title)} was not replaced: {reason}."
        if new.evidence is None:
            raise MemoryRefused(message, reason, count)
        new = new.corrected(new.memory, message, count)
    if new.evidence is None and not replaced:
        raise new.refusal(f"there is no current memory {' or '.join(map(quoted, new.replaces))} to replace")
    return replace(new, replaced=list(replaced.values()), replaces=list(replaced))


def under_unique_title(new: NewMemory) -> NewMemory:
    """Number the title if another fact has it."""
    return replace(new, memory=with_unique_title(new.memory, new.beside))


def under_conditions(new: NewMemory) -> NewMemory:
    """Add the conditions that separate it from other outcomes of its action. Refuse an outcome that a person denies."""
    evidence, place, memory = new.learned_from, new.location_id, new.memory
    now = evidence.request.context.state
    opposed = rivals(evidence.journal, place, memory, new.beside, now=now)
    _check_person(new, opposed.contradicted)
    when = conditions(evidence.journal, place, memory, opposed.separated, now=now)
    return replace(new, memory=replace(memory, when=when))


GUARDS: tuple[Callable[[NewMemory], NewMemory], ...] = (
    not_refuted,
    in_known_words,
    with_valid_claims,
    ephemeral_if_temporary,
    core_at_first_visit,
    not_hidden,
    not_against_person,
    replacing_named,
    under_unique_title,
    under_conditions,
)
"""The guards in order. First the game state decides the claims and the persistence, because these decide which memories
can be replaced. The title and the conditions depend on the memories that stay."""

GUARDS_OF_STATEMENTS = (not_hidden, replacing_named)
"""The guards of a memory that a caller states. Callers are not checked against the game state."""


def _check_person(new: NewMemory, opposed: Iterable[Memory]) -> None:
    """Raise MemoryRefused if a person settled one of the memories that the new one contradicts."""
    for old in opposed:
        if old.is_settled_by_person:
            raise new.refusal(f"a person has decided otherwise: {old.title}")
