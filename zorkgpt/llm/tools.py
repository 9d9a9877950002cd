"""Tools that a model may call before it answers: what it is offered, and what it calls."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ValidationError

from zorkgpt.bounded import MODEL_ANSWER, parse_json
from zorkgpt.errors import InvalidAnswer, OutOfBounds
from zorkgpt.llm.messages import Completion, Message, ToolCall
from zorkgpt.llm.roles import Role
from zorkgpt.llm.structured import described, json_schema, valid_objects

_CHARACTERS_PER_TOKEN = 3
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is offered to a model."""

    name: str
    description: str
    arguments: type[BaseModel]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools that are offered with a question."""

    tools: tuple[Tool, ...]
    instruction: str
    """Put at the end of the system message, if the tools are offered."""
    least_context: int
    """The context in tokens that a model needs to be offered the tools."""

    def fits(self, context_length: int | None) -> bool:
        """Return whether the tools are offered to a model with this context; True if it is unknown."""
        return context_length is None or context_length >= self.least_context

    def specifications(self) -> list[dict[str, Any]]:
        """Return the tools as the chat-completions API takes them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": json_schema(tool.arguments),
                },
            }
            for tool in self.tools
        ]

    @property
    def tokens(self) -> int:
        """About how many tokens of the prompt the tools take."""
        return (len(json.dumps(self.specifications())) + len(self.instruction)) // _CHARACTERS_PER_TOKEN

    def arguments_of(self, call: ToolCall) -> BaseModel:
        """Return the arguments of a call.

        Raises:
            InvalidAnswer: If there is no such tool, or the arguments don't fit. The message is for the model.
        """
        tool = next((each for each in self.tools if each.name == call.name), None)
        if tool is None:
            names = ", ".join(each.name for each in self.tools)
            raise InvalidAnswer(f"There is no tool {call.name[:50]!r}. The tools are: {names}.")
        try:
            given = parse_json(call.arguments or "{}", MODEL_ANSWER, lenient=True)
        except OutOfBounds:
            raise InvalidAnswer(f"The arguments of {tool.name} are not a JSON object.") from None
        try:
            return tool.arguments.model_validate(given)
        except ValidationError as error:
            raise InvalidAnswer(f"The arguments of {tool.name} are wrong: {described(error)}.") from None


@runtime_checkable
class ToolCaller(Protocol):
    """A model that can be offered tools."""

    def complete_with_tools(self, messages: list[Message], *, role: Role, toolbox: Toolbox) -> Completion:
        """Ask the model that serves this role. It answers, or calls tools, or both.

        Raises:
            LLMError: If there is no usable answer after the retries.
        """
        ...


def written_calls(text: str, toolbox: Toolbox) -> tuple[ToolCall, ...]:
    """Return the calls that a model wrote as text: `{"name": ..., "arguments": {...}}`, or `name("...")` on a line.

    Servers leave them in the text if they don't know the model's own form.
    """
    parameters = {tool.name: list(tool.arguments.model_fields) for tool in toolbox.tools}
    found = list(_objects(text, parameters)) or list(_lines(text, parameters))
    return tuple(ToolCall("", name, json.dumps(arguments)) for name, arguments in found)


def _objects(text: str, parameters: dict[str, list[str]]) -> Iterator[tuple[str, Any]]:
    for value in valid_objects(text):
        name = value.get("name")
        if isinstance(name, str) and name in parameters:
            yield name, value.get("arguments", value.get("parameters", {}))


def _lines(text: str, parameters: dict[str, list[str]]) -> Iterator[tuple[str, Any]]:
    call = re.compile(rf"[\W_]*((?:{'|'.join(parameters)})\(.*\))\W*")
    for line in text.splitlines():
        match = call.fullmatch(line) if len(line) <= _LONGEST_LINE else None
        if match is None:
            continue
        try:
            expression = ast.parse(match[1], mode="eval").body
            if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
                name = expression.func.id
                given = dict(zip(parameters[name], map(ast.literal_eval, expression.args), strict=False))
                given |= {each.arg or "": ast.literal_eval(each.value) for each in expression.keywords}
                yield name, given
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
