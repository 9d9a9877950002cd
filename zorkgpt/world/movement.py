"""Classify a turn as a movement, by the numbers of the rooms before and after.

The text is only used to recognize walks through a room in which the player did not stay.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from game_interface.models import Transition
from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.memory.losses import LossCause


class MoveKind(StrEnum):
    """How the player came to another room. Only the first two are connections of the map."""

    WALKED = "walked"
    """In a direction, or by a movement such as "enter window"."""
    ABOARD = "aboard"
    """The same in a vehicle, so it may be impossible on foot."""
    TRANSPORTED = "transported"
    """By another action, such as a magic word."""
    CARRIED = "carried"
    """Not by the player's action: by a current or a creature, for example."""
    DIED = "died"
    """By the player's death."""


PLACE_KILLS = "wait"
"""The way of a death that the place itself caused."""

WAYS = frozenset({MoveKind.WALKED, MoveKind.ABOARD})


@dataclass(frozen=True, slots=True)
class Move:
    """A move from one room to another. After a death they may be the same."""

    from_id: int
    way: str
    """The name of the exit: a direction, or the action that caused the move."""
    to_id: int
    kind: MoveKind = MoveKind.WALKED


# English verbs of movement. Any other action that moves the player is a transport.
_GOING = re.compile(
    r"(?:go|walk|run|head|step|enter|exit|leave|climb|ascend|descend|cross|jump|leap|swim|wade|crawl|slide|squeeze|"
    r"ride|board|embark|disembark|launch|land|sail|row|drive|fly|follow)\b"
)
# "Loud Room", "East of Chasm": at most six capitalized words, without punctuation at the end.
_HEADING = re.compile(r"[A-Z][\w'’-]*(?: (?:[A-Z][\w'’-]*|of|the|in|on|at|a|an|to|and)){0,5}")
# Actions that can't move the player by themselves.
_IDLE = re.compile(r"(?:wait|z|look|l|examine|x|inventory|inv|i|listen|smell|score|diagnose|time)\b|$")


def move_of(step: Transition) -> Move | None:
    """Return the movement of a turn; None if the player stayed, or the rooms are unknown."""
    before, after = step.before.location, step.after.location
    if before is None or step.fault or step.refused or step.is_answer:
        return None
    way = exit_name(step.action)
    if step.died:
        cause = step.loss.cause if step.loss else None
        if cause is LossCause.CLOCK:
            return None
        if cause is LossCause.PLACE:
            way = PLACE_KILLS
        return Move(before.num, way, after.num if after else before.num, MoveKind.DIED)
    if after is None:
        return None
    if _is_going(step.action) and _passed_through(step.response, after.name):
        return Move(before.num, way, after.num, MoveKind.CARRIED)
    if before.num == after.num:
        return None
    return Move(before.num, way, after.num, _kind(step))


def _kind(step: Transition) -> MoveKind:
    aboard, action = step.before.vehicle is not None, step.action.strip().lower()
    if _is_going(action):
        return MoveKind.ABOARD if aboard else MoveKind.WALKED
    # A vehicle may drift during any action.
    return MoveKind.CARRIED if aboard or _IDLE.match(action) else MoveKind.TRANSPORTED


def _is_going(action: str) -> bool:
    return canonical_direction(action) is not None or bool(_GOING.match(action.strip().lower()))


def _passed_through(response: str, name: str) -> bool:
    """Return whether the text has the heading of another room above that of the current room."""
    lines = [line.strip() for line in response.strip().splitlines()]
    arrived = next((number for number, line in reversed(list(enumerate(lines))) if line == name), 0)
    paragraphs = (number for number in range(arrived) if number == 0 or not lines[number - 1])
    return any(lines[number] != name and bool(_HEADING.fullmatch(lines[number])) for number in paragraphs)


def led_nowhere(step: Transition) -> bool:
    """Return whether a direction was tried and the player stayed."""
    before, after = step.before, step.after
    if step.fault or step.refused or step.died or step.finished or before.location is None:
        return False
    if step.is_answer or after.question is not None:
        return False
    stayed = before.location == after.location and before.vehicle == after.vehicle
    return stayed and canonical_direction(step.action) is not None
