"""A line of knowledge with its section and evidence, and its format in the file."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from zorkgpt.memory.storage.escaping import HIDDEN, escape, single_spaced, unescape


class KnowledgeSection(StrEnum):
    """The sections of the file. The last four are subsections of `INSIGHTS`."""

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


ORDER = tuple(KnowledgeSection)
WISDOM = ORDER[ORDER.index(KnowledgeSection.INSIGHTS) + 1 :]
"""The sections for lessons from whole episodes."""
TOPICS = ORDER[: ORDER.index(KnowledgeSection.INSIGHTS)]
"""The sections for lessons from turns."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*")


def heading_level(row: str) -> int:
    """Return the level of a heading, 1 to 6; 0 for any other row."""
    found = _HEADING.fullmatch(row.rstrip("\r\n"))
    return len(found[1]) if found else 0


def section_of(row: str) -> KnowledgeSection | None:
    """Return the section with this heading, in any level and case; None for other headings and rows."""
    found = _HEADING.fullmatch(row.rstrip("\r\n"))
    return _BY_NAME.get(_plain(found[2])) if found else None


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold().replace("&", " and ")))


_BY_NAME = {_plain(section): section for section in KnowledgeSection}


_TEXT = re.compile(rf"[\\*~<>&`\[\]|{HIDDEN}]|^[#\-+_=(]")
_MARK = re.compile(rf'[\\*~<>&`\[\]|(",;{HIDDEN}]')

_LINE = re.compile(r"[-*+] (?P<text>.*) \*\((?P<mark>(?:[^\\*]|\\.)*)\)\*[ \t]*")
_STRUCK = re.compile(r"~~(?P<text>.*)~~")
_SINCE = re.compile(r"Ep(?P<episode>.+), T(?P<first>\d{1,9})(?:[-–→]T?(?P<last>\d{1,9}))?")
# Files of earlier versions say "borne out".
_COUNTS = re.compile(
    r"(?:(?:confirmed|borne out) (?P<confirmed>\d{1,9}))?(?:, )?(?:contradicted (?P<contradicted>\d{1,9}))?"
)
_BECAUSE = re.compile(r'because "(?P<reason>(?:[^"\\]|\\.)*)"')
_PARTS = re.compile(r'(?:[^;"\\]|\\.|"(?:[^"\\]|\\.)*")+|"')


@dataclass(frozen=True, slots=True)
class KnowledgeLine:
    """A statement about the game, with its origin and the evidence since then."""

    section: KnowledgeSection
    text: str
    episode: int | str
    """The episode in which it was learned."""
    first_turn: int
    last_turn: int
    """The last turn that it was learned from."""
    confirmed: int = 0
    """The number of confirmations by later turns."""
    contradicted: int = 0
    """The number of contradictions by later turns."""
    struck: bool = False
    """Whether it is no longer believed."""
    reason: str = ""
    """Why it was struck; "" if a person struck it. If the line is not struck, a person has restored it."""
    extra: tuple[str, ...] = ()
    """Unknown parts of the mark, written by a later version, verbatim."""

    @property
    def evidence(self) -> str:
        """The counts that are not zero: "confirmed 2, contradicted 1"."""
        counts = {"confirmed": self.confirmed, "contradicted": self.contradicted}
        return ", ".join(f"{name} {count}" for name, count in counts.items() if count)

    def with_evidence(self, *, confirmed: int = 0, contradicted: int = 0, reason: str = "") -> "KnowledgeLine":
        """Return the line with more evidence; struck if it was contradicted and never confirmed.

        A line that a person struck or restored keeps that state.
        """
        new = replace(self, confirmed=self.confirmed + confirmed, contradicted=self.contradicted + contradicted)
        if self.struck:
            return replace(new, struck=False, reason="") if self.reason and confirmed else new
        if contradicted and not self.reason and not new.confirmed:
            return replace(new, struck=True, reason=single_spaced(reason))
        return new


def render_line(line: KnowledgeLine) -> str:
    """Return the row of the file, without its line ending."""
    text = escape(line.text, _TEXT)
    return f"- {f'~~{text}~~' if line.struck else text} *({_mark(line)})*"


def parse_line(row: str, section: KnowledgeSection) -> KnowledgeLine | None:
    """Parse a row of the file; None if it is not a line with evidence."""
    found = _LINE.fullmatch(row.rstrip("\r\n"))
    if found is None:
        return None
    first, *parts = [part.strip() for part in _PARTS.findall(found["mark"])] or [""]
    since = _SINCE.fullmatch(first)
    struck = _STRUCK.fullmatch(found["text"].strip())
    text = single_spaced(unescape(struck["text"] if struck else found["text"]))
    if since is None or not text:
        return None
    line = KnowledgeLine(
        section=section,
        text=text,
        episode=_episode(since["episode"]),
        first_turn=int(since["first"]),
        last_turn=int(since["last"] or since["first"]),
        struck=struck is not None,
    )
    for part in parts:
        line = _with_part(line, part)
    return line


def _mark(line: KnowledgeLine) -> str:
    span = f"T{line.first_turn}" + (f"-T{line.last_turn}" if line.last_turn != line.first_turn else "")
    parts = [f"Ep{escape(str(line.episode), _MARK)}, {span}"]
    if line.evidence:
        parts.append(line.evidence)
    if line.reason:
        parts.append(f'because "{escape(line.reason, _MARK)}"')
    return "; ".join((*parts, *line.extra))


def _with_part(line: KnowledgeLine, part: str) -> KnowledgeLine:
    if part and (found := _COUNTS.fullmatch(part)):
        return replace(line, confirmed=int(found["confirmed"] or 0), contradicted=int(found["contradicted"] or 0))
    if found := _BECAUSE.fullmatch(part):
        return replace(line, reason=single_spaced(unescape(found["reason"])))
    return replace(line, extra=(*line.extra, part)) if part else line


def _episode(written: str) -> int | str:
    name = single_spaced(unescape(written))
    return int(name) if name.isascii() and name.isdigit() and len(name) < 19 and str(int(name)) == name else name
