"""What goes to a language model and what comes back."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from pydantic import BaseModel

Role = Literal["agent", "critic", "extractor", "memory", "objectives", "knowledge", "summary"]
ROLES: tuple[Role, ...] = ("agent", "critic", "extractor", "memory", "objectives", "knowledge", "summary")

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    speaker: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None where the server did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer: the text with its reasoning taken out, and the typed value where one was asked for."""

    content: str
    parsed: BaseModel | None = None
    usage: Usage = field(default_factory=Usage)
    reasoning: str = ""
    truncated: bool = False
    """The answer was cut at the limit of its length."""


class LLM(Protocol):
    """Anything that answers a chat."""

    def complete(
        self, messages: list[Message], *, role: Role, response_model: type[Answer] | None = None
    ) -> Completion:
        """Ask the model that serves this role.

        With `response_model`, `parsed` is an instance of it.

        Raises:
            LLMError: no usable answer, after the retries that make sense.
        """
        ...
