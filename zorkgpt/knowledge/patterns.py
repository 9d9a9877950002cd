"""Patterns across places: what memory says of several places in the same form."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from zorkgpt.knowledge.line import Place
from zorkgpt.knowledge.revision import Proposal, Revision, key
from zorkgpt.knowledge.sections import Section
from zorkgpt.memory.models import Category, Memory, MemoryStatus, Persistence
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.escaping import one_line

LEAST_PLACES = 3
_HERE = "this place"
_LONGEST = 400
_SECTIONS = {
    Category.DANGER: Section.DANGERS,
    Category.SUCCESS: Section.STRATEGIES,
}
_COMMAND = re.compile("“(?P<action>[^”]+)” ")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What holds at several places."""

    section: Section
    text: str
    places: tuple[Place, ...]
    """In the order of their numbers."""


def form(memory: Memory, place_name: str) -> str:
    """What the memory says, with the place's own name taken out."""
    return _form(memory.title, memory.text, place_name)


@lru_cache(4096)
def _form(title: str, said: str, place_name: str) -> str:
    text = f"{one_line(title)}: {one_line(said)}"
    if name := one_line(place_name):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", _HERE, text, flags=re.IGNORECASE)
    return text


def is_general(memory: Memory, is_way: Callable[[str], bool]) -> bool:
    """Whether it is of a kind that may hold elsewhere too.

    How a place is found at the beginning is its own, where a way leads too; what failed says something of the state
    that it was tried in; what is true of one episode or not confirmed is no ground to build on, what a person has
    pinned to its place stays there, and what one has vetoed counts for nothing.

    Args:
        is_way: whether a command is a direction.
    """
    return (
        memory.persistence is Persistence.PERMANENT
        and memory.status == MemoryStatus.ACTIVE
        and memory.category != Category.FAILURE
        and not memory.pinned
        and not memory.vetoed
        and not ((command := _command(memory.title)) and is_way(command))
    )


@lru_cache(4096)
def _command(title: str) -> str | None:
    """What it begins with, in quotes; None if it is about no command."""
    found = _COMMAND.match(title)
    return found["action"] if found else None


def patterns(memories: Sequence[LocatedMemory], is_way: Callable[[str], bool]) -> list[Pattern]:
    """What is remembered in the same form, word for word, at three places or more."""
    found: dict[str, list[LocatedMemory]] = {}
    for located in memories:
        if is_general(located.memory, is_way):
            found.setdefault(_key(located), []).append(located)
    made = []
    for same in found.values():
        places = {one.location_id: Place(one.location_id, one.location_name) for one in same}
        text = form(same[0].memory, same[0].location_name)
        if len(places) >= LEAST_PLACES and len(text) <= _LONGEST:
            section = _SECTIONS.get(same[0].memory.category, Section.LESSONS)
            made.append(Pattern(section, text, tuple(places[number] for number in sorted(places))))
    return made


def withdrawn(memories: Sequence[LocatedMemory]) -> Mapping[str, frozenset[int]]:
    """By form, the places at which memory has come to disbelieve it, or a person has vetoed it."""
    believed: dict[str, set[int]] = {}
    disbelieved: dict[str, set[int]] = {}
    for located in memories:
        is_gone = located.memory.vetoed or located.memory.status == MemoryStatus.SUPERSEDED
        (disbelieved if is_gone else believed).setdefault(_key(located), set()).add(located.location_id)
    return {said: frozenset(places - believed.get(said, set())) for said, places in disbelieved.items()}


def take_in(
    revision: Revision,
    found: Iterable[Pattern],
    gone: Mapping[str, frozenset[int]],
    *,
    episode: int | str,
    turn: int,
) -> None:
    """Each pattern as a line, with more places if it is there, and without those where it is believed no more."""
    for pattern in found:
        revision.find(Proposal(pattern.section, pattern.text, episode, turn, turn, pattern.places))
    for line in revision.document.lines:
        left = gone.get(key(line), frozenset())
        if not line.struck and not left.isdisjoint(place.number for place in line.places):
            revision.withdraw(line, left)


def _key(located: LocatedMemory) -> str:
    return form(located.memory, located.location_name).casefold()
