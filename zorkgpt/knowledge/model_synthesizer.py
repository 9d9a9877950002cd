"""Ask a model what turns and episodes teach."""

from collections.abc import Sequence
from typing import cast

from session.history import TurnRecord
from session.outcome import failed, told_outcome
from zorkgpt.knowledge.synthesis import EpisodeReview, LessonsAnswer, TurnReview, WisdomAnswer
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.prompts.render import render

_MAX_TURNS = 150
"""The most turns of an episode that the prompt shows."""


class ModelKnowledgeSynthesizer:
    """A `KnowledgeSynthesizer` that asks the model of the role `knowledge`."""

    asks_a_model = True

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def lessons(self, asked: TurnReview) -> LessonsAnswer:
        prompt = render("knowledge", asked=asked, failed=failed, told_outcome=told_outcome)
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        return cast(
            LessonsAnswer, self._llm.complete(messages, role=Role.KNOWLEDGE, response_model=LessonsAnswer).parsed
        )

    def wisdom(self, asked: EpisodeReview) -> WisdomAnswer:
        told = most_informative(asked.turns)
        prompt = render(
            "wisdom",
            story=asked,
            turns=told,
            failures=sum(failed(turn.transition) for turn in asked.turns),
            failed=failed,
            told_outcome=told_outcome,
            left_out=len(asked.turns) - len(told),
        )
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        return cast(WisdomAnswer, self._llm.complete(messages, role=Role.KNOWLEDGE, response_model=WisdomAnswer).parsed)


def most_informative(turns: Sequence[TurnRecord], most: int = _MAX_TURNS) -> tuple[TurnRecord, ...]:
    """Return the most informative turns in their order: deaths and points, then the latest others."""
    if len(turns) <= most:
        return tuple(turns)
    last = turns[-1].turn
    ranked = sorted(turns, key=lambda turn: (not _is_turning_point(turn), failed(turn.transition), last - turn.turn))
    kept = {turn.turn for turn in ranked[:most]}
    return tuple(turn for turn in turns if turn.turn in kept)


def _is_turning_point(turn: TurnRecord) -> bool:
    return turn.transition.died or turn.transition.points > 0
