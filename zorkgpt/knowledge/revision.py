"""Revise a document: add new lines, and count the evidence for and against existing ones."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from zorkgpt.knowledge.claims import ClaimKind, parse_claim
from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.line import KnowledgeLine, KnowledgeSection
from zorkgpt.memory.entailment.compare import compare
from zorkgpt.memory.storage.escaping import folded, one_line

TRIES_TO_STRIKE = 3
"""Rules strike a line after this many contradictions in a row, since chance decides fights and the like."""


@dataclass(frozen=True, slots=True)
class ProposedLine:
    """A lesson that may become a new line."""

    section: KnowledgeSection
    text: str
    episode: int | str
    first_turn: int
    last_turn: int
    replaces: KnowledgeLine | None = None
    """The line that it improves on."""


@dataclass(frozen=True, slots=True)
class LineUpdates:
    """What a review of turns teaches: new lines, and evidence for existing ones."""

    new: tuple[ProposedLine, ...] = ()
    borne_out: tuple[KnowledgeLine, ...] = ()
    """Lines that the turns support."""
    contradicted: tuple[tuple[KnowledgeLine, str], ...] = ()
    """Lines that the turns contradict, and why."""
    enough: int = 1
    """The number of contradictions that strike a line that was never borne out."""


@dataclass(slots=True)
class Revision:
    """A revision of a document; each line gets evidence at most once in it."""

    document: KnowledgeDocument
    added: list[str] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _counted: set[str] = field(default_factory=set)

    def apply(self, lessons: LineUpdates) -> "Revision":
        """Apply all updates, the evidence for existing lines first."""
        for line in lessons.borne_out:
            self._bear_out(line)
        for line, reason in lessons.contradicted:
            self._contradict(line, reason, lessons.enough)
        for proposal in lessons.new:
            self.learn(proposal)
        return self

    def learn(self, proposal: ProposedLine) -> None:
        """Add a new line, or put it in the place of the one that it replaces.

        If an existing line says the same, it is counted as borne out instead. A line that a person has restored is not
        replaced.
        """
        new = _line_from(proposal)
        if not new.text:
            return
        if proposal.replaces and self._has_replaced(proposal.replaces, new):
            return
        if self._is_about_the_best(new):
            return
        for known, relation in _related_lines(new, self.document.lines):
            # A struck line is not revived by a line that merely says more.
            if relation == "same" or not known.struck:
                self._confirm(known, new, relation)
                return
        self._add(new)

    def _has_replaced(self, old: KnowledgeLine, new: KnowledgeLine) -> bool:
        known = self.line_of(old.text)
        if known is None or known.struck or known.reason or self.line_of(new.text) is not None:
            return False
        self.counts["replaced"] += 1
        self._counted.add(line_key(new))
        self._replace(known, replace(new, extra=known.extra))
        self.added.append(new.text)
        return True

    def _is_about_the_best(self, new: KnowledgeLine) -> bool:
        """Return whether there is a line about the best episode already, which a better episode replaces."""
        points = _best_points(new)
        if points is None:
            return False
        for known in self.document.lines:
            known_points = _best_points(known)
            if known_points is not None:
                if points > known_points and not known.struck:
                    self._replace(known, replace(new, extra=known.extra))
                    self.added.append(new.text)
                return True
        return False

    def line_of(self, text: str) -> KnowledgeLine | None:
        """Return the line with exactly these words, even if it is struck."""
        wanted = folded(text)
        return next((line for line in self.document.lines if line_key(line) == wanted), None)

    def add_evidence(self, text: str, borne_out: int, contradicted: int, reason: str, enough: int) -> None:
        """Count the evidence that was found elsewhere for and against the line with exactly these words, if any."""
        line = self.line_of(text)
        if line is not None:
            more = line.with_evidence(borne_out=borne_out, contradicted=contradicted, reason=reason, enough=enough)
            self._replace(line, more)

    def _add(self, new: KnowledgeLine) -> None:
        if any(relation(text, new.text) == "same" for _, text in self.document.by_hand):
            self.counts["known by hand"] += 1
            return
        self.document = self.document.added(new)
        self._counted.add(line_key(new))
        self.added.append(new.text)

    def _confirm(self, known: KnowledgeLine, new: KnowledgeLine, relation: str) -> None:
        if relation == "adds":
            fuller = replace(known, text=new.text)
            if self.line_of(new.text) is None:
                self._replace(known, fuller)
                known = fuller
        self._bear_out(known)

    def _bear_out(self, line: KnowledgeLine) -> None:
        current = self._uncounted(line)
        if current is not None:
            self.counts["borne out"] += 1
            self._replace(current, current.with_evidence(borne_out=1))

    def _contradict(self, line: KnowledgeLine, reason: str, enough: int) -> None:
        current = self._uncounted(line)
        if current is not None:
            self.counts["contradicted"] += 1
            self._replace(current, current.with_evidence(contradicted=1, reason=reason, enough=enough))

    def _uncounted(self, line: KnowledgeLine) -> KnowledgeLine | None:
        """Return the current version of a line; None if it was counted in this revision or is no longer there."""
        current = self.line_of(line.text)
        if current is None or line_key(current) in self._counted:
            return None
        self._counted.add(line_key(current))
        return current

    def _replace(self, old: KnowledgeLine, new: KnowledgeLine) -> None:
        self.document = self.document.changed(old, new)
        if new.struck and not old.struck:
            self.struck.append(new.text)


def _line_from(proposal: ProposedLine) -> KnowledgeLine:
    return KnowledgeLine(
        proposal.section,
        one_line(proposal.text),
        proposal.episode,
        proposal.first_turn,
        proposal.last_turn,
    )


def _best_points(line: KnowledgeLine) -> int | None:
    claim = parse_claim(line.text)
    return int(claim.action) if claim and claim.kind is ClaimKind.BEST else None


def line_key(line: KnowledgeLine) -> str:
    """Return the identity of a line: its words."""
    return folded(line.text)


def _related_lines(new: KnowledgeLine, lines: Iterable[KnowledgeLine]) -> list[tuple[KnowledgeLine, str]]:
    """Return the lines that the new one repeats or adds to, with the relation; repeated ones first."""
    found = [(line, relation(line.text, new.text)) for line in lines]
    order = ("same", "adds")
    return sorted((one for one in found if one[1] in order), key=lambda one: order.index(one[1]))


def relation(older: str, newer: str) -> str:
    """Return how a newer line relates to an older one: "same", "adds", or anything else."""
    if folded(older) == folded(newer):
        return "same"
    # If both are in a fixed form, their fields decide.
    if (claim := parse_claim(older)) and (other := parse_claim(newer)):
        return "same" if claim == other else "unsure"
    # Quoted commands are compared verbatim: lines about “open door” and “close door” may both be true.
    if _quoted(older) != _quoted(newer):
        return "unsure"
    return compare(older, newer).relation


def _quoted(text: str) -> list[str]:
    return [folded(command) for command in re.findall("“([^”]*)”", text)]


_REASON = "contradicted in several episodes"


def merge_knowledge(base: KnowledgeDocument, found: Iterable[tuple[int, KnowledgeDocument]]) -> KnowledgeDocument:
    """Return the document with what each episode has learned beyond it, in their order.

    What says the same counts as borne out once more, and so does the evidence that later turns gave. A line that
    contradictions have struck in one episode stays where any other has borne it out.
    """
    merged = base
    for episode, document in found:
        revision = Revision(merged)
        known = {line_key(line): line for line in base.lines}
        reworded = [line for line in base.lines if line_key(line) not in {line_key(each) for each in document.lines}]
        for line in document.lines:
            before = known.get(line_key(line)) or next((one for one in reworded if _is_reworded(one, line)), None)
            _merge_line(revision, before, line)
        merged = revision.document
        if processed := document.processed.get(str(episode)):
            merged = merged.with_processed(episode, processed)
    return merged


def _merge_line(revision: Revision, before: KnowledgeLine | None, line: KnowledgeLine) -> None:
    """Process a line of an episode.

    Args:
        before: The line when the episode began; None if it is new.
    """
    borne_out, contradicted = line.borne_out, line.contradicted
    if before is not None:
        borne_out, contradicted = borne_out - before.borne_out, contradicted - before.contradicted
    if before is None or line_key(before) != line_key(line):
        revision.learn(ProposedLine(line.section, line.text, line.episode, line.first_turn, line.last_turn))
    if borne_out > 0 or contradicted > 0:
        enough = 1 if line.struck else TRIES_TO_STRIKE
        revision.add_evidence(line.text, max(0, borne_out), max(0, contradicted), line.reason or _REASON, enough)


def _is_reworded(before: KnowledgeLine, line: KnowledgeLine) -> bool:
    """Return whether a line has the origin of one that was there, and says more."""
    one, other = ((each.section, each.episode, each.first_turn, each.last_turn) for each in (before, line))
    return one == other and relation(before.text, line.text) == "adds"
