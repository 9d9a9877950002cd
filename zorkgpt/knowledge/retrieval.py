"""Select the lines of knowledge that are relevant to a situation, the most relevant first, within a token budget."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from game_interface.models import Observation
from zorkgpt.knowledge.lines import KnowledgeSection, contradictions, evidence_of, is_by_person, is_struck
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import estimated_tokens

_PLACE_BOUND = (KnowledgeSection.DANGERS, KnowledgeSection.PUZZLES, KnowledgeSection.DEATHS)
"""Lines in these sections are shown only if something that they name is near."""
_OPENING = (KnowledgeSection.STRATEGIES, KnowledgeSection.INSIGHTS)
"""Lines in these sections help to plan an episode."""
_ORDER: dict[str, int] = {section: at for at, section in enumerate(KnowledgeSection)}
_MIN_WORD = 3


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The words of the names of the player's place and of the things nearby."""

    names: tuple[frozenset[str], ...]
    """Those of the visible and carried things."""
    place_name: frozenset[str]
    kinds: frozenset[str]
    """The last word of each name, which in English is the head noun: "lamp" of "brass lamp"."""


def relevant_lines(lines: Iterable[Memory], now: Observation, budget: int, *, opening: bool = False) -> tuple[str, ...]:
    """Return the lines to show within the budget: first those that name something near, then general ones.

    A line has its evidence if it was ever contradicted. One that a person wrote ranks like one that was confirmed once.

    Args:
        opening: Whether the episode has no turns yet. Lines that help to plan it then rank higher.
    """
    names = list(dict.fromkeys(thing.name for thing in now.at_hand))
    kinds = frozenset(word for name in names for word in _words(" ".join(name.split()[-1:])))
    here = _Surroundings(tuple(filter(None, map(_words, names))), _words(now.location_name), kinds)
    ranked = []
    for line in lines:
        nearness = _nearness(line, here) + 2 * (opening and line.category in _OPENING)
        if not is_struck(line) and (nearness or line.category not in _PLACE_BOUND):
            ranked.append((_rank(line, nearness), _shown_text(line)))
    ranked.sort(key=lambda entry: entry[0])
    return tuple(_fitting((text for _, text in ranked), budget))


def _nearness(line: Memory, here: _Surroundings) -> int:
    """Return how near the subject of a line is: 4 if it names two things here, 0 if it names none.

    A head noun such as "lamp" counts less than a full name.
    """
    words = _words(line.text)
    names_here = bool(here.place_name) and here.place_name <= words
    in_full = names_here + sum(name <= words for name in here.names if name != here.place_name)
    return 2 * min(2, in_full) or int(not here.kinds.isdisjoint(words))


def _rank(line: Memory, nearness: int) -> tuple[int, bool, int, int]:
    evidence = 1 if is_by_person(line) else line.worked - contradictions(line)
    return -nearness, line.category not in _PLACE_BOUND, -evidence, _ORDER[line.category]


@lru_cache(4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) >= _MIN_WORD)


def _shown_text(line: Memory) -> str:
    return f"{line.text} (later: {evidence_of(line)})" if contradictions(line) else line.text


def _fitting(lines: Iterable[str], budget: int) -> Iterator[str]:
    for line in lines:
        if (cost := _token_cost(line)) <= budget:
            budget -= cost
            yield line


@lru_cache(4096)
def _token_cost(text: str) -> int:
    """Return the estimated tokens of the line in the prompt."""
    return estimated_tokens(f'- "{text}"\n')
