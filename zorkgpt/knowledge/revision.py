"""Revise the lines: add new ones, and count the evidence for and against existing ones."""

from collections import Counter
from dataclasses import dataclass, field, replace

from zorkgpt.knowledge.lines import confirmed, contradicted, is_settled, is_struck
from zorkgpt.memory.entailment.comparison import compared
from zorkgpt.memory.models import KNOWLEDGE, Memory
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import kind_of


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
