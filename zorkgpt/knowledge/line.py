"""A line of knowledge: a memory of a section, with its evidence, and its format in the file."""

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryKind, MemoryStatus, Persistence
from zorkgpt.memory.storage.escaping import HIDDEN, escape, single_spaced, unescape
from zorkgpt.memory.storage.reprint import ANCHOR, decoded, original, typographic


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

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")
_UNDERLINED = re.compile(r"([^\r\n]+)\r?\n {0,3}(=|-)\2+[ \t]*")


def heading_level(row: str) -> int:
    """Return the level of a heading, 1 to 6; 0 for any other row."""
    if found := _HEADING.fullmatch(row.rstrip("\r\n")):
        return len(found[1])
    underlined = _UNDERLINED.fullmatch(row.rstrip("\r\n"))
    return 0 if underlined is None else 1 if underlined[2] == "=" else 2


def section_of(row: str) -> KnowledgeSection | None:
    """Return the section with this heading, in any level and case; None for other headings and rows."""
    heading = row.rstrip("\r\n")
    if found := _HEADING.fullmatch(heading):
        name = found[2]
    elif found := _UNDERLINED.fullmatch(heading):
        name = found[1]
    else:
        return None
    return _BY_NAME.get(_plain(decoded(ANCHOR.sub("", name))))


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold().replace("&", " and ")))


_BY_NAME = {_plain(section): section for section in KnowledgeSection}


_TEXT = re.compile(rf"[\\*~<>&`\[\]|{HIDDEN}]|^[#\-+_=(]")
_MARK = re.compile(rf'[\\*~<>&`\[\]|(",;{HIDDEN}]')

_LINE = re.compile(r"[-*+] (?P<text>.*) \*\((?P<mark>(?:[^\\*]|\\.)*)\)\*[ \t]*")
_REPRINTED_LINE = re.compile(
    r" {0,3}[-*+][ \t]+(?P<text>.*?)[ \t]*([*_])\((?P<mark>Ep(?:\\.|[^\\])*)\)\2[ \t]*", re.IGNORECASE
)
"""A line as formatters print it, without its line breaks."""
_REPRINTED_BECAUSE = re.compile(r";[ \t]*because \\?[\"“](?P<reason>.*)[\"”][ \t]*(?=;|$)")
_FIXED_FORM = re.compile(
    r'\A"[^"“”]+"(?= is not accepted\b)|\A(?:The parser understands|Episode .+? scored .+?, in this order:) ".*'
)
"""Texts that are written with typographic quotation marks, if a formatter has replaced these."""
_STRUCK = re.compile(r"(?:\\?~){2}(?P<text>.*?)(?:\\?~){2}|<(?P<tag>s|del|strike)>(?P<html>.*)</(?P=tag)>")
_STRUCK_AS_WRITTEN = re.compile(r"~~(?P<text>.*)~~(?P<html>)")
_SINCE = re.compile(r"Ep(?P<episode>.+), T(?P<first>\d{1,9})(?:[-–→]T?(?P<last>\d{1,9}))?")
# Files of earlier versions say "borne out".
_COUNTS = re.compile(
    r"(?:(?:confirmed|borne out) (?P<confirmed>\d{1,9}))?(?:, )?(?:contradicted (?P<contradicted>\d{1,9}))?"
)
_COUNT = re.compile(r"(?:confirmed|borne out|contradicted) \d")
_BECAUSE = re.compile(r'because "(?P<reason>(?:[^"\\]|\\.)*)"')
_PARTS = re.compile(r'(?:[^;"\\]|\\.|"(?:[^"\\]|\\.)*")+|"')


_PROCEDURES = (KnowledgeSection.PUZZLES,)
_DANGERS = (KnowledgeSection.DANGERS, KnowledgeSection.DEATHS, KnowledgeSection.DEATH_PATTERNS)
_RULES = (KnowledgeSection.SYNTAX, KnowledgeSection.LESSONS, KnowledgeSection.ENVIRONMENT)
_KIND_OF = {
    **dict.fromkeys(KnowledgeSection, MemoryKind.INSIGHT),
    **dict.fromkeys(_PROCEDURES, MemoryKind.PROCEDURE),
    **dict.fromkeys(_DANGERS, MemoryKind.DANGER),
    **dict.fromkeys(_RULES, MemoryKind.RULE),
}
_EXTRA = "extra"
"""The name of metadata with the unknown parts of a mark, written by a later version, verbatim."""


def line_of(
    section: KnowledgeSection,
    text: str,
    episode: int | str,
    first_turn: int,
    last_turn: int,
    *,
    confirmed: int = 0,
    contradicted: int = 0,
    struck: bool = False,
    reason: str = "",
) -> Memory:
    """Return the memory of a line. Its category is the section; title and text are the text in one line.

    Args:
        episode: The episode in which it was learned.
        last_turn: The last turn that it was learned from.
        confirmed: The number of confirmations by later turns.
        contradicted: The number of contradictions by later turns.
        struck: Whether it is no longer believed.
        reason: Why it was struck; "" if a person struck it. If the line is not struck, a person has restored it.
    """
    line = single_spaced(text)
    return Memory(
        category=section,
        title=line,
        episode=episode,
        turns=f"{first_turn}→{last_turn}",
        score_change=None,
        text=line,
        persistence=Persistence.PERMANENT,
        status=MemoryStatus.SUPERSEDED if struck else MemoryStatus.ACTIVE,
        superseded_by=INVALIDATION_MARKER if struck else None,
        invalidation_reason=single_spaced(reason) or None,
        tried=confirmed + contradicted,
        worked=confirmed,
        kind=_KIND_OF[section],
    )


