"""Which turns the knowledge base has taken in, so that none is counted twice: one comment at the end of the file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from zorkgpt.memory.storage.escaping import HIDDEN, escape, unescape

_MOST_EPISODES = 50
_NAME = re.compile(rf"[\\;,<>\-{HIDDEN}]")
_ROW = re.compile(r"<!-- taken in: (?P<episodes>.*) -->\s*")
_EPISODE = re.compile(
    r"Ep(?P<episode>(?:[^\\;,]|\\.)+), until T(?P<until>\d{1,9})"
    r"(?:, concluded at T(?P<concluded>\d{1,9}))?(?P<due>, to be concluded)?"
)


@dataclass(frozen=True, slots=True)
class Taken:
    """How far an episode has been taken in."""

    until: int = 0
    """The last turn that was learned from."""
    concluded: int | None = None
    """The turn at which lessons were drawn from the episode as a whole; None: they were not."""
    due: bool = False
    """It is over, and they are still to be drawn."""


Ledger = Mapping[str, Taken]
"""By the episode's name, in the order in which they were first taken in."""


def write_ledger(ledger: Ledger) -> str:
    """The row, without its end."""
    episodes = list(ledger.items())[-_MOST_EPISODES:]
    return f"<!-- taken in: {'; '.join(_entry(name, taken) for name, taken in episodes)} -->"


def read_ledger(row: str) -> dict[str, Taken] | None:
    """None: the row is something else. What is not understood in it is passed over."""
    found = _ROW.fullmatch(row)
    if found is None:
        return None
    return {
        unescape(one["episode"]): Taken(
            int(one["until"]),
            None if one["concluded"] is None else int(one["concluded"]),
            bool(one["due"]),
        )
        for one in _EPISODE.finditer(found["episodes"])
    }


def _entry(name: str, taken: Taken) -> str:
    parts = [
        f"Ep{escape(name, _NAME)}",
        f"until T{taken.until}",
        *([] if taken.concluded is None else [f"concluded at T{taken.concluded}"]),
        *(["to be concluded"] if taken.due else []),
    ]
    return ", ".join(parts)
