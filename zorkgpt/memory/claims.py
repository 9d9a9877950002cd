"""Claims: structured statements about things and exits, which the object tree can check."""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import chain

from zorkgpt.text import with_article


class Relation(StrEnum):
    """What a claim says about a thing, a place or an exit."""

    HERE = "here"
    """The thing is at the place, held by nothing else."""
    IN = "in"
    ON = "on"
    OPEN = "open"
    CLOSED = "closed"
    LOCKED = "locked"
    UNLOCKED = "unlocked"
    LIT = "lit"
    UNLIT = "unlit"
    """A source of light that gives none, or a device that is off."""
    CARRIED = "carried"
    NOT_CARRIED = "not carried"
    ABSENT = "not here"
    DARK = "dark"
    """Nothing can be seen at the place."""
    LIGHT = "light"
    """The opposite of `DARK`."""
    LEADS = "leads to"
    """A way out of the place."""


_HELD_BY = (Relation.IN, Relation.ON)
_OF_THE_PLACE = (Relation.DARK, Relation.LIGHT)
_OF_A_THING = tuple(each for each in Relation if each not in (*_HELD_BY, *_OF_THE_PLACE, Relation.LEADS))
STATES = {
    "open": (Relation.CLOSED, Relation.OPEN),
    "locked": (Relation.UNLOCKED, Relation.LOCKED),
    "on": (Relation.UNLIT, Relation.LIT),
}
"""Attribute → the state of an object without it and with it."""
_OPPOSITES = dict(STATES.values()) | {
    Relation.HERE: Relation.ABSENT,
    Relation.CARRIED: Relation.NOT_CARRIED,
    Relation.DARK: Relation.LIGHT,
}
OPPOSITE = _OPPOSITES | {there: here for here, there in _OPPOSITES.items()}
_WORD = re.compile(r"[^\W_]+")
_MOST_CONDITIONS = 2
ABOUT_THINGS = frozenset((*_HELD_BY, *_OF_A_THING))
"""The relations that the ledger of things decides."""
_STATES = frozenset(chain.from_iterable(STATES.values()))

