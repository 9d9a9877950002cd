"""Decides what is to be done with a new memory, given how it compares with those that are kept, and does it.

Each change says with what the memory was compared, so that it can be undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zorkgpt.memory.entailment.comparison import Comparison, compared
from zorkgpt.memory.models import Memory, MemoryStatus, Persistence, PlaceKey
from zorkgpt.memory.storage import changes
from zorkgpt.memory.storage.changes import ChangedDocument, is_current, known_again, same_words
from zorkgpt.memory.storage.changes import Kind as ChangeKind
from zorkgpt.memory.storage.document import Document

DecisionKind = Literal["new", "repeats", "refines", "contradicts"]
Belief = Literal["newer", "older", "open"]

# By so many observations a memory has to be ahead of what contradicts it, to be believed against it.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """How a new memory relates to those that are kept."""

    kind: DecisionKind
    about: Comparison | None = None
    """The comparison that decided; None: the memory is about none of them."""


NEW = Decision("new")


def decide(new: Memory, comparisons: Sequence[Comparison]) -> Decision:
    """Return what the nearest memory that says the same decides; else one that says part of it; else a contradiction.

    All of them are looked at: where a place holds a fact and its contradiction, the contradiction is often nearer.
    """
    ranked = sorted(comparisons, key=lambda one: -(one.cosine or 0.0))
    # What is open against its contrary is not settled by being said once more: observations decide that.
    contested = any(one.relation == "conflict" for one in ranked)
    for relation in ("same", "adds", "conflict"):
        for one in ranked:
            decision = _decided(new, one, contested) if one.relation == relation else NEW
            if decision.kind != "new":
                return decision
    return next((Decision("new", one) for one in ranked), NEW)


def _decided(new: Memory, one: Comparison, contested: bool) -> Decision:
    known = one.known
    unconfirmed = new.status == MemoryStatus.TENTATIVE and known.status == MemoryStatus.ACTIVE
    if known.is_settled_by_person and one.relation in ("same", "adds"):
        # A person wants it as it is: what says more is kept beside it.
        return Decision("repeats", one) if one.relation == "same" else NEW
    if one.relation == "same":
        confirms = known.status == MemoryStatus.TENTATIVE and new.status == MemoryStatus.ACTIVE and not contested
        permanent = Persistence.PERMANENT
        lasts_longer = known.persistence != permanent and new.persistence == permanent and not unconfirmed
        return Decision("refines" if confirms or lasts_longer else "repeats", one)
    if one.relation == "adds":
        return NEW if unconfirmed else Decision("refines", one)
    # What is seen at the start and how the game works may differ: one of them is the state of the world.
    return Decision("contradicts", one) if known.persistence == new.persistence else NEW


def believed(older: Memory, newer: Memory, *, was_believed_before: bool = False) -> Belief:
    """Return which of two contradicting memories to believe.

    A score that came with it is the game's own word; else it counts how often each was observed, the newer one once
    more for being newer. Open while neither is well ahead, and where the fact has flipped back. What a person has
    pinned or edited is believed.

    Args:
        was_believed_before: the newer one was, and the older one has replaced it.
    """
    if older.is_settled_by_person:
        return "older"
    ahead = _weight(newer) - _weight(older) + 1
    if ahead <= -_AHEAD:
        return "older"
    if was_believed_before:
        return "open"
    return "newer" if ahead >= 1 else "open"


def is_settled(seen: Memory, rival: Memory) -> bool:
    """Return whether a memory that was open against its rival, and was observed again, is far enough ahead of it."""
    return not rival.is_settled_by_person and _weight(seen) - _weight(rival) >= _AHEAD


def _weight(memory: Memory) -> int:
    scored = 2 if (memory.score_change or 0) > 0 else 0
    return memory.observation_count + scored - (memory.status == MemoryStatus.TENTATIVE)


def applied(
    document: Document, location_id: PlaceKey, name: str, new: Memory, decision: Decision, turn: int | None
) -> ChangedDocument | None:
    """Return the document as the decision asks for it.

    None: what the memory was compared with is there no more, or another process has written the very same meanwhile.
    """
    one = decision.about
    kept = document.memories(location_id)
    known = None if one is None else known_again(kept, one.known)
    if one is None or known is None or (decision.kind != "repeats" and is_overtaken(kept, new, one)):
        return None
    reason = one.describe()
    if decision.kind == "repeats":
        return merged(document, location_id, known, new, reason)
    if decision.kind == "refines" and known.is_settled_by_person:
        return changes.added(document, location_id, name, new)
    if decision.kind == "refines":
        return refined(document, location_id, name, known, new, turn, reason)
    if known.is_settled_by_person and any(same_words(old, new) and old.superseded_by == known.title for old in kept):
        # The contradiction was settled before, and is on record.
        return ChangedDocument(document)
    was_believed_before = any(
        old.superseded_by == known.title and compared(old, new, None).relation == "same"
        for old in kept
        if not is_current(old)
    )
    belief = believed(known, new, was_believed_before=was_believed_before)
    return opposed(document, location_id, name, known, new, belief, turn, reason)


def is_overtaken(kept: Sequence[Memory], new: Memory, one: Comparison) -> bool:
    """Return whether the new memory itself is kept meanwhile, beside the one that it was compared with."""
    known = known_again(kept, one.known)
    return any(other is not known and is_current(other) and same_words(other, new) for other in kept)


def with_settled(document: Document, location_id: PlaceKey, seen: Memory, turn: int | None) -> ChangedDocument | None:
    """Return the document with a tentative memory believed against its contrary, if its observations suffice now."""
    kept = document.memories(location_id)
    winner = known_again(kept, seen)
    if winner is not None and winner.is_settled_by_person:
        return None
    for rival in kept:
        if winner and rival.status == MemoryStatus.TENTATIVE and is_settled(winner, rival):
            contrast = compared(rival, winner, None)
            if contrast.relation == "conflict":
                reason = f"{contrast.reason}; observed {winner.observation_count} times"
                return settled(document, location_id, winner, rival, turn, reason)
    return None


def merged(document: Document, location_id: PlaceKey, known: Memory, new: Memory, reason: str) -> ChangedDocument:
    """Count the new memory as one more observation of the known one; the same turn of the same episode counts once."""
    again = changes.seen_again(document, location_id, known, new.turns, new.episode)
    return _telling(again, new, reason, "merged")


def refined(
    document: Document, location_id: PlaceKey, name: str, known: Memory, new: Memory, turn: int | None, reason: str
) -> ChangedDocument:
    """Replace the known memory by one that says it better, and never lasts shorter.

    The fact is the same: when and how often it was observed, and what was tried of it, counts for the new one too.
    """
    if known.persistence is Persistence.PERMANENT:
        new = replace(new, persistence=Persistence.PERMANENT)
    stored = changes.taking_over(new, known, _episodes(document, location_id))
    outcome = changes.added(document, location_id, name, stored)
    # Told as it was by itself, so that it can be so again if this is undone.
    return _then(outcome, replaced(outcome.document, location_id, known, new, turn, reason))


def opposed(
    document: Document,
    location_id: PlaceKey,
    name: str,
    known: Memory,
    new: Memory,
    belief: Belief,
    turn: int | None,
    reason: str,
) -> ChangedDocument:
    """Keep both of two contradicting memories; one of them is believed, or neither for good."""
    status = MemoryStatus.TENTATIVE if belief == "open" else new.status
    outcome = _telling(changes.added(document, location_id, name, replace(new, status=status)), known, reason)
    if belief == "newer":
        return _then(outcome, replaced(outcome.document, location_id, known, new, turn, reason))
    if belief == "older":
        stored = outcome.changes[-1].after
        assert stored is not None
        return _then(outcome, replaced(outcome.document, location_id, stored, known, turn, reason))
    if known.status == MemoryStatus.TENTATIVE:
        return outcome
    doubted = replace(known, status=MemoryStatus.TENTATIVE)
    contested = changes.changed(outcome.document, location_id, known, doubted, "contested", reason)
    return _then(outcome, _telling(contested, new, reason))


def settled(
    document: Document, location_id: PlaceKey, winner: Memory, loser: Memory, turn: int | None, reason: str
) -> ChangedDocument:
    """Believe one of two contradicting memories that were both tentative."""
    sure = replace(winner, status=MemoryStatus.ACTIVE)
    outcome = changes.changed(document, location_id, winner, sure, "contested", reason)
    return _then(_telling(outcome, loser, reason), replaced(outcome.document, location_id, loser, sure, turn, reason))


def absorbed(
    document: Document, location_id: PlaceKey, kept: Memory, repeat: Memory, turn: int | None, reason: str
) -> ChangedDocument:
    """Merge two memories that are both in the file: one takes over the observations of the other."""
    seen = changes.taking_over(kept, repeat, _episodes(document, location_id))
    outcome = _telling(changes.changed(document, location_id, kept, seen, "merged", reason), repeat, reason)
    return _then(outcome, replaced(outcome.document, location_id, repeat, kept, turn, reason))


def replaced(
    document: Document, location_id: PlaceKey, old: Memory, by: Memory, turn: int | None, reason: str
) -> ChangedDocument:
    """Mark a memory as superseded by another."""
    return _telling(changes.superseded(document, location_id, old, by.title, turn, reason), by, reason)


def _episodes(document: Document, location_id: PlaceKey) -> tuple[int | str, ...]:
    return next((section.episodes for section in document.sections_of(location_id)), ())


def _telling(outcome: ChangedDocument, other: Memory, reason: str, kind: ChangeKind | None = None) -> ChangedDocument:
    made = tuple(replace(change, kind=kind or change.kind, other=other, reason=reason) for change in outcome.changes)
    return ChangedDocument(outcome.document, made)


def _then(first: ChangedDocument, second: ChangedDocument) -> ChangedDocument:
    return ChangedDocument(second.document, first.changes + second.changes)
