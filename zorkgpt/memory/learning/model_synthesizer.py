"""Asking a model what a turn teaches."""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from zorkgpt.errors import InvalidAnswer
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.llm.structured import form_of
from zorkgpt.log import get_logger
from zorkgpt.memory.learning.synthesis import RecentTurn, SynthesisRequest
from zorkgpt.memory.learning.wording import facts_in_words, signals, things_in_words
from zorkgpt.memory.models import Memory, MemorySynthesisResponse
from zorkgpt.memory.recall.retrieval import estimated_tokens
from zorkgpt.prompts.render import render

log = get_logger(__name__)

_CONTENT = ("category", "memory_title", "memory_text", "persistence", "status", "also")
_LONGEST_TITLE = 120
_LONGEST_TEXT = 600
_SENTENCE_END = re.compile(r"[.!?][\"'”’)]*(?=\s)")
_MOST_RECALLED = 20
_MOST_MEMORY_TOKENS = 1200
"""Of a place's memories: four times what the player is shown of it, since what is known must not be learned again."""
_LONGEST_PAST_RESPONSE = 600
_LONGEST_PAST_REASONING = 300


class SynthesisAnswer(MemorySynthesisResponse):
    """The form that the model fills in: the response, with limits on length, and what is plainly meant understood."""

    memory_title: str | None = Field(
        None,
        max_length=_LONGEST_TITLE,
        description=f"3 to 8 words that name the fact, {_LONGEST_TITLE} letters at most",
    )
    memory_text: str | None = Field(
        None,
        max_length=_LONGEST_TEXT,
        description=f"the fact, in one or two sentences, {_LONGEST_TEXT} letters at most",
    )
    status: Literal["ACTIVE", "TENTATIVE"] = "ACTIVE"

    @model_validator(mode="before")
    @classmethod
    def _meant(cls, answer: Any) -> Any:
        if not isinstance(answer, dict):
            return answer
        meant = _plainly_meant(answer)
        if isinstance(meant.get("also"), list):
            meant["also"] = [_plainly_meant(one) if isinstance(one, dict) else one for one in meant["also"]]
        # Without something to remember, whatever stands in its fields says nothing.
        unused = _CONTENT if meant.get("should_remember") in (False, "false", "False") else ()
        return {name: value for name, value in meant.items() if name not in unused}


def _plainly_meant(answer: dict[str, Any]) -> dict[str, Any]:
    meant = {name: value for name, value in answer.items() if value is not None}
    for name, case in (("category", str.upper), ("status", str.upper), ("persistence", str.lower)):
        if isinstance(meant.get(name), str):
            meant[name] = case(meant[name].strip())
    if meant.get("place") not in ("action", "arrival"):
        meant.pop("place", None)
    text = meant.get("memory_text")
    if isinstance(text, str) and len(text.strip()) > _LONGEST_TEXT and (cut := _whole_sentences(text.strip())):
        meant["memory_text"] = cut
    return meant


def _whole_sentences(text: str) -> str:
    """As many of the first sentences as fit; "" where not even the first one does, so that it is asked for again."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, _LONGEST_TEXT)]
    return text[: ends[-1]].rstrip() if ends else ""


class ModelSynthesizer:
    """Asks the model of the role `memory`, with everything that is known of the turn."""

    asks_a_model = True

    def __init__(self, llm: LLM, *, history_window: int = 3) -> None:
        """
        Args:
            history_window: turns before this one that the model sees.
        """
        self._llm = llm
        self._history_window = history_window

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse | None:
        """What the model says; None if neither of two answers could be read.

        Raises:
            LLMError: the model could not be asked.
        """
        messages = prompt_for(request, history_window=self._history_window)
        try:
            completion = self._llm.complete(messages, role=Role.MEMORY, response_model=SynthesisAnswer)
        except InvalidAnswer as error:
            log.warning("memory synthesis skipped", extra={"location_id": request.location_id, "problem": str(error)})
            return None
        return MemorySynthesisResponse.model_validate(completion.parsed.model_dump())


def prompt_for(request: SynthesisRequest, *, history_window: int) -> list[Message]:
    """The question to the model."""
    past = request.history[-history_window:] if history_window > 0 else ()
    prompt = render(
        "memory_synthesis",
        request=request,
        facts=facts_in_words(request),
        things=things_in_words(request),
        signals=signals(request),
        memories=_memories(request.memories),
        history="\n".join(_past(turn) for turn in past),
        recalled="\n".join(_recalled(request)),
        form=form_of(SynthesisAnswer),
    )
    return [Message("system", prompt.system), Message("user", prompt.user)]


def _memories(memories: Sequence[Memory]) -> str:
    """Those that were made last, as many as fit, in their order, and how many there are beside them."""
    lines, spare = [], _MOST_MEMORY_TOKENS
    for memory in reversed(memories):
        line = _memory(memory)
        spare -= estimated_tokens(f"{line}\n")
        if spare < 0:
            lines.append(f"({len(memories) - len(lines)} older ones left out)")
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def _memory(memory: Memory) -> str:
    # As JSON, so that the title that comes back can be the title that was sent.
    return _line(
        title=memory.title,
        text=memory.text,
        category=memory.category,
        persistence=memory.persistence,
        status=memory.status,
        action=memory.action,
        holds_when="; ".join(claim.in_words() for claim in memory.when),
    )


def _recalled(request: SynthesisRequest) -> list[str]:
    here = {memory.title for memory in request.memories}
    return [title for title in request.recalled if title not in here][-_MOST_RECALLED:]


def _past(turn: RecentTurn) -> str:
    return _line(
        turn=turn.turn,
        place=turn.location_name,
        action=turn.action,
        response=turn.response[:_LONGEST_PAST_RESPONSE],
        reasoning=turn.reasoning[:_LONGEST_PAST_REASONING],
    )


def _line(**values: Any) -> str:
    return json.dumps({name: value for name, value in values.items() if value not in ("", 0)}, ensure_ascii=False)
