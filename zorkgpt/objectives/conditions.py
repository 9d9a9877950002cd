"""When an objective counts as reached: a small closed set that the Z-machine can be asked about, or words."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

from game_interface.models import Observation, Transition
from zorkgpt.identity_cache import cached_by_identity

WayOf = Callable[[str], str]
"""Action → the name of the way that it takes, however it was typed."""


class Kind(StrEnum):
    """What a condition is about; all but the last are checked against the Z-machine."""

    SCORE = "score"
    """The score is at least `points`."""
    HOLDS = "holds"
    """The player carries `thing`, in hand or inside something carried."""
    AT = "at"
    """The player stands at `place`."""
    VISITED = "visited"
    """The player was at `place` in this episode."""
    THING_AT = "thing_at"
    """`thing` is seen at, on or in `place`: a room or another thing."""
    OPENED = "opened"
    """`thing` was opened."""
    WAY_TRIED = "way_tried"
    """`way` was tried from `place`, whatever came of it."""
    SCORED_AT = "scored_at"
    """An action taken at `place` scored."""
    TEXT = "text"
    """Only a reader can judge."""


FINDINGS = frozenset({Kind.VISITED, Kind.WAY_TRIED, Kind.TEXT})
"""What is found out stays found out; the others describe a state of the world, which a restart undoes."""


@dataclass(frozen=True)
class Condition:
    """One condition; which fields are set depends on the kind. Numbers are object numbers."""

    kind: Kind
    thing: int | None = None
    place: int | None = None
    points: int | None = None
    way: str = ""
    text: str = ""
    """The condition as a person reads it."""

    @property
    def checkable(self) -> bool:
        """The Z-machine tells."""
        return self.kind is not Kind.TEXT

    @cached_property
    def key(self) -> str:
        """The same for conditions that say the same."""
        words = "" if self.checkable else normal(self.text)
        parts = (self.kind, self.thing, self.place, self.points, normal(self.way), words)
        return ":".join(str(part) for part in parts if part not in (None, ""))


@lru_cache(1024)
def normal(text: str) -> str:
    """The same words, written the same way."""
    letters = "".join(letter if letter.isalnum() else " " for letter in text.casefold())
    return " ".join(letters.split())


def stands(condition: Condition, now: Observation, visited: Collection[int]) -> bool:
    """Whether it is so at this moment; False for what is known only while it happens."""
    match condition.kind:
        case Kind.SCORE:
            return now.score is not None and now.score >= condition.points
        case Kind.HOLDS:
            return condition.thing in _carried(now)
        case Kind.AT:
            return now.location is not None and now.location.num == condition.place
        case Kind.VISITED:
            return condition.place in visited
        case Kind.THING_AT:
            return _is_at(condition.thing, condition.place, now)
    return False


def happened(condition: Condition, step: Transition, way_of: WayOf) -> bool:
    """Whether this turn brought about what is known only while it happens."""
    here = step.before.location.num if step.before.location else None
    match condition.kind:
        case Kind.OPENED:
            opened = {change.item.num for change in step.changed if change.attribute == "open" and change.value}
            return condition.thing in opened & in_sight(step)
        case Kind.WAY_TRIED:
            return here == condition.place and way_of(step.action) == way_of(condition.way)
        case Kind.SCORED_AT:
            return here == condition.place and gain(step) > 0
        case Kind.THING_AT:
            # What is put into something closed is out of sight at once.
            put = {move.item.num for move in step.moved if move.destination and move.destination.num == condition.place}
            return condition.thing in put & in_sight(step)
    return False


@cached_by_identity
def in_sight(step: Transition) -> frozenset[int]:
    """Things that the player saw or carried, before or after: of others it can't know what became of them."""
    return frozenset(
        item.num
        for now in (step.before, step.after)
        for items in (now.visible, now.carried or now.inventory)
        for item in items or ()
    )


@cached_by_identity
def _carried(now: Observation) -> frozenset[int]:
    return frozenset(item.num for item in now.carried or now.inventory or ())


def gain(step: Transition) -> int:
    """Points that a turn brought; 0 where the story does not tell."""
    before, after = step.before.score, step.after.score
    return 0 if before is None or after is None else after - before


def _is_at(thing: int | None, place: int | None, now: Observation) -> bool:
    parents = {item.num: item.parent for item in (*(now.visible or ()), *(now.carried or ()))}
    if now.location is not None and now.location.num == place:
        return thing in {item.num for item in now.visible or ()}
    seen: set[int] = set()
    holder = parents.get(thing or 0)
    while holder and holder not in seen:
        if holder == place:
            return True
        seen.add(holder)
        holder = parents.get(holder)
    return False


def in_words(condition: Condition, rooms: Mapping[int, str], things: Mapping[int, str]) -> str:
    """What the Z-machine is asked, as a person reads it."""
    thing = things.get(condition.thing or 0, "")
    place = f"{rooms.get(condition.place or 0) or things.get(condition.place or 0, '')} ({condition.place})"
    match condition.kind:
        case Kind.SCORE:
            return f"the score is {condition.points} or more"
        case Kind.HOLDS:
            return f"you carry {thing}"
        case Kind.AT:
            return f"you are at {place}"
        case Kind.VISITED:
            return f"you were at {place} in this episode"
        case Kind.THING_AT:
            return f"{thing} is at {place}"
        case Kind.OPENED:
            return f"{thing} was opened"
        case Kind.WAY_TRIED:
            return f"{condition.way} was tried from {place}"
        case Kind.SCORED_AT:
            return f"an action at {place} scored"
    return condition.text
