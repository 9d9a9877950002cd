"""What the commands of a story have shown, and how promising that makes the next one."""

import re
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated

from pydantic import PlainSerializer

from zorkgpt.offline.grammar_tries import GrammarTry
from zorkgpt.text import first_paragraph

_PRIOR_TRIES = 4
"""How many tries the chance of an untried pattern counts as much as."""
_NEW_NAME = 20
_UNTRIED_NAMES = 10
"""A name that was never used makes a command three times as promising, one that was used ten times twice."""
_OBSTACLE = 2
"""How much more promising a command is with something that refused with a reason of its own."""

DigestSet = Annotated[set[str], PlainSerializer(sorted)]


@dataclass
class CommandRecord:
    """The results of commands. A pattern is a command with `_` for each name, such as "put _ in _"."""

    patterns: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Pattern → how often it was tried, and how often that led to something new."""
    tries: Counter[str] = field(default_factory=Counter)
    """Command → how often it was tried, at any place."""
    uses: Counter[str] = field(default_factory=Counter)
    """Name → how many commands with it were tried."""
    refused: DigestSet = field(default_factory=set)
    """Commands that took no time and did nothing: the parser does not accept them."""
    obstacles: DigestSet = field(default_factory=set)
    """The names in commands that did nothing, with a response of their own."""
    responses: DigestSet = field(default_factory=set)
    """Digests of all responses."""

    def count(self, tried: GrammarTry, worked: float) -> None:
        """Count a command; `worked`: how new its result was, from 0 to 1."""
        times, before = self.patterns.get(tried.pattern, (0, 0.0))
        self.patterns[tried.pattern] = times + 1, before + worked
        self.tries[tried.command] += 1
        self.uses.update(tried.names)

    def note_response(self, response: str, tried: GrammarTry) -> bool:
        """Note a response, and return whether it was never seen before, whatever it names."""
        own = {word for name in tried.names for word in name.split()}
        first = first_paragraph(response).lower()
        words = " ".join(word for word in re.findall(r"\w+", first) if word not in own)
        digest = blake2b(words.encode(), digest_size=8).hexdigest()
        is_new = digest not in self.responses
        self.responses.add(digest)
        return is_new


def chance(tried: GrammarTry, prior: float, *records: CommandRecord) -> float:
    """Return about how likely a command leads to something new; 0 if the parser has refused it.

    Args:
        prior: The chance of a command whose pattern was never tried.
        records: They are taken together.
    """
    if any(tried.command in record.refused for record in records):
        return 0.0
    times, worked = 0, 0.0
    for record in records:
        more, successes = record.patterns.get(tried.pattern, (0, 0.0))
        times, worked = times + more, worked + successes
    found = (worked + _PRIOR_TRIES * prior) / (times + _PRIOR_TRIES)
    found /= 1 + sum(record.tries[tried.command] for record in records)
    if tried.names:
        uses = min(sum(record.uses[name] for record in records) for name in tried.names)
        found *= 1 + _NEW_NAME / (_UNTRIED_NAMES + uses)
        found *= _OBSTACLE if any(record.obstacles.intersection(tried.names) for record in records) else 1
    return found
