"""Changes that join or oppose two memories; each says with what it was compared, so that it can be undone."""

from dataclasses import replace

from zorkgpt.memory.dedup.decision import Belief
from zorkgpt.memory.models import Memory, MemoryStatus
from zorkgpt.memory.storage import changes
from zorkgpt.memory.storage.changes import ChangedDocument
from zorkgpt.memory.storage.document import Document


def merged(document: Document, location_id: int, known: Memory, new: Memory, reason: str) -> ChangedDocument:
    """The new one counts as one more observation of the known one. The same turn of the same episode counts once."""
    again = changes.seen_again(document, location_id, known, new.turns, new.episode)
    return _telling(again, new, reason, "merged")


def refined(
    document: Document, location_id: int, name: str, known: Memory, new: Memory, turn: int | None, reason: str
) -> ChangedDocument:
    """The new one says it better, and never lasts shorter than what it replaces. The fact is the same: when and how
    often it was observed, and what was tried of it, counts for the new one too."""
    if known.persistence == "permanent":
        new = replace(new, persistence="permanent")
    stored = changes.taking_over(new, known, _episodes(document, location_id))
    outcome = changes.added(document, location_id, name, stored)
    # Told as it was by itself, so that it can be so again if this is undone.
    return _then(outcome, replaced(outcome.document, location_id, known, new, turn, reason))


def opposed(
    document: Document,
    location_id: int,
    name: str,
    known: Memory,
    new: Memory,
    belief: Belief,
    turn: int | None,
    reason: str,
) -> ChangedDocument:
    """Both are kept; one of them is believed, or neither for good."""
    status = MemoryStatus.TENTATIVE if belief == "open" else new.status
    outcome = _telling(changes.added(document, location_id, name, replace(new, status=status)), known, reason)
    if belief == "newer":
        return _then(outcome, replaced(outcome.document, location_id, known, new, turn, reason))
    if belief == "older":
        stored = outcome.changes[-1].after
        return _then(outcome, replaced(outcome.document, location_id, stored, known, turn, reason))
    if known.status == MemoryStatus.TENTATIVE:
        return outcome
    doubted = replace(known, status=MemoryStatus.TENTATIVE)
    contested = changes.changed(outcome.document, location_id, known, doubted, "contested", reason)
    return _then(outcome, _telling(contested, new, reason))


def settled(
    document: Document, location_id: int, winner: Memory, loser: Memory, turn: int | None, reason: str
) -> ChangedDocument:
    """What was open is open no more."""
    sure = replace(winner, status=MemoryStatus.ACTIVE)
    outcome = changes.changed(document, location_id, winner, sure, "contested", reason)
    return _then(_telling(outcome, loser, reason), replaced(outcome.document, location_id, loser, sure, turn, reason))


def absorbed(
    document: Document, location_id: int, kept: Memory, repeat: Memory, turn: int | None, reason: str
) -> ChangedDocument:
    """One of two that are both in the file takes over the observations of the other."""
    seen = changes.taking_over(kept, repeat, _episodes(document, location_id))
    outcome = _telling(changes.changed(document, location_id, kept, seen, "merged", reason), repeat, reason)
    return _then(outcome, replaced(outcome.document, location_id, repeat, kept, turn, reason))


def replaced(
    document: Document, location_id: int, old: Memory, by: Memory, turn: int | None, reason: str
) -> ChangedDocument:
    """The other one is believed in its stead."""
    return _telling(changes.superseded(document, location_id, old, by.title, turn, reason), by, reason)


def _episodes(document: Document, location_id: int) -> tuple[int | str, ...]:
    return next((section.episodes for section in document.sections_of(location_id)), ())


def _telling(outcome: ChangedDocument, other: Memory, reason: str, kind: str | None = None) -> ChangedDocument:
    made = tuple(replace(change, kind=kind or change.kind, other=other, reason=reason) for change in outcome.changes)
    return ChangedDocument(outcome.document, made)


def _then(first: ChangedDocument, second: ChangedDocument) -> ChangedDocument:
    return ChangedDocument(second.document, first.changes + second.changes)
