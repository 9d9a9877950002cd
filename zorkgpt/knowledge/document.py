"""The knowledge file: parse its rows and render them, with everything that people wrote preserved byte for byte."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

from zorkgpt.knowledge.line import (
    ORDER,
    TOPICS,
    WISDOM,
    KnowledgeSection,
    heading_level,
    in_section,
    parse_line,
    render_line,
    section_of,
)
from zorkgpt.memory.models import KNOWLEDGE, Memory, Persistence, SubjectKey
from zorkgpt.memory.storage.escaping import HIDDEN, decode, encode, escape, single_spaced, unescape
from zorkgpt.memory.storage.lasting import Filters
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

    def is_concluded(self, last: int) -> bool:
        """Return whether the whole episode was reviewed when it had this many turns or more."""
        return self.concluded is not None and self.concluded >= last


ProcessedEpisodes = Mapping[str, ProcessedTurns]
"""Episode name → its processed turns, in the order in which the episodes were first processed."""


def render_ledger(ledger: ProcessedEpisodes) -> str:
    """Return the row of the file, without its line ending."""
    return f"<!-- processed: {'; '.join(_entry(name, processed) for name, processed in ledger.items())} -->"


def parse_ledger(row: str) -> dict[str, ProcessedTurns] | None:
    """Return the processed episodes in a row, skipping unknown parts; None if it is another kind of row."""
    found = _ROW.fullmatch(row)
    return None if found is None else _processed_in(found["episodes"])


def _processed_in(entries: str) -> dict[str, ProcessedTurns]:
    return {
        single_spaced(unescape(one["episode"])): ProcessedTurns(
            int(one["until"]),
            None if one["concluded"] is None else int(one["concluded"]),
            bool(one["due"]),
        )
        for one in _EPISODE.finditer(entries)
    }


_REVIEW = "REVIEW"
"""The category of memories about processed episodes."""


def _review(name: str, processed: ProcessedTurns) -> Memory:
    """Return the memory about a processed episode. Its text is the entry of the file."""
    return Memory(
        _REVIEW, f"Episode {name}", name, str(processed.until), None, _entry(name, processed), Persistence.PERMANENT
    )


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
    line: Memory | None = None
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
    is_broken = False
    undated = ()
    """The list items of people are no memories."""

    @cached_property
    def lines(self) -> tuple[Memory, ...]:
        """All lines with evidence, including struck ones."""
        return tuple(row.line for row in self.rows if row.line is not None)

    @property
    def memories(self) -> list[Memory]:
        """The memories that the file shows: its lines, and one about each processed episode."""
        return [*self.lines, *(_review(name, processed) for name, processed in self.processed.items())]

    def find(self, wanted: Filters) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories that pass the filters, with their subject."""
        return [(KNOWLEDGE, memory) for memory in self.memories if wanted.passes(KNOWLEDGE, memory)]

    def showing(self, memories: Sequence[Memory]) -> "KnowledgeDocument":
        """Return the document with exactly these memories. Lines that changed keep their places."""
        reviews = [memory for memory in memories if memory.category == _REVIEW]
        missing = [memory for memory in memories if memory.category != _REVIEW]
        rows, stale = list(self.rows), [at for at, row in enumerate(self.rows) if row.line is not None]
        for known in list(missing):
            if (at := next((at for at in stale if rows[at].line == known), None)) is not None:
                rows[at] = replace(rows[at], line=known)
                stale.remove(at)
                missing.remove(known)
        for key in (attrgetter("category", "text"), attrgetter("category")):
            for line in list(missing):
                if (at := next((at for at in stale if key(rows[at].line) == key(line)), None)) is not None:
                    rows[at] = _row(line, like=rows[at])
                    stale.remove(at)
                    missing.remove(line)
        document = replace(self, rows=tuple(_without(rows, stale)))
        for line in missing:
            document = document.added(line)
        ledger = {name: turns for review in reviews for name, turns in _processed_in(review.text).items()}
        return document if ledger == document.processed else document._with_ledger(ledger)

    @cached_property
    def by_hand(self) -> tuple[tuple[KnowledgeSection, str], ...]:
        """The list items without evidence in the known sections, which people wrote; without struck ones."""
        return tuple(_points(self.rows))

    def added(self, line: Memory) -> "KnowledgeDocument":
        """Return the document with a new line at the end of its section."""
        section = KnowledgeSection(line.category)
        rows = list(self.rows) or [Row(_TITLE + self.eol)]
        if not any(row.opens is section for row in rows):
            rows = _with_section(rows, section, self.eol)
        at = max(number for number, row in enumerate(rows) if row.opens is section or _has_content(row, section))
        rows[at] = _with_eol(rows[at], self.eol)
        new = [Row(render_line(line) + self.eol, section, line)]
        if rows[at].opens:
            if at + 1 < len(rows) and not rows[at + 1].raw.strip():
                at += 1
            else:
                new.insert(0, Row(self.eol, section))
        following = rows[at + 1].raw if at + 1 < len(rows) else ""
        if heading_level(following) or parse_ledger(following) is not None:
            new.append(Row(self.eol, section))
        rows[at + 1 : at + 1] = new
        return replace(self, rows=tuple(rows))

    def changed(self, old: Memory, new: Memory) -> "KnowledgeDocument":
        """Return the document with the line object `old` replaced by `new`."""
        return replace(self, rows=tuple(_row(new, like=row) if row.line is old else row for row in self.rows))

    def with_processed(self, episode: int | str, processed: ProcessedTurns) -> "KnowledgeDocument":
        """Return the document with the processed turns of this episode updated."""
        ledger = dict(self.processed) | {str(episode): processed}
        return self._with_ledger(dict(list(ledger.items())[-_MAX_EPISODES:]))

    def _with_ledger(self, ledger: ProcessedEpisodes) -> "KnowledgeDocument":
        rows = list(self.rows) or [Row(_TITLE + self.eol)]
        notes = [number for number, row in enumerate(rows) if parse_ledger(row.raw) is not None]
        for number in reversed(notes[1:]):
            del rows[number]
        note = Row(render_ledger(ledger) + self.eol)
        if not ledger:
            del rows[notes[0] : notes[0] + 1]
        elif notes:
            rows[notes[0]] = note
        else:
            rows[-1] = _with_eol(rows[-1], self.eol)
            rows += [Row(self.eol), note] if rows[-1].raw.strip() else [note]
        return replace(self, rows=tuple(rows), processed=ledger)


