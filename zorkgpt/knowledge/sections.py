"""The sections of the knowledge base, in their order."""

import re
from enum import StrEnum


class Section(StrEnum):
    """What a line is about. The last four stand under the one before them."""

    DANGERS = "DANGERS & THREATS"
    PUZZLES = "PUZZLE SOLUTIONS"
    STRATEGIES = "STRATEGIC PATTERNS"
    DEATHS = "DEATH & DANGER ANALYSIS"
    SYNTAX = "COMMAND SYNTAX"
    LESSONS = "LESSONS LEARNED"
    INSIGHTS = "CROSS-EPISODE INSIGHTS"
    DEATH_PATTERNS = "Death patterns"
    ENVIRONMENT = "Environment"
    META_STRATEGIES = "Meta-strategies"
    DISCOVERIES = "Discoveries"

    @property
    def heading(self) -> str:
        return f"{'###' if self in WISDOM else '##'} {self}"


ORDER = tuple(Section)
WISDOM = ORDER[ORDER.index(Section.INSIGHTS) + 1 :]
"""What is drawn from whole episodes."""
TOPICS = ORDER[: ORDER.index(Section.INSIGHTS)]
"""What is drawn from the turns of one."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*")


def heading_level(row: str) -> int:
    """1 to 6; 0 for a row that is no heading."""
    found = _HEADING.fullmatch(row.rstrip("\r\n"))
    return len(found[1]) if found else 0


def section_of(row: str) -> Section | None:
    """The section that a heading opens, at whatever level and in whatever case; None: one of a person's own."""
    found = _HEADING.fullmatch(row.rstrip("\r\n"))
    return _BY_NAME.get(_plain(found[2])) if found else None


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold().replace("&", " and ")))


_BY_NAME = {_plain(section): section for section in Section}
