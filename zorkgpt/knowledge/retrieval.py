"""Select the lines of knowledge that are relevant to a situation, the most relevant first, within a token budget."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from game_interface.models import Observation
from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.line import ORDER, KnowledgeSection, contradictions, evidence_of, is_struck
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import estimated_tokens

_PLACE_BOUND = (
    KnowledgeSection.DANGERS,
    KnowledgeSection.PUZZLES,
    KnowledgeSection.DEATHS,
    KnowledgeSection.DEATH_PATTERNS,
    KnowledgeSection.DISCOVERIES,
)
"""Lines in these sections are shown only if something that they name is near."""
_OPENING = (KnowledgeSection.STRATEGIES, KnowledgeSection.META_STRATEGIES)
"""Lines in these sections help to plan an episode."""
_MIN_WORD = 3


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The names of the player's place and of the things nearby, which decide which lines are relevant."""

    names: tuple[frozenset[str], ...]
    """The words of each name of the visible and carried things."""
    place_name: frozenset[str] = frozenset()
    """The words of the place's name."""
    kinds: frozenset[str] = frozenset()
    """The last word of each name, which in English is the head noun: "lamp" of "brass lamp"."""
    opening: bool = False
    """Whether the episode has no turns yet."""


@dataclass(frozen=True, slots=True)
class RelevantLine:
    """A line to show to the player."""

    section: KnowledgeSection
    text: str
    """The text to show, with the evidence if it was ever contradicted."""
    line: Memory | None
    """None if a person wrote it."""


def surroundings_of(now: Observation, *, opening: bool = False) -> Surroundings:
    things = now.at_hand
    names = dict.fromkeys(thing.name for thing in things)
    words = tuple(found for name in names if (found := _words(name)))
    kinds = frozenset(word for name in names for word in _words(name.split()[-1] if name.split() else ""))
    return Surroundings(words, _words(now.location_name), kinds, opening)


def relevant_lines(document: KnowledgeDocument, here: Surroundings, budget: int) -> tuple[RelevantLine, ...]:
    """Return the lines to show within the budget: first those that name something near, then general ones.

    Before the first turn, lines that help to plan an episode rank with those that name something near.
    """
    learned = (
        RelevantLine(KnowledgeSection(line.category), _shown_text(line), line)
        for line in document.lines
        if not is_struck(line)
    )
    manual = (RelevantLine(section, text, None) for section, text in document.by_hand)
    ranked = []
    for line in (*learned, *manual):
        nearness = _nearness(line, here)
        if nearness or line.section not in _PLACE_BOUND:
            ranked.append((_rank(line, nearness), line))
    ranked.sort(key=lambda entry: entry[0])
    return tuple(_fitting((line for _, line in ranked), budget))


class RelevantLines:
    """Selects the relevant lines, and caches the selection until the document or the surroundings change."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._last: tuple[KnowledgeDocument, Surroundings, tuple[str, ...]] | None = None

    def at(self, document: KnowledgeDocument, now: Observation, *, opening: bool) -> tuple[str, ...]:
        """Return the lines to show, the most relevant first, within the token budget.

        Args:
            opening: Whether the episode has no turns yet.
        """
        here = surroundings_of(now, opening=opening)
        if self._last is None or self._last[0] is not document or self._last[1] != here:
            lines = relevant_lines(document, here, self._budget)
            self._last = document, here, tuple(line.text for line in lines)
        return self._last[2]


def _nearness(shown: RelevantLine, here: Surroundings) -> int:
    """Return how near the subject of a line is: 4 or more if it names two things here, 0 if it names none.

    A head noun such as "lamp" counts less than a full name.
    """
    words = _words(shown.line.text if shown.line else shown.text)
    names_here = bool(here.place_name) and here.place_name <= words
    in_full = names_here + sum(name <= words for name in here.names if name != here.place_name)
    nearness = 2 * min(2, in_full) or int(not here.kinds.isdisjoint(words))
    return nearness + 2 if here.opening and shown.section in _OPENING else nearness


def _rank(shown: RelevantLine, nearness: int) -> tuple[int, bool, int, int]:
    # A line that a person wrote ranks like one that was confirmed once.
    evidence = shown.line.worked - contradictions(shown.line) if shown.line else 1
    return -nearness, shown.section not in _PLACE_BOUND, -evidence, ORDER.index(shown.section)


@lru_cache(4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) >= _MIN_WORD)


def _shown_text(line: Memory) -> str:
    return f"{line.text} (later: {evidence_of(line)})" if contradictions(line) else line.text


def _fitting(lines: Iterable[RelevantLine], budget: int) -> Iterator[RelevantLine]:
    for line in lines:
        if (cost := _token_cost(line.text)) <= budget:
            budget -= cost
            yield line


@lru_cache(4096)
def _token_cost(text: str) -> int:
    """Return the estimated tokens of the line in the prompt."""
    return estimated_tokens(f'- "{text}"\n')
