"""Holding what is remembered of a place's beginning against a world that has just begun."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from zorkgpt.memory.claims import OPPOSITE, Claim, Relation
from zorkgpt.memory.models import Persistence
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.changes import is_current


@dataclass(frozen=True, slots=True)
class Thing:
    """An object of the fresh world."""

    number: int
    name: str
    room: int | None
    """The location that it is in, through whatever holds it; None: it is in none."""
    room_name: str = ""
    holder: int | None = None
    """Number of what holds it; None where the room itself does."""
    movable: bool = False
    """Known to be something that can be taken, or that moves. Where anything else is decides nothing, since a story
    may have one object for a thing that is seen from several places."""
    states: tuple[str, ...] = ()
    """Values of `Relation`: open or closed, locked or unlocked, lit or unlit."""


class Verdict(StrEnum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the fresh world says of one memory."""

    located: LocatedMemory
    verdict: Verdict
    evidence: str = ""
    """Where the thing is, in words; "" if that can't be checked."""


def held_against(memories: Iterable[LocatedMemory], world: Sequence[Thing]) -> list[Finding]:
    """A finding for each current core memory, by what it claims; its sentence is not read."""
    things = {thing.number: thing for thing in world}
    return [
        _finding(located, things)
        for located in memories
        if located.memory.persistence is Persistence.CORE and is_current(located.memory)
    ]


def tally(findings: Iterable[Finding]) -> dict[str, int]:
    """How many of each verdict."""
    counted = Counter(finding.verdict.value for finding in findings)
    return {verdict.value: counted[verdict.value] for verdict in Verdict}


def _finding(located: LocatedMemory, things: Mapping[int, Thing]) -> Finding:
    held, denied = [], []
    for claim in located.memory.claims:
        thing = things.get(claim.number) if claim.number is not None else None
        so = None if thing is None else _is_so(claim, thing, located.location_id)
        if so is not None:
            (held if so else denied).append(thing)
    if denied:
        evidence = "; ".join(dict.fromkeys(_in_words(thing) for thing in denied))
        return Finding(located, Verdict.CONTRADICTED, f"In a fresh world {evidence}")
    if held:
        evidence = "; ".join(dict.fromkeys(_in_words(thing) for thing in held))
        return Finding(located, Verdict.CONFIRMED, evidence)
    return Finding(located, Verdict.NOT_CHECKABLE)


def _is_so(claim: Claim, thing: Thing, location_id: int) -> bool | None:
    """Whether the claim, kept at this location, holds in the fresh world; None: that can't be told."""
    if claim.relation.value in thing.states:
        return True
    if claim.relation in OPPOSITE and OPPOSITE[claim.relation].value in thing.states:
        return False
    if claim.relation is Relation.HERE:
        found = thing.room == location_id
    elif claim.relation in (Relation.IN, Relation.ON):
        found = thing.holder is not None and thing.holder == claim.other
    else:
        return None
    return True if found else False if thing.movable else None


def _in_words(thing: Thing) -> str:
    where = f"is in {thing.room_name} ({thing.room})" if thing.room is not None else "is nowhere"
    states = f" and {', '.join(thing.states)}" if thing.states else ""
    return f"the {thing.name} {where}{states}"
