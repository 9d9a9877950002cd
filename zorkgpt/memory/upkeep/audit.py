"""Holding what is remembered of a place's beginning against a world that has just begun."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from zorkgpt.memory.recall.search import LocatedMemory
from zorkgpt.memory.storage.changes import is_current
from zorkgpt.memory.whereabouts import is_named, says_where, sentences_of, words_of


@dataclass(frozen=True, slots=True)
class Thing:
    """An object of the fresh world."""

    name: str
    room: int
    """The location that it is in, through whatever holds it."""
    room_name: str
    portable: bool
    """Known to be something that can be taken; what can't be is left out of contradictions, since a story may have
    one object for a thing that is seen from several places."""


class Verdict(StrEnum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the fresh world says of one memory."""

    located: LocatedMemory
    verdict: Verdict
    evidence: str = ""
    """Where the thing is, in words; "" if that can't be checked."""


def held_against(memories: Iterable[LocatedMemory], world: Sequence[Thing]) -> list[Finding]:
    """A finding for each current core memory.

    Contradicted is only what is unmistakable: a sentence says plainly that a thing is at this place, nothing else goes
    by that name, it can be carried, and it is in another place that is known.
    """
    memories = list(memories)
    known = {located.location_id for located in memories}
    names = Counter(" ".join(words_of(thing.name)) for thing in world)
    nouns = Counter(words[-1] for thing in world if (words := words_of(thing.name)))
    single = [thing for thing in world if names[" ".join(words_of(thing.name))] == 1 and words_of(thing.name)]
    ambiguous = frozenset(noun for noun, count in nouns.items() if count > 1)
    return [
        _finding(located, single, known, ambiguous)
        for located in memories
        if located.memory.persistence == "core" and is_current(located.memory)
    ]


def tally(findings: Iterable[Finding]) -> dict[str, int]:
    """How many of each verdict."""
    counted = Counter(finding.verdict.value for finding in findings)
    return {verdict.value: counted[verdict.value] for verdict in Verdict}


def _finding(located: LocatedMemory, world: Sequence[Thing], known: set[int], ambiguous: frozenset[str]) -> Finding:
    here: list[Thing] = []
    elsewhere: list[Thing] = []
    for sentence in sentences_of(f"{located.memory.title}. {located.memory.text}"):
        for thing in world:
            if not says_where(sentence, thing.name) or not _is_meant(sentence, thing, ambiguous):
                continue
            if thing.room == located.location_id:
                here.append(thing)
            elif thing.portable and thing.room in known and _of_this_place(sentence, thing, located, world):
                elsewhere.append(thing)
    if elsewhere and not here:
        evidence = "; ".join(f"the {thing.name} is in {thing.room_name} ({thing.room})" for thing in _once(elsewhere))
        return Finding(located, Verdict.CONTRADICTED, f"In a fresh world {evidence}")
    if here and not elsewhere:
        return Finding(located, Verdict.CONFIRMED, "; ".join(f"the {thing.name} is here" for thing in _once(here)))
    return Finding(located, Verdict.NOT_CHECKABLE)


def _is_meant(sentence: str, thing: Thing, ambiguous: frozenset[str]) -> bool:
    name = words_of(thing.name)
    return name[-1] not in ambiguous or f" {' '.join(name)} " in f" {' '.join(words_of(sentence))} "


def _of_this_place(sentence: str, thing: Thing, located: LocatedMemory, world: Sequence[Thing]) -> bool:
    """Whether the sentence is plainly about the place that it is kept at, by word, name or a thing that is there."""
    words = words_of(sentence)
    line = f" {' '.join(words)} "
    if f" {' '.join(words_of(thing.room_name))} " in line:
        return False
    name = " ".join(words_of(located.location_name))
    if "here" in words or (name and f" {name} " in line):
        return True
    return any(other.room == located.location_id and is_named(words, words_of(other.name)) for other in world)


def _once(things: list[Thing]) -> list[Thing]:
    return list(dict.fromkeys(things))
