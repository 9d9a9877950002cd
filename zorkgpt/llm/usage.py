"""What was asked, what it took and what it cost, by role and episode, under a ceiling."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

from zorkgpt.errors import BudgetExceeded, ConfigurationError
from zorkgpt.llm.messages import Message, Role, Usage
from zorkgpt.llm.prices import LIST_PRICES
from zorkgpt.llm.settings import LLMSettings, Price

# Where a server does not say how many tokens it read and wrote, the ceiling counts more of them than there
# usually are: English has about four characters to one.
_CHARACTERS_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One request to a model and its end, for whoever keeps a log of them."""

    role: Role
    model: str
    messages: tuple[Message, ...]
    answer: str
    reasoning: str
    usage: Usage
    cost: float | None
    """None: no price is known for the model, or the server did not count."""
    latency_s: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over some calls."""

    calls: int = 0
    failed: int = 0
    uncounted: int = 0
    """Calls of which the server did not tell the tokens."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unpriced: int = 0
    """Calls whose cost is not known; `cost` is without them."""
    cost: float = 0.0
    latency_s: float = 0.0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @classmethod
    def of(cls, call: CallRecord) -> "Tally":
        counted = call.usage.prompt_tokens is not None and call.usage.completion_tokens is not None
        answered = call.error is None
        return cls(
            calls=1,
            failed=int(not answered),
            uncounted=int(answered and not counted),
            prompt_tokens=call.usage.prompt_tokens or 0,
            completion_tokens=call.usage.completion_tokens or 0,
            unpriced=int(answered and call.cost is None),
            cost=call.cost or 0.0,
            latency_s=call.latency_s,
        )


@dataclass(frozen=True, slots=True)
class UsageSnapshot:
    """The sums at one moment."""

    total: Tally
    by_role: Mapping[str, Tally]
    by_episode: Mapping[str, Tally]

    def as_dict(self) -> dict:
        return asdict(self)


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The first price whose pattern fits the model's name, these before the list prices; None if none does."""
    known = chain(prices.items(), LIST_PRICES.items())
    return next((price for pattern, price in known if fnmatchcase(model, pattern)), None)


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """What these tokens cost; None if price or tokens are not known."""
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return (usage.prompt_tokens * price.prompt + usage.completion_tokens * price.completion) / 1e6


def estimated(messages: list[Message], answer: str) -> Usage:
    """A count that is rather too high, for a server that does not tell."""
    asked = sum(len(message.content) for message in messages)
    return Usage(asked // _CHARACTERS_PER_TOKEN + 1, len(answer) // _CHARACTERS_PER_TOKEN + 1)


@dataclass
class Ledger:
    """Adds up calls and says when the ceiling is reached."""

    settings: LLMSettings
    episode: str = ""
    """Set by whoever starts an episode; calls are counted under it from then on."""
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
                f"A ceiling on cost (max_cost={self.settings.max_cost}) needs the price of every model, and that of "
                f"{', '.join(unpriced)} is not known. Add it to the prices "
                "([tool.zorkgpt.llm.prices] in pyproject.toml), or set max_tokens instead."
            )

    def check_ceiling(self) -> None:
        """Pass while there is something left to spend.

        Raises:
            BudgetExceeded: the ceiling on tokens or cost is reached.
        """
        most_tokens, most_cost = self.settings.max_tokens, self.settings.max_cost
        if most_tokens is not None and self._spent_tokens >= most_tokens:
            raise BudgetExceeded(f"The ceiling of {most_tokens} tokens is reached: {self._spent_tokens} are used.")
        if most_cost is not None and self._spent_cost >= most_cost:
            raise BudgetExceeded(f"The ceiling of {most_cost} on cost is reached: {self._spent_cost:.4f} are spent.")

    @property
    def spent(self) -> tuple[int, float]:
        """Tokens and cost of all calls, with estimates of the tokens that a server does not tell."""
        return self._spent_tokens, self._spent_cost

    def add(self, call: CallRecord) -> None:
        key = (self.episode, call.role)
        self._tallies[key] = self._tallies.get(key, Tally()) + Tally.of(call)
        if call.error is None:
            guess = estimated(list(call.messages), call.answer + call.reasoning)
            usage = guess if call.usage.prompt_tokens is None or call.usage.completion_tokens is None else call.usage
            self._spent_tokens += usage.prompt_tokens + usage.completion_tokens
            self._spent_cost += cost_of(usage, price_of(call.model, self.settings.prices)) or 0.0

    def of_episode(self, episode: str) -> dict[str, Tally]:
        """The sums of one episode by role."""
        return {role: tally for (played, role), tally in self._tallies.items() if played == episode}

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        tallies = [[episode, role, asdict(tally)] for (episode, role), tally in self._tallies.items()]
        return {"tallies": tallies, "tokens": self._spent_tokens, "cost": self._spent_cost}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there: what was spent counts against the ceiling."""
        self._tallies = {(episode, role): Tally(**tally) for episode, role, tally in state["tallies"]}
        self._spent_tokens, self._spent_cost = int(state["tokens"]), float(state["cost"])

    def snapshot(self) -> UsageSnapshot:
        by_role: dict[str, Tally] = {}
        by_episode: dict[str, Tally] = {}
        for (episode, role), tally in self._tallies.items():
            by_role[role] = by_role.get(role, Tally()) + tally
            by_episode[episode] = by_episode.get(episode, Tally()) + tally
        return UsageSnapshot(sum(self._tallies.values(), Tally()), by_role, by_episode)
