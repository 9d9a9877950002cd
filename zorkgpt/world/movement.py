"""What a turn was as a movement: decided by the room's number before and after, never by the text."""

import re
from dataclasses import dataclass
from enum import StrEnum

from game_interface.models import Transition
from zorkgpt.world.directions import canonical_direction, exit_name


class MoveKind(StrEnum):
    """How the player came to be elsewhere. Only the first two are ways that the world has."""

    WALKED = "walked"
    """In a direction, or by an action of going ("enter window")."""
    ABOARD = "aboard"
    """The same, in a vehicle: whoever is on foot can't count on it."""
    TRANSPORTED = "transported"
    """By an action that is no going: a word, a prayer, the touch of a thing."""
    CARRIED = "carried"
    """By no doing of the player's: a current, a thief, a creature."""
    DIED = "died"
    """The player died, and stands wherever the story put them."""


WAYS = frozenset({MoveKind.WALKED, MoveKind.ABOARD})


@dataclass(frozen=True, slots=True)
class Move:
    """From one room to another; after a death they may be the same."""

    from_id: int
    way: str
    """A direction, or the action that did it."""
    to_id: int
    kind: MoveKind


# English verbs of going. Whatever else moves a player has another cause than their feet.
_GOING = re.compile(
    r"(?:go|walk|run|head|step|enter|exit|leave|climb|ascend|descend|cross|jump|leap|swim|wade|crawl|slide|squeeze|"
    r"ride|board|embark|disembark|launch|land|sail|row|drive|fly|follow)\b"
)
# Whoever does these does nothing that could move them.
_IDLE = re.compile(r"(?:wait|z|look|l|examine|x|inventory|inv|i|listen|smell|score|diagnose|time)\b|$")


def move_of(step: Transition) -> Move | None:
    """The movement of a turn; None if the player is where they were, or nobody can tell."""
    before, after = step.before.location, step.after.location
    if before is None or step.fault or step.refused:
        return None
    way = exit_name(step.action)
    if step.died:
        return Move(before.num, way, after.num if after else before.num, MoveKind.DIED)
    if after is None or before.num == after.num:
        return None
    return Move(before.num, way, after.num, _kind(step))


def _kind(step: Transition) -> MoveKind:
    aboard, action = step.before.vehicle is not None, step.action.strip().lower()
    if canonical_direction(action) is not None or _GOING.match(action):
        return MoveKind.ABOARD if aboard else MoveKind.WALKED
    # A vehicle drifts, whatever the player is busy with in it.
    return MoveKind.CARRIED if aboard or _IDLE.match(action) else MoveKind.TRANSPORTED


def led_nowhere(step: Transition) -> bool:
    """A direction was tried, and the player is where they were."""
    before, after = step.before, step.after
    if step.fault or step.refused or step.died or step.finished or before.location is None:
        return False
    stayed = before.location == after.location and before.vehicle == after.vehicle
    return stayed and canonical_direction(step.action) is not None
