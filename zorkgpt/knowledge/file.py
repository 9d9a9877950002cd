"""The knowledge file: parse its lines, and show other ones in it. Everything else stays in place, byte for byte."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from zorkgpt.knowledge.lines import KnowledgeSection, evidence_of, is_by_person, is_struck, line_of
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.escaping import HIDDEN, decode, encode, escape, single_spaced, unescape
from zorkgpt.memory.storage.reprint import ANCHOR, decoded, hidden_lines, original, typographic

_TITLE = "# Knowledge"
_SECTION_LEVEL = 2
_ORDER = tuple(KnowledgeSection)

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")
_UNDERLINE = re.compile(r" {0,3}(=|-)\1+[ \t]*")
_BULLET = re.compile(r"( {0,3})[-*+][ \t]+")

_UNSAFE = re.compile(rf"[\\*~<>&`\[\]|{HIDDEN}]|^[#\-+_=(]")
_UNSAFE_IN_MARK = re.compile(rf'[\\*~<>&`\[\]|(",;{HIDDEN}]')
_LINE = re.compile(r"(?P<text>.*?)(?:[ \t]*(?<!\\)([*_])\((?P<mark>Ep.*)\)\2)?[ \t]*")
_MARK = re.compile(
    r"Ep(?P<episode>.+), T(?P<first>\d{1,9})(?:[-–→]T?(?P<last>\d{1,9}))?"
    r"(?:; (?:confirmed (?P<confirmed>\d{1,9}))?(?:, )?(?:contradicted (?P<contradicted>\d{1,9}))?)?"
    r'(?:; because \\?["“](?P<reason>.*?)\\?["”])?'
)
_STRUCK = re.compile(r"(?:\\?~){2}(?P<text>.*?)(?:\\?~){2}|<(?P<tag>s|del|strike)>(?P<html>.*)</(?P=tag)>")
_STRUCK_AS_WRITTEN = re.compile(r"~~(?P<text>.*)~~(?P<html>)")


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold().replace("&", " and ")))


_BY_NAME = {_plain(section): section for section in KnowledgeSection}


# One line


def render_line(line: Memory) -> str:
    """Return the row of the file, without its line ending."""
    text = escape(line.text, _UNSAFE)
    mark = "" if is_by_person(line) else f" *({_mark(line)})*"
    return f"- {f'~~{text}~~' if is_struck(line) else text}{mark}"


def _mark(line: Memory) -> str:
    span = f"T{line.first_turn}" + (f"-T{line.last_turn}" if line.last_turn != line.first_turn else "")
    parts = [f"Ep{escape(str(line.episode), _UNSAFE_IN_MARK)}, {span}"]
    if evidence := evidence_of(line):
        parts.append(evidence)
    if line.invalidation_reason:
        parts.append(f'because "{escape(line.invalidation_reason, _UNSAFE_IN_MARK)}"')
    return "; ".join(parts)


def parse_line(row: str, section: KnowledgeSection) -> Memory | None:
    """Parse a list item, joined to one row, as it was written or as a formatter has reprinted it. None if it is empty.

    An item without the mark of an episode is a person's.
    """
    bullet = _BULLET.match(row)
    if bullet is None:
        return None
    item = row[bullet.end() :]
    # As `render_line` writes it, escaped tildes belong to the text. Formatters escape those of a struck text too.
    own = _parsed(item, section, _STRUCK_AS_WRITTEN)
    if own is not None and render_line(own) == row.rstrip("\r\n"):
        return own
    return _parsed(single_spaced(original(item, is_escaped=True)), section, _STRUCK)


def _parsed(item: str, section: KnowledgeSection, struck: re.Pattern[str]) -> Memory | None:
    found = _LINE.fullmatch(item.rstrip("\r\n"))
    mark = _MARK.fullmatch(found["mark"]) if found and found["mark"] else None
    written = (found["text"] if found and mark else item).strip()
    inside = struck.fullmatch(written)
    text = single_spaced(unescape((inside["text"] or inside["html"] or "") if inside else written))
    if not text:
        return None
    if mark is None:
        return line_of(section, text, struck=inside is not None)
    return line_of(
        section,
        text,
        _episode(mark["episode"]),
        int(mark["first"]),
        int(mark["last"] or mark["first"]),
        confirmed=int(mark["confirmed"] or 0),
        contradicted=int(mark["contradicted"] or 0),
        struck=inside is not None,
        reason=unescape(mark["reason"] or "") if inside else "",
    )


def _episode(written: str) -> int | str:
    name = single_spaced(unescape(written))
    return int(name) if name.isascii() and name.isdigit() and len(name) < 19 and str(int(name)) == name else name


# The file


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the file with its line ending, or a list item or heading of several rows."""

    raw: str
    line: Memory | None = None


