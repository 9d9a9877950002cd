"""Select the lines of knowledge that are relevant to a situation, the most relevant first, within a token budget."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from game_interface.models import Observation
from zorkgpt.knowledge.claims import parse_claim
from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.line import ORDER, KnowledgeLine, KnowledgeSection
from zorkgpt.memory.retrieval import estimated_tokens

_PLACE_BOUND = (
    KnowledgeSection.DANGERS,
    KnowledgeSection.PUZZLES,
    KnowledgeSection.DEATHS,
    KnowledgeSection.DEATH_PATTERNS,
    KnowledgeSection.DISCOVERIES,
)
"""Lines in these sections are useful only where something that they name is near."""
_OPENING = (KnowledgeSection.STRATEGIES, KnowledgeSection.META_STRATEGIES)
"""Lines in these sections say how an episode is best begun, or gone about."""
_MIN_WORD = 3


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The place of the player and the names of what is near: they decide which lines are relevant."""

    place: int | None
    names: tuple[frozenset[str], ...]
    """The words of each name of the visible and carried things."""
    place_name: frozenset[str] = frozenset()
    """The words of the place's name."""
    kinds: frozenset[str] = frozenset()
    """The last word of each name, which in English says what it is: "lamp" of "brass lamp"."""
    opening: bool = False
    """Whether nothing has been played in the episode yet."""


@dataclass(frozen=True, slots=True)
class RelevantLine:
    """A line that the player is shown."""

    section: KnowledgeSection
    text: str
    """The text as it is shown, with the evidence if it was ever contradicted."""
    line: KnowledgeLine | None
    """None if a person wrote it."""


def surroundings_of(now: Observation, *, opening: bool = False) -> Surroundings:
    things = now.at_hand
    names = dict.fromkeys(thing.name for thing in things)
    words = tuple(found for name in names if (found := _words(name)))
    kinds = frozenset(word for name in names for word in _words(name.split()[-1] if name.split() else ""))
    if now.location is None:
        return Surroundings(None, words, kinds=kinds, opening=opening)
    return Surroundings(now.location.num, words, _words(now.location.name), kinds, opening)


def relevant_lines(document: KnowledgeDocument, here: Surroundings, budget: int) -> tuple[RelevantLine, ...]:
    """Return the lines to show within the budget: those that name something near, then general ones.

    Before the first turn, what says how to go about an episode comes with the lines that name something near.
    """
    ours = (RelevantLine(line.section, _shown_text(line), line) for line in document.lines if not line.struck)
    theirs = (RelevantLine(section, text, None) for section, text in document.by_hand)
    ranked = []
    for shown in (*ours, *theirs):
        nearness = _nearness(shown, here)
        if nearness or shown.section not in _PLACE_BOUND:
            ranked.append((_rank(shown, nearness), shown))
    ranked.sort(key=lambda one: one[0])
    return tuple(_fitting((shown for _, shown in ranked), budget))


class RelevantLines:
    """Selects the relevant lines, and keeps the last selection until the document or the surroundings change."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._last: tuple[KnowledgeDocument, Surroundings, tuple[str, ...]] | None = None

    def at(self, document: KnowledgeDocument, now: Observation, *, opening: bool) -> tuple[str, ...]:
        """Return the lines to show, the most relevant first, within the budget of tokens.

        Args:
            opening: Whether nothing has been played in the episode yet.
        """
        here = surroundings_of(now, opening=opening)
        if self._last is None or self._last[0] is not document or self._last[1] != here:
            lines = relevant_lines(document, here, self._budget)
            self._last = document, here, tuple(line.text for line in lines)
        return self._last[2]


def _nearness(shown: RelevantLine, here: Surroundings) -> int:
    """Return how much a line matters here: the most what names two things near, the least what names none.

    A thing that is named only by what it is, such as "the lamp", counts less than one that is named in full. A line in
    a fixed form about another place of the same name does not name this place.
    """
    text = shown.line.text if shown.line else shown.text
    claim = parse_claim(text)
    elsewhere = claim is not None and claim.place is not None and claim.place != here.place
    words = _words(text)
    names_here = bool(here.place_name) and not elsewhere and here.place_name <= words
    in_full = names_here + sum(name <= words for name in here.names if name != here.place_name)
    nearness = 2 * min(2, in_full) or int(not here.kinds.isdisjoint(words))
    return nearness + 2 if here.opening and shown.section in _OPENING else nearness


def _rank(shown: RelevantLine, nearness: int) -> tuple[int, bool, int, int]:
    sure = shown.line.borne_out - shown.line.contradicted if shown.line else 0
    # A line that a person wrote ranks like one that was borne out once.
    return -nearness, shown.section not in _PLACE_BOUND, -(sure if shown.line else 1), ORDER.index(shown.section)


@lru_cache(4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) >= _MIN_WORD)


def _shown_text(line: KnowledgeLine) -> str:
    """Return the text of a line, with the evidence if it was ever contradicted."""
    if not line.contradicted:
        return line.text
    return f"{line.text} (later tries: {line.borne_out} bore this out, {line.contradicted} did not)"


def _fitting(lines: Iterable[RelevantLine], budget: int) -> Iterator[RelevantLine]:
    for line in lines:
        if (cost := _token_cost(line.text)) <= budget:
            budget -= cost
            yield line


@lru_cache(4096)
def _token_cost(text: str) -> int:
    """Return the estimated tokens of the line in the prompt."""
    return estimated_tokens(f'- "{text}"\n')
