"""Losses of a turn: the player's life, points, or things that were carried; with the cause, if it is known."""

import re
from dataclasses import dataclass
from enum import StrEnum


class LossKind(StrEnum):
    """What was lost."""

    DEATH = "death"
    POINTS = "points"
    THINGS = "things"


class LossCause(StrEnum):
    """What a loss comes from, by counterfactuals."""

    ACTION = "action"
    """The command: waiting instead would have been safe."""
    PLACE = "place"
    """Being there: waiting there brings it too, being elsewhere does not."""
    CREATURE = "creature"
    """A creature that was there."""
    CLOCK = "clock"
    """A clock or a need: it comes at that time, whatever the player does and wherever it is."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What a turn cost the player."""

    kind: LossKind
    cause: LossCause | None = None
    """None if unknown."""
    sentence: str = ""
    """The end of the response, which tells how it happened; without the lines that stories print after a death."""
    creature: int | None = None
    """The object number of the creature that caused it."""
    creature_name: str = ""
    clock: int | None = None
    """For a clock: the story's count of moves when it happened. None if unknown."""
    points: int = 0
    """How many points were lost."""
    things: tuple[str, ...] = ()
    """The names of the things that were lost."""
    harmless_elsewhere: bool | None = None
    """The same command was tried at the place before this one, and did no harm. None if that was not tried."""

    @property
    def outcome(self) -> str:
        """The outcome of a memory of this loss, as in `Memory.outcome`."""
        what = "died" if self.kind is LossKind.DEATH else f"lost {self.kind.value}"
        return what if self.clock is None else f"{what} at move {self.clock}"


_OUTCOME = re.compile(r"(?:(died)|lost (points|things))(?: at move ([0-9]{1,18}))?")


def loss_in(outcome: str) -> tuple[LossKind, int | None] | None:
    """Return what an outcome says was lost, and for a clock at which move. None if it says nothing of a loss."""
    found = _OUTCOME.fullmatch(outcome)
    if found is None:
        return None
    kind = LossKind.DEATH if found[1] else LossKind(found[2])
    return kind, int(found[3]) if found[3] else None
