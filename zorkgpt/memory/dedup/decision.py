"""The decision about a new memory, based on its comparisons with stored ones, and the resulting changes.

Each change records the compared memory, so that it can be undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zorkgpt.memory.entailment.comparison import Comparison, compared
from zorkgpt.memory.models import Memory, MemoryStatus, Persistence, SubjectKey
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.versions import is_current, same_words, with_observations_of

DecisionKind = Literal["new", "repeats", "refines", "contradicts"]
Belief = Literal["newer", "older", "open"]

# The lead in observations that makes a memory believed against a contradicting one.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """How a new memory relates to the stored ones."""

    kind: DecisionKind
    about: Comparison | None = None
    """The decisive comparison. None if the memory is about something else."""

    def joins(self, new: Memory) -> bool:
        """Return whether `apply` handles the new memory together with the compared one.

        If not, the new memory is stored by itself, or is an identical repeat.
        """
        if self.about is None or self.kind != "repeats":
            return self.about is not None and self.kind != "new"
        # An identical repeat would confirm a tentative memory.
        return not same_words(self.about.known, new) or self.about.known.status == MemoryStatus.TENTATIVE


NEW = Decision("new")


def decide(new: Memory, comparisons: Sequence[Comparison]) -> Decision:
    """Return the decision about a new memory.

    The nearest memory that says the same decides, or else the nearest one that says part of it, or else the nearest
    contradiction. The nearest memory of all can be the contradiction of a stored fact that the new one repeats.
    """
    ranked = sorted(comparisons, key=lambda comparison: -(comparison.cosine or 0.0))
    # Repeating one of two contradicting memories doesn't confirm it. Observations decide.
    contested = any(comparison.relation == "conflict" for comparison in ranked)
    for relation in ("same", "adds", "conflict"):
        for comparison in ranked:
            decision = _decided(new, comparison, contested) if comparison.relation == relation else NEW
            if decision.kind != "new":
                return decision
    return Decision("new", ranked[0]) if ranked else NEW


def _decided(new: Memory, comparison: Comparison, contested: bool) -> Decision:
    known, relation = comparison.known, comparison.relation
    unconfirmed = new.status == MemoryStatus.TENTATIVE and known.status == MemoryStatus.ACTIVE
    if known.is_settled_by_person and relation in ("same", "adds"):
        # A person's memory stays unchanged. One that says more is stored beside it.
        return Decision("repeats", comparison) if relation == "same" else NEW
    if relation == "same":
        confirms = known.status == MemoryStatus.TENTATIVE and new.status == MemoryStatus.ACTIVE and not contested
        permanent = Persistence.PERMANENT
        lasts_longer = known.persistence != permanent and new.persistence == permanent and not unconfirmed
        return Decision("refines" if confirms or lasts_longer else "repeats", comparison)
    if relation == "adds":
        return NEW if unconfirmed else Decision("refines", comparison)
    # A core and a permanent memory don't contradict each other: only the first is about the state of the world.
    return Decision("contradicts", comparison) if known.persistence == new.persistence else NEW


def believed(older: Memory, newer: Memory, *, was_believed_before: bool = False) -> Belief:
    """Return which of two contradicting memories to believe.

    A person's memory wins. Otherwise, the numbers of observations decide, with a bonus for a score and for the newer
    memory. "open" if neither is well ahead, or if the fact has changed back.

    Args:
        was_believed_before: Whether the newer one was believed before and replaced by the older one.
    """
    if older.is_settled_by_person:
        return "older"
    ahead = _weight(newer) - _weight(older) + 1
    if ahead <= -_AHEAD:
        return "older"
    if was_believed_before:
        return "open"
    return "newer" if ahead >= 1 else "open"


def is_well_ahead(seen: Memory, rival: Memory) -> bool:
    """Return whether a tentative memory that was observed again is far enough ahead of its rival."""
    return not rival.is_settled_by_person and _weight(seen) - _weight(rival) >= _AHEAD


def _weight(memory: Memory) -> int:
    return memory.observation_count + 2 * memory.scored - (memory.status == MemoryStatus.TENTATIVE)


def apply(draft: Draft, place: SubjectKey, name: str, new: Memory, decision: Decision) -> Memory:
    """Carry out a decision that joins a new memory with a stored one. Return the stored memory with the new fact."""
    assert decision.about is not None
    known, reason = decision.about.known, decision.about.describe()
    turn, kept = new.last_turn, draft.lasting.memories(place)
    if decision.kind == "repeats":
        seen = draft.see_again(place, known, new.turns, new.episode, kind="merged", reason=reason, other=new)
        return confirm_if_ahead(draft, place, seen, turn)
    if decision.kind == "refines":
        return refine(draft, place, name, known, new, turn, reason)
    if _was_settled_by_person(kept, known, new):
        return known
    was_believed_before = any(
        old.superseded_by == known.title and compared(old, new).relation == "same"
        for old in kept
        if not is_current(old)
    )
    belief = believed(known, new, was_believed_before=was_believed_before)
    return oppose(draft, place, name, known, new, belief, turn, reason)


def _was_settled_by_person(kept: Sequence[Memory], known: Memory, new: Memory) -> bool:
    """Return whether this contradiction is already stored, and a person decided for the known memory."""
    return known.is_settled_by_person and any(same_words(old, new) and old.superseded_by == known.title for old in kept)


def confirm_if_ahead(draft: Draft, place: SubjectKey, seen: Memory, turn: int | None) -> Memory:
    """Mark a tentative memory as active and its opposite as superseded, if it was observed often enough. Return it."""
    if seen.status != MemoryStatus.TENTATIVE or seen.is_settled_by_person:
        return seen
    for rival in draft.lasting.memories(place):
        if rival.status == MemoryStatus.TENTATIVE and is_well_ahead(seen, rival):
            contrast = compared(rival, seen)
            if contrast.relation == "conflict":
                reason = f"{contrast.reason}; observed {seen.observation_count} times"
                active = replace(seen, status=MemoryStatus.ACTIVE)
                stored = draft.replace(place, seen, active, "contested", reason, other=rival)
                draft.supersede(place, rival, active.title, turn, reason, other=active)
                return stored
    return seen


def refine(
    draft: Draft, place: SubjectKey, name: str, known: Memory, new: Memory, turn: int | None, reason: str
) -> Memory:
    """Replace the known memory by a refinement that lasts at least as long. Return the refinement.

    It takes over the observations and trials of the known memory, because the fact is the same.
    """
    if known.persistence is Persistence.PERMANENT:
        new = replace(new, persistence=Persistence.PERMANENT)
    stored = draft.add(place, name, with_observations_of(new, known, draft.lasting.episodes(place)))
    # The journal keeps the new memory's own observations, so that undoing can restore them.
    draft.supersede(place, known, new.title, turn, reason, other=new)
    return stored


def oppose(
    draft: Draft,
    place: SubjectKey,
    name: str,
    known: Memory,
    new: Memory,
    belief: Belief,
    turn: int | None,
    reason: str,
) -> Memory:
    """Store a memory that contradicts a known one, and return it. The loser is superseded, or both become tentative."""
    status = MemoryStatus.TENTATIVE if belief == "open" else new.status
    stored = draft.add(place, name, replace(new, status=status), reason=reason, other=known)
    if belief == "newer":
        draft.supersede(place, known, new.title, turn, reason, other=new)
    elif belief == "older":
        return draft.supersede(place, stored, known.title, turn, reason, other=known)
    elif known.status != MemoryStatus.TENTATIVE:
        doubted = replace(known, status=MemoryStatus.TENTATIVE)
        draft.replace(place, known, doubted, "contested", reason, other=new)
    return stored


def absorb(draft: Draft, place: SubjectKey, kept: Memory, repeat: Memory, reason: str) -> None:
    """Merge two stored memories. The first takes over the observations of the second."""
    merged = with_observations_of(kept, repeat, draft.lasting.episodes(place))
    draft.replace(place, kept, merged, "merged", reason, other=repeat)
    draft.supersede(place, repeat, kept.title, None, reason, other=kept)
