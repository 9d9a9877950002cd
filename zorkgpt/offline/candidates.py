"""What could be tried at a place: directions, and the usual verbs on whatever is there. No game's own words."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from game_interface.models import Item, Observation
from zorkgpt.world.directions import DIRECTIONS


class Tier(IntEnum):
    """How promising a kind of action is; the lowest comes first."""

    REWARD = 0
    """It is remembered to have scored or to have yielded something."""
    PREPARE = 1
    """It is remembered to have changed something, which other things may need."""
    GATHER = 2
    NAMED_EXIT = 3
    INSPECT = 4
    HANDLE = 5
    OTHER_EXIT = 6
    COMBINE = 7
    FIDDLE = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action and how promising its kind is."""

    tier: Tier
    action: str


_ALONE = (
    (Tier.GATHER, "take {}"),
    (Tier.INSPECT, "read {}"),
    (Tier.INSPECT, "examine {}"),
    (Tier.HANDLE, "open {}"),
    (Tier.HANDLE, "enter {}"),
    (Tier.HANDLE, "push {}"),
    (Tier.HANDLE, "climb {}"),
    (Tier.FIDDLE, "pull {}"),
    (Tier.FIDDLE, "turn {}"),
)
_CARRIED = ((Tier.INSPECT, "read {}"), (Tier.INSPECT, "examine {}"), (Tier.HANDLE, "turn on {}"))
_TOGETHER = ((Tier.COMBINE, "unlock {seen} with {held}"), (Tier.COMBINE, "give {held} to {seen}"))
_MOST_PAIRS = 24


def candidates(now: Observation, room_text: str, vocabulary: frozenset[str]) -> Iterator[Candidate]:
    """Everything that could be tried here and now, the same action never twice."""
    yield from _exits(room_text, vocabulary)
    seen = [noun for item in now.visible or () if (noun := noun_of(item, vocabulary))]
    held = [noun for item in now.inventory or () if (noun := noun_of(item, vocabulary))]
    for noun in dict.fromkeys(seen):
        yield from (Candidate(tier, form.format(noun)) for tier, form in _ALONE if _knows(form, vocabulary))
    for noun in dict.fromkeys(held):
        yield from (Candidate(tier, form.format(noun)) for tier, form in _CARRIED if _knows(form, vocabulary))
    pairs = [(one, other) for one in dict.fromkeys(seen) for other in dict.fromkeys(held) if one != other]
    for one, other in pairs[:_MOST_PAIRS]:
        for tier, form in _TOGETHER:
            if _knows(form, vocabulary):
                yield Candidate(tier, form.format(seen=one, held=other))


def _exits(room_text: str, vocabulary: frozenset[str]) -> Iterator[Candidate]:
    words = set("".join(letter if letter.isalpha() else " " for letter in room_text.lower()).split())
    for direction in DIRECTIONS:
        if not vocabulary or _in(direction, vocabulary):
            yield Candidate(Tier.NAMED_EXIT if direction in words else Tier.OTHER_EXIT, direction)


def noun_of(item: Item, vocabulary: frozenset[str]) -> str | None:
    """A word that the parser takes for the object: the last of its name that the dictionary has."""
    words = "".join(letter if letter.isalnum() else " " for letter in item.name.lower()).split()
    known = [word for word in words if not vocabulary or _in(word, vocabulary)]
    if not known:
        return None
    return " ".join(known[-2:])


def _knows(form: str, vocabulary: frozenset[str]) -> bool:
    return not vocabulary or _in(form.split()[0], vocabulary)


def _in(word: str, vocabulary: frozenset[str]) -> bool:
    """Dictionaries keep the first 6 letters of a word in versions 1-3, the first 9 from version 4 on."""
    return word in vocabulary or word[:9] in vocabulary or word[:6] in vocabulary
