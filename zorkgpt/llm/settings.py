"""Settings of the model client: model, server and sampling for each role, limits and prices."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, SecretStr

from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.roles import Role


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """The model of one role. A parameter that is None is not sent, so the server's default applies."""

    model: str
    base_url: str | None = None
    """Defaults to the URL in `LLMSettings`."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    """Limit of an answer, including reasoning. If reasoning or a typed answer needs more, it is four times as long."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in the currency of `max_cost`."""

    prompt: Annotated[float, Field(ge=0)]
    completion: Annotated[float, Field(ge=0)]
    """Including reasoning."""


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """The settings of an `LLMClient`."""

    roles: Mapping[Role, RoleSettings]
    base_url: str | None = None
    """Defaults to `OPENAI_BASE_URL`, or else to the API of OpenAI."""
    api_key: SecretStr | str | None = field(default=None, repr=False)
    """Defaults to `OPENAI_API_KEY`. If that is unset too, a placeholder is sent, which servers without keys ignore."""
    timeout_s: float = 120.0
    """Read timeout of one attempt."""
    deadline_s: float = 600.0
    """Limit of a whole call including its retries. It also ends calls to servers that send a byte per minute."""
    max_retries: int = 2
    """Repetitions of a request after a time-out, a lost connection or an error of the server."""
    loading_wait_s: float = 60.0
    """Maximum wait for a server that is loading its model."""
    rate_limit_wait_s: float = 120.0
    """Maximum wait that a server may ask for because of a rate limit."""
    max_failures: int = 5
    """Consecutive failed calls after which a model is considered unreachable."""
    retry_delay_s: float = 0.5
    """Delay before the call that follows a failed one. Doubles with each consecutive failure, up to 8 s."""
    max_tokens: int | None = None
    """Ceiling of prompt and completion tokens over all roles and calls."""
    max_cost: float | None = None
    """Ceiling of the cost over all roles and calls."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By model name, with wildcards `*` and `?`. The first match is used."""

    def __post_init__(self) -> None:
        if isinstance(self.api_key, str):
            object.__setattr__(self, "api_key", SecretStr(self.api_key))

    @classmethod
    def single(cls, model: str | RoleSettings, **fields: Any) -> "LLMSettings":
        """Return settings with the same model for every role. `fields` are the other fields of this class."""
        role = RoleSettings(model) if isinstance(model, str) else model
        return cls(roles=dict.fromkeys(Role, role), **fields)

    def of(self, role: Role) -> RoleSettings:
        """Return the model settings of a role.

        Raises:
            ConfigurationError: If the role has no model.
        """
        if role not in self.roles:
            configured = ", ".join(self.roles) or "none"
            raise ConfigurationError(f"No model is configured for the role {str(role)!r} (configured: {configured}).")
        return self.roles[role]
