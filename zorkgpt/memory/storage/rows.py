"""The lasting memories in the rows of a database: one for each memory, and one for each section.

The row of a memory has its entry in a Markdown file, and the columns by which it is found. The row of a section has the
text above and below its memories. Together, the rows contain every byte of a Markdown file.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate, groupby
from sys import maxsize
from typing import Any, TypeVar

from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Category, Memory, Persistence, SubjectKey
from zorkgpt.memory.places import FOLLOWING, column_of, place_in, ranges_of
from zorkgpt.memory.storage.changes import Step
from zorkgpt.memory.storage.document import TITLE, Document, ending_blank, line_end, parse
from zorkgpt.memory.storage.entry import Entry
from zorkgpt.memory.storage.escaping import decode, encode, folded
from zorkgpt.memory.storage.lasting import Filters, Heading, Prefix
from zorkgpt.memory.storage.person_edits import PersonEdits
from zorkgpt.memory.storage.section import (
    LocationSection,
    after_step,
    new_section,
    parse_section,
    read_entry,
    with_key,
    with_parts,
)
from zorkgpt.memory.storage.tables import Rows
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.storage.words import CURRENT, WordIndex, database_text, indexed_words, marks_of
from zorkgpt.text import key_of

_Value = TypeVar("_Value")

_MOST_CACHED = 2_000
"""Maximum number of memories cached between calls."""
_MOST_PARAMETERS = 500
"""Maximum number of values in a query."""
_LAST_PLACE = "9"
"""Greater than every value of a column `place`."""
_MANY = 500
"""Memories with a mark are counted up to this number."""
_COLUMNS = "zorkgpt_memories.place, zorkgpt_memories.section, zorkgpt_memories.id, memory, entry"
_ORDER = "place, section, id"
_ABOVE = Memory(Category.NOTE, "", 0, "", 0, "", Persistence.PERMANENT)
"""A placeholder for the last memory of a section. Only its last character matters when a memory is added."""
_FOUND_BY = ("memory", "title", "is_current", "expires_at", "revision", "text_key", "entry")
_INSERT = (
    f"INSERT INTO zorkgpt_memories (id, place, section, {', '.join(_FOUND_BY)}, lead) "
    f"VALUES (%s, %s, %s, {', '.join(['%s'] * len(_FOUND_BY))}, %s)"
)
_SECTIONS = """
SELECT place, id, head, tail, (
    SELECT substr(entry, length(entry)) FROM zorkgpt_memories
    WHERE zorkgpt_memories.place = zorkgpt_sections.place AND section = zorkgpt_sections.id
    ORDER BY zorkgpt_memories.id DESC LIMIT 1
) FROM zorkgpt_sections WHERE place IN ({}) ORDER BY id
"""
_INSERT_SECTION = "INSERT INTO zorkgpt_sections (id, position, place, head, tail) VALUES (%s, %s, %s, %s, %s)"
_UPDATE = f"UPDATE zorkgpt_memories SET {', '.join(f'{name} = %s' for name in _FOUND_BY)} WHERE id = %s"


@dataclass(slots=True)
class _Stored:
    """The row of a memory."""

    section: int
    id: int
    memory: str
    """The id of the memory."""
    entry: Entry
    lead: str = ""
    """The text between the memory and the one above. "" if it was not read."""


@dataclass(slots=True)
class _Section:
    """The row of a section."""

    id: int
    head: LocationSection
    """The text above the first memory."""
    tail: bytes
    """The text below the last memory."""
    end: bytes | None
    """The last byte of the last memory. None if there is no memory."""


class MemoryRows:
    """The lasting memories in a database, read by queries. Changed only within a transaction of the store.

    Memories are cached until another process changes them, so that a memory stays the same object.
    """

    def __init__(self, database: Rows, edits: PersonEdits, words: WordIndex) -> None:
        self._database = database
        self._edits = edits
        self._words = words
        self._revision = -1
        """The revision of the cached memories."""
        self._first_expiry: tuple[int, str | None] | None = None
        """A revision, and its earliest `expires_at`. The latter is None if no memory expires."""
        self._places: dict[SubjectKey, list[_Stored]] = {}
        self._sections: dict[SubjectKey, list[_Section]] = {}
        self._eol = ""
        self._cached = 0
        self._is_following_edits = False
        self.before: dict[int, bytes | None] | None = None
        """The sections before this transaction, by number. None if they are not needed."""
        self.is_changed = False
        """Whether this transaction changed anything."""
        self._written: dict[int, _Indexed] = {}
        """Memories to add to the indexes of words and marks at the end of this transaction."""
        self._old: dict[int, _Indexed] = {}
        """Memories to remove from these indexes."""
        self._new_sections: list[tuple[object, ...]] = []
        self._changed_sections: list[tuple[object, ...]] = []
        self._new_memories: list[tuple[object, ...]] = []
        """Rows that wait to be written together, before the next query or statement."""
        self._last_numbers: dict[str, int] = {}
        """Table → its highest row number, for the tables into which this transaction inserts rows."""

    # Reading

    def follow(self) -> None:
        """Clear the cache if another process has changed the memories."""
        revision = self._value("SELECT revision FROM zorkgpt_state")
        if revision != self._revision:
            self.forget()
            self._revision = revision
        elif self._cached > _MOST_CACHED:
            self._drop_places()

    def forget(self) -> None:
        """Clear the cache."""
        self._drop_places()
        self._revision = -1
        self._first_expiry = None
        self._eol = ""
        self._is_following_edits = False

    def _drop_places(self) -> None:
        self._places.clear()
        self._sections.clear()
        self._cached = 0

    def places(self, prefix: Prefix | None = None, *, believed: bool = False) -> list[SubjectKey]:
        table = "zorkgpt_memories WHERE is_current = 1 AND" if believed else "zorkgpt_sections WHERE"
        query = f"SELECT DISTINCT place FROM {table} place >= %s AND place < %s"
        return [place_in(column) for limits in _ranges(prefix) for (column,) in self._rows(query, limits)]

    def headings(self, places: Iterable[SubjectKey]) -> dict[SubjectKey, Heading]:
        wanted = list(places)
        self._read_sections(wanted)
        heads = {place: self._sections[place][0].head for place in wanted if self._sections[place]}
        return {place: Heading(head.name, head.visits, head.episodes) for place, head in heads.items()}

    def memories(self, place: SubjectKey) -> list[Memory]:
        return [stored.entry.memory for stored in self._stored_at(place)]

    def numbered(self, numbers: Sequence[int]) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories with these row numbers, in this order."""
        query = f"SELECT {_COLUMNS} FROM zorkgpt_memories WHERE id"
        rows = {row[2]: row for row in self._with_any(query, numbers)}
        return self._read([rows[number] for number in numbers if number in rows])

    def text_keys(self, since: object = None) -> tuple[set[bytes], object]:
        now = int(self._value("SELECT revision FROM zorkgpt_state"))
        revision = since if isinstance(since, int) and since <= now else -1
        rows = self._rows("SELECT text_key FROM zorkgpt_memories WHERE revision > %s", (revision,))
        return {bytes(key) for (key,) in rows}, now

    def count(self) -> int:
        return int(self._value("SELECT memories FROM zorkgpt_state"))

    def find(self, wanted: Filters, *, limit: int | None = None, offset: int = 0) -> list[tuple[SubjectKey, Memory]]:
        most = maxsize if limit is None else min(offset + limit, maxsize)
        if (rows := self._candidates(wanted)) is not None:
            return [(place, memory) for place, memory in self._read(sorted(rows)) if wanted.passes(place, memory)][
                offset:most
            ]
        query, given = _finding(wanted, self._rarest_first(wanted), most)
        query = (
            f"SELECT {_COLUMNS} FROM ({query} ORDER BY {_ORDER} LIMIT %s OFFSET %s) AS found "
            "JOIN zorkgpt_memories ON zorkgpt_memories.id = found.id ORDER BY 1, 2, 3"
        )
        return self._read(self._rows(query, (*given, most - offset, offset)))

    def _candidates(self, wanted: Filters) -> set[tuple[Any, ...]] | None:
        """Return the rows of the memories that the filters name, and perhaps others. None if they name none."""
        select = f"SELECT {_COLUMNS} FROM zorkgpt_memories WHERE"
        if wanted.expires_by is not None:
            return set(self._rows(f"{select} expires_at <= %s", (wanted.expires_by,)) if self._expires(wanted) else ())
        if wanted.texts is not None:
            return set(self._with_any(f"{select} text_key", list(wanted.texts)))
        if wanted.named is not None:
            at = [] if wanted.location_id is None else [column_of(wanted.location_id)]
            query = f"{select} (memory = %s OR title = %s){' AND place = %s' * len(at)}"
            return set(self._rows(query, (database_text(wanted.named), database_text(folded(wanted.named)), *at)))
        if wanted.among is not None:
            return set(self._at_places([(database_text(name), column_of(place)) for place, name in wanted.among]))
        return None

    def _expires(self, wanted: Filters) -> bool:
        """Return whether any memory expires by the time in the filters."""
        if self._first_expiry is None or self._first_expiry[0] != self._revision:
            query = "SELECT min(expires_at) FROM zorkgpt_memories WHERE expires_at IS NOT NULL"
            self._first_expiry = self._revision, self._value(query)
        first, by = self._first_expiry[1], wanted.expires_by
        return first is not None and by is not None and first <= by

    def _at_places(self, wanted: Sequence[tuple[str, str]]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the memories with these ids or titles and places."""
        # SQLite uses an index only for a join in this order.
        part = f"SELECT {_COLUMNS} FROM wanted CROSS JOIN zorkgpt_memories WHERE place = at AND"
        for page in _pages(wanted):
            values = ", ".join(["(%s, %s)"] * len(page))
            query = f"WITH wanted (name, at) AS (VALUES {values}) {part} memory = name UNION ALL {part} title = name"
            yield from self._rows(query, [value for pair in page for value in pair])

    def _with_any(self, query: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        """Yield the result of a query that ends with a column, for rows with any of these values in that column."""
        for page in _pages(values):
            yield from self._rows(f"{query} IN ({', '.join(['%s'] * len(page))})", page)

    def _rarest_first(self, wanted: Filters) -> list[str]:
        marks = [mark for mark in wanted.marks() if mark != CURRENT]
        if len(marks) < 2:
            return marks
        count = f"(SELECT count(*) FROM (SELECT 1 FROM zorkgpt_marks WHERE mark = %s LIMIT {_MANY}) AS counted)"
        [counts] = self._rows(f"SELECT {', '.join([count] * len(marks))}", marks)
        count_by_mark = dict(zip(marks, map(int, counts), strict=True))
        return sorted(marks, key=lambda mark: count_by_mark[mark])

    @property
    def document(self) -> Document:
        """All memories as a Markdown file."""
        return parse(b"".join(self._sections_in_order()))

    def _sections_in_order(self) -> Iterator[bytes]:
        bodies: dict[int, list[bytes]] = defaultdict(list)
        for section, lead, entry in self._rows(
            "SELECT section, lead, entry FROM zorkgpt_memories ORDER BY section, id"
        ):
            bodies[section] += (lead, entry)
        rows = self._rows("SELECT id, position, place, head, tail FROM zorkgpt_sections ORDER BY position, id")
        data = {number: b"".join([head, *bodies[number], tail]) for number, _, _, head, tail in rows}
        placed = [(number, place or "") for number, position, place, *_ in rows if position is not None]
        added = sorted((place, number) for number, position, place, *_ in rows if position is None)
        # An added place comes before the first place with a later key.
        latest = list(accumulate((place for _, place in placed), max))
        before: dict[int, list[int]] = defaultdict(list)
        for place, number in added:
            before[bisect_right(latest, place)].append(number)
        order: list[tuple[int, bool]] = []
        for at in range(len(placed) + 1):
            order += ((number, True) for number in before[at])
            order += ((number, False) for number, _ in placed[at : at + 1])
        eol = encode(self._line_end())
        if order and not placed:
            yield TITLE + eol + eol
        for at, (number, is_added) in enumerate(order):
            is_beside_added = at + 1 < len(order) and (is_added or order[at + 1][1])
            yield ending_blank(data[number], eol) if is_beside_added else data[number]

    def _line_end(self) -> str:
        if not self._eol:
            query = "SELECT head FROM zorkgpt_sections WHERE position IS NOT NULL ORDER BY position LIMIT 1"
            rows = self._rows(query)
            self._eol = line_end(bytes(rows[0][0])) if rows else "\n"
        return self._eol

    def _stored_at(self, place: SubjectKey) -> list[_Stored]:
        stored = self._places.get(place)
        if stored is None:
            query = f"SELECT {_COLUMNS} FROM zorkgpt_memories WHERE place = %s ORDER BY {_ORDER}"
            stored = [self._stored(place, row) for row in self._rows(query, (column_of(place),))]
            self._places[place] = stored
            self._cached += len(stored) + 1
        return stored

    def _read(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[SubjectKey, Memory]]:
        memories = []
        for column, rows_of_place in groupby(rows, key=lambda row: row[0]):
            place = place_in(column)
            cached = {stored.id: stored for stored in self._places.get(place, ())}
            for row in rows_of_place:
                stored = cached.get(row[2]) or self._stored(place, row)
                memories.append((place, stored.entry.memory))
        return memories

    def _stored(self, place: SubjectKey, row: tuple[Any, ...]) -> _Stored:
        _, section, number, key, data = row
        entry = read_entry(decode(bytes(data)))
        memory = entry.memory
        if memory_id(place, memory) != key:
            memory.id = key
        if not self._is_following_edits:
            self._edits.refresh()
            self._is_following_edits = True
        memory.edited_by_person = self._edits.is_edited(place, key)
        return _Stored(section, number, key, entry)

    def _sections_of(self, place: SubjectKey) -> list[_Section]:
        if place not in self._sections:
            self._read_sections([place])
        return self._sections[place]

    def _read_sections(self, places: Iterable[SubjectKey]) -> None:
        by_column: dict[str, list[_Section]] = {column_of(place): [] for place in places if place not in self._sections}
        for columns in _pages(list(by_column)):
            parameters = ", ".join(["%s"] * len(columns))
            for column, number, head, tail, end in self._rows(_SECTIONS.format(parameters), columns):
                stored = _Section(number, parse_section(bytes(head)), bytes(tail), None if end is None else bytes(end))
                by_column[column].append(stored)
        self._sections |= {place_in(column): sections for column, sections in by_column.items()}
        self._cached += len(by_column)

    # Changing

    @contextmanager
    def changing(self, *, keeps_before: bool) -> Iterator[None]:
        """Begin a transaction. Waiting rows and indexes are written when the block ends."""
        self.before = {} if keeps_before else None
        self.is_changed = False
        self._written, self._old, self._last_numbers = {}, {}, {}
        self._new_sections, self._changed_sections, self._new_memories = [], [], []
        yield
        if self.is_changed:
            self._index()

    def _index(self) -> None:
        """Update the indexes and the counts for the changes of the transaction."""
        self._words.delete(self._old)
        self._words.put((number, [*new.words, *new.marks]) for number, new in self._written.items())
        self._put(
            "DELETE FROM zorkgpt_marks WHERE mark = %s AND place = %s AND section = %s AND id = %s",
            _mark_rows(self._old),
        )
        self._put(
            "INSERT INTO zorkgpt_marks (mark, place, section, id) VALUES (%s, %s, %s, %s)", _mark_rows(self._written)
        )
        more = len(self._written) - len(self._old)
        longer = _length(self._written) - _length(self._old)
        self._revision += 1
        query = "UPDATE zorkgpt_state SET revision = %s, memories = memories + %s, words = words + %s"
        self._put(query, [(self._revision, more, longer)])

    def rewritten(self, document: Document) -> "MemoryRows":
        """Replace everything by the content of a file."""
        self.is_changed = True
        for (number,) in self._rows("SELECT id FROM zorkgpt_sections") if self.before is not None else ():
            self._note(number)
        self._words.clear()
        self._written, self._old = {}, {}
        for table in ("zorkgpt_memories", "zorkgpt_marks", "zorkgpt_sections"):
            self._put(f"DELETE FROM {table}", [()])
        self._put("UPDATE zorkgpt_state SET memories = 0, words = 0", [()])
        self._drop_places()
        self._eol = ""
        for position, section in enumerate(document.dated.sections):
            self._insert_section(section, position=position)
        self._drop_places()
        return self

    def moved(self, old: SubjectKey, new: SubjectKey) -> "MemoryRows":
        """Change the key of a place's sections. Their memories keep their ids."""
        for stored in list(self._sections_of(old)):
            data = self._data(stored.id)
            self._replace_section(stored.id, with_key(parse_section(data), new, line_end(data)))
        return self

    def put_back(self, sections: Mapping[int, bytes | None]) -> None:
        """Restore sections by number. None deletes a section."""
        self.before = None
        for number, data in sections.items():
            self._replace_section(number, None if data is None else parse_section(bytes(data)))

    def applied(self, step: Step) -> "MemoryRows":
        """Change a section as `after_step` does, reading only the necessary memories."""
        place, old = step.location_id, step.before
        self.is_changed = True
        if old is None:
            if not self._sections_of(place):
                self._insert_section(new_section(place, step.location_name, self._line_end()))
            section = self._sections_of(place)[0]
            rows = [] if section.end is None else [_Stored(section.id, 0, "", Entry(_ABOVE, decode(section.end)))]
        else:
            stored = self._found(place, old)
            section = next(each for each in self._sections_of(place) if each.id == stored.section)
            rows = self._with_neighbors(place, stored) if step.after is None else [stored]
        self._note(section.id)
        eol = line_end(section.head.data)
        texts = [part for row in rows for part in (row.lead, row.entry)][1:]
        parts = tuple(part for part in (*section.head.parts, *texts, decode(section.tail)) if part)
        self._write_part(place, section, rows, after_step(with_parts(section.head, parts, eol), step, eol))
        return self

    def _with_neighbors(self, place: SubjectKey, stored: _Stored) -> list[_Stored]:
        """Return a memory with its neighbors: the one before it, and one or two after it."""
        where = "FROM zorkgpt_memories WHERE place = %s AND section = %s"
        query = (
            f"SELECT {_COLUMNS}, lead {where} AND id >= coalesce((SELECT max(id) {where} AND id < %s), 0) "
            "ORDER BY id LIMIT 3"
        )
        at = column_of(place), stored.section
        rows = []
        for *columns, lead in self._rows(query, (*at, *at, stored.id)):
            row = stored if columns[2] == stored.id else self._stored(place, tuple(columns))
            rows.append(replace(row, lead=decode(bytes(lead))))
        return rows

    def _write_part(
        self, place: SubjectKey, section: _Section, rows: Sequence[_Stored], changed: LocationSection
    ) -> None:
        """Write the changes of a section of which only these rows were read."""
        head, entries, tail = split(changed)
        entry_ids = {id(entry) for _, entry in entries}
        remaining = [row for row in rows if len(entries) >= len(rows) or id(row.entry) in entry_ids]
        if (head, tail) != (section.head.data, section.tail):
            section.head, section.tail = parse_section(head), tail
            self._changed_sections.append((head, tail, section.id))
        for row, (lead, entry) in zip(remaining, entries, strict=False):
            if entry is not row.entry:
                self._take_out(place, section, row)
                row.entry = entry
                self._put(_UPDATE, [(*self._found_by(place, entry.memory), encode(entry.raw), row.id)])
                self._put_in(place, section, row.id, entry.memory)
                if section.end != b"\n":
                    self._sections.pop(place, None)
            if row is not rows[0] and lead != row.lead:
                self._put("UPDATE zorkgpt_memories SET lead = %s WHERE id = %s", [(encode(lead), row.id)])
        for row in rows:
            if row not in remaining:
                self._take_out(place, section, row)
                self._put("DELETE FROM zorkgpt_memories WHERE id = %s", [(row.id,)])
                if place in self._places:
                    self._places[place] = [each for each in self._places[place] if each.id != row.id]
                # Read the end of the last memory again.
                self._sections.pop(place, None)
        for lead, entry in entries[len(remaining) :]:
            self._insert(place, section, lead, entry)

    def _found(self, place: SubjectKey, memory: Memory) -> _Stored:
        key = memory_id(place, memory)
        stored = self._places.get(place)
        if stored is None:
            query = f"SELECT {_COLUMNS} FROM zorkgpt_memories WHERE memory = %s AND place = %s"
            stored = [self._stored(place, row) for row in sorted(self._rows(query, (key, column_of(place))))]
        for each in stored:
            if each.memory == key and each.entry.memory == memory:
                return each
        raise KeyError(memory.title)

    def _note(self, number: int) -> None:
        """Keep the original of a section before its first change."""
        if self.before is not None and number not in self.before:
            self.before[number] = self._data(number)

    def _data(self, number: int) -> bytes:
        [(place, head, tail)] = self._rows("SELECT place, head, tail FROM zorkgpt_sections WHERE id = %s", (number,))
        query = "SELECT lead, entry FROM zorkgpt_memories WHERE place = %s AND section = %s ORDER BY id"
        body = [bytes(part) for row in self._rows(query, (place, number)) for part in row]
        return b"".join([bytes(head), *body, bytes(tail)])

    def _insert_section(
        self, section: LocationSection, *, number: int | None = None, position: int | None = None
    ) -> None:
        place = section.location_id
        head, entries, tail = split(section)
        column = None if place is None else column_of(place)
        number = self._new_number("zorkgpt_sections") if number is None else number
        self._new_sections.append((number, position, column, head, tail))
        if self.before is not None:
            self.before.setdefault(number, None)
        if place is None:
            return
        stored = _Section(number, parse_section(head) if entries else section, tail, None)
        if place in self._sections:
            self._sections[place].append(stored)
        for lead, entry in entries:
            self._insert(place, stored, lead, entry)

    def _replace_section(self, number: int, section: LocationSection | None) -> None:
        """Replace the section with this number and its memories. None deletes it."""
        self.is_changed = True
        rows = self._rows("SELECT position, place FROM zorkgpt_sections WHERE id = %s", (number,))
        position, column = rows[0] if rows else (None, None)
        if rows:
            self._note(number)
        if column is not None:
            place = place_in(column)
            stored = next(each for each in self._sections_of(place) if each.id == number)
            for memory in self._stored_at(place):
                if memory.section == number:
                    self._take_out(place, stored, memory)
            self._put("DELETE FROM zorkgpt_memories WHERE place = %s AND section = %s", [(column, number)])
        self._put("DELETE FROM zorkgpt_sections WHERE id = %s", [(number,)])
        self._last_numbers.clear()
        self._drop_places()
        if section is not None:
            self._insert_section(section, number=number, position=position)
        self._drop_places()

    def _insert(self, place: SubjectKey, section: _Section, lead: str, entry: Entry) -> None:
        number, raw = self._new_number("zorkgpt_memories"), encode(entry.raw)
        row = (number, column_of(place), section.id, *self._found_by(place, entry.memory), raw, encode(lead))
        self._new_memories.append(row)
        section.end = raw[-1:]
        self._put_in(place, section, number, entry.memory)
        if place not in self._places:
            return
        if len(self._sections_of(place)) > 1:
            self._places.pop(place)
        else:
            self._places[place].append(_Stored(section.id, number, memory_id(place, entry.memory), entry))

    def _new_number(self, table: str) -> int:
        """Return the number for a new row. No other process inserts rows during the transaction."""
        if table not in self._last_numbers:
            self._last_numbers[table] = int(self._value(f"SELECT coalesce(max(id), 0) FROM {table}"))
        self._last_numbers[table] += 1
        return self._last_numbers[table]

    def _rows(self, query: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        self._write()
        return self._database.rows(query, parameters)

    def _value(self, query: str) -> Any:
        self._write()
        return self._database.value(query)

    def _put(self, query: str, parameters: Iterable[Sequence[object]]) -> None:
        self._write()
        self._database.put(query, parameters)

    def _write(self) -> None:
        """Write the waiting rows, or drop them if their transaction was undone."""
        sections, changed, memories = self._new_sections, self._changed_sections, self._new_memories
        self._new_sections, self._changed_sections, self._new_memories = [], [], []
        if self._database.is_changing:
            self._database.put(_INSERT_SECTION, sections)
            self._database.put("UPDATE zorkgpt_sections SET head = %s, tail = %s WHERE id = %s", changed)
            self._database.put(_INSERT, memories)

    def _found_by(self, place: SubjectKey, memory: Memory) -> tuple[object, ...]:
        """Return the values of the columns `_FOUND_BY`, except the entry."""
        return (
            memory_id(place, memory),
            database_text(folded(memory.title)),
            int(is_current(memory)),
            memory.expires_at,
            self._revision + 1,
            key_of(memory.text),
        )

    def _put_in(self, place: SubjectKey, section: _Section, number: int, memory: Memory) -> None:
        """Add a memory to the indexes at the end of the transaction."""
        self._written[number] = _Indexed(place, section, memory)

    def _take_out(self, place: SubjectKey, section: _Section, stored: _Stored) -> None:
        """Remove a memory from the indexes at the end of the transaction."""
        # The indexes don't have a memory that this transaction wrote.
        if self._written.pop(stored.id, None) is None:
            self._old[stored.id] = _Indexed(place, section, stored.entry.memory)


class _Indexed:
    """The words and marks of a memory in the indexes."""

    __slots__ = ("column", "marks", "section", "words")

    def __init__(self, place: SubjectKey, section: _Section, memory: Memory) -> None:
        self.column = column_of(place)
        self.section = section.id
        self.words = indexed_words(section.head.name, memory)
        self.marks = marks_of(memory)


def _pages(values: Sequence[_Value]) -> Iterator[Sequence[_Value]]:
    return (values[start : start + _MOST_PARAMETERS] for start in range(0, len(values), _MOST_PARAMETERS))


def _finding(wanted: Filters, marks: Sequence[str], most: int) -> tuple[str, list[object]]:
    """Return the query for the places and numbers of memories that pass filters, and its parameters.

    Args:
        marks: The marks that the memories must have, the rarest first.
        most: The number of memories that must be found.
    """
    ranges = _ranges(wanted.prefix)
    if wanted.location_id is not None:
        column = column_of(wanted.location_id)
        ranges = [(first, end) for first, end in ranges if first <= column < end]
        ranges = [(column, column + FOLLOWING)] if ranges else [("", "")]
    table = "zorkgpt_marks" if marks else "zorkgpt_memories"
    conditions = ["place >= %s", "place < %s", *["mark = %s"] * bool(marks)]
    if wanted.is_of_current and not marks:
        conditions.append("is_current = 1")
    same = " AND ".join(f"other.{name} = {table}.{name}" for name in ("place", "section", "id"))
    # PostgreSQL would turn EXISTS into a join, and find all memories before it returns the first ones.
    tests = [f"(SELECT 1 FROM zorkgpt_marks AS other WHERE other.mark = %s AND {same}) = 1"] * len(marks[1:])
    if wanted.is_of_current and marks:
        tests.append("(SELECT is_current FROM zorkgpt_memories WHERE zorkgpt_memories.id = zorkgpt_marks.id) = 1")
    if tests:
        # CASE fixes the order. PostgreSQL would first test whether a memory is current, which most are.
        conditions.append(reduce(lambda last, test: f"CASE WHEN {test} THEN {last} END", reversed(tests)))
    # With its own limit, each part is read in the order of an index. Otherwise PostgreSQL would sort the whole union.
    part = f"SELECT {_ORDER} FROM {table} WHERE {' AND '.join(conditions)} ORDER BY {_ORDER} LIMIT %s"
    given: list[object] = [value for first, end in ranges for value in (first, end, *marks, most)]
    return " UNION ALL ".join([f"SELECT {_ORDER} FROM ({part}) AS part"] * len(ranges)), given


def _ranges(prefix: Prefix | None) -> list[tuple[str, str]]:
    return [("", _LAST_PLACE)] if prefix is None else ranges_of(prefix)


def split(section: LocationSection) -> tuple[bytes, list[tuple[str, Entry]], bytes]:
    """Return the text above the first memory, each memory with the text above it, and the text below the last one."""
    head, lead = "", section.heading + section.visited
    entries: list[tuple[str, Entry]] = []
    for part in section.parts:
        if isinstance(part, str):
            lead += part
        elif entries:
            entries.append((lead, part))
            lead = ""
        else:
            head, lead = lead, ""
            entries.append(("", part))
    return (encode(head), entries, encode(lead)) if entries else (section.data, [], b"")


def _mark_rows(indexed: Mapping[int, _Indexed]) -> list[tuple[str, str, int, int]]:
    return [
        (mark, each.column, each.section, number)
        for number, each in indexed.items()
        for mark in set(each.marks)
        if mark != CURRENT
    ]


def _length(indexed: Mapping[int, _Indexed]) -> int:
    return sum(len(each.words) for each in indexed.values())
