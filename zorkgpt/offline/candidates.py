"""What could be tried at a place: directions, and the usual verbs on whatever is there. No game's own words."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import IntEnum
from itertools import islice
from typing import NamedTuple

from game_interface.models import Item, Observation
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.offline.nouns import Nouns
from zorkgpt.world.directions import DIRECTIONS


class Tier(IntEnum):
    """What kind of action it is; `COST` says how much each is worth."""

    REWARD = 0
    """It is remembered to have scored or to have yielded something."""
    PREPARE = 1
    """It is remembered to have changed something, which other things may need."""
    GATHER = 2
    LIGHT = 3
    """Switching on what is carried: darkness may come."""
    OPEN = 4
    NAMED_EXIT = 5
    INSPECT = 6
    STEEP_EXIT = 7
    """Up, down, in or out, which texts put into many words."""
    HANDLE = 8
    OTHER_EXIT = 9
    COMBINE = 10
    FIDDLE = 11


COST = {
    Tier.REWARD: 0.0,
    # As good as a reward: among what is remembered of a place the order of learning decides, and what came first is
    # often what the rest needs.
    Tier.PREPARE: 0.0,
    Tier.GATHER: 0.5,
    Tier.LIGHT: 0.5,
    Tier.OPEN: 1.5,
    Tier.NAMED_EXIT: 2.0,
    Tier.STEEP_EXIT: 5.0,
    Tier.HANDLE: 8.0,
    Tier.INSPECT: 10.0,
    Tier.OTHER_EXIT: 12.0,
    Tier.COMBINE: 20.0,
    Tier.FIDDLE: 30.0,
}
"""How many steps a kind of action is worth walking for less than a reward is."""


class Candidate(NamedTuple):
    """An action, in its normal form, and how promising its kind is."""

    tier: Tier
    action: str


Traits = Mapping[int, Mapping[str, bool]]
"""Object number → whether each attribute whose meaning is known is set."""

# The last of the three: where the meaning of any of these attributes is known, the thing has to have one of them, or
# not to have it ("!").
_Form = tuple[Tier, str, tuple[str, ...]]
_ALONE: tuple[_Form, ...] = (
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
_CARRIED: tuple[_Form, ...] = (
    (Tier.LIGHT, "turn on", ("switchable", "light")),
    (Tier.OPEN, "open", ("openable",)),
    (Tier.INSPECT, "read", ("readable",)),
    (Tier.INSPECT, "examine", ()),
)
_INSIDE: tuple[_Form, ...] = ((Tier.HANDLE, "take", ("takeable",)),)
_MENTIONED: tuple[_Form, ...] = (
    (Tier.OPEN, "open", ()),
    (Tier.COMBINE, "enter", ()),
    (Tier.COMBINE, "push", ()),
    (Tier.COMBINE, "climb", ()),
    (Tier.FIDDLE, "take", ()),
)
_FORMS = {"seen": _ALONE, "held": _CARRIED, "inside": _INSIDE, "mentioned": _MENTIONED}
_VERBS = frozenset(verb for forms in _FORMS.values() for _, verb, _ in forms)
_UNTOLD: Mapping[str, bool] = {}
_RECEIVER = ("animate",)
"""Of whom something is given to."""
_MOST_PAIRS = 48
STEEP = ("up", "down", "in", "out")


def candidates(
    now: Observation,
    nouns: Nouns,
    *,
    named: Collection[str] = (),
    mentioned: Collection[str] = (),
    locked: Collection[str] = (),
    traits: Traits | None = None,
) -> Iterator[Candidate]:
    """Everything that could be tried here and now.

    Args:
        named: directions that the text of the place names.
        mentioned: what else it mentions, beside the things that are in sight.
        locked: what is known to be locked.
        traits: of what is here or carried; None: not known.
    """
    yield from exit_candidates(nouns, named)
    in_hand = {item.num for item in now.inventory or ()}
    inside = [item for item in now.carried or () if item.num not in in_hand]
    told, understood = traits or {}, _understood(nouns)
    for items, how in ((_innermost_first(now), "seen"), (now.inventory, "held"), (inside, "inside")):
        for item in items or ():
            if noun := nouns.name(item):
                yield from _of_thing(noun, _fitting(told.get(item.num, _UNTOLD))[how], understood)
    for noun in mentioned:
        yield from _of_thing(noun, _fitting(_UNTOLD)["mentioned"], understood)
    held = _names(now.inventory, nouns)
    yield from (Candidate(Tier.COMBINE, f"unlock {one} with {other}") for one in locked for other in held)
    if nouns.known("give"):
        yield from islice(_gifts(now, held, nouns, told), _MOST_PAIRS)


def exit_candidates(nouns: Nouns, named: Collection[str]) -> Iterator[Candidate]:
    """The directions, whatever is here."""
    for direction in DIRECTIONS:
        if nouns.known(direction):
            other = Tier.STEEP_EXIT if direction in STEEP else Tier.OTHER_EXIT
            yield Candidate(Tier.NAMED_EXIT if direction in named else other, direction)


def _understood(nouns: Nouns) -> set[str]:
    """The verbs that the parser knows."""
    return {verb for verb in _VERBS if nouns.known(verb.split()[0])}


def _of_thing(noun: str, fitting: Iterable[tuple[Tier, str]], understood: Collection[str]) -> list[Candidate]:
    return [Candidate(tier, f"{verb} {noun}") for tier, verb in fitting if verb in understood]


@cached_by_identity
def _fitting(told: Mapping[str, bool]) -> dict[str, list[tuple[Tier, str]]]:
    """How a thing came to mind → the verbs that may be tried on it. Things of the same attributes share a mapping."""
    return {how: [(tier, verb) for tier, verb, needed in forms if _may(told, needed)] for how, forms in _FORMS.items()}


def _gifts(now: Observation, held: list[str], nouns: Nouns, traits: Traits) -> Iterator[Candidate]:
    for item in now.visible or ():
        noun = nouns.name(item)
        if noun and _may(traits.get(item.num, _UNTOLD), _RECEIVER):
            yield from (Candidate(Tier.COMBINE, f"give {other} to {noun}") for other in held if other != noun)


def _may(told: Mapping[str, bool], needed: tuple[str, ...]) -> bool:
    known = [told[bare] is (bare == name) for name in needed if (bare := name.removeprefix("!")) in told]
    return not known or any(known)


def _innermost_first(now: Observation) -> list[Item]:
    """What is in or on something before what it is in: once that is carried, it is out of sight."""
    seen = now.visible or ()
    numbers = {item.num for item in seen}
    return sorted(seen, key=lambda item: item.parent not in numbers)


def _names(items: tuple[Item, ...] | None, nouns: Nouns) -> list[str]:
    return list(dict.fromkeys(name for item in items or () if (name := nouns.name(item))))
