"""Review a proposed action by the story's grammar and objects, and by a model if it is risky."""

import math
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from game_interface.models import Language, Scene
from zorkgpt.action_check import check_action
from zorkgpt.context.prompt import CRITIC, CRITIC_BUDGETS, prompt_sections
from zorkgpt.context.prompt_section import sentences
from zorkgpt.directions import exit_name
from zorkgpt.errors import LLMError
from zorkgpt.llm.messages import Message
from zorkgpt.llm.model import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.log import get_logger
from zorkgpt.player import AgentDecision, PlayerContext
from zorkgpt.prompts.render import render
from zorkgpt.text import normalized_action

log = get_logger(__name__)

PROPOSAL_TOKENS = (100, 200)
"""Maximum tokens of the action, and of the end of its reasons."""
JudgedBy = Literal["story", "model", "nobody"]


class CriticAnswer(BaseModel):
    """The model's answer."""

    reason: str = Field(max_length=600, description="one or two sentences to the player")
    score: float = Field(ge=-1, le=1, description="-1: pointless or harmful, 0: undecided, 1: certainly worth a turn")


@dataclass(frozen=True, slots=True)
class CriticVerdict:
    """The critic's answer to a proposal."""

    accepted: bool
    reason: str = ""
    judge: JudgedBy = "nobody"
    """Who decided: the story's grammar and objects, the model, or nobody without an objection."""
    score: float | None = None
    """The model's score, -1 to 1; None if it was not asked."""
    confidence: float = 0.0
    """The confidence of a rejection by the story, 0 to 1."""


class Critic:
    """Rejects actions that the story refuses, and risky actions with a low score by the model of the role `critic`.

    Args:
        language: The story's grammar; None if unknown.
        llm: The client for the role; None to judge by the story alone.
        threshold: The lowest accepted score.
    """

    def __init__(self, language: Language | None, llm: LLM | None = None, *, threshold: float = -0.2) -> None:
        self._language = language
        self._llm = llm
        self._threshold = threshold
        self.failures = 0
        """The number of failed calls."""

    def judge(self, proposal: AgentDecision, context: PlayerContext, scene: Scene | None) -> CriticVerdict:
        """Return the verdict on a proposal. If the model fails, the proposal is accepted."""
        if context.observation.question is not None:
            # Grammar and history don't apply to answers.
            return CriticVerdict(True)
        result = check_action(proposal.action, self._language, scene, answering="?" in context.response)
        if not result.valid:
            return CriticVerdict(False, result.reason, "story", confidence=result.confidence)
        if self._llm is None or not is_risky(proposal.action, context):
            return CriticVerdict(True)
        try:
            question = prompt_for(proposal, context)
            answer = self._llm.complete(question, role=Role.CRITIC, response_model=CriticAnswer).parsed
            assert isinstance(answer, CriticAnswer)
        except LLMError as error:
            self._count_failure(error)
            return CriticVerdict(True)
        score = answer.score if math.isfinite(answer.score) else 0.0
        return CriticVerdict(score >= self._threshold, answer.reason, "model", score)

    def _count_failure(self, error: LLMError) -> None:
        self.failures += 1
        if self.failures == 1:
            log.warning("critic's model failed, the action was not judged", extra={"problem": str(error)})


def is_risky(action: str, context: PlayerContext) -> bool:
    """Return whether an action failed here before, leads into a known danger, or may destroy something.

    Based on earlier turns: actions without effect and deaths at this place, remembered dangers that may still exist,
    and verbs that destroyed things in this episode. A way is not risky if the danger at its end is another action.
    """
    action, way = normalized_action(action), exit_name(action)
    if action in map(normalized_action, (*context.failed_here, *context.deadly_here)):
        return True
    if any(each.deadly and each.way == way for each in context.exits):
        return True
    for danger in context.dangers:
        is_next = danger.way == way and danger.steps == 1 and not danger.now
        if is_next and normalized_action(danger.memory.action) in ("", action):
            return True
    return action.partition(" ")[0] in context.destructive_verbs


def prompt_for(proposal: AgentDecision, context: PlayerContext) -> list[Message]:
    """Return the prompt, with less of the episode so far and the present state than the player's."""
    prompt = render(
        "critic",
        sections=prompt_sections(CRITIC, context, CRITIC_BUDGETS),
        action=sentences(proposal.action, PROPOSAL_TOKENS[0]),
        reasons=sentences(proposal.reasoning, PROPOSAL_TOKENS[1], end=1),
    )
    return [Message("system", prompt.system), Message("user", prompt.user)]
