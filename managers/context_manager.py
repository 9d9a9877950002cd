"""Compose the player's context before a turn."""

import logging
from collections.abc import Sequence
from typing import Any

from game_interface.models import Observation
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.context.history import Overflow, Summarizer, unsummarized
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
    ) -> None:
        super().__init__(logger, config, game_state)
        self._view = PlayerView() if view is None else view
        self._summarizer = summarizer
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_SUMMARY, self._summarize)
        self.reset()

    def reset(self) -> None:
        """Start a new episode."""
        self._summarize_to = 0
        self._summaries = 0
        self._summary_failures = 0

    def request_summary(self, to: int) -> None:
        """Request a summary of the turns up to this one at the next periodic update."""
        self._summarize_to = to

    def player_context(self, now: Observation, memories: str, notices: Sequence[str] = ()) -> PlayerContext:
        """Return the context of the next turn. See `PlayerView.compose`."""
        recent = unsummarized(self._state, most=self._config.history_tokens // _SHORTEST_TURN_TOKENS)
        return self._view.compose(now, memories, notices, state=self._state, config=self._config, recent=recent)

    def process_periodic_update(self) -> None:
        """Summarize the turns that will soon not fit into the player's prompt."""
        state = self._state
        if self._summarizer is None or state.turn_count - state.history_summary_asked < self._config.summary_interval:
            return
        turns = [turn.turn for turn in unsummarized(state) if turn.turn <= self._summarize_to]
        if turns and not self._background.open.is_open(_SUMMARY):
            state.history_summary_asked = state.turn_count
            self._background.start(_SUMMARY, turns[-1])

    def _summarize(self, to: int) -> None:
        """Summarize the turns up to this one."""
        state = self._state
        turns = tuple(turn for turn in unsummarized(state) if turn.turn <= to)
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
            "turns": len(self._state.action_history),
            "summaries": self._summaries,
            "summary_failures": self._summary_failures,
            "summarized_to": self._state.history_summarized_to,
        }
        return {"type": "context", "metrics": metrics}
