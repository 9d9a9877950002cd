"""Compose the player's context before a turn."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from game_interface.models import Item, Observation
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from session.outcome import affected_objects, changed_by_themselves
from zorkgpt.context.history import EpisodeTurns, Overflow, Summarizer
from zorkgpt.context.view import PlayerView
from zorkgpt.errors import LLMError
from zorkgpt.player import PlayerContext

_SUMMARY = "summary"
"""The kind of work in the background."""
_SHORTEST_TURN_TOKENS = 10
"""Minimum tokens of a turn, which limits the number of turns in the history."""


class ContextManager(BaseManager):
    """Composes the player's context from the state, the map and the memories.

    Args:
        view: The sources of the context. Defaults to empty ones.
        summarizer: Summarizes the turns that no longer fit. By default, they are only counted.
        background: Runs the summaries. By default, they are made immediately.
        now: Returns the time for the entries of the reasoning.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        view: PlayerView | None = None,
        summarizer: Summarizer | None = None,
        background: BackgroundQuestions | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(logger, config, game_state)
        self._view = PlayerView() if view is None else view
        self._summarizer = summarizer
        self._clock = now
        self._turns = EpisodeTurns(game_state)
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_SUMMARY, self._summarize)
        self.reset()

    def reset(self) -> None:
        """Start a new episode."""
        self._turns.clear()
        self._opening = self._last_response = ""
        self._last_changed: tuple[Item, ...] = ()
        self._last_changed_by_themselves: tuple[Item, ...] = ()
        self._summarize_to = 0
        self._summaries = 0
        self._summary_failures = 0

    def open_with(self, text: str) -> None:
        """Start with the opening text."""
        self._opening = self._last_response = text

    def return_to(self, response: str) -> None:
        """Continue after an earlier response."""
        self._last_response = response

    def request_summary(self, to: int) -> None:
        """Request a summary of the turns up to this one at the next periodic update."""
        self._summarize_to = to

    def process_turn(self, record: TurnRecord) -> None:
        """Record the response, the changes and the reasons for the action."""
        step = record.transition
        self._last_response = step.response
        self._last_changed = affected_objects(step)
        self._last_changed_by_themselves = changed_by_themselves(step)
        self.add_reasoning(record.turn, record.reasoning, step.action)

    def add_reasoning(self, turn: int, reasoning: str | None, action: str) -> None:
        """Record the reasons for an action as {turn, reasoning, action, timestamp}. The turn adds the response."""
        entry = self._state.add_reasoning(turn, reasoning or "", action)
        entry.setdefault("timestamp", self._clock().isoformat(timespec="seconds"))

    def player_context(self, now: Observation, memories: str, *, refused: str | None = None) -> PlayerContext:
        """Return the context of the next turn. See `PlayerView.compose`."""
        return self._view.compose(
            now,
            memories,
            state=self._state,
            config=self._config,
            recent=self._turns.unsummarized(most=self._config.history_tokens // _SHORTEST_TURN_TOKENS),
            opening=self._opening,
            response=self._last_response,
            changed=self._last_changed,
            changed_by_themselves=self._last_changed_by_themselves,
            refused=refused,
        )

    def process_periodic_update(self) -> None:
        """Summarize the turns that will soon not fit into the player's prompt."""
        state = self._state
        if self._summarizer is None or state.turn_count - state.history_summary_asked < self._config.summary_interval:
            return
        turns = [turn.turn for turn in self._turns.unsummarized() if turn.turn <= self._summarize_to]
        if turns and not self._background.open.is_open(_SUMMARY):
            state.history_summary_asked = state.turn_count
            self._background.start(_SUMMARY, turns[-1])

    def _summarize(self, to: int) -> None:
        """Summarize the turns up to this one."""
        state = self._state
        turns = tuple(turn for turn in self._turns.unsummarized() if turn.turn <= to)
        if self._summarizer is None or not turns:
            return
        try:
            state.history_summary = self._summarizer.summarize(Overflow(turns, state.history_summary))
        except LLMError as error:
            self._summary_failures += 1
            if self._summary_failures == 1:
                self._log.warning("older turns could not be summarized", extra={"problem": str(error)})
            return
        state.history_summarized_to = turns[-1].turn
        self._summaries += 1

    def get_status(self) -> dict[str, Any]:
        """Return the number of turns, and how far they are summarized."""
        metrics = {
            "turns": len(self._state.action_reasoning_history),
            "summaries": self._summaries,
            "summary_failures": self._summary_failures,
            "summarized_to": self._state.history_summarized_to,
        }
        return {"type": "context", "state": "summarizing" if self._summarizer else "counting", "metrics": metrics}
