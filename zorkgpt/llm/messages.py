"""The messages of a chat, the completion that answers them, and the protocol of a model."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from zorkgpt.llm.roles import Role

if TYPE_CHECKING:
    from pydantic import BaseModel

Answer = TypeVar("Answer", bound="BaseModel")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool in a model's answer."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: a JSON object, unless the model made a mistake."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    speaker: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """The calls in an answer of the assistant."""
    tool_call_id: str = ""
    """The call that a tool answers."""
    reasoning: str = ""
    """The reasoning that led to the calls. Some servers require it when they get the results."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call; None where the server did not report them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Those of the prompt that the server had in its cache."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer without its reasoning, and the typed value where one was asked for."""

    content: str
    parsed: "BaseModel | None" = None
    usage: Usage = field(default_factory=Usage)
    reasoning: str = ""
    truncated: bool = False
    """Whether the answer was cut off at `max_tokens`."""
    context_length: int | None = None
    """The tokens that the model takes for prompt and answer together; None if its server did not report it."""
    tool_calls: tuple[ToolCall, ...] = ()


class LLM(Protocol):
    """Anything that completes a chat."""

    def complete(
        self, messages: list[Message], *, role: Role, response_model: type[Answer] | None = None
    ) -> Completion:
        """Ask the model that serves this role.

        With a `response_model`, `parsed` is an instance of it.

        Raises:
            LLMError: If there is no usable answer after the retries.
        """
        ...
