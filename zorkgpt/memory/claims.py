"""Claims: what a memory says of a thing or a way, in fields that the object tree can check."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import chain

from zorkgpt.text import with_article


class Relation(StrEnum):
    """What a claim says of a thing, a place or a way."""

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
_OF_A_THING = tuple(one for one in Relation if one not in (*_HELD_BY, *_OF_THE_PLACE, Relation.LEADS))
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
_STATES = frozenset(chain.from_iterable(STATES.values()))

_THING = re.compile(rf"(?P<name>.*) #(?P<number>-?\d{{1,18}}) (?P<relation>{'|'.join(_OF_A_THING)})")
_HELD = re.compile(r"(?P<name>.*) #(?P<number>-?\d{1,18}) (?P<relation>in|on) (?P<holder>.*) #(?P<other>-?\d{1,18})")
_WAY = re.compile(r"(?P<name>.*) leads to (?P<holder>.*) #(?P<other>-?\d{1,18})")
_SHORT = re.compile(
    rf"(?P<number>-?\d{{1,18}}) (?:(?P<relation>{'|'.join(_OF_A_THING)})|(?P<held>in|on) (?P<other>-?\d{{1,18}}))"
    r"|(?P<way>.+) leads to (?P<to>-?\d{1,18})"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a memory says of one thing or way. Things and places go by their object numbers; names are for people."""

    relation: Relation
    number: int | None = None
    """The number of the thing; None for a way, and for the place itself."""
    name: str = ""
    """The name of the thing; for a way the command that takes it: "west"."""
    other: int | None = None
    """The number of what holds the thing, or of the place that the way leads to."""
    other_name: str = ""

    @property
    def short(self) -> str:
        """Return it without names of things and places: `44 in 80`, `west leads to 12`, `dark`."""
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
        """Return it with names, if it has any: `sword #44 in case #80`, `west leads to Attic #12`, `dark`."""
        if not self.name or (self.other is not None and not self.other_name):
            return self.short
        name, other = _plain(self.name), f"{_plain(self.other_name)} #{self.other}"
        if self.relation is Relation.LEADS:
            return f"{name} {self.relation.value} {other}"
        thing = f"{name} #{self.number} {self.relation.value}"
        return f"{thing} {other}" if self.relation in _HELD_BY else thing

    def in_words(self) -> str:
        """Return it as a clause: `the sword is in the case`."""
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


@lru_cache(maxsize=4096)
def parse_claim(text: str) -> Claim | None:
    """Read a claim, with names or without; None: it is none."""
    text = text.strip()
    if text in _OF_THE_PLACE:
        return Claim(Relation(text))
    if found := _SHORT.fullmatch(text):
        if found["way"]:
            return Claim(Relation.LEADS, None, found["way"], int(found["to"]))
        other = int(found["other"]) if found["other"] else None
        return Claim(Relation(found["relation"] or found["held"]), int(found["number"]), other=other)
    if found := _THING.fullmatch(text):
        return Claim(Relation(found["relation"]), int(found["number"]), found["name"])
    if found := _HELD.fullmatch(text):
        held = int(found["number"]), found["name"], int(found["other"]), found["holder"]
        return Claim(Relation(found["relation"]), *held)
    if found := _WAY.fullmatch(text):
        return Claim(Relation.LEADS, None, found["name"], int(found["other"]), found["holder"])
    return None


def claims_in(given: Iterable[str | Claim]) -> tuple[Claim, ...]:
    """Read claims; what is none is passed over."""
    found = (parse_claim(one) if isinstance(one, str) else one for one in given)
    return tuple(claim for claim in found if isinstance(claim, Claim))


def differing(then: Iterable[Claim], now: Iterable[Claim]) -> tuple[tuple[Claim, ...], tuple[Claim, ...]]:
    """Tell two states apart: what was otherwise then, and what it is now, in the same order; empty: nothing was.

    What is open, locked or lit, and whether it is dark, decides before who is there, and that before what is carried:
    of two states that differ in several ways the first kind is likely to be what an outcome depends on.
    """
    before, after = {one.short: one for one in then}, {one.short: one for one in now}
    for relations in (_STATES | {Relation.DARK}, {Relation.HERE}, {Relation.CARRIED}):
        pairs = [(one, _contrary(one)) for one in before.values() if one.relation in relations]
        pairs += [(_contrary(one), one) for one in after.values() if one.relation in relations]
        told = {
            (was.short, is_so.short): (was, is_so)
            for was, is_so in pairs
            if is_so.short not in before and was.short not in after and _is_known(was, is_so, before, after)
        }
        if told:
            return tuple(was for was, _ in told.values()), tuple(is_so for _, is_so in told.values())
    return (), ()


def holds(claim: Claim, state: Iterable[Claim]) -> bool | None:
    """Return whether a claim about a state holds in it; None: that is not known."""
    known = {one.short for one in state}
    if claim.short in known:
        return True
    if claim.relation in (Relation.ABSENT, Relation.NOT_CARRIED, Relation.LIGHT):
        return _contrary(claim).short not in known
    if claim.relation in (Relation.HERE, Relation.CARRIED, Relation.DARK) or _contrary(claim).short in known:
        return False
    return None


def _contrary(claim: Claim) -> Claim:
    return replace(claim, relation=OPPOSITE[claim.relation])


def _is_known(was: Claim, is_so: Claim, before: dict[str, Claim], after: dict[str, Claim]) -> bool:
    """Return whether both states tell: a door that is out of sight is neither open nor closed."""
    return was.relation not in _STATES or (was.short in before and is_so.short in after)


def _plain(name: str) -> str:
    """Return a name in one line, without the characters that separate claims in the file."""
    return " ".join(name.replace(";", ",").split())