@dataclass(frozen=True, slots=True)
class HeadedPart:
    """A heading and what follows, up to the next heading of its level or above, or that of a section."""

    rows: tuple[Row, ...] = ()
    """The first one is the heading, except before the first heading."""
    section: KnowledgeSection | None = None
    level: int = 0


@dataclass(frozen=True)
class KnowledgeDocument:
    """The content of the file. Immutable."""

    parts: tuple[HeadedPart, ...] = ()
    eol: str = "\n"

    @cached_property
    def lines(self) -> tuple[Memory, ...]:
        """All lines, including struck ones and those of people."""
        return tuple(row.line for part in self.parts for row in part.rows if row.line is not None)

    def showing(self, lines: Sequence[Memory]) -> "KnowledgeDocument":
        """Return the document with exactly these lines. Known ones keep their places."""
        missing = _Missing(lines)
        parts: list[HeadedPart] = []
        for part in self.parts:
            rows = [row for row in (missing.shown(row, part.section) for row in part.rows) if row is not None]
            if len(rows) == len(part.rows) or not _is_empty(part, rows):
                parts.append(replace(part, rows=tuple(rows)))
            elif part is self.parts[-1] and parts:
                parts[-1] = _without_blank_end(parts[-1])
        document = replace(self, parts=tuple(parts))
        for line in missing.lines():
            document = document._with_line(line)
        return document

    def _with_line(self, line: Memory) -> "KnowledgeDocument":
        """Return the document with a new line at the end of its section."""
        section = KnowledgeSection(line.category)
        parts = list(self.parts) or [HeadedPart((Row(_TITLE + self.eol),))]
        if all(part.section is not section for part in parts):
            self._insert_section(parts, section)
        at = max(number for number, part in enumerate(parts) if part.section is section)
        rows = list(_without_blank_end(parts[at]).rows)
        blank = parts[at].rows[len(rows) :]
        rows[-1] = self._ended(rows[-1])
        if len(rows) == 1:
            rows.append(Row(self.eol))
        rows.append(Row(render_line(line) + self.eol, line))
        if at + 1 < len(parts):
            blank = blank or (Row(self.eol),)
        parts[at] = replace(parts[at], rows=(*rows, *blank))
        return replace(self, parts=tuple(parts))

    def _insert_section(self, parts: list[HeadedPart], section: KnowledgeSection) -> None:
        """Insert an empty section before the first one that comes later in the order."""
        later = _ORDER[_ORDER.index(section) + 1 :]
        at = next((number for number, part in enumerate(parts) if part.section in later), len(parts))
        heading = Row(_heading_of(section) + self.eol)
        if at and parts[at - 1].rows:
            rows = list(parts[at - 1].rows)
            rows[-1] = self._ended(rows[-1])
            if rows[-1].raw.strip():
                rows.append(Row(self.eol))
            parts[at - 1] = replace(parts[at - 1], rows=tuple(rows))
        parts.insert(at, HeadedPart((heading,), section, _SECTION_LEVEL))

    def _ended(self, row: Row) -> Row:
        return row if row.raw.endswith("\n") else replace(row, raw=row.raw + self.eol)


def _heading_of(section: KnowledgeSection) -> str:
    return f"{'#' * _SECTION_LEVEL} {section}"


