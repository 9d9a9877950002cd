"""The results of a story's commands, and an estimate of how promising a command is."""

import re
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated

from pydantic import PlainSerializer

from zorkgpt.offline.grammar_tries import GrammarTry
from zorkgpt.text import first_paragraph

_PRIOR_TRIES = 4
"""The weight of the prior chance of a pattern, in tries."""
_NEW_NAME = 20
_UNTRIED_NAMES = 10
"""An unused name makes a command three times as promising, one that was used ten times twice."""
_OBSTACLE = 2
"""The factor for a command with a name that got a specific refusal."""

DigestSet = Annotated[set[str], PlainSerializer(sorted)]


@dataclass
class CommandRecord:
    """The results of commands. A pattern is a command with `_` for each name, such as "put _ in _"."""

    patterns: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Pattern → the number of tries, and the sum of their results, each from 0 to 1."""
    tries: Counter[str] = field(default_factory=Counter)
    """Command → the number of tries, at any place."""
    successes: Counter[str] = field(default_factory=Counter)
    """Command → the number of tries that moved or changed an object."""
    uses: Counter[str] = field(default_factory=Counter)
    """Name → the number of tried commands with it."""
    refused: DigestSet = field(default_factory=set)
    """Commands that the parser rejected: they took no time and had no effect."""
    obstacles: DigestSet = field(default_factory=set)
    """The names in commands without effect that got a new response."""
    responses: DigestSet = field(default_factory=set)
    """Digests of all responses."""

    def count(self, tried: GrammarTry, worked: float, *, is_success: bool = False) -> None:
        """Count a command.

        Args:
            worked: The novelty of its result, from 0 to 1.
            is_success: Whether it moved or changed an object.
        """
        times, successes = self.patterns.get(tried.pattern, (0, 0.0))
        self.patterns[tried.pattern] = times + 1, successes + worked
        self.tries[tried.command] += 1
        self.successes[tried.command] += is_success
        self.uses.update(tried.names)

    def note_response(self, response: str, tried: GrammarTry) -> bool:
        """Record a response, and return whether it is new, ignoring the names in the command."""
        own = {word for name in tried.names for word in name.split()}
        first = first_paragraph(response).lower()
        words = " ".join(word for word in re.findall(r"\w+", first) if word not in own)
        digest = blake2b(words.encode(), digest_size=8).hexdigest()
        is_new = digest not in self.responses
        self.responses.add(digest)
        return is_new


def success_rate(command: str, prior: float, *records: CommandRecord) -> float:
    """Return an estimate of how often this command moves or changes an object, if chance decides.

    Args:
        prior: The rate of an untried command.
        records: The records to combine.
    """
    tries = sum(record.tries[command] for record in records)
    successes = sum(record.successes[command] for record in records)
    return (successes + _PRIOR_TRIES * prior) / (tries + _PRIOR_TRIES)


def chance(tried: GrammarTry, prior: float, *records: CommandRecord) -> float:
    """Return an estimate of how likely a command leads to something new; 0 if the parser has rejected it.

    Args:
        prior: The chance of a command with an untried pattern.
        records: The records to combine.
    """
    if any(tried.command in record.refused for record in records):
        return 0.0
    results = [record.patterns.get(tried.pattern, (0, 0.0)) for record in records]
    times = sum(tries for tries, _ in results)
    worked = sum(successes for _, successes in results)
    estimate = (worked + _PRIOR_TRIES * prior) / (times + _PRIOR_TRIES)
    estimate /= 1 + sum(record.tries[tried.command] for record in records)
    if tried.names:
        uses = min(sum(record.uses[name] for record in records) for name in tried.names)
        estimate *= 1 + _NEW_NAME / (_UNTRIED_NAMES + uses)
        estimate *= _OBSTACLE if any(record.obstacles.intersection(tried.names) for record in records) else 1
    return estimate