def in_section(line: Memory, section: KnowledgeSection) -> Memory:
    """Return the line in another section."""
    return replace(line, category=section, kind=_KIND_OF[section])


def is_struck(line: Memory) -> bool:
    """Return whether a line is no longer believed."""
    return line.status is MemoryStatus.SUPERSEDED


def contradictions(line: Memory) -> int:
    """Return how often later turns have contradicted a line."""
    return line.tried - line.worked


def evidence_of(line: Memory) -> str:
    """Return the counts that are not zero: "confirmed 2, contradicted 1"."""
    counts = {"confirmed": line.worked, "contradicted": contradictions(line)}
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def confirmed(line: Memory) -> Memory:
    """Return the line with a confirmation. A contradicted line is believed again, but not one that a person struck."""
    new = replace(line, tried=line.tried + 1, worked=line.worked + 1)
    if not (is_struck(line) and line.invalidation_reason):
        return new
    return replace(new, status=MemoryStatus.ACTIVE, superseded_by=None, invalidation_reason=None)


def contradicted(line: Memory, reason: str) -> Memory:
    """Return the line with a contradiction; struck if it was never confirmed and no person has restored it."""
    new = replace(line, tried=line.tried + 1)
    if is_struck(line) or line.invalidation_reason or line.worked:
        return new
    return replace(
        new,
        status=MemoryStatus.SUPERSEDED,
        superseded_by=INVALIDATION_MARKER,
        invalidation_reason=single_spaced(reason) or None,
    )


def render_line(line: Memory) -> str:
    """Return the row of the file, without its line ending."""
    text = escape(line.text, _TEXT)
    return f"- {f'~~{text}~~' if is_struck(line) else text} *({_mark(line)})*"


def parse_line(row: str, section: KnowledgeSection) -> Memory | None:
    """Parse a row of the file, or one that a formatter has reprinted; None if it is not a line with evidence."""
    row = row.rstrip("\r\n")
    written = _LINE.fullmatch(row)
    # As `render_line` writes it, escaped tildes belong to the text. Formatters escape those of a struck text too.
    own = _parsed(written, section, struck=_STRUCK_AS_WRITTEN)
    if own is not None and render_line(own) == row and not any(part.startswith("because") for part in _extra(own)):
        return own
    line = _parsed(written, section)
    found = _REPRINTED_LINE.fullmatch(" ".join(row.split()))
    # A line without counts that can be read as it is may be by a person, and asterisks in it are no emphasis of ours.
    if found is None or (line is not None and not _COUNT.search(found["mark"])):
        return line
    text, mark = (original(part, is_escaped=True) for part in (found["text"], found["mark"]))
    because = _REPRINTED_BECAUSE.search(mark)
    if because is None or _is_parted(mark):
        return _parsed({"text": text, "mark": mark}, section) or line
    reprinted = _parsed({"text": text, "mark": mark[: because.start()] + mark[because.end() :]}, section)
    reason = single_spaced(unescape(because["reason"]).removesuffix("\\"))
    return line if reprinted is None else replace(reprinted, invalidation_reason=reason or None)


def _is_parted(mark: str) -> bool:
    """Return whether the parts of a mark can be told apart, because quotation marks in the reason are escaped."""
    return any(_BECAUSE.fullmatch(part.strip()) for part in _PARTS.findall(mark))


def _parsed(
    found: Mapping[str, str] | re.Match[str] | None, section: KnowledgeSection, *, struck: re.Pattern[str] = _STRUCK
) -> Memory | None:
    """Return the line of a text and a mark.

    Args:
        struck: Matches a struck text, in its group `text` or `html`.
    """
    if found is None:
        return None
    first, *parts = [part.strip() for part in _PARTS.findall(found["mark"])] or [""]
    since = _SINCE.fullmatch(first)
    inside = struck.fullmatch(found["text"].strip())
    text = single_spaced(unescape((inside["text"] or inside["html"] or "") if inside else found["text"]))
    text = _FIXED_FORM.sub(lambda form: typographic(form[0]), text)
    if since is None or not text:
        return None
    line = line_of(
        section,
        text,
        _episode(since["episode"]),
        int(since["first"]),
        int(since["last"] or since["first"]),
        struck=inside is not None,
    )
    for part in parts:
        line = _with_part(line, part)
    return line


def _extra(line: Memory) -> list[str]:
    return list(line.metadata.get(_EXTRA, ()))


def _mark(line: Memory) -> str:
    span = f"T{line.first_turn}" + (f"-T{line.last_turn}" if line.last_turn != line.first_turn else "")
    parts = [f"Ep{escape(str(line.episode), _MARK)}, {span}"]
    if evidence := evidence_of(line):
        parts.append(evidence)
    if line.invalidation_reason:
        parts.append(f'because "{escape(line.invalidation_reason, _MARK)}"')
    return "; ".join((*parts, *_extra(line)))


def _with_part(line: Memory, part: str) -> Memory:
    if part and (found := _COUNTS.fullmatch(part)):
        worked = int(found["confirmed"] or 0)
        return replace(line, tried=worked + int(found["contradicted"] or 0), worked=worked)
    if found := _BECAUSE.fullmatch(part):
        return replace(line, invalidation_reason=single_spaced(unescape(found["reason"])) or None)
    return replace(line, metadata={_EXTRA: [*_extra(line), part]}) if part else line


def _episode(written: str) -> int | str:
    name = single_spaced(unescape(written))
    return int(name) if name.isascii() and name.isdigit() and len(name) < 19 and str(int(name)) == name else name
