"""The results of a story's commands, and an estimate of how promising a command is."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import PlainSerializer

from zorkgpt.offline.grammar_tries import GrammarTry

_PRIOR_CHANCE = 0.1
"""The chance that an untried command has an effect."""
_PRIOR_TRIES = 4
"""The weight of this chance, in tries."""
_NEW_NAME = 20
_UNTRIED_NAMES = 10
"""An unused name makes a command three times as promising, one that was used ten times twice."""


@dataclass
class CommandRecord:
    """The results of commands. A pattern is a command with `_` for each name, such as "put _ in _"."""

    patterns: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Pattern → the number of tries, and of those with an effect."""
    tries: Counter[str] = field(default_factory=Counter)
    """Command → the number of tries, at any place."""
    successes: Counter[str] = field(default_factory=Counter)
    """Command → the number of tries that moved or changed an object."""
    uses: Counter[str] = field(default_factory=Counter)
    """Name → the number of tried commands with it."""
    refused: Annotated[set[str], PlainSerializer(sorted)] = field(default_factory=set)
    """Commands that the parser rejected: they took no time and had no effect."""

    def count(self, tried: GrammarTry, *, worked: bool, is_success: bool = False) -> None:
        """Count a command.

        Args:
            worked: Whether it had an effect.
            is_success: Whether it moved or changed an object.
        """
        times, successes = self.patterns.get(tried.pattern, (0, 0.0))
        self.patterns[tried.pattern] = times + 1, successes + worked
        self.tries[tried.command] += 1
        self.successes[tried.command] += is_success
        self.uses.update(tried.names)


def success_rate(command: str, *records: CommandRecord) -> float:
    """Return an estimate of how often this command moves or changes an object, if chance decides."""
    tries = sum(record.tries[command] for record in records)
    successes = sum(record.successes[command] for record in records)
    return (successes + _PRIOR_TRIES * _PRIOR_CHANCE) / (tries + _PRIOR_TRIES)


def chance(tried: GrammarTry, *records: CommandRecord) -> float:
    """Return an estimate of how likely a command has an effect; 0 if the parser has rejected it."""
    if any(tried.command in record.refused for record in records):
        return 0.0
    results = [record.patterns.get(tried.pattern, (0, 0.0)) for record in records]
    times = sum(tries for tries, _ in results)
    worked = sum(successes for _, successes in results)
    estimate = (worked + _PRIOR_TRIES * _PRIOR_CHANCE) / (times + _PRIOR_TRIES)
    estimate /= 1 + sum(record.tries[tried.command] for record in records)
    if tried.names:
        uses = min(sum(record.uses[name] for record in records) for name in tried.names)
        estimate *= 1 + _NEW_NAME / (_UNTRIED_NAMES + uses)
    return estimate
