"""The knowledge file: parse its rows and render them, with everything that people wrote preserved byte for byte."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from zorkgpt.knowledge.line import (
    ORDER,
    TOPICS,
    WISDOM,
    KnowledgeLine,
    KnowledgeSection,
    heading_level,
    parse_line,
    render_line,
    section_of,
)
from zorkgpt.memory.storage.escaping import HIDDEN, decode, encode, escape, single_spaced, unescape
from zorkgpt.memory.storage.reprint import original

_MAX_EPISODES = 50
_NAME = re.compile(rf"[\\;,<>\-{HIDDEN}]")
# Files of earlier versions say "taken in".
_ROW = re.compile(r"<!-- (?:processed|taken in): (?P<episodes>.*) -->\s*")
_EPISODE = re.compile(
    r"Ep(?P<episode>(?:[^\\;,]|\\.)+), until T(?P<until>\d{1,9})"
    r"(?:, concluded at T(?P<concluded>\d{1,9}))?(?P<due>, to be concluded)?"
)


@dataclass(frozen=True, slots=True)
class ProcessedTurns:
    """How far an episode has been processed."""

    until: int = 0
    """The last turn that was learned from."""
    concluded: int | None = None
    """The last turn at the time of the review of the whole episode; None before that review."""
    due: bool = False
    """Whether the episode is over and its review is still missing."""


ProcessedEpisodes = Mapping[str, ProcessedTurns]
"""Episode name → its processed turns, in the order in which the episodes were first processed."""


def render_ledger(ledger: ProcessedEpisodes) -> str:
    """Return the row of the file, without its line ending."""
    episodes = list(ledger.items())[-_MAX_EPISODES:]
    return f"<!-- processed: {'; '.join(_entry(name, processed) for name, processed in episodes)} -->"


def parse_ledger(row: str) -> dict[str, ProcessedTurns] | None:
    """Return the processed episodes in a row, skipping unknown parts; None if it is another kind of row."""
    found = _ROW.fullmatch(row)
    if found is None:
        return None
    return {
        single_spaced(unescape(one["episode"])): ProcessedTurns(
            int(one["until"]),
            None if one["concluded"] is None else int(one["concluded"]),
            bool(one["due"]),
        )
        for one in _EPISODE.finditer(found["episodes"])
    }


def _entry(name: str, processed: ProcessedTurns) -> str:
    parts = [
        f"Ep{escape(name, _NAME)}",
        f"until T{processed.until}",
        *([] if processed.concluded is None else [f"concluded at T{processed.concluded}"]),
        *(["to be concluded"] if processed.due else []),
    ]
    return ", ".join(parts)


_TITLE = "# Knowledge"
_STRUCK = ("~~", "\\~~", "\\~\\~", "<s>", "<del>", "<strike>")
_BULLET = re.compile(r" {0,3}[-*+][ \t]+")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the file with its line ending, and its meaning."""

    raw: str
    section: KnowledgeSection | None = None
    """The section that it belongs to; None outside of the known sections."""
    line: KnowledgeLine | None = None
    opens: KnowledgeSection | None = None
    """The section that begins here, if this is its heading."""
    hidden: bool = False
    """Whether it is inside a code block or comment, which are never parsed."""


