"""Patterns across places: what memory says of several places in the same form, and of none otherwise."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from zorkgpt.knowledge.line import Place
from zorkgpt.knowledge.revision import Proposal, Revision
from zorkgpt.knowledge.sections import Section
from zorkgpt.memory.contrast.decision import compare
from zorkgpt.memory.models import Memory, MemoryStatus
from zorkgpt.memory.recall.search import LocatedMemory
from zorkgpt.memory.storage.escaping import one_line

LEAST_PLACES = 3
_HERE = "this place"
_LONGEST = 400
_NEAR = 6
"""Words that are in one of two texts alone."""
_SECTIONS = {
    "DANGER": Section.DANGERS,
    "FAILURE": Section.SYNTAX,
    "SUCCESS": Section.STRATEGIES,
}
_COMMAND = re.compile("“(?P<action>[^”]+)” ")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What holds at several places."""

    section: Section
    text: str
    places: tuple[Place, ...]
    """In the order of their numbers."""
    otherwise: Place | None = None
    """Where something is remembered that speaks against it; None: nowhere."""


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

    How a place is found at the beginning is its own, where a way leads too; what is true of one episode or not
    confirmed is no ground to build on, what a person has pinned to its place stays there, and what one has vetoed
    counts for nothing.

    Args:
        is_way: whether a command is a direction.
    """
    return (
        memory.persistence == "permanent"
        and memory.status == MemoryStatus.ACTIVE
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
    """What is remembered in the same form, word for word, at three places or more, with what speaks against it."""
    found: dict[str, list[LocatedMemory]] = {}
    for located in memories:
        if is_general(located.memory, is_way):
            found.setdefault(form(located.memory, located.location_name).casefold(), []).append(located)
    believed = _Believed(one for one in memories if one.memory.status == MemoryStatus.ACTIVE and not one.memory.vetoed)
    made = []
    for same in found.values():
        places = {one.location_id: Place(one.location_id, one.location_name) for one in same}
        text = form(same[0].memory, same[0].location_name)
        if len(places) >= LEAST_PLACES and len(text) <= _LONGEST:
            section = _SECTIONS.get(same[0].memory.category, Section.LESSONS)
            against = believed.against(same[0].memory, text)
            made.append(Pattern(section, text, tuple(places[number] for number in sorted(places)), against))
    return made


def take_in(revision: Revision, found: Iterable[Pattern], *, episode: int | str, turn: int) -> None:
    """Each pattern as a line, with more places if it is there; one that does not hold somewhere is struck."""
    for pattern in found:
        known = revision.line_of(pattern.text)
        if pattern.otherwise is None:
            revision.find(Proposal(pattern.section, pattern.text, episode, turn, turn, pattern.places))
        elif known is not None:
            revision.strike(known, f"otherwise at {pattern.otherwise.name} ({pattern.otherwise.number})")


class _Believed:
    """What is believed, in its order, by the command that it is about."""

    def __init__(self, memories: Iterable[LocatedMemory]) -> None:
        self._all = list(enumerate(memories))
        self._about: dict[str | None, list[tuple[int, LocatedMemory]]] = {}
        for number, one in self._all:
            self._about.setdefault(_command(one.memory.title), []).append((number, one))

    def against(self, memory: Memory, text: str) -> Place | None:
        """The first place at which the same command came to something else, or which says the contrary."""
        command = _command(memory.title)
        # Of memories about two different commands neither speaks against the other.
        about = [*self._about.get(command, ()), *self._about.get(None, ())] if command else self._all
        for _, one in sorted(about, key=itemgetter(0)):
            same_command = command and _command(one.memory.title)
            if one.memory.title != memory.title if same_command else _is_contrary(memory, text, one):
                return Place(one.location_id, one.location_name)
        return None


def _is_contrary(memory: Memory, text: str, one: LocatedMemory) -> bool:
    said = form(one.memory, one.location_name)
    words, others = _words(text), _words(said)
    # Only near repeats can deny each other: one negation or one opposite apart.
    return abs(len(words) - len(others)) <= _NEAR >= len(words ^ others) and (
        compare(text, said).relation == "conflict" or compare(memory.text, one.memory.text).relation == "conflict"
    )


@lru_cache(4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())
