"""A model that gives the answers it was given: for tests, examples and replays."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from zorkgpt.errors import LLMError
from zorkgpt.llm.messages import Answer, Completion, Message, Role
from zorkgpt.llm.reasoning import split_reasoning
from zorkgpt.llm.structured import ask_for

Script = str | dict | BaseModel | Exception
"""One answer: text, an object to be sent as JSON, or an error to raise."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One question that was asked."""

    role: Role
    messages: tuple[Message, ...]

    @property
    def prompt(self) -> str:
        """All that was said, in one text."""
        return "\n\n".join(message.content for message in self.messages)


class ScriptedLLM:
    """Answers in order: one list for all roles, a list for each, or a function of messages and role.

    An answer is read as a real model's would be: reasoning is split off, and after one that does not fit the form
    the next one is taken.
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
            self._next = lambda messages, role: self._take(by_role.get(role, iter(())), role)
        else:
            script = iter(answers)
            self._next = lambda messages, role: self._take(script, role)

    def complete(
        self, messages: list[Message], *, role: Role, response_model: type[Answer] | None = None
    ) -> Completion:
        def ask(question: list[Message]) -> Completion:
            return self._answer(question, role)

        return ask(messages) if response_model is None else ask_for(ask, messages, response_model)

    def _answer(self, messages: list[Message], role: Role) -> Completion:
        self.calls.append(ScriptedCall(role, tuple(messages)))
        answer = self._next(messages, role)
        if isinstance(answer, Exception):
            raise answer
        content, reasoning = split_reasoning(_as_text(answer))
        return Completion(content, reasoning=reasoning)

    def _take(self, script: Iterable[Script], role: Role) -> Script:
        for answer in script:
            return answer
        asked = sum(call.role == role for call in self.calls)
        raise LLMError(f"The script has no answer left for the role {role!r}: this is question {asked} to it.")


def _as_text(answer: str | dict | BaseModel) -> str:
    if isinstance(answer, BaseModel):
        return answer.model_dump_json()
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