_NUMBER = r"-?\d{1,18}"
_THING = re.compile(
    rf"(?:(?P<name>.*) #)?(?P<number>{_NUMBER}) "
    rf"(?:(?P<relation>{'|'.join(_OF_A_THING)})|(?P<held>in|on) (?:(?P<holder>.*) #)?(?P<other>{_NUMBER}))"
)
_WAY = re.compile(rf"(?P<name>.+) leads to (?:(?P<holder>.*) #)?(?P<other>{_NUMBER})")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about one thing or exit. Object numbers identify things and places. Names are for display."""

    relation: Relation
    number: int | None = None
    """The number of the thing. None for an exit, and for the place itself."""
    name: str = ""
    """The name of the thing. For an exit, its command, such as "west"."""
    other: int | None = None
    """The number of the thing's holder, or of the exit's destination."""
    other_name: str = ""

    @property
    def short(self) -> str:
        """The claim without names of things and places: `44 in 80`, `west leads to 12`, `dark`."""
        match self.relation:
            case Relation.DARK | Relation.LIGHT:
                return self.relation.value
            case Relation.LEADS:
                return f"{_plain(self.name)} {self.relation.value} {self.other}"
            case Relation.IN | Relation.ON:
                return f"{self.number} {self.relation.value} {self.other}"
            case _:
                return f"{self.number} {self.relation.value}"

    def __str__(self) -> str:
        """Return the claim with names, if it has any: `sword #44 in case #80`, `west leads to Attic #12`, `dark`."""
        if not self.name or (self.other is not None and not self.other_name):
            return self.short
        name, other = _plain(self.name), f"{_plain(self.other_name)} #{self.other}"
        if self.relation is Relation.LEADS:
            return f"{name} {self.relation.value} {other}"
        thing = f"{name} #{self.number} {self.relation.value}"
        return f"{thing} {other}" if self.relation in _HELD_BY else thing

    def in_words(self) -> str:
        """Return the claim as a clause: `the sword is in the case`."""
        name = _plain(self.name)
        match self.relation:
            case Relation.DARK | Relation.LIGHT:
                return f"it is {self.relation.value}"
            case Relation.LEADS:
                return f"{name} leads to {_plain(self.other_name)}"
            case Relation.IN | Relation.ON:
                return f"{with_article(name)} is {self.relation.value} {with_article(_plain(self.other_name))}"
            case _:
                return f"{with_article(name)} is {self.relation.value}"


State = tuple[Claim, ...]
"""What was open, closed, locked, lit, carried or present when an action was taken, and whether it was dark."""


@lru_cache(maxsize=4096)
def parse_claim(text: str) -> Claim | None:
    """Read a claim with or without names. None if the text is not a claim."""
    text = text.strip()
    if text in _OF_THE_PLACE:
        return Claim(Relation(text))
    if match := _THING.fullmatch(text):
        other = int(match["other"]) if match["other"] else None
        relation = Relation(match["relation"] or match["held"])
        return Claim(relation, int(match["number"]), match["name"] or "", other, match["holder"] or "")
    if match := _WAY.fullmatch(text):
        return Claim(Relation.LEADS, None, match["name"], int(match["other"]), match["holder"] or "")
    return None


def claims_in(given: Iterable[str | Claim]) -> tuple[Claim, ...]:
    """Read claims. Invalid ones are skipped."""
    claims = (parse_claim(entry) if isinstance(entry, str) else entry for entry in given)
    return tuple(claim for claim in claims if isinstance(claim, Claim))


def separating(own: Sequence[State], others: Sequence[State], action: str) -> tuple[Claim, ...]:
    """Return the claims that separate the states in which an action had one outcome from those in which it had another.

    Each is true in all of the first and false in all of the others. Only those of the best kind are returned: about a
    thing that the action names, or else the place, or else its light, or else what is carried.

    Args:
        own: The states in which the outcome was observed.
        others: The states in which another outcome was observed.

    Returns:
        At most two claims. None if no state is known of one of the two outcomes.
    """
    if not own or not others:
        return ()
    words = set(_WORD.findall(action.casefold()))
    known = [claim for claim in chain(*own, *others) if claim.relation in OPPOSITE]
    mentioned = dict.fromkeys((*known, *map(contrary, known)))
    kinds: dict[int, dict[str, Claim]] = {}
    for claim in mentioned:
        if all(holds(claim, state) for state in own) and all(holds(claim, state) is False for state in others):
            kinds.setdefault(_kind(claim, words), {}).setdefault(claim.short, claim)
    return tuple(kinds[min(kinds)].values())[:_MOST_CONDITIONS] if kinds else ()


def _kind(claim: Claim, words: Container[str]) -> int:
    name = _WORD.findall(claim.name.casefold())
    if name and name[-1] in words:
        return 0
    if claim.relation in _OF_THE_PLACE:
        return 2
    return 3 if claim.relation in (Relation.CARRIED, Relation.NOT_CARRIED) else 1


def holds(claim: Claim, state: Iterable[Claim]) -> bool | None:
    """Return whether a claim is true in a state. None if unknown."""
    known = {each.short for each in state}
    if claim.short in known:
        return True
    if claim.relation in (Relation.ABSENT, Relation.NOT_CARRIED, Relation.LIGHT):
        return contrary(claim).short not in known
    if claim.relation in (Relation.HERE, Relation.CARRIED, Relation.DARK) or contrary(claim).short in known:
        return False
    return None


def contrary(claim: Claim) -> Claim:
    """Return the opposite of a claim.

    Raises:
        KeyError: If the relation has no opposite.
    """
    return replace(claim, relation=OPPOSITE[claim.relation])


def _plain(name: str) -> str:
    """Return a name in one line, without the characters that separate claims in the file."""
    return " ".join(name.replace(";", ",").split())
