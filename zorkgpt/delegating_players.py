"""Players that leave some turns to another player."""

from dataclasses import replace
from typing import Protocol

from game_interface.models import Observation
from zorkgpt.errors import InvalidAnswer
from zorkgpt.explore.best_line import FollowedPart
from zorkgpt.log import get_logger
from zorkgpt.player import AgentDecision, Player, PlayerContext, follow_request
from zorkgpt.runlog.events import PlayerKind

log = get_logger(__name__)


class StandIn(Player):
    """Asks a player with a model each turn. If the model gives no usable command, the rules choose one.

    Args:
        player: The player that asks a model.
        rules: The rules player.
    """

    def __init__(self, player: Player, rules: Player) -> None:
        self._player = player
        self._rules = rules

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the model's decision, or that of the rules with the label `PlayerKind.RULES`.

        Raises:
            LLMError: If the model could not be asked.
        """
        try:
            return self._player.get_action_with_reasoning(context)
        except InvalidAnswer as problem:
            log.warning("the rules choose this turn", extra={"turn": context.turn, "problem": str(problem)})
            chosen = self._rules.get_action_with_reasoning(context)
            return AgentDecision(chosen.action, chosen.reasoning, by=PlayerKind.RULES)


FOLLOWED = "best line"
"""The label of turns that play the best line on the player's request."""


class LineSource(Protocol):
    """The best line."""

    followed: FollowedPart | None
    """The part of the best line that the player last asked for; None if it asked for none."""

    def follow(self, now: Observation, most: int) -> FollowedPart | None:
        """Start to follow the best line, for at most `most` steps; None if this state is not on it."""
        ...


class FollowingPlayer(Player):
    """Plays the commands of the best line if the inner player answers `FOLLOW`."""

    def __init__(self, inner: Player, line: LineSource) -> None:
        self._inner = inner
        self._line = line
        self._reported: FollowedPart | None = None
        """The part of the best line whose end was reported to the inner player."""

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the next command of the best line, or the inner player's action if it is not followed."""
        followed = self._line.followed
        if followed is not None and followed.next is not None:
            return AgentDecision(followed.next, _followed_reason(followed), by=FOLLOWED)
        decision = self._inner.get_action_with_reasoning(self._with_notice(context, followed))
        most = follow_request(decision.action)
        part = None if most is None else self._line.follow(context.observation, most)
        if part is None or part.next is None:
            return decision
        return AgentDecision(part.next, decision.reasoning, by=FOLLOWED, follow=len(part.actions))

    def _with_notice(self, context: PlayerContext, followed: FollowedPart | None) -> PlayerContext:
        """Return the context with a notice about the part that was followed, unless it was reported."""
        if followed is None or followed is self._reported:
            return context
        if context.refused is None:
            self._reported = followed
        return replace(context, notices=(*context.notices, _followed_notice(followed)))


def _followed_reason(followed: FollowedPart) -> str:
    return f"Following the best line (command {followed.done + 1} of {len(followed.actions)})."


def _followed_notice(followed: FollowedPart) -> str:
    reason = f"then stopped: {followed.difference}" if followed.difference else "as far as you asked or to its end"
    return f"The best line was followed for {followed.done} turns, {reason}."
