"""A line of the knowledge base: a memory about `KNOWLEDGE` whose category is its section."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryKind, MemoryStatus, Persistence
from zorkgpt.memory.storage.escaping import single_spaced


class KnowledgeSection(StrEnum):
    """The sections of the knowledge base, in the order of the file."""

    DANGERS = "DANGERS & THREATS"
    PUZZLES = "PUZZLE SOLUTIONS"
    STRATEGIES = "STRATEGIC PATTERNS"
    DEATHS = "DEATH & DANGER ANALYSIS"
    SYNTAX = "COMMAND SYNTAX"
    LESSONS = "LESSONS LEARNED"
    INSIGHTS = "CROSS-EPISODE INSIGHTS"
    """Lessons from whole episodes."""


_KINDS = {
    KnowledgeSection.DANGERS: MemoryKind.DANGER,
    KnowledgeSection.PUZZLES: MemoryKind.PROCEDURE,
    KnowledgeSection.DEATHS: MemoryKind.DANGER,
    KnowledgeSection.SYNTAX: MemoryKind.RULE,
    KnowledgeSection.LESSONS: MemoryKind.RULE,
}


def line_of(
    section: KnowledgeSection,
    text: str,
    episode: int | str = "",
    first_turn: int = 0,
    last_turn: int = 0,
    *,
    confirmed: int = 0,
    contradicted: int = 0,
    struck: bool = False,
    reason: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Memory:
    """Return the memory of a line. Title and text are the text in one line.

    Args:
        episode: The episode in which it was learned. "" if a person wrote it.
        last_turn: The last turn that it was learned from.
        confirmed: The number of confirmations by later turns.
        contradicted: The number of contradictions by later turns.
        struck: Whether it is no longer believed.
        reason: Why it was struck. "" if a person struck it.
    """
    line = single_spaced(text)
    turns = str(last_turn) if first_turn == last_turn else f"{first_turn}→{last_turn}"
    return Memory(
        category=section,
        title=line,
        episode=episode,
        turns="" if episode == "" else turns,
        score_change=None,
        text=line,
        persistence=Persistence.PERMANENT,
        status=MemoryStatus.SUPERSEDED if struck else MemoryStatus.ACTIVE,
        superseded_by=INVALIDATION_MARKER if struck else None,
        invalidation_reason=single_spaced(reason) or None,
        tried=confirmed + contradicted,
        worked=confirmed,
        kind=_KINDS.get(section, MemoryKind.INSIGHT),
        metadata=dict(metadata or {}),
    )


def is_by_person(line: Memory) -> bool:
    """Return whether a person wrote a line, so that it has no evidence."""
    return line.episode == ""


def is_struck(line: Memory) -> bool:
    """Return whether a line is no longer believed."""
    return line.status is MemoryStatus.SUPERSEDED


def is_settled(line: Memory) -> bool:
    """Return whether a person wrote, reworded, struck or restored a line, so that nothing else changes it."""
    return line.is_settled_by_person or is_by_person(line) or (is_struck(line) and not line.invalidation_reason)


def contradictions(line: Memory) -> int:
    """Return how often later turns have contradicted a line."""
    return line.tried - line.worked


def evidence_of(line: Memory) -> str:
    """Return the counts that are not zero: "confirmed 2, contradicted 1"."""
    counts = {"confirmed": line.worked, "contradicted": contradictions(line)}
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def confirmed(line: Memory) -> Memory:
    """Return the line with a confirmation, which makes a contradicted line believed again."""
    return replace(
        line,
        tried=line.tried + 1,
        worked=line.worked + 1,
        status=MemoryStatus.ACTIVE,
        superseded_by=None,
        invalidation_reason=None,
    )


def contradicted(line: Memory, reason: str) -> Memory:
    """Return the line with a contradiction, which strikes a line that was never confirmed."""
    new = replace(line, tried=line.tried + 1)
    if is_struck(line) or line.worked:
        return new
    return replace(
        new,
        status=MemoryStatus.SUPERSEDED,
        superseded_by=INVALIDATION_MARKER,
        invalidation_reason=single_spaced(reason),
    )
