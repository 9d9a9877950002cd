"""The whole file: parse bytes into rows and render them, keeping every byte that is not ours in its place."""

import re
from collections.abc import Iterator, Mapping, Sequence
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
from zorkgpt.memory.storage.escaping import HIDDEN, decode, encode, escape, unescape

_MOST_EPISODES = 50
_NAME = re.compile(rf"[\\;,<>\-{HIDDEN}]")
_ROW = re.compile(r"<!-- taken in: (?P<episodes>.*) -->\s*")
_EPISODE = re.compile(
    r"Ep(?P<episode>(?:[^\\;,]|\\.)+), until T(?P<until>\d{1,9})"
    r"(?:, concluded at T(?P<concluded>\d{1,9}))?(?P<due>, to be concluded)?"
)


@dataclass(frozen=True, slots=True)
class ProcessedTurns:
    """How far an episode has been taken in."""

    until: int = 0
    """The last turn that was learned from."""
    concluded: int | None = None
    """The turn at which lessons were drawn from the episode as a whole; None: they were not."""
    due: bool = False
    """It is over, and they are still to be drawn."""


Ledger = Mapping[str, ProcessedTurns]
"""By the episode's name, in the order in which they were first taken in."""


def render_ledger(ledger: Ledger) -> str:
    """The row, without its end."""
    episodes = list(ledger.items())[-_MOST_EPISODES:]
    return f"<!-- taken in: {'; '.join(_entry(name, processed) for name, processed in episodes)} -->"


