"""What a look back at turns makes of the knowledge base: new lines, and what has come of those that were there."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from zorkgpt.knowledge.claims import Outcome, claim_of
from zorkgpt.knowledge.document import Document
from zorkgpt.knowledge.line import KnowledgeLine, Place
from zorkgpt.knowledge.sections import Section
from zorkgpt.memory.entailment.compare import compare
from zorkgpt.memory.storage.escaping import one_line


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something that was learned."""

    section: Section
    text: str
    episode: int | str
    first_turn: int
    last_turn: int
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Lessons:
    """What some turns teach."""

    new: tuple[Proposal, ...] = ()
    borne_out: tuple[KnowledgeLine, ...] = ()
    """Lines that the turns bear out."""
    contradicted: tuple[tuple[KnowledgeLine, str], ...] = ()
    """Lines that they contradict, and why."""
    enough: int = 1
    """So many contradictions strike a line that was never borne out."""


@dataclass(slots=True)
class Revision:
    """A document on its way to the next; each line is counted at most once in it."""

    document: Document
    added: list[str] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    _counted: set[str] = field(default_factory=set)

    def take_in(self, lessons: Lessons) -> "Revision":
        """All of the lessons, first what has come of the lines that are there."""
        for line in lessons.borne_out:
            self._bear_out(line)
        for line, reason in lessons.contradicted:
            self._contradict(line, reason, lessons.enough)
        for proposal in lessons.new:
            self.learn(proposal)
        return self

    def learn(self, proposal: Proposal) -> None:
        """A new line; one that says what is known bears it out, whatever else says something like it."""
        new = _line(proposal)
        if not new.text:
            return
        if self._is_about_the_best(new):
            return
        for known, relation in _related(new, self.document.lines):
            # What is struck is not made true by something that says more.
            if relation == "same" or not known.struck:
                self._known_again(known, new, relation)
                return
        self._add(new)

    def _is_about_the_best(self, new: KnowledgeLine) -> bool:
        """Whether there is a line about the best episode already; a better one takes its place."""
        points = _best_points(new)
        known = next((line for line in self.document.lines if _best_points(line) is not None), None)
        if points is None or known is None:
            return False
        if points > _best_points(known) and not known.struck:
            self._replace(known, replace(new, extra=known.extra))
            self.added.append(new.text)
        return True

    def line_of(self, text: str) -> KnowledgeLine | None:
        """The line of exactly these words, the struck too."""
        wanted = _folded(text)
        return next((line for line in self.document.lines if key(line) == wanted), None)

    def find(self, proposal: Proposal) -> None:
        """A pattern across places: a line of its own, whatever else says something like it."""
        known = self.line_of(proposal.text)
        if known is None:
            self._add(_line(proposal))
        elif not known.struck:
            self._extend(known, proposal.places)

    def _add(self, new: KnowledgeLine) -> None:
        if any(_relation(text, new.text) == "same" for _, text in self.document.by_hand):
            self.counts["known by hand"] += 1
            return
        self.document = self.document.added(new)
        self._counted.add(key(new))
        self.added.append(new.text)

    def withdraw(self, line: KnowledgeLine, numbers: Iterable[int]) -> None:
        """A pattern across places no longer holds at these; struck when it is left with none."""
        numbers = set(numbers)
        left = tuple(place for place in line.places if place.number not in numbers)
        if left:
            self._replace(line, replace(line, places=left))
        elif not line.struck and not line.reason:
            self._replace(line, replace(line, struck=True, reason="not remembered of any place any more"))

    def _extend(self, line: KnowledgeLine, places: Iterable[Place]) -> None:
        """Found at more places, which together bear it out once."""
        known = {place.number for place in line.places}
        more = tuple(place for place in places if place.number not in known)
        if more:
            first = key(line) not in self._counted
            self._counted.add(key(line))
            longer = replace(line, places=(*line.places, *more))
            self._replace(line, longer.with_evidence(borne_out=int(first)))

    def _known_again(self, known: KnowledgeLine, new: KnowledgeLine, relation: str) -> None:
        if relation == "adds" and not known.places:
            fuller = replace(known, text=new.text)
            if self.line_of(new.text) is None:
                self._replace(known, fuller)
                known = fuller
        self._bear_out(known)

    def _bear_out(self, line: KnowledgeLine) -> None:
        current = self._once(line)
        if current is not None:
            self.counts["borne out"] += 1
            self._replace(current, current.with_evidence(borne_out=1))

    def _contradict(self, line: KnowledgeLine, reason: str, enough: int) -> None:
        current = self._once(line)
        if current is not None:
            self.counts["contradicted"] += 1
            self._replace(current, current.with_evidence(contradicted=1, reason=reason, enough=enough))

    def _once(self, line: KnowledgeLine) -> KnowledgeLine | None:
        """The line as it stands now, the first time that it is asked for; somebody may have taken it out."""
        current = self.line_of(line.text)
        if current is None or key(current) in self._counted:
            return None
        self._counted.add(key(current))
        return current

    def _replace(self, old: KnowledgeLine, new: KnowledgeLine) -> None:
        self.document = self.document.changed(old, new)
        if new.struck and not old.struck:
            self.struck.append(new.text)


def _line(proposal: Proposal) -> KnowledgeLine:
    return KnowledgeLine(
        proposal.section,
        one_line(proposal.text),
        proposal.episode,
        proposal.first_turn,
        proposal.last_turn,
        places=proposal.places,
    )


def _best_points(line: KnowledgeLine) -> int | None:
    claim = claim_of(line.text)
    return int(claim.action) if claim and claim.outcome is Outcome.BEST else None


def key(line: KnowledgeLine) -> str:
    """What makes a line the same one: its words."""
    return _folded(line.text)


@lru_cache(4096)
def _folded(text: str) -> str:
    return one_line(text).casefold()


def _related(new: KnowledgeLine, lines: Iterable[KnowledgeLine]) -> list[tuple[KnowledgeLine, str]]:
    """The lines that the new one repeats or completes; those that it repeats first."""
    found = [(line, _relation(line.text, new.text)) for line in lines]
    order = ("same", "adds")
    return sorted((one for one in found if one[1] in order), key=lambda one: order.index(one[1]))


def _relation(older: str, newer: str) -> str:
    if _folded(older) == _folded(newer):
        return "same"
    # Where both say it in fields, these decide.
    if (claim := claim_of(older)) and (other := claim_of(newer)):
        return "same" if claim == other else "unsure"
    # A command in quotes is meant to the letter: of “open door” and “close door” both may be so.
    if _quoted(older) != _quoted(newer):
        return "unsure"
    return compare(older, newer).relation


def _quoted(text: str) -> list[str]:
    return [one_line(command).casefold() for command in re.findall("“([^”]*)”", text)]
