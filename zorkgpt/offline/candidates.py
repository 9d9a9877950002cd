"""Candidate actions at a place: directions, and the usual verbs on what is there, in words that the parser knows."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import IntEnum
from itertools import islice
from typing import NamedTuple

from game_interface.models import Item, Language, Observation, Scene, spelled_direction
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.world.directions import DIRECTIONS, canonical_direction


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


# They refer to what was mentioned before, or to the player.
_PRONOUNS = frozenset(
    ["it", "them", "him", "her", "me", "myself", "self", "you", "yourself", "all", "everything", "one"]
)


class Nouns:
    """Names of things that the parser of one story understands.

    Args:
        vocabulary: words that the parser knows, truncated as in its dictionary; empty: not known.
        language: which words refer to which things; None: not known.
    """

    def __init__(self, vocabulary: frozenset[str] = frozenset(), language: Language | None = None) -> None:
        self._vocabulary = vocabulary
        self._language = language
        self._named: dict[tuple[int, str], str | None] = {}

    def known(self, word: str) -> bool:
        """Return whether the parser knows a word.

        Dictionaries keep the first 6 letters of a word in versions 1-3, the first 9 from version 4 on.
        """
        kept = self._vocabulary
        return not kept or word in kept or word[:9] in kept or word[:6] in kept

    def name(self, item: Item) -> str | None:
        """Return the last word that the parser takes for the thing, with the last one that describes it, if any."""
        known = item.num, item.name
        if known not in self._named:
            self._named[known] = self._name(item)
        return self._named[known]

    def _name(self, item: Item) -> str | None:
        words = [word for word in words_of(item.name) if self.known(word)]
        if self._language is None or not self._language.names:
            # Which words mean which thing is not known: those of its name that the parser knows.
            return " ".join(words[-2:]) or None
        naming = [at for at, word in enumerate(words) if item.num in self._numbers(word)]
        if not naming:
            return None
        head = naming[-1]
        # "burned" of a burned-out lantern; but of a bag of coins both words are nouns.
        before = [word for word in words[:head] if self._language.truncate(word) in self._language.adjectives]
        if head and self._describes(words[head - 1], item):
            before = words[head - 1 : head]
        return " ".join([*before[-1:], words[head]])

    def mentioned(self, text: str, scene: Scene | None, beside: Iterable[Item]) -> Iterator[str]:
        """Yield words of a text that refer to other things at hand than these: scenery, parts of the place."""
        if self._language is None or scene is None:
            return
        listed = {item.num for item in beside} | scene.carried
        for word in dict.fromkeys(words_of(text)):
            numbers = self._numbers(word) & scene.in_scope
            if (
                len(numbers) == 1
                and not numbers & listed
                and canonical_direction(word) is None
                and word not in _PRONOUNS
            ):
                listed |= numbers
                yield word

    def _numbers(self, word: str) -> frozenset[int]:
        return self._language.names.get(self._language.truncate(word), frozenset()) if self._language else frozenset()

    def _describes(self, word: str, item: Item) -> bool:
        if self._language is not None and self._language.truncate(word) in self._language.adjectives:
            return True
        return item.num in self._numbers(word)


class Tier(IntEnum):
    """The kinds of actions, the most promising first; see `COST`."""

    REWARD = 0
    """A memory says that it scored or yielded something."""
    PREPARE = 1
    """A memory says that it changed something, which other actions may need."""
    GATHER = 2
    LIGHT = 3
    """Switching on a carried thing, in case of darkness."""
    OPEN = 4
    NAMED_EXIT = 5
    INSPECT = 6
    STEEP_EXIT = 7
    """Up, down, in or out, which texts describe in many ways."""
    HANDLE = 8
    OTHER_EXIT = 9
    COMBINE = 10
    FIDDLE = 11
    ADVICE = 12
    """What a text of the game suggests."""
    BARE_EXIT = 13
    """Any direction at a place whose text names no exit."""
    GRAMMAR = 14
    """Any other command that the story's own grammar accepts."""
    MEANT = 15
    """Using a held thing on another, where the story's own grammar looks for just such things."""


COST = {
    Tier.REWARD: 0.0,
    # As good as a reward: among the memories of a place the order of learning decides, and what came first is often
    # needed for the rest.
    Tier.PREPARE: 0.0,
    Tier.GATHER: 0.5,
    Tier.LIGHT: 0.5,
    Tier.ADVICE: 1.0,
    Tier.OPEN: 1.5,
    Tier.NAMED_EXIT: 2.0,
    Tier.BARE_EXIT: 5.0,
    Tier.STEEP_EXIT: 12.0,
    Tier.HANDLE: 8.0,
    Tier.MEANT: 8.0,
    Tier.INSPECT: 10.0,
    Tier.OTHER_EXIT: 22.0,
    Tier.COMBINE: 20.0,
    Tier.FIDDLE: 30.0,
    Tier.GRAMMAR: 75.0,
}
"""The number of steps that a kind of action is worth less than a reward."""


class Candidate(NamedTuple):
    """A normalized action and its kind."""

    tier: Tier
    action: str


Traits = Mapping[int, Mapping[str, bool]]
"""Object number → the attributes whose meaning is known, and whether each is set."""

