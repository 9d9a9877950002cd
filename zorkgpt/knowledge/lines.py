"""A line of the knowledge base: a memory about `KNOWLEDGE` whose category is its section; and the revision of lines."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from zorkgpt.memory.entailment.comparison import compared
from zorkgpt.memory.ids import id_of_title
from zorkgpt.memory.models import INVALIDATION_MARKER, KNOWLEDGE, Memory, MemoryKind, MemoryStatus, Persistence
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.escaping import folded, single_spaced
from zorkgpt.memory.storage.history import kind_of


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
        id=id_of_title(KNOWLEDGE, line),
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


@dataclass(frozen=True, slots=True)
class Lessons:
    """What turns teach: new lines, and evidence for existing ones."""

    new: tuple[tuple[Memory, Memory | None], ...] = ()
    """Each new line, with the existing one that it improves, or None."""
    confirmed: tuple[Memory, ...] = ()
    contradicted: tuple[tuple[Memory, str], ...] = ()
    """Each contradicted line with the reason."""
    ignored: Counter[str] = field(default_factory=Counter)
    """What the answer said that is ignored."""


@dataclass(slots=True)
class Revision:
    """A revision of the lines of a draft. It counts evidence for each line once, and changes none of a person's."""

    draft: Draft
    added: list[str] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _counted: set[str] = field(default_factory=set)

    def apply(self, lessons: Lessons) -> "Revision":
        """Apply lessons, the evidence for existing lines first."""
        self.counts += lessons.ignored
        for line in lessons.confirmed:
            self._confirm(line)
        for line, reason in lessons.contradicted:
            if (known := self._uncounted(line)) is not None:
                self.counts["contradicted"] += 1
                self._put(known, contradicted(known, reason))
        for line, improved in lessons.new:
            if line.text:
                self._learn(line, improved)
        return self

    def _learn(self, new: Memory, improved: Memory | None) -> None:
        """Add a new line, or replace the one that it improves. If an existing one says the same, that is confirmed."""
        known = self._known(improved) if improved else None
        if known and not (is_struck(known) or is_settled(known) or self._known(new)):
            self.counts["replaced"] += 1
            self._put(known, new)
        elif self._says_the_same(new):
            return
        else:
            self.draft.add(KNOWLEDGE, "", new)
        self._counted.add(folded(new.text))
        self.added.append(new.text)

    def _says_the_same(self, new: Memory) -> bool:
        """Return whether an existing line says the same, and confirm it. One that says less takes over the text."""
        related = [(line, compared(line, new).relation) for line in self.draft.lasting.memories(KNOWLEDGE)]
        for known, _ in (each for each in related if each[1] == "same"):
            self._confirm(known)
            return True
        for known, relation in related:
            # A struck line is not restored by a line that only adds to it.
            if relation == "adds" and not (is_struck(known) or is_settled(known)):
                self._confirm(known, text=new.text)
                return True
        return False

    def _confirm(self, line: Memory, *, text: str = "") -> None:
        """Count a confirmation of a line, which gets a longer text if there is one."""
        if (known := self._uncounted(line)) is not None:
            self.counts["confirmed"] += 1
            self._counted.add(folded(text))
            new = confirmed(known)
            self._put(known, replace(new, title=text, text=text) if text else new)

    def _uncounted(self, line: Memory) -> Memory | None:
        """Return the present version of a line. None if it is gone, was counted in this revision or is a person's."""
        known = self._known(line)
        if known is None or is_settled(known) or folded(known.text) in self._counted:
            return None
        self._counted.add(folded(known.text))
        return known

    def _known(self, line: Memory) -> Memory | None:
        """Return the line with exactly these words, struck or not."""
        lines = self.draft.lasting.memories(KNOWLEDGE)
        return next((known for known in lines if folded(known.text) == folded(line.text)), None)

    def _put(self, old: Memory, new: Memory) -> None:
        self.draft.replace(KNOWLEDGE, old, new, kind_of(old, new))
        if is_struck(new) and not is_struck(old):
            self.struck.append(new.text)
