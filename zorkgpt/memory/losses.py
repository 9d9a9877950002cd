"""Losses of a turn (the player's life, points or carried things) and their causes."""

import re
from dataclasses import dataclass
from enum import StrEnum


class LossKind(StrEnum):
    """The kind of loss."""

    DEATH = "death"
    POINTS = "points"
    THINGS = "things"


class LossCause(StrEnum):
    """The cause of a loss, found by counterfactuals."""

    ACTION = "action"
    """The command: waiting instead would have been safe."""
    PLACE = "place"
    """Being there: the loss also happens when waiting there, but not elsewhere."""
    CREATURE = "creature"
    """A creature that was present."""
    CLOCK = "clock"
    """A clock or a need: the loss happens at that time, whatever the player does."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss of the player on one turn."""

    kind: LossKind
    cause: LossCause | None = None
    """None if unknown."""
    sentence: str = ""
    """The end of the response, which describes the loss, without the lines that stories print after a death."""
    creature: int | None = None
    """The object number of the creature that caused it."""
    creature_name: str = ""
    clock: int | None = None
    """For a clock, the story's count of moves when it happened. None if unknown."""
    points: int = 0
    """The number of lost points."""
    things: tuple[str, ...] = ()
    """The names of the lost things."""
    harmless_elsewhere: bool | None = None
    """Whether the same command was harmless at the previous place. None if this was not tried."""

    @property
    def outcome(self) -> str:
        """The outcome of a memory of this loss, as in `Memory.outcome`."""
        what = "died" if self.kind is LossKind.DEATH else f"lost {self.kind.value}"
        return what if self.clock is None else f"{what} at move {self.clock}"


_OUTCOME = re.compile(r"(?:(died)|lost (points|things))(?: at move ([0-9]{1,18}))?")


def loss_in(outcome: str) -> tuple[LossKind, int | None] | None:
    """Return the kind of loss in an outcome, and the move for a clock. None if the outcome is not a loss."""
    match = _OUTCOME.fullmatch(outcome)
    if match is None:
        return None
    kind = LossKind.DEATH if match[1] else LossKind(match[2])
    return kind, int(match[3]) if match[3] else None
