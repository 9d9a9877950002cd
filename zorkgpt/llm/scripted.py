"""A model that gives prepared answers, for tests, examples and replays."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from zorkgpt.errors import LLMError
from zorkgpt.llm.cleaning import split_reasoning
from zorkgpt.llm.messages import Answer, Completion, Message
from zorkgpt.llm.roles import Role
from zorkgpt.llm.structured import ask_for, with_form
from zorkgpt.llm.tools import Toolbox

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
        return ask_for(
            lambda question: self._answer(with_form(question, response_model) if response_model else question, role),
            messages,
            response_model,
        )

    def _answer(self, messages: list[Message], role: Role) -> Completion:
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
