"""Players that leave some turns to another player."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from game_interface.models import Observation
from zorkgpt.errors import InvalidAnswer
from zorkgpt.explore.replay import Journey
from zorkgpt.log import get_logger
from zorkgpt.player import AgentDecision, Player, PlayerContext, follow_request

log = get_logger(__name__)

RULES = "rules"
"""The label of turns that the rules play in another player's run."""
_FEW_TURNS = 10
_TOO_LARGE_A_SHARE = 0.5


class StandIn(Player):
    """Asks a model's player each turn; the rules choose the turns for which its model gives no usable command.

    Args:
        player: The player that asks a model.
        rules: The rules player. It sees every turn, so that it can choose at any time.
    """

    def __init__(self, player: Player, rules: Player) -> None:
        self._player, self._rules = player, rules
        self._turns = self._chosen_by_rules = 0
        self._warned = False

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the model's decision, or that of the rules, marked as theirs.

        Raises:
            LLMError: If the model could not be asked.
        """
        self._turns += 1
        try:
            decision = self._player.get_action_with_reasoning(context)
        except InvalidAnswer as problem:
            self._chosen_by_rules += 1
            log.warning("the rules choose this turn", extra={"turn": context.turn, "problem": str(problem)})
            self._warn_if_frequent()
            chosen = self._rules.get_action_with_reasoning(context)
            return AgentDecision(chosen.action, chosen.reasoning, by=RULES)
        self._rules.look_on(context, decision.action)
        return decision

    def _warn_if_frequent(self) -> None:
        if self._warned or self._turns < _FEW_TURNS or self._chosen_by_rules <= self._turns * _TOO_LARGE_A_SHARE:
            return
        self._warned = True
        log.warning(
            "the model gives no usable command in most turns; choose a larger model",
            extra={"turns": self._turns, "chosen_by_rules": self._chosen_by_rules},
        )

    def look_on(self, context: PlayerContext, action: str) -> None:
        """Record an action that another player chose."""
        self._player.look_on(context, action)
        self._rules.look_on(context, action)

    def changed_notes(self) -> dict[str, Any]:
        """Return what has changed in the notes of the rules; the model's player keeps none."""
        return self._rules.changed_notes()

    def left_to_try(self) -> dict[int, tuple[str, ...]]:
        """Return what the rules have left untried."""
        return self._rules.left_to_try()

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        """Begin an episode with all changes that were made to the rules' notes in it so far, oldest first."""
        self._player.resume(notes)
        self._rules.resume(notes)


SEARCHED = "search"
"""The label of turns that play what a search over saved states has found."""
FOLLOWED = "best line"
"""The label of turns that play the best line on the player's request."""


class Replays(Protocol):
    """The commands of earlier episodes that can be played in this one."""

    @property
    def journey(self) -> Journey | None:
        """What a search has found for the beginning of the running episode; None if it began without it."""
        ...

    @property
    def followed(self) -> Journey | None:
        """The part of the best line that the player asked for last; None if it asked for none."""
        ...

    def follow(self, now: Observation, most: int) -> Journey | None:
        """Begin to follow the best line for at most so many steps; None if this state is not on it."""
        ...


class ReplayingPlayer(Player):
    """Plays what a search has found, or the best line, while there are commands left; otherwise the inner player plays.

    Args:
        replays: Provides the commands, and the best line when the inner player answers `FOLLOW`.
        label: The label of the inner player's turns; None if they are the run's player's.
    """

    def __init__(self, inner: Player, replays: Replays, label: str | None = None) -> None:
        self._label = label
        self._inner = inner
        self._replays = replays
        self._told: Journey | None = None
        """The part of the best line whose end the inner player was told of."""

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the next command of a replay, or the inner player's action if there is none."""
        found, followed = self._replays.journey, self._replays.followed
        if found is not None and found.next is not None:
            return self._replayed(context, found.next, _why(found), SEARCHED)
        if followed is not None and followed.next is not None:
            return self._replayed(context, followed.next, _why_followed(followed), FOLLOWED)
        decision = self._inner.get_action_with_reasoning(self._informed(context, found, followed))
        most = follow_request(decision.action)
        part = None if most is None else self._replays.follow(context.observation, most)
        if part is None or part.next is None:
            return replace(decision, by=decision.by or self._label)
        return self._replayed(context, part.next, decision.reasoning, FOLLOWED)

    def _replayed(self, context: PlayerContext, action: str, why: str, label: str) -> AgentDecision:
        self._inner.look_on(context, action)
        return AgentDecision(action, why, by=label)

    def _informed(self, context: PlayerContext, found: Journey | None, followed: Journey | None) -> PlayerContext:
        """Return the context with notices about the replays that are over."""
        notices = [_notice(found)] if found else []
        if followed is not None and followed is not self._told:
            notices.append(_notice_followed(followed))
            self._told = followed if context.refused is None else self._told
        return replace(context, notices=(*context.notices, *notices)) if notices else context

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
    return f"Playing what the search has found (command {journey.done + 1} of {len(journey.route.steps)})."


def _notice(journey: Journey) -> str:
    reason = f", but {journey.difference}" if journey.difference else ""
    return f"The first {journey.done} turns of this episode were found by search{reason}. You have played since."


def _why_followed(followed: Journey) -> str:
    return f"Following the best line (command {followed.done + 1} of {len(followed.route.steps)})."


def _notice_followed(followed: Journey) -> str:
    reason = f"then stopped: {followed.difference}" if followed.difference else "as far as you asked or to its end"
    return f"The best line was followed for {followed.done} turns, {reason}."