def parse_ledger(row: str) -> dict[str, ProcessedTurns] | None:
    """None: the row is something else. What is not understood in it is passed over."""
    found = _ROW.fullmatch(row)
    if found is None:
        return None
    return {
        unescape(one["episode"]): ProcessedTurns(
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
_BULLETS = ("- ", "* ", "+ ")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the file with its end, and what it is to us."""

    raw: str
    section: KnowledgeSection | None = None
    """The one that it stands in; None: one of a person's own, or none."""
    line: KnowledgeLine | None = None
    opens: KnowledgeSection | None = None
    """The section of which it is the heading."""
    hidden: bool = False
    """Inside of code or of a comment: data, whatever it looks like."""


@dataclass(frozen=True)
class KnowledgeDocument:
    """What is in the file, in its order. Never changed in place."""

    rows: tuple[Row, ...] = ()
    eol: str = "\n"
    processed: Mapping[str, ProcessedTurns] = field(default_factory=dict)

    @cached_property
    def lines(self) -> tuple[KnowledgeLine, ...]:
        """Ours, the struck too."""
        return tuple(row.line for row in self.rows if row.line is not None)

    @cached_property
    def by_place(self) -> Mapping[int, Sequence[KnowledgeLine]]:
        """The patterns across places that are believed, by the number of each place where they were found."""
        found: dict[int, list[KnowledgeLine]] = {}
        for line in self.lines:
            if not line.struck:
                for number in {place.number for place in line.places}:
                    found.setdefault(number, []).append(line)
        return found

    @cached_property
    def by_hand(self) -> tuple[tuple[KnowledgeSection, str], ...]:
        """The lists that people wrote into our sections, point by point; those that they struck left out."""
        return tuple(_points(self.rows))

    def added(self, line: KnowledgeLine) -> "KnowledgeDocument":
        """With a new line at the end of its section."""
        rows = list(self.rows) or _blank(self.eol)
        if not any(row.opens is line.section for row in rows):
            rows = _with_section(rows, line.section, self.eol)
        at = max(number for number, row in enumerate(rows) if row.opens is line.section or _fills(row, line.section))
        rows[at] = _ended(rows[at], self.eol)
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
        """With another line in the place of this very one (by identity)."""
        rows = tuple(
            Row(render_line(new) + row.raw[len(row.raw.rstrip("\r\n")) :], row.section, new) if row.line is old else row
            for row in self.rows
        )
        return replace(self, rows=rows)

    def with_processed(self, episode: int | str, processed: ProcessedTurns) -> "KnowledgeDocument":
        """With a note of how far this episode has been taken in."""
        ledger = dict(self.processed) | {str(episode): processed}
        rows = list(self.rows) or _blank(self.eol)
        notes = [number for number, row in enumerate(rows) if parse_ledger(row.raw) is not None]
        for number in reversed(notes[1:]):
            del rows[number]
        note = Row(render_ledger(ledger) + self.eol)
        if notes:
            rows[notes[0]] = note
        else:
            rows[-1] = _ended(rows[-1], self.eol)
            rows += [Row(self.eol), note] if rows[-1].raw.strip() else [note]
        return replace(self, rows=tuple(rows), processed=ledger)


def parse(data: bytes) -> KnowledgeDocument:
    """The document in these bytes, whatever they are."""
    *ended, last = decode(data).split("\n")
    raws = [*(f"{raw}\n" for raw in ended), *([last] if last else [])]
    eol = "\r\n" if raws and raws[0].endswith("\r\n") else "\n"
    hidden = _out_of_sight(raws)
    rows: list[Row] = []
    section: KnowledgeSection | None = None
    ledger: dict[str, ProcessedTurns] = {}
    within_insights = False
    for number, raw in enumerate(raws):
        if (found := parse_ledger(raw)) is not None:
            ledger |= found
            rows.append(Row(raw))
        elif number in hidden:
            rows.append(Row(raw, section, hidden=True))
        elif level := heading_level(raw):
            opens = section_of(raw)
            if level < 3 or opens in TOPICS or opens is KnowledgeSection.INSIGHTS:
                within_insights = opens is KnowledgeSection.INSIGHTS
            opens = opens if within_insights or opens not in WISDOM else None
            # A heading of a person's own ends our section, unless it is one within a list of theirs.
            section = opens or (section if level > 3 else None)
            rows.append(Row(raw, section, opens=opens))
        else:
            rows.append(Row(raw, section, parse_line(raw, section) if section else None))
    return KnowledgeDocument(tuple(rows), eol, ledger)


def render(document: KnowledgeDocument) -> bytes:
    return encode("".join(row.raw for row in document.rows))


def is_damaged(data: bytes) -> bool:
    """Beyond use: nothing but blanks or zeros, or bytes that are no text."""
    if not data.strip(b"\x00 \t\r\n"):
        return True
    if any(row.opens for row in parse(data).rows):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return b"\x00" in data


def _out_of_sight(raws: list[str]) -> set[int]:
    """Rows inside of code and comments that are closed again."""
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
    """Where the code or the comment ends that begins in this row; None: none begins, or it never ends."""
    opening = raws[start].lstrip()
    later = range(start + 1, len(raws))
    for fence in ("```", "~~~"):
        if opening.startswith(fence):
            return next((at for at in later if raws[at].lstrip().startswith(fence)), None)
    if opening.startswith("<!--") and "-->" not in opening:
        # The end of our own note is not the end of a comment that a person has left open.
        return next((at for at in later if "-->" in raws[at] and parse_ledger(raws[at]) is None), None)
    return None


def _points(rows: tuple[Row, ...]) -> Iterator[tuple[KnowledgeSection, str]]:
    section, text = None, ""
    for row in rows:
        goes_on = bool(text) and not row.hidden and row.raw[:1] in (" ", "\t") and bool(row.raw.strip())
        if goes_on:
            text = f"{text} {row.raw.strip()}"
            continue
        if text and section:
            yield section, text
        section, text = row.section, ""
        if row.line is None and not row.hidden and row.raw.startswith(_BULLETS):
            text = row.raw[2:].strip()
            text = "" if text.startswith("~~") else text
    if text and section:
        yield section, text


def _fills(row: Row, section: KnowledgeSection) -> bool:
    return row.section is section and bool(row.raw.strip())


def _blank(eol: str) -> list[Row]:
    """A new file, with all of its sections."""
    rows = [Row(_TITLE + eol)]
    for section in ORDER:
        rows += [Row(eol), Row(section.heading + eol, section, opens=section)]
    return rows


def _with_section(rows: list[Row], section: KnowledgeSection, eol: str) -> list[Row]:
    """With a heading for the section, before the first that comes later in the order."""
    if section in WISDOM and not any(row.opens is KnowledgeSection.INSIGHTS for row in rows):
        rows = _with_section(rows, KnowledgeSection.INSIGHTS, eol)
    rows = list(rows)
    at = _place_for(rows, section)
    if at:
        rows[at - 1] = _ended(rows[at - 1], eol)
    before = [Row(eol)] if at and rows[at - 1].raw.strip() else []
    after = [Row(eol, section)] if at < len(rows) else []
    rows[at:at] = [*before, Row(section.heading + eol, section, opens=section), *after]
    return rows


def _place_for(rows: list[Row], section: KnowledgeSection) -> int:
    """Where its heading goes."""
    start = 0
    end = next((number for number, row in enumerate(rows) if parse_ledger(row.raw) is not None), len(rows))
    if section in WISDOM:
        start = next(number for number, row in enumerate(rows) if row.opens is KnowledgeSection.INSIGHTS) + 1
        outside = (number for number in range(start, end) if not rows[number].hidden and _is_outside(rows[number]))
        end = next(outside, end)
    later = ORDER[ORDER.index(section) + 1 :]
    return next((number for number in range(start, end) if rows[number].opens in later), end)


def _is_outside(row: Row) -> bool:
    """Whether nothing from here on stands below the heading of the insights."""
    opens_another = row.opens in TOPICS or row.opens is KnowledgeSection.INSIGHTS
    return opens_another or heading_level(row.raw) in (1, 2)


def _ended(row: Row, eol: str) -> Row:
    return row if row.raw.endswith("\n") else replace(row, raw=row.raw + eol)
