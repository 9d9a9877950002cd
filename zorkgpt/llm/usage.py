"""Token usage and cost of model calls, by role and episode, and the ceilings on both."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from threading import RLock
from typing import Any

from zorkgpt.errors import BudgetExceeded, ConfigurationError
from zorkgpt.llm.messages import Message, ToolCall, Usage
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings, Price

# English has about four characters per token. A lower number makes the estimates rather too high than too low.
_CHARACTERS_PER_TOKEN = 3
_LEAST_CALLS = 6
"""Calls of a role before its answers can count as useless."""
_USELESS = 0.75


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One request to a model with its answer or error."""

    role: Role
    model: str
    messages: tuple[Message, ...]
    answer: str
    reasoning: str
    prompt_tokens: int | None
    """None if the request failed."""
    completion_tokens: int | None
    cost: float | None
    """None if the price is unknown."""
    latency_s: float
    error: str | None = None
    cached_tokens: int | None = None
    """Prompt tokens that the server had cached. None if not reported."""
    truncated: bool = False
    """Whether the answer was cut off at the token limit."""
    context_length: int | None = None
    """The context length of the model. None if unknown."""
    tool_calls: tuple[ToolCall, ...] = ()
    is_estimated: bool = False
    """Whether the numbers of tokens are estimates, because the server did not report usage."""
    problem: str | None = None
    """Why the answer was not understood. None if it was, or there is none."""
    clipped: int = 0
    """The numbers of the answer that were outside of their bounds and were clipped."""
    repeats: int = 0
    """How often the request was sent again after a time-out or another failure."""

    @property
    def usage(self) -> Usage:
        return Usage(self.prompt_tokens, self.completion_tokens, self.cached_tokens, self.is_estimated)


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over several calls."""

    calls: int = 0
    failed: int = 0
    estimated: int = 0
    """Calls for which the server did not report usage, so that their tokens are estimates."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unpriced: int = 0
    """Calls of unknown cost, which are not part of `cost`."""
    cost: float = 0.0
    latency_s: float = 0.0
    cached_tokens: int = 0
    """The part of `prompt_tokens` that servers had cached. `cost` includes them at the full price."""
    repeated: int = 0
    """Requests that were sent again after a time-out or another failure."""
    not_understood: int = 0
    """Answers that don't have the requested form, or name no command."""
    clipped: int = 0
    """Used answers with numbers outside of their bounds, which were clipped."""
    refused: int = 0
    """Answers that were understood and refused, such as a command that the story doesn't know."""

    @property
    def tokens(self) -> int:
        """The prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def whole_cost(self) -> float | None:
        """The cost of all calls. None if that of one is unknown."""
        return None if self.unpriced else self.cost

    @property
    def used(self) -> int:
        """The answers that were understood and not refused."""
        return self.calls - self.failed - self.not_understood - self.refused

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> "Tally":
        """Return the counts with the names of fields in a log or a summary. Missing ones are 0."""
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})

    @classmethod
    def of(cls, call: CallRecord) -> "Tally":
        """Return the counts of a single call."""
        answered = call.error is None
        return cls(
            calls=1,
            failed=int(not answered),
            estimated=int(call.is_estimated),
            prompt_tokens=call.usage.prompt_tokens or 0,
            completion_tokens=call.usage.completion_tokens or 0,
            unpriced=int(answered and call.cost is None),
            cost=call.cost or 0.0,
            latency_s=call.latency_s,
            cached_tokens=call.cached_tokens or 0,
            repeated=call.repeats,
            clipped=int(call.clipped > 0),
            not_understood=int(answered and call.problem is not None),
        )


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the first price whose pattern matches the model's name. None if there is none."""
    return next((price for pattern, price in prices.items() if fnmatchcase(model, pattern)), None)


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """Return the cost of a call. None if its price or its tokens are unknown."""
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return (usage.prompt_tokens * price.prompt + usage.completion_tokens * price.completion) / 1e6


