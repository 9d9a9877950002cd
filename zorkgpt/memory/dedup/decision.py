"""Decides what is to be done with a new memory, given how it compares with those that are kept, and does it.

Each change says with what the memory was compared, so that it can be undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zorkgpt.memory.entailment.comparison import Comparison, compared
from zorkgpt.memory.models import Memory, MemoryStatus, Persistence, SubjectKey
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.lasting import episodes_of
from zorkgpt.memory.storage.versions import is_current, known_again, same_words, taking_over

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

    def joins(self, new: Memory) -> bool:
        """Return whether the new memory is joined with the one it was compared with, or opposed to it.

        If not, it is stored by itself, or is an identical repeat.
        """
        if self.about is None or self.kind != "repeats":
            return self.about is not None and self.kind != "new"
        # Added as an identical repeat, a tentative memory would count as confirmed.
        return not same_words(self.about.known, new) or self.about.known.status == MemoryStatus.TENTATIVE


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


def apply(
    draft: Draft, place: SubjectKey, name: str, new: Memory, decision: Decision, turn: int | None
) -> Memory | None:
    """Carry out a decision, and return the memory that now stands for the new one.

    None if nothing was changed and the new memory must be added.
    """
    match = decision.about
    kept = draft.lasting.memories(place)
    known = None if match is None else known_again(kept, match.known)
    if match is None or known is None or (decision.kind != "repeats" and _is_kept_beside(known, kept, new)):
        return None
    reason = match.describe()
    if decision.kind == "repeats":
        return draft.see_again(place, known, new.turns, new.episode, kind="merged", reason=reason, other=new)
    if decision.kind == "refines" and known.is_settled_by_person:
        return draft.add(place, name, new)
    if decision.kind == "refines":
        return refine(draft, place, name, known, new, turn, reason)
    if _was_settled_by_person(kept, known, new):
        return known
    was_believed_before = any(
        old.superseded_by == known.title and compared(old, new, None).relation == "same"
        for old in kept
        if not is_current(old)
    )
    belief = believed(known, new, was_believed_before=was_believed_before)
    return oppose(draft, place, name, known, new, belief, turn, reason)


def _was_settled_by_person(kept: Sequence[Memory], known: Memory, new: Memory) -> bool:
    """Return whether the contradiction is recorded already, and a person decided for the known memory."""
    return known.is_settled_by_person and any(same_words(old, new) and old.superseded_by == known.title for old in kept)


def _is_kept_beside(known: Memory, kept: Sequence[Memory], new: Memory) -> bool:
    return any(other is not known and is_current(other) and same_words(other, new) for other in kept)


def settle(draft: Draft, place: SubjectKey, seen: Memory, turn: int | None) -> Memory:
    """Believe a tentative memory and not its opposite, if it was observed often enough by now. Return it."""
    for rival in draft.lasting.memories(place) if not seen.is_settled_by_person else ():
        if rival.status == MemoryStatus.TENTATIVE and is_settled(seen, rival):
            contrast = compared(rival, seen, None)
            if contrast.relation == "conflict":
                reason = f"{contrast.reason}; observed {seen.observation_count} times"
                sure = replace(seen, status=MemoryStatus.ACTIVE)
                believed_now = draft.replace(place, seen, sure, "contested", reason, other=rival)
                draft.supersede(place, rival, sure.title, turn, reason, other=sure)
                return believed_now
    return seen


def refine(
    draft: Draft, place: SubjectKey, name: str, known: Memory, new: Memory, turn: int | None, reason: str
) -> Memory:
    """Replace the known memory by one that says it better and lasts at least as long. Return the better one.

    The fact is the same, so the observations and trials of the known memory count for the new one too.
    """
    if known.persistence is Persistence.PERMANENT:
        new = replace(new, persistence=Persistence.PERMANENT)
    stored = draft.add(place, name, taking_over(new, known, episodes_of(draft.lasting, place)))
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
    """Keep both of two contradicting memories, and believe one of them, or neither for sure. Return the new one."""
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
    """Merge two stored memories: the first takes over the observations of the second."""
    seen = taking_over(kept, repeat, episodes_of(draft.lasting, place))
    draft.replace(place, kept, seen, "merged", reason, other=repeat)
    draft.supersede(place, repeat, kept.title, None, reason, other=kept)
