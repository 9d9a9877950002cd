"""What could be tried at a place: directions, and the usual verbs on whatever is there. No game's own words."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from game_interface.models import Item, Observation
from zorkgpt.offline.nouns import Nouns
from zorkgpt.world.directions import DIRECTIONS


class Tier(IntEnum):
    """What kind of action it is; `explorer` says how much each is worth."""

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


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action and how promising its kind is."""

    tier: Tier
    action: str


Traits = Mapping[int, Mapping[str, bool]]
"""Object number → whether each attribute whose meaning is known is set."""

# The last of the three: where the meaning of any of these attributes is known, the thing has to have one of them, or
# not to have it ("!").
_Form = tuple[Tier, str, tuple[str, ...]]
_ALONE: tuple[_Form, ...] = (
    (Tier.GATHER, "take {}", ("takeable",)),
    (Tier.OPEN, "open {}", ("openable",)),
    (Tier.INSPECT, "read {}", ("readable",)),
    (Tier.INSPECT, "examine {}", ("!takeable",)),
    (Tier.HANDLE, "enter {}", ("enterable", "vehicle", "door")),
    (Tier.HANDLE, "push {}", ("!takeable",)),
    (Tier.FIDDLE, "climb {}", ()),
    (Tier.FIDDLE, "pull {}", ("!takeable",)),
    (Tier.FIDDLE, "turn {}", ("!takeable",)),
)
_CARRIED: tuple[_Form, ...] = (
    (Tier.LIGHT, "turn on {}", ("switchable", "light")),
    (Tier.OPEN, "open {}", ("openable",)),
    (Tier.INSPECT, "read {}", ("readable",)),
    (Tier.INSPECT, "examine {}", ()),
)
_INSIDE: tuple[_Form, ...] = ((Tier.HANDLE, "take {}", ("takeable",)),)
_MENTIONED: tuple[_Form, ...] = (
    (Tier.OPEN, "open {}", ()),
    (Tier.COMBINE, "enter {}", ()),
    (Tier.COMBINE, "push {}", ()),
    (Tier.COMBINE, "climb {}", ()),
    (Tier.FIDDLE, "take {}", ()),
)
_TOGETHER: tuple[_Form, ...] = ((Tier.COMBINE, "give {held} to {seen}", ("animate",)),)
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
    for direction in DIRECTIONS:
        if nouns.known(direction):
            other = Tier.STEEP_EXIT if direction in STEEP else Tier.OTHER_EXIT
            yield Candidate(Tier.NAMED_EXIT if direction in named else other, direction)
    inside = [item for item in now.carried or () if item not in (now.inventory or ())]
    for items, forms in ((_innermost_first(now), _ALONE), (now.inventory, _CARRIED), (inside, _INSIDE)):
        for item in items or ():
            yield from _of_thing(item, forms, nouns, (traits or {}).get(item.num, {}))
    for noun in mentioned:
        yield from (Candidate(tier, form.format(noun)) for tier, form, _ in _MENTIONED if _knows(form, nouns))
    held = _names(now.inventory, nouns)
    yield from (Candidate(Tier.COMBINE, f"unlock {one} with {other}") for one in locked for other in held)
    yield from _of_two(now, held, nouns, traits or {})


def _of_thing(item: Item, forms: tuple[_Form, ...], nouns: Nouns, told: Mapping[str, bool]) -> Iterator[Candidate]:
    if noun := nouns.name(item):
        for tier, form, needed in forms:
            if _knows(form, nouns) and _may(told, needed):
                yield Candidate(tier, form.format(noun))


def _of_two(now: Observation, held: list[str], nouns: Nouns, traits: Traits) -> Iterator[Candidate]:
    pairs = [(item, other) for item in now.visible or () for other in held]
    tried = 0
    for item, other in pairs:
        for tier, form, needed in _TOGETHER:
            noun = nouns.name(item)
            if noun and noun != other and _knows(form, nouns) and _may(traits.get(item.num, {}), needed):
                tried += 1
                if tried <= _MOST_PAIRS:
                    yield Candidate(tier, form.format(seen=noun, held=other))


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


def _knows(form: str, nouns: Nouns) -> bool:
    return nouns.known(form.split()[0])