def estimated(messages: list[Message], answer: str) -> Usage:
    """Return a conservative estimate of the usage of a call, for servers that don't report it."""
    prompt = sum(len(message.content) for message in messages)
    return Usage(prompt // _CHARACTERS_PER_TOKEN + 1, len(answer) // _CHARACTERS_PER_TOKEN + 1, is_estimated=True)


def is_useless(calls: int, useless: int) -> bool:
    """Return whether the answers to these calls are mostly useless: failed or not understood."""
    return calls >= _LEAST_CALLS and useless >= calls * _USELESS


def useless_answers(role: Role, calls: int, useless: int) -> str:
    """Return a sentence about a role whose answers are mostly useless, or "" if they aren't."""
    if not is_useless(calls, useless):
        return ""
    return (
        f"The model gives no usable answers in the role {str(role)!r}: {useless} of {calls} failed or were not "
        f"understood. Choose another {role.settings[0]}_model."
    )


@dataclass
class Ledger:
    """The usage of all calls. It enforces the ceilings on tokens and cost, and is thread-safe."""

    settings: LLMSettings
    episode: str = ""
    """The running episode, to which calls are assigned."""
    lock: RLock = field(default_factory=RLock, repr=False, compare=False)
    """Held while a call is counted and logged."""
    _tallies: dict[tuple[str, Role], Tally] = field(default_factory=dict)
    _spent_tokens: int = 0
    _spent_cost: float = 0.0

    def __post_init__(self) -> None:
        if self.settings.max_cost is None:
            return
        models = sorted({role.model for role in self.settings.roles.values()})
        unpriced = [model for model in models if price_of(model, self.settings.prices) is None]
        if unpriced:
            raise ConfigurationError(
                f"A ceiling on cost (max_cost={self.settings.max_cost}) needs the price of every model. The price of "
                f"{', '.join(unpriced)} is unknown. Add it to the prices "
                "([tool.zorkgpt.llm.prices] in pyproject.toml), or set max_tokens instead."
            )

    def check_ceiling(self) -> None:
        """Raise an error if a ceiling is reached.

        Raises:
            BudgetExceeded: If the ceiling on tokens or cost is reached.
        """
        max_tokens, max_cost = self.settings.max_tokens, self.settings.max_cost
        if max_tokens is not None and self._spent_tokens >= max_tokens:
            raise BudgetExceeded(f"The ceiling of {max_tokens} tokens is reached: {self._spent_tokens} were used.")
        if max_cost is not None and self._spent_cost >= max_cost:
            raise BudgetExceeded(f"The ceiling of {max_cost} on cost is reached: {self._spent_cost:.4f} was spent.")

    @property
    def spent(self) -> tuple[int, float]:
        """The tokens and the cost of all calls."""
        return self._spent_tokens, self._spent_cost

    def begin(self, episode: str) -> None:
        """Assign the following calls to an episode that has none yet."""
        with self.lock:
            self.episode = episode
            self._tallies = {key: tally for key, tally in self._tallies.items() if key[0] != episode}

    def add(self, call: CallRecord, *, episode: str | None = None) -> None:
        """Count a call.

        Args:
            episode: Defaults to the running one.
        """
        key = (self.episode if episode is None else episode, call.role)
        with self.lock:
            self._tallies[key] = self._tallies.get(key, Tally()) + Tally.of(call)
            if call.error is None:
                self._spent_tokens += (call.prompt_tokens or 0) + (call.completion_tokens or 0)
                self._spent_cost += cost_of(call.usage, price_of(call.model, self.settings.prices)) or 0.0

    def add_refused(self, role: Role, answers: int) -> None:
        """Count answers of the running episode that were understood and refused."""
        with self.lock:
            key = (self.episode, role)
            self._tallies[key] = self._tallies.get(key, Tally()) + Tally(refused=answers)

    def add_spent(self, tokens: int, cost: float) -> None:
        """Count usage outside of episodes against the ceilings."""
        self._spent_tokens += tokens
        self._spent_cost += cost

    def of_episode(self, episode: str) -> dict[str, Tally]:
        """Return the sums of one episode by role."""
        with self.lock:
            return {role: tally for (played, role), tally in self._tallies.items() if played == episode}

    @property
    def total(self) -> Tally:
        """The sums of all calls."""
        with self.lock:
            return sum(self._tallies.values(), Tally())
