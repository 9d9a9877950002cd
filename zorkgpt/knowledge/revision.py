"""Revise a document: add new lines, and count the evidence for and against existing ones."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from zorkgpt.knowledge.claims import best_result, parse_claim
from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.line import confirmed, contradicted, is_struck
from zorkgpt.memory.entailment.compare import relation_of
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import KNOWLEDGE, Memory
from zorkgpt.memory.storage.escaping import folded


@dataclass(frozen=True, slots=True)
class LineUpdates:
    """The result of a review: new lines, and evidence for existing ones."""

    new: tuple[tuple[Memory, Memory | None], ...] = ()
    """Each new line, with the existing one that it improves, or None."""
    confirmed: tuple[Memory, ...] = ()
    contradicted: tuple[tuple[Memory, str], ...] = ()
    """Each contradicted line with the reason."""


@dataclass(slots=True)
class Revision:
    """A revision of a document. It counts evidence for each line at most once."""

    document: KnowledgeDocument
    added: list[str] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _counted: set[str] = field(default_factory=set)

    def apply(self, updates: LineUpdates) -> "Revision":
        """Apply all updates, the evidence for existing lines first."""
        for line in updates.confirmed:
            self._confirm(line)
        for line, reason in updates.contradicted:
            self._contradict(line, reason)
        for line, improved in updates.new:
            self.learn(line, improved)
        return self

    def learn(self, new: Memory, improved: Memory | None = None) -> None:
        """Add a new line, or replace the one that it improves.

        If an existing line says the same, it is confirmed instead. A line that a person restored is not replaced.
        """
        if not new.text:
            return
        if improved and self._has_replaced(improved, new):
            return
        if self._is_about_the_best(new):
            return
        for known, relation in _related_lines(new, self.document.lines):
            # A struck line is not restored by a line that only adds to it.
            if relation == "same" or not is_struck(known):
                if relation == "adds" and self.line_of(new.text) is None:
                    known = self._replace(known, replace(known, title=new.title, text=new.text))
                self._confirm(known)
                return
        self._add(new)

    def _has_replaced(self, old: Memory, new: Memory) -> bool:
        known = self.line_of(old.text)
        if known is None or is_struck(known) or known.invalidation_reason or self.line_of(new.text) is not None:
            return False
        self.counts["replaced"] += 1
        self._counted.add(line_key(new))
        self._replace(known, replace(new, metadata=known.metadata))
        self.added.append(new.text)
        return True

    def _is_about_the_best(self, new: Memory) -> bool:
        """Return whether a line about the best episode exists. Replace it if the new line is about a better one."""
        result = best_result(new.text)
        if result is None:
            return False
        for known in self.document.lines:
            known_result = best_result(known.text)
            if known_result is not None:
                if result > known_result and not is_struck(known):
                    self._replace(known, replace(new, metadata=known.metadata))
                    self.added.append(new.text)
                return True
        return False

    def line_of(self, text: str) -> Memory | None:
        """Return the line with exactly these words, struck or not."""
        wanted = folded(text)
        return next((line for line in self.document.lines if line_key(line) == wanted), None)

    def _add(self, new: Memory) -> None:
        if any(relation(text, new.text) == "same" for _, text in self.document.by_hand):
            self.counts["known by hand"] += 1
            return
        self.document = self.document.added(new)
        self._counted.add(line_key(new))
        self.added.append(new.text)

    def _confirm(self, line: Memory) -> None:
        current = self._uncounted(line)
        if current is not None:
            self.counts["confirmed"] += 1
            self._replace(current, confirmed(current))

    def _contradict(self, line: Memory, reason: str) -> None:
        current = self._uncounted(line)
        if current is not None:
            self.counts["contradicted"] += 1
            self._replace(current, contradicted(current, reason))

    def _uncounted(self, line: Memory) -> Memory | None:
        """Return the current version of a line; None if it was counted in this revision or no longer exists."""
        current = self.line_of(line.text)
        if current is None or line_key(current) in self._counted:
            return None
        self._counted.add(line_key(current))
        return current

    def _replace(self, old: Memory, new: Memory) -> Memory:
        """Replace a line under its id, and return the new one."""
        new = replace(new, id=memory_id(KNOWLEDGE, old))
        self.document = self.document.changed(old, new)
        if is_struck(new) and not is_struck(old):
            self.struck.append(new.text)
        return new


def line_key(line: Memory) -> str:
    """Return the identity of a line: its words, case-folded."""
    return folded(line.text)


def _related_lines(new: Memory, lines: Iterable[Memory]) -> list[tuple[Memory, str]]:
    """Return the lines that the new one repeats or adds to, with the relation; repeated ones first."""
    relations = [(line, relation(line.text, new.text)) for line in lines]
    same = [related for related in relations if related[1] == "same"]
    return same + [related for related in relations if related[1] == "adds"]


def relation(older: str, newer: str) -> str:
    """Return how a newer line relates to an older one: "same", "adds" or another `Relation`."""
    if folded(older) == folded(newer):
        return "same"
    # If both are in a fixed form, their fields decide.
    if (claim := parse_claim(older)) and (other := parse_claim(newer)):
        return "same" if claim == other else "unsure"
    # Quoted commands are compared verbatim: lines about “open door” and “close door” may both be true.
    if _quoted(older) != _quoted(newer):
        return "unsure"
    return relation_of(older, newer)


def _quoted(text: str) -> list[str]:
    return [folded(command) for command in re.findall("“([^”]*)”", text)]
