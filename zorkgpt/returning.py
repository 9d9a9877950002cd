"""A player that first goes back to where an earlier episode was, and then lets another one play on."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from zorkgpt.explore.replay import Journey
from zorkgpt.player import AgentDecision, Player, PlayerContext, TakesNotes

RETURN = "return"
"""What the turns are labelled with that repeat an earlier episode's commands."""


@runtime_checkable
class Onlooker(Protocol):
    """A player that keeps notes of its own, and so has to see what is played in its stead."""

    def look_on(self, context: PlayerContext, action: str) -> None: ...


class ReturningPlayer:
    """Plays the commands of a journey while there is one; after it, or when it led elsewhere, the inner player plays.

    Args:
        journey: the one of the running episode; None if it has none.
    """

    def __init__(self, inner: Player, journey: Callable[[], Journey | None]) -> None:
        self._inner = inner
        self._journey = journey

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        journey = self._journey()
        if journey is None:
            return self._inner.get_action_with_reasoning(context)
        if (step := journey.next) is not None:
            if isinstance(self._inner, Onlooker):
                self._inner.look_on(context, step.action)
            return AgentDecision(step.action, _why(journey), by=RETURN)
        told = replace(context, notices=(*context.notices, _notice(journey)))
        return self._inner.get_action_with_reasoning(told)

    def changed_notes(self) -> dict[str, Any]:
        return self._inner.changed_notes() if isinstance(self._inner, TakesNotes) else {}

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        if isinstance(self._inner, TakesNotes):
            self._inner.resume(notes)


def _why(journey: Journey) -> str:
    way = journey.route
    return (
        f"Going back to {way.place_name}, where episode {way.episode} was after {way.turn} turns "
        f"(command {journey.done + 1} of {len(way.steps)})."
    )


def _notice(journey: Journey) -> str:
    way = journey.route
    began = f"The first {journey.done} turns of this episode repeated commands of episode {way.episode}"
    if journey.difference:
        return f"{began}, to go back to {way.place_name}, but {journey.difference}. You have played since."
    return f"{began}, to go on from {way.place_name} with a score of {way.goal.score}. You have played since."