@dataclass(frozen=True)
class KnowledgeDocument:
    """The content of the file. Immutable."""

    rows: tuple[Row, ...] = ()
    eol: str = "\n"
    processed: Mapping[str, ProcessedTurns] = field(default_factory=dict)

    @cached_property
    def lines(self) -> tuple[KnowledgeLine, ...]:
        """All lines with evidence, including struck ones."""
        return tuple(row.line for row in self.rows if row.line is not None)

    @cached_property
    def by_hand(self) -> tuple[tuple[KnowledgeSection, str], ...]:
        """The list items without evidence in the known sections, which people wrote; without struck ones."""
        return tuple(_points(self.rows))

    def added(self, line: KnowledgeLine) -> "KnowledgeDocument":
        """Return the document with a new line at the end of its section."""
        rows = list(self.rows) or [Row(_TITLE + self.eol)]
        if not any(row.opens is line.section for row in rows):
            rows = _with_section(rows, line.section, self.eol)
        at = max(
            number for number, row in enumerate(rows) if row.opens is line.section or _has_content(row, line.section)
        )
        rows[at] = _with_eol(rows[at], self.eol)
        new = [Row(render_line(line) + self.eol, line.section, line)]
        if rows[at].opens:
            if at + 1 < len(rows) and not rows[at + 1].raw.strip():
                at += 1
            else:
                new.insert(0, Row(self.eol, line.section))
        following = rows[at + 1].raw if at + 1 < len(rows) else ""
        if heading_level(following) or parse_ledger(following) is not None:
            new.append(Row(self.eol, line.section))
        rows[at + 1 : at + 1] = new
        return replace(self, rows=tuple(rows))

    def changed(self, old: KnowledgeLine, new: KnowledgeLine) -> "KnowledgeDocument":
        """Return the document with the line object `old` replaced by `new`."""
        rows = tuple(
            Row(render_line(new) + row.raw[len(row.raw.rstrip("\r\n")) :], row.section, new) if row.line is old else row
            for row in self.rows
        )
        return replace(self, rows=rows)

    def with_processed(self, episode: int | str, processed: ProcessedTurns) -> "KnowledgeDocument":
        """Return the document with the processed turns of this episode updated."""
        ledger = dict(self.processed) | {str(episode): processed}
        rows = list(self.rows) or [Row(_TITLE + self.eol)]
        notes = [number for number, row in enumerate(rows) if parse_ledger(row.raw) is not None]
        for number in reversed(notes[1:]):
            del rows[number]
        note = Row(render_ledger(ledger) + self.eol)
        if notes:
            rows[notes[0]] = note
        else:
            rows[-1] = _with_eol(rows[-1], self.eol)
            rows += [Row(self.eol), note] if rows[-1].raw.strip() else [note]
        return replace(self, rows=tuple(rows), processed=ledger)


def parse(data: bytes) -> KnowledgeDocument:
    """Parse any bytes into a document."""
    *ended, last = decode(data).split("\n")
    raws = [*(f"{raw}\n" for raw in ended), *([last] if last else [])]
    eol = "\r\n" if raws and raws[0].endswith("\r\n") else "\n"
    hidden = _hidden_rows(raws)
    rows: list[Row] = []
    section: KnowledgeSection | None = None
    ledger: dict[str, ProcessedTurns] = {}
    within_insights = False
    number = 0
    while number < len(raws):
        raw = raws[number]
        end = number + 1
        if (found := parse_ledger(raw)) is not None:
            ledger |= found
            rows.append(Row(raw))
        elif number in hidden:
            rows.append(Row(raw, section, hidden=True))
        elif level := heading_level(raw) or _underlined_level(raws, number):
            end += not heading_level(raw)
            raw = "".join(raws[number:end])
            opens = section_of(raw)
            if level < 3 or opens in TOPICS or opens is KnowledgeSection.INSIGHTS:
                within_insights = opens is KnowledgeSection.INSIGHTS
            opens = opens if within_insights or opens not in WISDOM else None
            # An unknown heading ends the section, unless it is a deeper one.
            section = opens or (section if level > 3 else None)
            rows.append(Row(raw, section, opens=opens))
        else:
            line = parse_line(raw, section) if section else None
            if line is None and section and _BULLET.match(raw):
                wrapped = _end_of_item(raws, number, hidden)
                item = " ".join(map(str.strip, raws[number:wrapped]))
                if line := parse_line(item, section):
                    end = wrapped
            rows.append(Row("".join(raws[number:end]), section, line))
        number = end
    return KnowledgeDocument(tuple(rows), eol, ledger)


def _underlined_level(raws: list[str], number: int) -> int:
    """Return the level of the heading in this row and the next one, which underlines it; 0 if there is none."""
    is_below_text = number > 0 and raws[number - 1].strip() and not heading_level(raws[number - 1])
    if number + 1 == len(raws) or is_below_text or _BULLET.match(raws[number]) or not raws[number].strip():
        return 0
    return heading_level(raws[number] + raws[number + 1])


def _end_of_item(raws: list[str], start: int, hidden: set[int]) -> int:
    """Return the end of the list item that starts here, with its wrapped lines."""
    end = start + 1
    while end < len(raws) and end not in hidden and raws[end].strip() and not _BULLET.match(raws[end]):
        if heading_level(raws[end]) or parse_ledger(raws[end]) is not None:
            break
        end += 1
    return end


