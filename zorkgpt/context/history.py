"""The turns of the episode, and the summary of older turns that don't fit into the prompt."""

from collections.abc import Sequence

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
