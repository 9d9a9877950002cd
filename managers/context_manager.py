"""Compose the player's context before a turn."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Item, Observation
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState, ReasoningEntry
from session.history import TurnRecord
from zorkgpt.context.turns import summarized, unsummarized
from zorkgpt.context.view import PlayerView
from zorkgpt.errors import LLMError
from zorkgpt.llm.model import LLM
from zorkgpt.memory.episode import recent_turns
from zorkgpt.player import PlayerContext
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.events import Event, HistorySummarized

_SUMMARY = "summary"
"""The kind of work in the background."""
_SHORTEST_TURN_TOKENS = 10
"""Minimum tokens of a turn, which limits the number of turns in the history."""
_RECENT_ACTIONS = 5


class ContextManager(BaseManager):
    """Composes the player's context from the state, the map and the memories.

    Args:
        view: The sources of the context. Defaults to empty ones.
        summarizer: The model that summarizes the turns that no longer fit. By default, they are only counted.
        background: Runs the summaries. By default, they are made immediately.
        episode_log: Records the summaries. Defaults to a log that writes nothing.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        view: PlayerView | None = None,
        summarizer: LLM | None = None,
        background: BackgroundQuestions | None = None,
        episode_log: EpisodeLog | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._view = PlayerView() if view is None else view
        self._summarizer = summarizer
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_SUMMARY, self._summarize)
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self.reset()

    def reset(self) -> None:
        """Start a new episode."""
        self._summarize_to = 0
        self._asked = 0
        """The turn of the last request for a summary."""
        self._summaries = 0
        self._summary_failures = 0

    def request_summary(self, to: int) -> None:
        """Request a summary of the turns up to this one at the next periodic update."""
        self._summarize_to = to

    def player_context(self, now: Observation, memories: str, notices: Sequence[str] = ()) -> PlayerContext:
        """Return the context of the next turn. See `PlayerView.compose`."""
        recent = unsummarized(self.game_state, most=self.config.history_tokens // _SHORTEST_TURN_TOKENS)
        return self._view.compose(now, memories, notices, state=self.game_state, config=self.config, recent=recent)

    def process_turn(self, record: TurnRecord) -> None:
        """Add the reasoning of the turn."""
        self.add_reasoning(turn=record.turn, reasoning=record.reasoning, action=record.action)

    def add_reasoning(self, *, turn: int, reasoning: str, action: str) -> None:
        """Add a player's reasoning to `GameState.action_reasoning_history`, with the current time."""
        timestamp = datetime.now(UTC).isoformat(timespec="seconds")
        entry = ReasoningEntry(turn=turn, reasoning=reasoning, action=action, timestamp=timestamp)
        self.game_state.action_reasoning_history.append(entry)

    def get_recent_reasoning_formatted(self, num_turns: int = 3) -> str:
        """Return the last turns with reasoning, action and response as Markdown, oldest first. "" without any."""
        recent = self.game_state.action_reasoning_history[-num_turns:] if num_turns > 0 else []
        turns = (
            f"Turn {entry['turn']}:\nReasoning: {entry['reasoning']}\nAction: {entry['action']}\n"
            f"Response: {self._response_to(entry)}"
            for entry in recent
        )
        return "\n\n".join(("## Previous Reasoning and Actions", *turns)) if recent else ""

    def _response_to(self, entry: ReasoningEntry) -> str:
        """Return the game's response to the action of an entry, or a remark in parentheses without one."""
        for turn in reversed(recent_turns(self.game_state.action_history, (), len(self.game_state.action_history))):
            if turn.action == entry["action"] and turn.turn in (0, entry["turn"]):
                return turn.response
        return "(not recorded)"

    def get_agent_context(
        self,
        current_state: str,
        inventory: Sequence[str],
        location: str,
        location_id: int | None = None,
        *,
        jericho_interface: JerichoInterface | None = None,
    ) -> dict[str, Any]:
        """Return what an agent needs to choose an action.

        Args:
            current_state: The game's last response.
            location_id: Defaults to the current room.
            jericho_interface: Adds the carried and visible objects with their attributes, and the parser's verbs.

        Returns:
            `game_state`, `current_location` and `inventory` as given, `recent_actions` as pairs of action and response,
            and `recent_reasoning` as text. With a recent description of the room, `room_description` and
            `room_description_age` in turns. With a `jericho_interface`, `inventory_objects`, `visible_objects` and
            `action_vocabulary`.
        """
        context: dict[str, Any] = {
            "game_state": current_state,
            "current_location": location,
            "inventory": list(inventory),
            "recent_actions": self._recent_actions(),
            "recent_reasoning": self.get_recent_reasoning_formatted(),
        }
        if (game := jericho_interface) is not None:
            context["inventory_objects"] = _with_attributes(game, game.get_inventory_structured())
            context["visible_objects"] = _with_attributes(game, game.get_visible_objects_in_location())
            context["action_vocabulary"] = game.get_valid_verbs()
        return context | self._room_description(location_id)

    def get_critic_context(
        self,
        current_state: str,
        proposed_action: str,
        location: str,
        location_id: int | None = None,
        available_exits: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return what a critic needs to judge a proposed action.

        Returns:
            `game_state`, `proposed_action`, `current_location` and `available_exits` as given, and `inventory`,
            `score`, `recent_actions`, `room_description` and `room_description_age` as for the agent.
        """
        context = {
            "game_state": current_state,
            "proposed_action": proposed_action,
            "current_location": location,
            "available_exits": list(available_exits),
            "inventory": list(self.game_state.current_inventory),
            "score": self.game_state.current_score,
            "recent_actions": self._recent_actions(),
        }
        return context | self._room_description(location_id)

    def _recent_actions(self) -> list[tuple[str, str]]:
        turns = recent_turns(self.game_state.action_history, (), _RECENT_ACTIONS)
        return [(turn.action, turn.response) for turn in turns]

    def _room_description(self, location_id: int | None) -> dict[str, Any]:
        """Return the last description of this room and its age. Empty without a recent one."""
        here = self.game_state.current_room_id if location_id is None else location_id
        text, age = self.game_state.room_description(here, within_turns=self.config.room_description_age_window)
        return {} if age is None else {"room_description": text, "room_description_age": age}

    def process_periodic_update(self) -> None:
        """Summarize the turns that will soon not fit into the player's prompt."""
        state = self.game_state
        if self._summarizer is None or state.turn_count - self._asked < self.config.summary_interval:
            return
        turns = [turn.turn for turn in unsummarized(state) if turn.turn <= self._summarize_to]
        if turns and not self._background.is_open(_SUMMARY):
            self._asked = state.turn_count
            self._background.start(_SUMMARY, [state.turn_count, turns[-1]])

    def _summarize(self, about: Sequence[int]) -> None:
        """Summarize turns.

        Args:
            about: The turn in which this is asked, and the last turn to summarize.
        """
        state, (asked, to) = self.game_state, about
        turns = tuple(turn for turn in unsummarized(state) if turn.turn <= to)
        if self._summarizer is None or not turns:
            return
        try:
            text = summarized(self._summarizer, turns, state.history_summary)
        except LLMError as error:
            self._summary_failures += 1
            if self._summary_failures == 1:
                self.logger.warning("older turns could not be summarized", extra={"problem": str(error)})
            return
        event = HistorySummarized(state.episode_id, asked, text, turns[-1].turn)
        self._episode_log.write(event)
        self.repeat(event)

    def repeat(self, event: Event) -> None:
        """Replace the summary of the history."""
        if isinstance(event, HistorySummarized):
            self.game_state.history_summary, self.game_state.history_summarized_to = event.text, event.up_to
            self._asked = max(self._asked, event.turn)
            self._summaries += 1

    def get_status(self) -> dict[str, Any]:
        """Return the number of turns, and how far they are summarized."""
        metrics = {
            "turns": len(self.game_state.action_history),
            "summaries": self._summaries,
            "summary_failures": self._summary_failures,
            "summarized_to": self.game_state.history_summarized_to,
        }
        return {"type": "context", "metrics": metrics}


def _with_attributes(game: JerichoInterface, items: Sequence[Item]) -> list[dict[str, Any]]:
    return [{"id": item.num, "name": item.name, "attributes": game.get_object_attributes(item)} for item in items]