# Kind, verb, needed attributes: if the meaning of any of these is known, the thing must have one of them, or not have
# it ("!").
_ActionPattern = tuple[Tier, str, tuple[str, ...]]
_ALONE: tuple[_ActionPattern, ...] = (
    (Tier.GATHER, "take", ("takeable",)),
    (Tier.OPEN, "open", ("openable",)),
    (Tier.INSPECT, "read", ("readable",)),
    (Tier.INSPECT, "examine", ("!takeable",)),
    (Tier.HANDLE, "enter", ("enterable", "vehicle", "door")),
    (Tier.HANDLE, "push", ("!takeable",)),
    (Tier.FIDDLE, "climb", ()),
    (Tier.FIDDLE, "pull", ("!takeable",)),
    (Tier.FIDDLE, "turn", ("!takeable",)),
)
_CARRIED: tuple[_ActionPattern, ...] = (
    (Tier.LIGHT, "turn on", ("switchable", "light")),
    (Tier.OPEN, "open", ("openable",)),
    (Tier.INSPECT, "read", ("readable",)),
    (Tier.INSPECT, "examine", ()),
)
_INSIDE: tuple[_ActionPattern, ...] = ((Tier.HANDLE, "take", ("takeable",)),)
_MENTIONED: tuple[_ActionPattern, ...] = (
    (Tier.HANDLE, "open", ()),
    (Tier.COMBINE, "enter", ()),
    (Tier.COMBINE, "push", ()),
    (Tier.COMBINE, "climb", ()),
    (Tier.FIDDLE, "take", ()),
)
_LIVING: tuple[_ActionPattern, ...] = ((Tier.GATHER, "take", ("takeable",)), (Tier.INSPECT, "examine", ()))
_FORMS = {"seen": _ALONE, "held": _CARRIED, "inside": _INSIDE, "mentioned": _MENTIONED, "living": _LIVING}
_VERBS = frozenset(verb for forms in _FORMS.values() for _, verb, _ in forms)
_UNTOLD: Mapping[str, bool] = {}
_RECEIVER = ("animate",)
"""Attributes of things that something can be given to."""
_MAX_PAIRS = 48
STEEP = ("up", "down", "in", "out")


def candidates(
    now: Observation,
    nouns: Nouns,
    *,
    named: Collection[str] | None = (),
    mentioned: Collection[str] = (),
    locked: Collection[str] = (),
    traits: Traits | None = None,
) -> Iterator[Candidate]:
    """Yield every action that could be tried here and now.

    Args:
        named: directions that the text of the place names; see `exit_candidates`.
        mentioned: other words of the text that name something, besides the visible things.
        locked: things that are known to be locked.
        traits: attributes of what is here or carried; None: not known.
    """
    yield from exit_candidates(nouns, named)
    in_hand = {item.num for item in now.inventory or ()}
    inside = [item for item in now.carried or () if item.num not in in_hand]
    told, understood = traits or {}, _understood(nouns)
    for items, how in ((now.visible, "seen"), (now.inventory, "held"), (inside, "inside")):
        for item in items or ():
            # What a creature holds is guarded.
            if (noun := nouns.name(item)) and not told.get(item.parent, _UNTOLD).get("animate"):
                own = told.get(item.num, _UNTOLD)
                yield from _of_thing(noun, _fitting(own)["living" if own.get("animate") else how], understood)
    for noun in mentioned:
        yield from _of_thing(noun, _fitting(_UNTOLD)["mentioned"], understood)
    held = _names(now.inventory, nouns)
    yield from (Candidate(Tier.COMBINE, f"unlock {one} with {other}") for one in locked for other in held)
    if nouns.known("give"):
        yield from islice(_gifts(now, held, nouns, told), _MAX_PAIRS)


def exit_candidates(nouns: Nouns, named: Collection[str] | None) -> Iterator[Candidate]:
    """Yield the directions that the parser knows.

    Args:
        named: those that the text of the place names; None: it names none, so that any may be an exit.
    """
    for direction in DIRECTIONS:
        if nouns.known(spelled_direction(direction, nouns.known)):
            other = Tier.STEEP_EXIT if direction in STEEP else Tier.OTHER_EXIT
            if named is None:
                yield Candidate(Tier.BARE_EXIT, direction)
            else:
                yield Candidate(Tier.NAMED_EXIT if direction in named else other, direction)


def _understood(nouns: Nouns) -> set[str]:
    """Return the verbs that the parser knows."""
    return {verb for verb in _VERBS if nouns.known(verb.split()[0])}


def _of_thing(noun: str, fitting: Iterable[tuple[Tier, str]], understood: Collection[str]) -> list[Candidate]:
    return [Candidate(tier, f"{verb} {noun}") for tier, verb in fitting if verb in understood]


@cached_by_identity
def _fitting(told: Mapping[str, bool]) -> dict[str, list[tuple[Tier, str]]]:
    """Return how a thing is known → the verbs that may be tried on it. Things with equal attributes share a mapping."""
    return {how: [(tier, verb) for tier, verb, needed in forms if _may(told, needed)] for how, forms in _FORMS.items()}


def _gifts(now: Observation, held: list[str], nouns: Nouns, traits: Traits) -> Iterator[Candidate]:
    for item in now.visible or ():
        noun = nouns.name(item)
        if noun and _may(traits.get(item.num, _UNTOLD), _RECEIVER):
            yield from (Candidate(Tier.COMBINE, f"give {other} to {noun}") for other in held if other != noun)


def _may(told: Mapping[str, bool], needed: tuple[str, ...]) -> bool:
    known = [told[bare] is (bare == name) for name in needed if (bare := name.removeprefix("!")) in told]
    return not known or any(known)


def _names(items: tuple[Item, ...] | None, nouns: Nouns) -> list[str]:
    return list(dict.fromkeys(name for item in items or () if (name := nouns.name(item))))
