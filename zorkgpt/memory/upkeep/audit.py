"""The audit: check core memories against a world that has just been reset."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from zorkgpt.memory.claims import OPPOSITE, Claim, Relation
from zorkgpt.memory.models import Persistence, SubjectKey
from zorkgpt.memory.objects import PlacedObject
from zorkgpt.memory.places import is_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.text import with_article


class AuditVerdict(StrEnum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """The result of the audit for one memory."""

    located: LocatedMemory
    verdict: AuditVerdict
    evidence: str = ""
    """Where the thing is, in words. Empty if that can't be checked."""


def audit(memories: Iterable[LocatedMemory], objects: Sequence[PlacedObject]) -> list[AuditFinding]:
    """Check the claims of each current core memory against a world that has just been reset."""
    things = {thing.number: thing for thing in objects}
    return [
        _finding(located, things)
        for located in memories
        if located.memory.persistence is Persistence.CORE and is_current(located.memory)
    ]


def tally(findings: Iterable[AuditFinding]) -> dict[str, int]:
    """Return how many findings have each verdict."""
    counted = Counter(finding.verdict.value for finding in findings)
    return {verdict.value: counted[verdict.value] for verdict in AuditVerdict}


def _finding(located: LocatedMemory, things: Mapping[int, PlacedObject]) -> AuditFinding:
    confirming: list[PlacedObject] = []
    contradicting: list[PlacedObject] = []
    for claim in located.memory.claims:
        thing = things.get(claim.number) if claim.number is not None else None
        if thing is None:
            continue
        verdict = is_claim_true(claim, thing, located.location_id)
        if verdict is not None:
            (confirming if verdict else contradicting).append(thing)
    if contradicting:
        evidence = "; ".join(dict.fromkeys(map(_in_words, contradicting)))
        return AuditFinding(located, AuditVerdict.CONTRADICTED, f"In a fresh world {evidence}")
    if confirming:
        evidence = "; ".join(dict.fromkeys(map(_in_words, confirming)))
        return AuditFinding(located, AuditVerdict.CONFIRMED, evidence)
    return AuditFinding(located, AuditVerdict.NOT_CHECKABLE)


def is_claim_true(claim: Claim, thing: PlacedObject, location_id: SubjectKey) -> bool | None:
    """Return whether a claim of a memory at this location is true of the thing. None if unknown."""
    if claim.relation.value in thing.states:
        return True
    if claim.relation in OPPOSITE and OPPOSITE[claim.relation].value in thing.states:
        return False
    if claim.relation is Relation.HERE and not is_place(location_id):
        return None
    if claim.relation is Relation.HERE:
        is_there = thing.room == location_id
    elif claim.relation in (Relation.IN, Relation.ON):
        is_there = thing.holder is not None and thing.holder == claim.other
    else:
        return None
    if is_there:
        return True
    return False if thing.movable else None


def _in_words(thing: PlacedObject) -> str:
    parts = [] if thing.room is None else [f"in {thing.room_name} ({thing.room})"]
    if thing.states:
        parts.append(", ".join(thing.states))
    return f"{with_article(thing.name)} is {' and '.join(parts) or 'in no location'}"
