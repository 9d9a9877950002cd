"""Patterns across places: statements that memory makes about several places in the same words."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from zorkgpt.knowledge.line import KnowledgeSection, PatternPlace
from zorkgpt.knowledge.revision import ProposedLine, Revision, line_key
from zorkgpt.memory.models import Category, Memory, MemoryStatus, Persistence
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.escaping import one_line

MIN_PLACES = 3
_HERE = "this place"
_MAX_CHARS = 400
_SECTIONS = {
    Category.DANGER.value: KnowledgeSection.DANGERS,
    Category.SUCCESS.value: KnowledgeSection.STRATEGIES,
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A statement that holds at several places."""

    section: KnowledgeSection
    text: str
    places: tuple[PatternPlace, ...]
    """Sorted by their numbers."""


def general_form(memory: Memory, place_name: str) -> str:
    """Return the memory's title and text with the place's own name replaced."""
    return _form(memory.title, memory.text, place_name)


@lru_cache(4096)
def _form(title: str, said: str, place_name: str) -> str:
    text = f"{one_line(title)}: {one_line(said)}"
    if name := one_line(place_name):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", _HERE, text, flags=re.IGNORECASE)
    return text


def is_general(memory: Memory, is_way: Callable[[str], bool]) -> bool:
    """Return whether a memory is of a kind that may hold elsewhere too.

    Not general are: how a place is at the beginning and where its exits lead (specific to the place), failures
    (specific to the state in which they happened), memories of one episode or not confirmed, and memories that a
    person has pinned, edited or hidden.

    Args:
        is_way: whether a command is a direction.
    """
    return (
        memory.persistence is Persistence.PERMANENT
        and memory.status == MemoryStatus.ACTIVE
        and memory.category != Category.FAILURE
        and not memory.is_settled_by_person
        and not memory.vetoed
        and not (memory.action and is_way(memory.action))
    )


def find_patterns(memories: Sequence[LocatedMemory], is_way: Callable[[str], bool]) -> list[Pattern]:
    """Return the statements that memories make in the same words at `MIN_PLACES` places or more."""
    found: dict[str, list[LocatedMemory]] = {}
    for located in memories:
        if is_general(located.memory, is_way):
            found.setdefault(_key(located), []).append(located)
    made = []
    for same in found.values():
        places = {
            one.location_id: PatternPlace(one.location_id, one.location_name)
            for one in same
            if isinstance(one.location_id, int)
        }
        text = general_form(same[0].memory, same[0].location_name)
        if len(places) >= MIN_PLACES and len(text) <= _MAX_CHARS:
            section = _SECTIONS.get(same[0].memory.category, KnowledgeSection.LESSONS)
            made.append(Pattern(section, text, tuple(places[number] for number in sorted(places))))
    return made


def withdrawn(memories: Sequence[LocatedMemory]) -> Mapping[str, frozenset[int]]:
    """Return form → the places where it was superseded or vetoed and no other memory states it."""
    believed: dict[str, set[int]] = {}
    disbelieved: dict[str, set[int]] = {}
    for located in memories:
        if not isinstance(located.location_id, int):
            continue
        is_gone = located.memory.vetoed or located.memory.status == MemoryStatus.SUPERSEDED
        (disbelieved if is_gone else believed).setdefault(_key(located), set()).add(located.location_id)
    return {said: frozenset(places - believed.get(said, set())) for said, places in disbelieved.items()}


def record_patterns(
    revision: Revision,
    found: Iterable[Pattern],
    gone: Mapping[str, frozenset[int]],
    *,
    episode: int | str,
    turn: int,
) -> None:
    """Add each pattern as a line, or its new places to the existing line, and remove places where it was withdrawn."""
    for pattern in found:
        revision.add_pattern(ProposedLine(pattern.section, pattern.text, episode, turn, turn, pattern.places))
    for line in revision.document.lines:
        left = gone.get(line_key(line), frozenset())
        if not line.struck and not left.isdisjoint(place.number for place in line.places):
            revision.withdraw(line, left)


def _key(located: LocatedMemory) -> str:
    return general_form(located.memory, located.location_name).casefold()