def _row(line: Memory, *, like: Row) -> Row:
    """Return the row of a line in the section of another row and with its line ending."""
    ending = like.raw[len(like.raw.rstrip("\r\n")) :]
    if like.section is not None and line.category != like.section:
        line = in_section(line, like.section)
    return Row(render_line(line) + ending, like.section, line)


def _without(rows: Sequence[Row], removed: Sequence[int]) -> list[Row]:
    """Return the rows without some lines, and without the headings of sections that become empty."""
    kept = [row for at, row in enumerate(rows) if at not in removed]
    sections = {rows[at].section for at in removed}
    parents = {KnowledgeSection.INSIGHTS} if sections.intersection(WISDOM) else set()
    for emptied in (sections, parents):
        for section in emptied:
            kept = _without_heading(kept, section)
    return kept


def _without_heading(rows: list[Row], section: KnowledgeSection | None) -> list[Row]:
    """Return the rows without the heading of a section, unless something follows it."""
    [at, *others] = [number for number, row in enumerate(rows) if row.opens is section is not None] or [len(rows)]
    end = next((number for number in range(at + 1, len(rows)) if rows[number].raw.strip()), len(rows))
    is_followed = end < len(rows) and not (heading_level(rows[end].raw) or parse_ledger(rows[end].raw) is not None)
    opens_child = section is KnowledgeSection.INSIGHTS and end < len(rows) and rows[end].opens in WISDOM
    if others or is_followed or opens_child:
        return rows
    if end == len(rows) and at and not rows[at - 1].raw.strip():
        at -= 1
    return [*rows[:at], *rows[end:]]


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
