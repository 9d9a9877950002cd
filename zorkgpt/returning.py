"""A player that first goes back to where an earlier episode was, and then lets another player go on."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from zorkgpt.explore.replay import Journey
from zorkgpt.player import AgentDecision, Player, PlayerContext

RETURN = "return"
"""The label of turns that repeat an earlier episode's commands."""


class ReturningPlayer(Player):
    """Plays the commands of a journey while there is one; after it, or when it led elsewhere, the inner player plays.

    Args:
        journey: Returns the journey of the running episode; None if it has none.
    """

    def __init__(self, inner: Player, journey: Callable[[], Journey | None]) -> None:
        self._inner = inner
        self._journey = journey

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the next command of the journey, or the inner player's action once the journey is over."""
        journey = self._journey()
        if journey is None:
            return self._inner.get_action_with_reasoning(context)
        if (action := journey.next) is not None:
            self._inner.look_on(context, action)
            return AgentDecision(action, _why(journey), by=RETURN)
        told = replace(context, notices=(*context.notices, _notice(journey)))
        return self._inner.get_action_with_reasoning(told)

    def look_on(self, context: PlayerContext, action: str) -> None:
        """Let the inner player take note of an action."""
        self._inner.look_on(context, action)

    def changed_notes(self) -> dict[str, Any]:
        """Return the changes of the inner player's notes."""
        return self._inner.changed_notes()

    def left_to_try(self) -> dict[int, tuple[str, ...]]:
        """Return what the inner player has left untried."""
        return self._inner.left_to_try()

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        """Give the inner player its notes back."""
        self._inner.resume(notes)


def _why(journey: Journey) -> str:
    way = journey.route
    if journey.detour:
        return f"Back to the way to {way.place_name}, which led elsewhere this time."
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
