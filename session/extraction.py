"""What a turn's text tells beyond the Z-machine: whether it describes the room, the exits it names, a fight."""

from dataclasses import dataclass
from typing import Literal

from game_interface.models import Item, Location, Observation, Transition
from session.outcome import is_passive, world_changed

ExtractedBy = Literal["model", "rules", "nobody"]


@dataclass(frozen=True, slots=True)
class GameText:
    """A text that the game printed, and what is certain of the state in which it was printed."""

    response: str
    location: Location | None = None
    """The player's location after it was printed."""
    action: str = ""
    """The action that it answers; "" for the opening."""
    arrived: bool = False
    """The player was at another location before."""
    dark: bool = False
    """It is too dark to see; False also if the story does not tell."""
    things: tuple[str, ...] = ()
    """Names of the visible objects."""
    creatures: tuple[str, ...] | None = None
    """Names of those that are alive; None: not known."""
    known_exits: tuple[str, ...] = ()
    """Exits of this location that are known already."""
    described: str = ""
    """The last text in this episode that described this location."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was extracted from a text."""

    is_room_description: bool = False
    """It describes the player's location."""
    exits: tuple[str, ...] = ()
    """Directions, under their full names, in which it names an exit."""
    combat: bool = False
    """A fight with the player is going on."""
    enemies: tuple[str, ...] = ()
    """Names of whom the player fights."""
    by: ExtractedBy = "nobody"
    """Who extracted it; "nobody" if there was clearly nothing to extract."""


NOTHING = Extraction()


def text_of_turn(step: Transition, *, known_exits: tuple[str, ...] = (), described: str = "") -> GameText:
    """Return the text that a turn printed."""
    return GameText(
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


def text_of_opening(text: str, now: Observation) -> GameText:
    """Return the text that the game begins with."""
    things = _names(now.visible or ())
    return GameText(text, now.location, arrived=True, dark=now.dark, things=things, creatures=_creatures(now))


def _names(items: tuple[Item, ...]) -> tuple[str, ...]:
    return tuple(item.name for item in items)


def _creatures(now: Observation) -> tuple[str, ...] | None:
    return None if now.creatures is None else _names(now.creatures)


def has_nothing_to_extract(step: Transition) -> bool:
    """Return whether it is clear without reading that a turn's text tells nothing of the room or of a fight.

    That holds for commands that never reached the game, for the end of the game, and for answers that took no game
    time: the parser did not understand.
    """
    if step.refused or step.fault or step.finished or not step.response.strip():
        return True
    no_time_passed = step.before.moves is not None and step.before.moves == step.after.moves
    return no_time_passed and not is_passive(step.action) and not world_changed(step)
