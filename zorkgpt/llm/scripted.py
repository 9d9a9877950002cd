"""Models without a server: prepared answers, for tests and examples, and those of a recorded run."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from zorkgpt.errors import LLMError, LLMUnreachable
from zorkgpt.llm.cleaning import split_reasoning
from zorkgpt.llm.messages import Answer, Completion, Message
from zorkgpt.llm.roles import Role
from zorkgpt.llm.structured import ask_for, with_form
from zorkgpt.llm.tools import Toolbox
from zorkgpt.llm.usage import CallRecord

Script = str | dict[str, Any] | BaseModel | Exception
"""One answer: text, an object that is sent as JSON, or an error to raise."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One request to a `ScriptedLLM`."""

    role: Role
    messages: tuple[Message, ...]

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n\n".join(message.content for message in self.messages)


class ScriptedLLM:
    """An `LLM` with prepared answers: one list for all roles, a list per role, or a function of messages and role.

    Answers are parsed like those of a real model: reasoning is split off, and after an invalid answer the question is
    asked again.
    """

    def __init__(
        self,
        answers: Iterable[Script] | Mapping[Role, Iterable[Script]] | Callable[[list[Message], Role], Script],
    ) -> None:
        self.calls: list[ScriptedCall] = []
        if callable(answers):
            self._next = answers
        elif isinstance(answers, Mapping):
            by_role = {role: iter(script) for role, script in answers.items()}
            self._next = lambda messages, role: self._next_script(by_role.get(role, iter(())), role)
        else:
            script = iter(answers)
            self._next = lambda messages, role: self._next_script(script, role)

    def complete(
        self,
        messages: list[Message],
        *,
        role: Role,
        response_model: type[Answer] | None = None,
        tools: Toolbox | None = None,
    ) -> Completion:
        """Return the next answer. Calls of `tools` are read from its text.

        Raises:
            LLMError: If there is no answer left for this role.
            InvalidAnswer: If two answers in a row don't match `response_model`.
        """
        return ask_for(lambda question: self._answer(question, role, response_model), messages, response_model)

    def _answer(self, messages: list[Message], role: Role, response_model: type[BaseModel] | None) -> Completion:
        messages = with_form(messages, response_model) if response_model else messages
        self.calls.append(ScriptedCall(role, tuple(messages)))
        answer = self._next(messages, role)
        if isinstance(answer, Exception):
            raise answer
        content, reasoning = split_reasoning(_as_text(answer))
        return Completion(content, reasoning=reasoning)

    def _next_script(self, script: Iterable[Script], role: Role) -> Script:
        for answer in script:
            return answer
        asked = sum(call.role == role for call in self.calls)
        raise LLMError(f"The script has no answer to question {asked} of the role {str(role)!r}.")


def _as_text(answer: str | dict[str, Any] | BaseModel) -> str:
    if isinstance(answer, BaseModel):
        return answer.model_dump_json()
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


class RecordedLLM(ScriptedLLM):
    """An `LLM` that replays recorded answers with their tool calls, without a server.

    A question that was not recorded raises `LLMUnreachable`.

    Args:
        calls: The calls of the recorded run, oldest first. Failed calls are ignored.
    """

    def __init__(self, calls: Iterable[CallRecord]) -> None:
        super().__init__(())
        self._calls: dict[tuple[str, tuple[Message, ...]], deque[CallRecord]] = {}
        for call in calls:
            if call.error is None:
                self._calls.setdefault(_key(call.role, call.messages), deque()).append(call)

    def _answer(self, messages: list[Message], role: Role, response_model: type[BaseModel] | None) -> Completion:
        calls = self._calls.get(_key(role, messages))
        if not calls:
            raise LLMUnreachable(
                f"The recording has no answer to this question of the role {str(role)!r}. Replay a run with the same "
                "version of zorkgpt, story, seed, settings and number of turns."
            )
        call = calls.popleft()
        while calls and (call.truncated or not (call.answer or call.tool_calls)):
            # The client repeated the question immediately.
            call = calls.popleft()
        return Completion(
            call.answer, None, call.usage, call.reasoning, call.truncated, call.context_length, call.tool_calls
        )


def _key(role: str, messages: Sequence[Message]) -> tuple[str, tuple[Message, ...]]:
    """Return the key of a recorded question.

    Tool results are left out, because they depend on whether embeddings were ready.
    """
    return role, tuple(replace(each, content="") if each.speaker == "tool" else each for each in messages)
