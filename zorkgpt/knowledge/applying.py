"""Which lines of knowledge apply to the moment, within a budget, the most to the point first."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from game_interface.models import Observation
from zorkgpt.knowledge.document import Document
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.sections import ORDER, Section
from zorkgpt.memory.retrieval import estimated_tokens

_OF_THE_PLACE = (Section.DANGERS, Section.PUZZLES, Section.DEATHS, Section.DEATH_PATTERNS, Section.DISCOVERIES)
"""What these say is of no use where nothing that they name is near."""
_LEAST_WORD = 3
_Line = TypeVar("_Line")


@dataclass(frozen=True, slots=True)
class Near:
    """What decides which lines apply to a moment."""

    place: int | None
    names: tuple[frozenset[str], ...]
    """The words of the names of the place and of the things in sight and in hand."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A line that is put before the player."""

    section: Section
    text: str
    """As it is told: with its evidence where it did not always hold."""
    line: KnowledgeLine | None
    """None: a person wrote it."""


def of_place(document: Document, location_id: int | None, budget: int) -> tuple[KnowledgeLine, ...]:
    """The patterns across places that were found here too, as many as fit into half of the budget, in tokens."""
    found = document.by_place.get(location_id, ()) if location_id is not None else ()
    here = sorted(found, key=lambda line: (line.section is not Section.DANGERS, -line.borne_out))
    return tuple(_fitting(here, budget // 2, _told))


def near(now: Observation) -> Near:
    things = (*(now.visible or ()), *(now.carried or now.inventory or ()))
    names = [thing.name for thing in things] + ([now.location.name] if now.location else [])
    words = tuple(found for name in dict.fromkeys(names) if (found := _words(name)))
    return Near(now.location.num if now.location else None, words)


def applying(document: Document, here: Near, budget: int) -> tuple[Shown, ...]:
    """What is shown, in `budget` tokens, none cut: what was found here, what names something near, what is general."""
    first = of_place(document, here.place, budget)
    left = budget - sum(_cost(_told(line)) for line in first)
    ours = (
        Shown(line.section, _told(line), line)
        for line in document.lines
        # Those that were found here are of some place.
        if not line.struck and not (line.places and line in first)
    )
    theirs = (Shown(section, text, None) for section, text in document.by_hand)
    any_word = frozenset().union(*here.names)
    ranked = []
    for shown in (*ours, *theirs):
        words = _words(shown.line.text if shown.line else shown.text)
        named = 0 if any_word.isdisjoint(words) else sum(name <= words for name in here.names)
        if named or shown.section not in _OF_THE_PLACE:
            ranked.append((_rank(shown, named), shown))
    ranked.sort(key=lambda one: one[0])
    rest = _fitting([shown for _, shown in ranked], left, lambda shown: shown.text)
    return (*(Shown(line.section, _told(line), line) for line in first), *rest)


def _rank(shown: Shown, named: int) -> tuple:
    sure = shown.line.borne_out - shown.line.contradicted if shown.line else 0
    # What a person wrote down is believed as what has been borne out once.
    return -min(named, 2), shown.section not in _OF_THE_PLACE, -(sure if shown.line else 1), ORDER.index(shown.section)


@lru_cache(4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) >= _LEAST_WORD)


def _told(line: KnowledgeLine) -> str:
    """The text, with the evidence where it did not always hold."""
    if not line.contradicted:
        return line.text
    return f"{line.text} (later tries: {line.borne_out} bore this out, {line.contradicted} did not)"


def _fitting(lines: Iterable[_Line], budget: int, text_of: Callable[[_Line], str]) -> list[_Line]:
    chosen = []
    for line in lines:
        if (cost := _cost(text_of(line))) <= budget:
            budget -= cost
            chosen.append(line)
    return chosen


@lru_cache(4096)
def _cost(text: str) -> int:
    """Of the line in the prompt, in quotes."""
    return estimated_tokens(f'- "{text}"\n')
