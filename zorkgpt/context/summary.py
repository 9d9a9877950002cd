"""What becomes of turns that no longer fit into the prompt: a model sums them up, or they are only counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, Field

from session.sections import ContextSection
from zorkgpt.context.past import REASONED_TURNS, fitting_history
from zorkgpt.context.section import first_sentences, last_sentences, newest
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.structured import form_of
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.prompts.render import one_line, render

_MOST_TOKENS = 3000
"""Of the turns in one question; after failures there may be more of them than a small model reads."""
_ACTION_TOKENS, _REASONS_TOKENS, _RESPONSE_TOKENS = 40, 40, 60


class SummaryAnswer(BaseModel):
    """The form that the model fills in."""

    summary: str = Field(min_length=1, description="at most 150 words, in plain sentences")


@dataclass(frozen=True, slots=True)
class Overflow:
    """Turns that are to be summarised."""

    turns: tuple[RecentTurn, ...]
    """Oldest first."""
    previous: str
    """The summary of the turns before them; "" if there is none."""


class Summarizer(Protocol):
    """Sums up an episode's older turns."""

    def summarize(self, overflow: Overflow) -> str:
        """One summary of the previous one and these turns.

        Raises:
            LLMError: the model could not be asked, or its answer could not be read.
        """
        ...


class ModelSummarizer:
    """Asks the model of the role `summary`."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def summarize(self, overflow: Overflow) -> str:
        answer = self._llm.complete(prompt_for(overflow), role="summary", response_model=SummaryAnswer)
        return answer.parsed.summary.strip()


def overflowing(turns: Sequence[RecentTurn], budgets: ContextSection) -> tuple[RecentTurn, ...]:
    """The turns to summarise now, if there is no room for all of them; half of the room is then free again."""
    earlier = turns[:-REASONED_TURNS]
    if fitting_history(earlier, budgets.history_tokens) == len(earlier):
        return ()
    kept = fitting_history(earlier, budgets.history_tokens // 2)
    return tuple(earlier[: len(earlier) - kept])


def prompt_for(overflow: Overflow) -> list[Message]:
    """The question to the model."""
    lines = [_line(turn) for turn in overflow.turns]
    count = newest(reversed(lines), _MOST_TOKENS)
    prompt = render(
        "context_summary",
        previous=overflow.previous,
        turns="\n".join(lines[len(lines) - count :]),
        left_out=len(lines) - count,
        form=form_of(SummaryAnswer),
    )
    return [Message("system", prompt.system), Message("user", prompt.user)]


def _line(turn: RecentTurn) -> str:
    reasons = last_sentences(turn.reasoning, _REASONS_TOKENS)
    because = f" because {one_line(reasons)}" if reasons else ""
    response = one_line(first_sentences(turn.response, _RESPONSE_TOKENS))
    action = one_line(first_sentences(turn.action, _ACTION_TOKENS))
    return f"Turn {turn.turn}, at {one_line(turn.location_name)}: {action}{because}, the game: {response}"