def render(document: KnowledgeDocument) -> bytes:
    return encode("".join(row.raw for row in document.rows))


def is_damaged(data: bytes) -> bool:
    """Return whether the file is unusable: only whitespace or zeros, or bytes that are not text."""
    if not data.strip(b"\x00 \t\r\n"):
        return True
    if any(row.opens for row in parse(data).rows):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return b"\x00" in data


def _hidden_rows(raws: list[str]) -> set[int]:
    """Return the numbers of the rows inside code blocks and comments that are closed."""
    hidden: set[int] = set()
    number = 0
    while number < len(raws):
        last = _end_of_block(raws, number)
        if last is not None:
            hidden.update(range(number, last + 1))
            number = last
        number += 1
    return hidden


def _end_of_block(raws: list[str], start: int) -> int | None:
    """Return the last row of the code block or comment that starts here; None if none does or it is unclosed."""
    opening = raws[start].lstrip()
    later = range(start + 1, len(raws))
    for fence in ("```", "~~~"):
        if opening.startswith(fence):
            return next((at for at in later if raws[at].lstrip().startswith(fence)), None)
    if opening.startswith("<!--") and "-->" not in opening:
        # The end of the ledger row does not close a comment above it.
        return next((at for at in later if "-->" in raws[at] and parse_ledger(raws[at]) is None), None)
    return None


def _points(rows: tuple[Row, ...]) -> Iterator[tuple[KnowledgeSection, str]]:
    section, text = None, ""
    for row in rows:
        is_indented = row.raw[:1] in (" ", "\t") and bool(row.raw.strip())
        if text and is_indented and not row.hidden:
            text = f"{text} {row.raw.strip()}"
            continue
        if text and section:
            yield section, _plain(text)
        section, text = row.section, ""
        bullet = _BULLET.match(row.raw)
        if row.line is None and not row.hidden and bullet:
            text = row.raw[bullet.end() :].strip()
            text = "" if text.startswith(_STRUCK) else text
    if text and section:
        yield section, _plain(text)


def _plain(text: str) -> str:
    """Return the text of a person's list item without Markdown escapes."""
    return single_spaced(unescape(original(text, is_escaped=True)))


def _has_content(row: Row, section: KnowledgeSection) -> bool:
    return row.section is section and bool(row.raw.strip())


def _with_section(rows: list[Row], section: KnowledgeSection, eol: str) -> list[Row]:
    """Return the rows with a heading for the section, before the first one that comes later in the order."""
    if section in WISDOM and not any(row.opens is KnowledgeSection.INSIGHTS for row in rows):
        rows = _with_section(rows, KnowledgeSection.INSIGHTS, eol)
    rows = list(rows)
    at = _heading_position(rows, section)
    if at:
        rows[at - 1] = _with_eol(rows[at - 1], eol)
    before = [Row(eol)] if at and rows[at - 1].raw.strip() else []
    after = [Row(eol, section)] if at < len(rows) else []
    rows[at:at] = [*before, Row(section.heading + eol, section, opens=section), *after]
    return rows


def _heading_position(rows: list[Row], section: KnowledgeSection) -> int:
    """Return where the heading of a missing section is inserted."""
    start = 0
    end = next((number for number, row in enumerate(rows) if parse_ledger(row.raw) is not None), len(rows))
    if section in WISDOM:
        start = next(number for number, row in enumerate(rows) if row.opens is KnowledgeSection.INSIGHTS) + 1
        outside = (number for number in range(start, end) if not rows[number].hidden and _leaves_insights(rows[number]))
        end = next(outside, end)
    later = ORDER[ORDER.index(section) + 1 :]
    return next((number for number in range(start, end) if rows[number].opens in later), end)


def _leaves_insights(row: Row) -> bool:
    """Return whether the row ends the insights section."""
    opens_another = row.opens in TOPICS or row.opens is KnowledgeSection.INSIGHTS
    return opens_another or heading_level(row.raw) in (1, 2)


def _with_eol(row: Row, eol: str) -> Row:
    return row if row.raw.endswith("\n") else replace(row, raw=row.raw + eol)
