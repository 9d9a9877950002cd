"""What a turn's text says beyond the Z-machine: whether it describes the room, ways that it names, a fight."""

from dataclasses import dataclass
from typing import Literal

from game_interface.models import Item, Location, Observation, Transition
from session.outcome import changed_something, is_passive

Reader = Literal["model", "rules", "nobody"]


@dataclass(frozen=True, slots=True)
class Said:
    """A text of the game, and what is certain of the moment in which it was printed."""

    response: str
    location: Location | None = None
    """Where the player is now."""
    action: str = ""
    """ "" for the opening."""
    arrived: bool = False
    """The player was elsewhere before."""
    dark: bool = False
    """Nothing can be seen here; off also where the story does not tell."""
    things: tuple[str, ...] = ()
    """Names of what is in sight."""
    creatures: tuple[str, ...] | None = None
    """Those of them that are alive; None: not known."""
    known_exits: tuple[str, ...] = ()
    """Ways out of this place that are known already."""
    described: str = ""
    """The text that described this place last, in this episode."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read in a text."""

    is_room_description: bool = False
    """It tells how the place looks in which the player is now."""
    exits: tuple[str, ...] = ()
    """Directions, under their full names, in which it says that a way leads on from there."""
    combat: bool = False
    """Somebody is fighting the player, or the player them."""
    enemies: tuple[str, ...] = ()
    """Whom."""
    by: Reader = "nobody"
    """Who read it; nobody: it was clear that there is nothing to read."""


NOTHING = Extraction()


def what_was_said(step: Transition, *, known_exits: tuple[str, ...] = (), described: str = "") -> Said:
    """The text of a turn."""
    return Said(
        response=step.response,
        location=step.after.location,
        action=step.action,
        arrived=step.before.location != step.after.location,
        dark=step.after.dark,
        things=_names(step.after.visible or ()),
        creatures=_creatures(step.after),
        known_exits=known_exits,
        described=described,
    )


def opening(text: str, now: Observation) -> Said:
    """The text that the game begins with."""
    things = _names(now.visible or ())
    return Said(text, now.location, arrived=True, dark=now.dark, things=things, creatures=_creatures(now))


def _names(items: tuple[Item, ...]) -> tuple[str, ...]:
    return tuple(item.name for item in items)


def _creatures(now: Observation) -> tuple[str, ...] | None:
    return None if now.creatures is None else _names(now.creatures)


def says_nothing(step: Transition) -> bool:
    """Whether it is clear without reading that a turn's text says nothing of the place or of a fight.

    That is what never reached the game, what ended it, and what it answered without letting any time pass: its parser
    did not understand.
    """
    if step.refused or step.fault or step.finished or not step.response.strip():
        return True
    no_time_passed = step.before.moves is not None and step.before.moves == step.after.moves
    return no_time_passed and not is_passive(step.action) and not changed_something(step)
