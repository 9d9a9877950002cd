"""The turns of the episode as text, and the summary of older turns that don't fit into the prompt.

The text of a turn depends on that turn alone, and old turns are dropped in blocks. The beginning of a prompt rarely
changes, so servers can cache it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from pydantic import BaseModel, Field

from session.game_state import GameState
from zorkgpt.context.prompt_section import newest, sentences, shortened
from zorkgpt.llm.messages import Message
from zorkgpt.llm.model import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.prompts.render import fence, one_line, render

_REASONS_TOKENS = 80
"""Maximum tokens of the reasons of a turn. Their end is shown, because it has the conclusion."""
_OUTCOME_TOKENS = 100
_ACTION_TOKENS = 40
_NAME_TOKENS = 20


# Each prompt has all turns of the episode, and only the last one is new.
@lru_cache(maxsize=1024)
def turn_text(turn: RecentTurn, response_tokens: int) -> str:
    """Return a turn with its place, action, reasons, response and changes.

    Args:
        response_tokens: The maximum tokens of the response. The middle of a longer one is omitted.
    """
    reasons = sentences(turn.reasoning, _REASONS_TOKENS, end=1)
    because = f", because {one_line(reasons)}" if reasons else ""
    response = fence(shortened(turn.response, response_tokens, end=0.5))
    changed = f"\nChanged: {changes(turn)}" if turn.outcome else ""
    return f"Turn {turn.turn}{_where(turn)}: {_action(turn)}{because}\n{response}{changed}"


def opening_text(opening: str, response_tokens: int) -> str:
    """Return the game's text before the first turn."""
    return f"The game begins:\n{fence(shortened(opening, response_tokens))}"


def turn_line(turn: RecentTurn, *, tokens: int) -> str:
    """Return a turn on one line, with both ends of the response.

    Args:
        tokens: The maximum tokens of the reasons, and of the response.
    """
    reasons = sentences(turn.reasoning, tokens, end=1)
    because = f", because {one_line(reasons)}" if reasons else ""
    response = one_line(sentences(without_heading(turn), tokens, end=0.5))
    changed = f" ({changes(turn)})" if turn.outcome else ""
    return f"Turn {turn.turn}{_where(turn)}: {_action(turn)}{because}. The game: {response}{changed}"


def changes(turn: RecentTurn) -> str:
    """Return the visible changes of a turn; "" if there were none."""
    return one_line(sentences("; ".join(turn.outcome), _OUTCOME_TOKENS)) if turn.outcome else ""


def first_shown(costs: Sequence[int], tokens: int) -> int:
    """Return the index of the first turn to show, given the tokens of each turn.

    When the turns exceed the budget, the oldest are dropped until the rest takes at most half of it. The last turn is
    never dropped.
    """
    first = total = 0
    for at, cost in enumerate(costs):
        total += cost
        if total > tokens:
            while first < at and total > tokens // 2:
                total -= costs[first]
                first += 1
    return first


def shown_from(turns: Sequence[RecentTurn], history_tokens: int, response_tokens: int) -> int:
    """Return the index of the first turn to show in a history of `history_tokens`."""
    costs = [estimated_tokens(f"{turn_text(turn, response_tokens)}\n\n") for turn in turns]
    return first_shown(costs, history_tokens)


def without_heading(turn: RecentTurn) -> str:
    """Return the response without the name of the place that the player arrived at."""
    text = turn.response.strip()
    first, _, rest = text.partition("\n")
    is_heading = turn.arrived and re.fullmatch(rf"{re.escape(turn.arrived)}(?:\s*[,(].*)?", first.strip())
    return rest.strip() if is_heading else text


def _where(turn: RecentTurn) -> str:
    place = f", {_name(turn.location_name)}" if turn.location_name else ""
    return f"{place} to {_name(turn.arrived)}" if turn.arrived else place


def _name(name: str) -> str:
    return one_line(sentences(name, _NAME_TOKENS))


def _action(turn: RecentTurn) -> str:
    return one_line(sentences(turn.action, _ACTION_TOKENS))


_MAX_TURNS_TOKENS = 3000
"""Maximum tokens of the turns in one question. After failures there may be more turns than a small model can read."""
_PART_TOKENS = 60


def unsummarized(state: GameState, *, most: int | None = None) -> tuple[RecentTurn, ...]:
    """Return the turns that are not summarized, oldest first. The last turn is always included.

    Args:
        most: Return at most this many turns.
    """
    count = max(1, state.turn_count - state.history_summarized_to)
    count = count if most is None else min(count, most)
    return tuple(state.action_history[-count:]) if count > 0 else ()


class SummaryAnswer(BaseModel):
    """The model's answer."""

    summary: str = Field(min_length=1, description="at most 150 words, in plain sentences")


def summarized(llm: LLM, turns: Sequence[RecentTurn], previous: str) -> str:
    """Return a summary of turns by the model of the role `summary`.

    Args:
        turns: The turns, oldest first.
        previous: The summary of the turns before them; "" if there is none.

    Raises:
        LLMError: If there is no usable answer.
    """
    answer = llm.complete(prompt_for(turns, previous), role=Role.SUMMARY, response_model=SummaryAnswer).parsed
    assert isinstance(answer, SummaryAnswer)
    return answer.summary.strip()


def prompt_for(turns: Sequence[RecentTurn], previous: str) -> list[Message]:
    """Return the prompt for a summary."""
    lines = [turn_line(turn, tokens=_PART_TOKENS) for turn in turns]
    count = newest(reversed(lines), _MAX_TURNS_TOKENS)
    left_out = len(lines) - count
    prompt = render("context_summary", previous=previous, turns="\n".join(lines[left_out:]), left_out=left_out)
    return [Message("system", prompt.system), Message("user", prompt.user)]
