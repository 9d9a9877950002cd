"""The turns in which a memory was seen."""

import re
from dataclasses import dataclass
from functools import lru_cache

_SEPARATOR = re.compile(r"→|->|-")
_LONGEST_NUMBER = 18


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """The first and the last turn in which a memory was seen: what `Memory.turns` says.

    A person may have written anything there, so turns are texts; most are numbers.
    """

    first: str
    last: str

    @classmethod
    def parse(cls, turns: str) -> "TurnSpan":
        """Read "25", "23-24", "25->48" or "25→48"; any other text is a span of one turn."""
        return _parsed(turns)

    @property
    def first_number(self) -> int | None:
        """The first turn as a number; None if it is none."""
        return turn_number(self.first)

    @property
    def last_number(self) -> int | None:
        """The last turn as a number; None if it is none."""
        return turn_number(self.last)

    def __str__(self) -> str:
        """Return "25→48", as it is written for a memory that was seen again."""
        return f"{self.first}→{self.last}"


def turn_number(turn: str) -> int | None:
    """Return a turn as a number; None if it is none."""
    return int(turn) if turn.isdecimal() and len(turn) <= _LONGEST_NUMBER else None


# All memories of a place are ordered by their turns whenever they are shown.
@lru_cache(maxsize=4096)
def _parsed(turns: str) -> TurnSpan:
    first, *further = _SEPARATOR.split(turns)
    return TurnSpan(first.strip(), further[-1].strip() if further else first.strip())
