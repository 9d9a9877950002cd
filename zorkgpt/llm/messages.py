"""The messages of a chat, and its completion."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

Answer = TypeVar("Answer", bound="BaseModel")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call in a model's answer."""

    id: str
    name: str
    arguments: str
    """The JSON text that the model wrote. It may be invalid."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    speaker: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """The tool calls of an assistant message."""
    tool_call_id: str = ""
    """The call that a tool message answers."""
    reasoning: str = ""
    """The reasoning before the calls. Some servers require it together with the results."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call. None if unknown."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens that the server had cached."""
    is_estimated: bool = False
    """Whether the server reported no usage, so that the numbers are estimates."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer without its reasoning, and the typed value if one was requested."""

    content: str
    parsed: "BaseModel | None" = None
    usage: Usage = field(default_factory=Usage)
    reasoning: str = ""
    truncated: bool = False
    """Whether the answer was cut off at `max_tokens`."""
    context_length: int | None = None
    """Maximum tokens of prompt and answer together. None if unknown."""
    tool_calls: tuple[ToolCall, ...] = ()
    problem: str | None = None
    """Why it is not understood, or what the server sent instead. None if it is understood."""
    clipped: int = 0
    """The numbers that were outside of their bounds."""
    in_reasoning: bool = False
    """Whether the server sent the whole answer as reasoning."""
    limit: int | None = None
    """The limit of its tokens that was sent. None if none was."""

    @property
    def is_empty(self) -> bool:
        """Whether there is neither an answer nor a tool call."""
        return not (self.content or self.tool_calls)

    @property
    def tokens_at_early_end(self) -> int | None:
        """The tokens of an answer that was cut off below its limit. None if it wasn't, or if unknown."""
        tokens = self.usage.completion_tokens
        if not self.truncated or self.limit is None or tokens is None or self.usage.is_estimated:
            return None
        return tokens if tokens < self.limit - 1 else None