class _Missing:
    """The lines that a document has yet to show."""

    def __init__(self, lines: Sequence[Memory]) -> None:
        self._lines = dict(enumerate(lines))
        self._numbers: dict[tuple[str, tuple[str, str]], list[int]] = {}
        for at, line in self._lines.items():
            for key in _keys(line):
                self._numbers.setdefault((line.category, key), []).append(at)

    def shown(self, row: Row, section: KnowledgeSection | None) -> Row | None:
        """Return a row with the version of its line that is to be shown. None if there is none."""
        if row.line is None or section is None:
            return row
        numbers = (at for key in _keys(row.line) for at in self._numbers.get((section, key), ()) if at in self._lines)
        if (number := next(numbers, None)) is None:
            return None
        line = self._lines.pop(number)
        if render_line(line) == render_line(row.line):
            return Row(row.raw, line)
        return Row(render_line(line) + row.raw[len(row.raw.rstrip("\r\n")) :], line)

    def lines(self) -> list[Memory]:
        return list(self._lines.values())


def _keys(line: Memory) -> tuple[tuple[str, str], ...]:
    """Return what identifies a line within its section, the most exact key first."""
    return ("row", render_line(line)), ("title", typographic(line.title)), ("id", line.id)


def _is_empty(part: HeadedPart, rows: Sequence[Row]) -> bool:
    """Return whether a section that had these rows left is only our heading."""
    if part.section is None or rows[0].raw.rstrip("\r\n") != _heading_of(part.section):
        return False
    return not any(row.raw.strip() for row in rows[1:])


def _without_blank_end(part: HeadedPart) -> HeadedPart:
    rows = list(part.rows)
    while len(rows) > 1 and not rows[-1].raw.strip():
        rows.pop()
    return replace(part, rows=tuple(rows))


def parse(data: bytes) -> KnowledgeDocument:
    """Parse any bytes into a document."""
    raws = re.findall(r"[^\n]*\n|[^\n]+", decode(data))
    eol = "\r\n" if raws and raws[0].endswith("\r\n") else "\n"
    hidden = hidden_lines(raws)
    parts: list[tuple[list[Row], KnowledgeSection | None, int]] = [([], None, 0)]
    at = 0
    while at < len(raws):
        _, section, level = parts[-1]
        line, count = None, 1
        heading = None if at in hidden else _heading(raws, at)
        if heading:
            new_level, name, count = heading
            opened = _BY_NAME.get(_plain(decoded(ANCHOR.sub("", name))))
            if opened is not None or section is None or new_level <= level:
                parts.append(([], opened, new_level))
        elif section is not None and at not in hidden and _BULLET.match(raws[at]):
            count = _item_length(raws, at, hidden)
            line = parse_line(" ".join([raws[at].rstrip(), *map(str.strip, raws[at + 1 : at + count])]), section)
        parts[-1][0].append(Row("".join(raws[at : at + count]), line))
        at += count
    return KnowledgeDocument(
        tuple(HeadedPart(tuple(rows), section, level) for rows, section, level in parts if rows), eol
    )


def render(document: KnowledgeDocument) -> bytes:
    return encode("".join(row.raw for part in document.parts for row in part.rows))


def is_damaged(data: bytes) -> bool:
    """Return whether the file is unusable: only whitespace or zeros, or bytes that are not text."""
    if not data.strip(b"\x00 \t\r\n"):
        return True
    if any(part.section for part in parse(data).parts):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return b"\x00" in data


def _heading(raws: Sequence[str], at: int) -> tuple[int, str, int] | None:
    """Return the level, the name and the number of rows of the heading that begins here. None if none does."""
    row = raws[at].rstrip("\r\n")
    if found := _HEADING.fullmatch(row):
        return len(found[1]), found[2], 1
    is_paragraph = row.strip() and not _BULLET.match(row) and not (at and raws[at - 1].strip())
    underline = _UNDERLINE.fullmatch(raws[at + 1].rstrip("\r\n")) if is_paragraph and at + 1 < len(raws) else None
    return (1 if underline[1] == "=" else 2, row, 2) if underline else None


def _item_length(raws: Sequence[str], start: int, hidden: frozenset[int]) -> int:
    """Return the number of rows of the list item that starts here, with its wrapped and nested rows."""
    indent = len(raws[start]) - len(raws[start].lstrip())
    end = start + 1
    while (
        end < len(raws) and end not in hidden and raws[end].strip() and not _HEADING.fullmatch(raws[end].rstrip("\r\n"))
    ):
        bullet = _BULLET.match(raws[end])
        if bullet and len(bullet[1]) <= indent:
            break
        end += 1
    return end - start
