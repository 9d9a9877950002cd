"""Which model answers for which role, where, how it samples, and what it may cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.messages import ROLES, Role


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """The model of one role. What is None is left out of the request, so that the server's own default holds."""

    model: str
    base_url: str | None = None
    """None: the common one of `LLMSettings`."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    """The longest answer, reasoning included. One that was cut here is asked for once more with four times as many."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in the currency that `max_cost` is meant in."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """Everything that `LLMClient` needs to know."""

    roles: Mapping[Role, RoleSettings]
    base_url: str | None = None
    """None: `OPENAI_BASE_URL`, or the API of OpenAI."""
    api_key: SecretStr | str | None = field(default=None, repr=False)
    """None: `OPENAI_API_KEY`, or no key where the server is another than OpenAI's."""
    timeout_s: float = 120.0
    """The longest silence of the server in one attempt."""
    deadline_s: float = 600.0
    """The longest that one call may take, with its retries; a server that sends a byte a minute ends here."""
    max_retries: int = 2
    """Further attempts of one call after a failure of transport, by the SDK."""
    max_failures: int = 5
    """Failed calls in a row after which a model counts as unreachable."""
    max_tokens: int | None = None
    """The ceiling over all roles and calls, prompts and answers together."""
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By model name, `*` and `?` allowed; the first that matches counts, and after these `LIST_PRICES`."""

    def __post_init__(self) -> None:
        if isinstance(self.api_key, str):
            object.__setattr__(self, "api_key", SecretStr(self.api_key))

    @classmethod
    def single(cls, model: str | RoleSettings, **fields) -> "LLMSettings":
        """The same model for every role; `fields` are those of this class."""
        role = RoleSettings(model) if isinstance(model, str) else model
        return cls(roles=dict.fromkeys(ROLES, role), **fields)

    def of(self, role: Role) -> RoleSettings:
        """The model that answers for this role.

        Raises:
            ConfigurationError: none is configured for it.
        """
        if role not in self.roles:
            known = ", ".join(self.roles) or "none"
            raise ConfigurationError(f"No model is configured for the role {role!r} (configured: {known}).")
        return self.roles[role]
