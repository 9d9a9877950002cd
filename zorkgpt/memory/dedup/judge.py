"""The judge: asks a model about the pairs of memories that the word check leaves unsure."""

from collections.abc import Sequence
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from zorkgpt.llm.messages import Message
from zorkgpt.llm.model import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.memory.models import Memory
from zorkgpt.memory.world import TEXT_ADVENTURE, World
from zorkgpt.prompts.render import render

MOST_AT_ONCE = 8
"""Maximum number of known memories in one question."""
LONGEST_TEXT = 600
"""Maximum characters of a text in a question. Longer texts are not judged, since the prompt would cut them off."""


class Verdict(BaseModel):
    """How the new memory relates to one of the numbered ones."""

    number: int
    relation: Literal["same", "adds", "contradicts", "distinct"]
    reason: str = Field("", description="the reason, in a few words")


class Verdicts(BaseModel):
    """A verdict for each numbered memory."""

    verdicts: list[Verdict] = Field(default_factory=list, max_length=2 * MOST_AT_ONCE)


class Judge(Protocol):
    """Decides how two memories relate."""

    def judge(self, place: str, new: Memory, known: Sequence[Memory]) -> dict[int, Verdict]:
        """Return verdicts by index into `known`. Memories without a verdict are missing.

        Raises:
            LLMError: If the model could not be asked or its answer is invalid.
        """
        ...


class ModelJudge:
    """Asks the model of the role `memory` about all known memories in one question."""

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
        # Ignore memories with two verdicts.
        numbers = [verdict.number for verdict in answer.verdicts]
        return {
            verdict.number - 1: verdict
            for verdict in answer.verdicts
            if 1 <= verdict.number <= len(known) and numbers.count(verdict.number) == 1
        }
