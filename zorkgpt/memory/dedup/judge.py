"""Asks a model how a new memory relates to those that the words alone leave open."""

from collections.abc import Sequence
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.memory.models import Memory
from zorkgpt.memory.world import TEXT_ADVENTURE, World
from zorkgpt.prompts.render import render

MOST_AT_ONCE = 8
"""Memories in one question."""
LONGEST_TEXT = 600
"""Characters; a longer text is not judged, since nobody can tell of what was not shown whether it is the same."""


class Verdict(BaseModel):
    """How the new memory relates to one of the numbered ones."""

    number: int
    relation: Literal["same", "adds", "contradicts", "distinct"]
    reason: str = Field("", description="what decides it, in a few words")


class Verdicts(BaseModel):
    """One for each numbered memory."""

    verdicts: list[Verdict] = Field(default_factory=list, max_length=2 * MOST_AT_ONCE)


class Judge(Protocol):
    """Understands what two memories say."""

    def judge(self, place: str, new: Memory, known: Sequence[Memory]) -> dict[int, Verdict]:
        """Return verdicts by the memory's position in `known`; one that is missing was not judged.

        Raises:
            LLMError: the model could not be asked, or its answer not be read.
        """
        ...


class ModelJudge:
    """Asks the model of the role `memory`, once for all of them."""

    def __init__(self, llm: LLM, world: World = TEXT_ADVENTURE) -> None:
        self._llm = llm
        self._world = world

    def judge(self, place: str, new: Memory, known: Sequence[Memory]) -> dict[int, Verdict]:
        agent = self._world.agent
        prompt = render("memory_judge", agent=agent, place=place, new=new, known=known, longest=LONGEST_TEXT)
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        answer = self._llm.complete(messages, role=Role.MEMORY, response_model=Verdicts).parsed
        if not isinstance(answer, Verdicts):
            return {}
        # Two verdicts on one memory are none.
        numbers = [verdict.number for verdict in answer.verdicts]
        return {
            verdict.number - 1: verdict
            for verdict in answer.verdicts
            if 1 <= verdict.number <= len(known) and numbers.count(verdict.number) == 1
        }
