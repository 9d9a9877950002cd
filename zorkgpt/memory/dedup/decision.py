"""What is to be done with a new memory, given how it compares with those that are kept: a plain decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from zorkgpt.memory.entailment.comparison import Comparison
from zorkgpt.memory.models import Memory, MemoryStatus

Kind = Literal["new", "repeats", "refines", "contradicts"]
Belief = Literal["newer", "older", "open"]

# By so many observations a memory has to be ahead of what contradicts it, to be believed against it.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """What a new memory is, and to which of those that are kept."""

    kind: Kind
    about: Comparison | None = None
    """None: it is about none of them."""


NEW = Decision("new")


def decide(new: Memory, comparisons: Sequence[Comparison]) -> Decision:
    """The nearest that says the same decides; else the nearest that says part of it; else a contradiction.

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
    if known.pinned and one.relation in ("same", "adds"):
        # A person wants it as it is: what says more is kept beside it.
        return Decision("repeats", one) if one.relation == "same" else NEW
    if one.relation == "same":
        confirms = known.status == MemoryStatus.TENTATIVE and new.status == MemoryStatus.ACTIVE and not contested
        lasts_longer = known.persistence != "permanent" and new.persistence == "permanent" and not unconfirmed
        return Decision("refines" if confirms or lasts_longer else "repeats", one)
    if one.relation == "adds":
        return NEW if unconfirmed else Decision("refines", one)
    # What is seen at the start and how the game works may differ: one of them is the state of the world.
    return Decision("contradicts", one) if known.persistence == new.persistence else NEW


def believed(older: Memory, newer: Memory, *, was_believed_before: bool = False) -> Belief:
    """Which of two contradicting memories to believe.

    A score that came with it is the game's own word; else it counts how often each was observed, the newer one once
    more for being newer. Open while neither is well ahead, and where the fact has flipped back. What a person has
    pinned is believed.

    Args:
        was_believed_before: the newer one was, and the older one has replaced it.
    """
    if older.pinned:
        return "older"
    ahead = _weight(newer) - _weight(older) + 1
    if ahead <= -_AHEAD:
        return "older"
    if was_believed_before:
        return "open"
    return "newer" if ahead >= 1 else "open"


def is_settled(seen: Memory, rival: Memory) -> bool:
    """Whether a memory that was open against its rival, and was observed again, is far enough ahead of it."""
    return not rival.pinned and _weight(seen) - _weight(rival) >= _AHEAD


def _weight(memory: Memory) -> int:
    scored = 2 if (memory.score_change or 0) > 0 else 0
    return memory.observation_count + scored - (memory.status == MemoryStatus.TENTATIVE)
