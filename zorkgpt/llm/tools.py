"""Tools that a model may call before it answers."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from zorkgpt.bounded import MODEL_ANSWER, parse_json
from zorkgpt.errors import InvalidAnswer, OutOfBounds
from zorkgpt.llm.messages import ToolCall
from zorkgpt.llm.structured import described, json_schema, valid_objects

_CHARACTERS_PER_TOKEN = 3
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool offered to a model."""

    name: str
    description: str
    arguments: type[BaseModel]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools offered with a question."""

    tools: tuple[Tool, ...]
    instruction: str
    """Appended to the system message if the tools are offered."""
    min_context: int
    """Minimum context length in tokens of models that are offered the tools."""

    def fits(self, context_length: int | None) -> bool:
        """Return whether to offer the tools to a model with this context length. True if it is unknown."""
        return context_length is None or context_length >= self.min_context

    def specifications(self) -> list[dict[str, Any]]:
        """Return the tools in the format of the chat-completions API."""
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
        """Estimated tokens of the tools in the prompt."""
        return (len(json.dumps(self.specifications())) + len(self.instruction)) // _CHARACTERS_PER_TOKEN

    def arguments_of(self, call: ToolCall) -> BaseModel:
        """Return the arguments of a call.

        Raises:
            InvalidAnswer: If there is no such tool, or the arguments are invalid. The message is for the model.
        """
        tool = next((each for each in self.tools if each.name == call.name), None)
        if tool is None:
            names = ", ".join(each.name for each in self.tools)
            raise InvalidAnswer(f"There is no tool {call.name[:50]!r}. The tools are: {names}.")
        try:
            arguments = parse_json(call.arguments or "{}", MODEL_ANSWER, lenient=True)
        except OutOfBounds:
            raise InvalidAnswer(f"The arguments of {tool.name} are not a JSON object.") from None
        try:
            return tool.arguments.model_validate(arguments)
        except ValidationError as error:
            raise InvalidAnswer(f"The arguments of {tool.name} are wrong: {described(error)}.") from None


def written_calls(text: str, toolbox: Toolbox) -> tuple[ToolCall, ...]:
    """Return tool calls written as text: `{"name": ..., "arguments": {...}}`, or `name("...")` on its own line.

    Servers leave calls in the text if they don't know the model's format.
    """
    parameters = {tool.name: list(tool.arguments.model_fields) for tool in toolbox.tools}
    calls = list(_objects(text, parameters)) or list(_lines(text, parameters))
    return tuple(ToolCall("", name, json.dumps(arguments)) for name, arguments in calls)


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
                arguments = dict(zip(parameters[name], map(ast.literal_eval, expression.args), strict=False))
                arguments |= {each.arg or "": ast.literal_eval(each.value) for each in expression.keywords}
                yield name, arguments
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
