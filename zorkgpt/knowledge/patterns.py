"""Patterns across places: what memory says of several places in the same form, and of none otherwise."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from zorkgpt.knowledge.line import Place
from zorkgpt.knowledge.revision import Proposal, Revision
from zorkgpt.knowledge.sections import Section
from zorkgpt.memory.contrast import compare
from zorkgpt.memory.escaping import one_line
from zorkgpt.memory.models import Memory, MemoryStatus
from zorkgpt.memory.search import LocatedMemory

LEAST_PLACES = 3
_HERE = "this place"
_LONGEST = 400
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
    text = f"{one_line(memory.title)}: {one_line(memory.text)}"
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
    command = _COMMAND.match(memory.title)
    return (
        memory.persistence == "permanent"
        and memory.status == MemoryStatus.ACTIVE
        and not memory.pinned
        and not memory.vetoed
        and not (command and is_way(command["action"]))
    )


def patterns(memories: Sequence[LocatedMemory], is_way: Callable[[str], bool]) -> list[Pattern]:
    """What is remembered in the same form, word for word, at three places or more, with what speaks against it."""
    found: dict[str, list[LocatedMemory]] = {}
    for located in memories:
        if is_general(located.memory, is_way):
            found.setdefault(form(located.memory, located.location_name).casefold(), []).append(located)
    believed = [one for one in memories if one.memory.status == MemoryStatus.ACTIVE and not one.memory.vetoed]
    made = []
    for same in found.values():
        places = {one.location_id: Place(one.location_id, one.location_name) for one in same}
        text = form(same[0].memory, same[0].location_name)
        if len(places) >= LEAST_PLACES and len(text) <= _LONGEST:
            section = _SECTIONS.get(same[0].memory.category, Section.LESSONS)
            against = _speaking_against(same[0].memory, text, believed)
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


def _speaking_against(memory: Memory, text: str, believed: Iterable[LocatedMemory]) -> Place | None:
    """The first place at which the same command came to something else, or which says the contrary."""
    command = _COMMAND.match(memory.title)
    words = set(text.casefold().split())
    for one in believed:
        theirs = _COMMAND.match(one.memory.title)
        if command and theirs:
            if theirs["action"] == command["action"] and one.memory.title != memory.title:
                return Place(one.location_id, one.location_name)
            continue
        said = form(one.memory, one.location_name)
        # Only near repeats can deny each other: one negation or one opposite apart.
        if len(words ^ set(said.casefold().split())) <= 6 and (
            compare(text, said).relation == "conflict" or compare(memory.text, one.memory.text).relation == "conflict"
        ):
            return Place(one.location_id, one.location_name)
    return None
