"""The turns of the episode as values, and the summary of older turns that don't fit into the prompt."""

from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, Field

from session.game_state import GameState
from zorkgpt.context.prompt_section import newest
from zorkgpt.context.turns import turn_line
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.prompts.render import render

_MAX_TURNS_TOKENS = 3000
"""Maximum tokens of the turns in one question. After failures there may be more turns than a small model can read."""
_PART_TOKENS = 60


class EpisodeTurns:
    """Converts the turns in the game state from dictionaries to values, and caches them."""

    def __init__(self, state: GameState) -> None:
        self._state = state
        self._converted: dict[int, tuple[dict[str, Any], RecentTurn]] = {}
        """Turn number → its entry in the state, and its value. An entry with a response no longer changes."""

    def clear(self) -> None:
        """Clear the cache."""
        self._converted.clear()

    def last(self, count: int) -> tuple[RecentTurn, ...]:
        """Return the last turns, oldest first."""
        entries = self._state.action_reasoning_history[-count:] if count > 0 else []
        responses = _responses(self._state, entries)
        return tuple(self._turn(entry, response) for entry, response in zip(entries, responses, strict=True))

    def unsummarized(self, *, most: int | None = None) -> tuple[RecentTurn, ...]:
        """Return the turns that are not summarized, oldest first. The last turn is always included."""
        count = max(1, self._state.turn_count - self._state.history_summarized_to)
        return self.last(count if most is None else min(count, most))

    def _turn(self, entry: dict[str, Any], response: str) -> RecentTurn:
        cached = self._converted.get(entry["turn"])
        if cached is not None and cached[0] is entry:
            return cached[1]
        turn = RecentTurn(
            entry["turn"],
            entry.get("location", ""),
            entry["action"],
            response,
            entry.get("reasoning") or "",
            tuple(entry.get("outcome", ())),
            entry.get("arrived", ""),
        )
        if "response" in entry:
            self._converted[turn.turn] = entry, turn
        return turn


def _responses(state: GameState, entries: list[dict[str, Any]]) -> list[str]:
    """Return the response of each entry; if it has none, the one in `state.action_history`."""
    responses = [entry.get("response") for entry in entries]
    if None in responses:
        played = list(state.action_history[-len(entries) :])
        for index in reversed(range(len(entries))):
            response = played.pop()[1] if played and played[-1][0] == entries[index]["action"] else ""
            if responses[index] is None:
                responses[index] = response
    return [response or "" for response in responses]


class SummaryAnswer(BaseModel):
    """The model's answer."""

    summary: str = Field(min_length=1, description="at most 150 words, in plain sentences")


@dataclass(frozen=True, slots=True)
class Overflow:
    """The turns to summarize."""

    turns: tuple[RecentTurn, ...]
    """The turns, oldest first."""
    previous: str
    """The summary of the turns before them; "" if there is none."""


class Summarizer(Protocol):
    """Summarizes the older turns of an episode."""

    def summarize(self, overflow: Overflow) -> str:
        """Return a summary that combines the previous one with these turns.

        Raises:
            LLMError: If the model could not be asked, or its answer could not be read.
        """
        ...


class ModelSummarizer:
    """Asks the model of the role `summary`."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def summarize(self, overflow: Overflow) -> str:
        answer = self._llm.complete(prompt_for(overflow), role=Role.SUMMARY, response_model=SummaryAnswer).parsed
        assert isinstance(answer, SummaryAnswer)
        return answer.summary.strip()


def prompt_for(overflow: Overflow) -> list[Message]:
    """Return the prompt for a summary."""
    lines = [turn_line(turn, tokens=_PART_TOKENS) for turn in overflow.turns]
    count = newest(reversed(lines), _MAX_TURNS_TOKENS)
    prompt = render(
        "context_summary",
        previous=overflow.previous,
        turns="\n".join(lines[len(lines) - count :]),
        left_out=len(lines) - count,
    )
    return [Message("system", prompt.system), Message("user", prompt.user)]
