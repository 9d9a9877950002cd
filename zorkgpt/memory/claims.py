"""Claims: what a memory says of a thing or a way, in fields that the object tree can check."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Relation(StrEnum):
    """What is claimed."""

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
    DARK = "dark"
    """Nothing can be seen at the place."""
    LEADS = "leads to"
    """A way out of the place."""


_HELD_BY = (Relation.IN, Relation.ON)
_OF_A_THING = tuple(relation for relation in Relation if relation not in (*_HELD_BY, Relation.DARK, Relation.LEADS))
_OPPOSITES = {
    Relation.OPEN: Relation.CLOSED,
    Relation.LOCKED: Relation.UNLOCKED,
    Relation.LIT: Relation.UNLIT,
}
OPPOSITE = _OPPOSITES | {there: here for here, there in _OPPOSITES.items()}
WHEREABOUTS = frozenset({Relation.HERE, Relation.IN, Relation.ON, Relation.CARRIED})

_THING = re.compile(rf"(?P<name>.*) #(?P<number>-?\d{{1,18}}) (?P<relation>{'|'.join(_OF_A_THING)})")
_HELD = re.compile(r"(?P<name>.*) #(?P<number>-?\d{1,18}) (?P<relation>in|on) (?P<holder>.*) #(?P<other>-?\d{1,18})")
_WAY = re.compile(r"(?P<name>.*) leads to (?P<holder>.*) #(?P<other>-?\d{1,18})")
_SHORT = re.compile(
    rf"(?P<number>-?\d{{1,18}}) (?:(?P<relation>{'|'.join(_OF_A_THING)})|(?P<held>in|on) (?P<other>-?\d{{1,18}}))"
    r"|(?P<way>.+) leads to (?P<to>-?\d{1,18})"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. Things and places go by their object numbers; names are for people."""

    relation: Relation
    number: int | None = None
    """Of the thing; None for a way, and for the place itself."""
    name: str = ""
    """Of the thing; for a way the command that takes it: "west"."""
    other: int | None = None
    """Number of what holds the thing, or of the place that the way leads to."""
    other_name: str = ""

    @property
    def short(self) -> str:
        """Without names of things and places: `44 in 80`, `west leads to 12`, `dark`."""
        match self.relation:
            case Relation.DARK:
                return self.relation.value
            case Relation.LEADS:
                return f"{_plain(self.name)} {self.relation.value} {self.other}"
            case Relation.IN | Relation.ON:
                return f"{self.number} {self.relation.value} {self.other}"
            case _:
                return f"{self.number} {self.relation.value}"

    def __str__(self) -> str:
        """With names: `sword #44 in case #80`, `west leads to Attic #12`, `dark`; without, where there are none."""
        if not self.name or (self.other is not None and not self.other_name):
            return self.short
        name, other = _plain(self.name), f"{_plain(self.other_name)} #{self.other}"
        if self.relation is Relation.LEADS:
            return f"{name} {self.relation.value} {other}"
        thing = f"{name} #{self.number} {self.relation.value}"
        return f"{thing} {other}" if self.relation in _HELD_BY else thing

    def in_words(self) -> str:
        """For a sentence: `the sword is in the case`."""
        name = _plain(self.name)
        match self.relation:
            case Relation.DARK:
                return "it is dark"
            case Relation.LEADS:
                return f"{name} leads to {_plain(self.other_name)}"
            case Relation.IN | Relation.ON:
                return f"the {name} is {self.relation.value} the {_plain(self.other_name)}"
            case _:
                return f"the {name} is {self.relation.value}"


@lru_cache(maxsize=4096)
def parse_claim(text: str) -> Claim | None:
    """Read a claim, with names or without; None: it is none."""
    text = text.strip()
    if text == Relation.DARK:
        return Claim(Relation.DARK)
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


def _plain(name: str) -> str:
    """One line without the characters that separate claims in the file."""
    return " ".join(name.replace(";", ",").split())
