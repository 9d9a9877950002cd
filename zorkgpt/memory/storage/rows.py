"""The lasting memories in the rows of a database: one for each memory, and one for each place."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import groupby
from sys import maxsize
from typing import Any, NamedTuple, TypeVar

from zorkgpt.memory.ids import AFTER_DIGITS
from zorkgpt.memory.models import OBJECTIVES, Memory, SubjectKey, episode_key, same_episode
from zorkgpt.memory.places import FOLLOWING, UNSEARCHED_COLUMN, column_of, is_place, place_in, place_order, ranges_of
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.columns import (
    READ,
    WRITTEN,
    episode_column,
    memory_in,
    text_column,
    text_in,
    time_column,
    values_of,
)
from zorkgpt.memory.storage.escaping import folded, single_spaced
from zorkgpt.memory.storage.lasting import EVERY, Filters, Heading, Prefix, by_place
from zorkgpt.memory.storage.section import episodes_of_memories, unique_episodes
from zorkgpt.memory.storage.traces import Traces, text_without, value_without
from zorkgpt.memory.storage.versions import titled
from zorkgpt.memory.storage.words import database_text, metadata_marks
from zorkgpt.record.database import RecordDatabase

_Value = TypeVar("_Value")

_MOST_CACHED = 2_000
"""Maximum number of memories cached between calls."""
_MOST_PARAMETERS = 500
"""Maximum number of values in a query."""
_ROWS_AT_ONCE = 50
"""Maximum number of memories that one statement inserts. After each statement, SQLite writes its index of words."""
_LAST_PLACE = UNSEARCHED_COLUMN
"""Greater than the column of every place, thing and the game. Only these are searched."""
_MANY = 500
"""Memories with a value of metadata are counted up to this number."""
_FEW = 2_000
"""If fewer memories changed after a time, they are found by the time. Otherwise by the place."""
_READ = ", ".join(f"zorkgpt_memories.{name}" for name in READ)
_INSERT_PLACE = "INSERT INTO zorkgpt_places (number, place, name, visits, episodes) VALUES (%s, %s, %s, %s, %s)"


class _Stored(NamedTuple):
    """A row of a memory."""

    number: int
    memory: Memory


class _PlaceRow(NamedTuple):
    """A row of a place."""

    number: int
    heading: Heading


class MemoryRows:
    """The lasting memories by place. A place exists from its first visit or memory on.

    They are read by queries, and changed only within a transaction of the store. Memories are cached until another
    process changes them, so that a memory stays the same object. Every method may raise `MemoryStoreError`.

    Args:
        scope: The places that can be read and changed.
    """

    def __init__(self, database: RecordDatabase, scope: PlaceScope = EVERYWHERE) -> None:
        self._database = database
        self._scope = scope
        self._insert = f"INSERT INTO zorkgpt_memories (number, place, revision, {', '.join(WRITTEN)}) VALUES "
        self._row = f"(%s, %s, {database.revision}, {_marks(WRITTEN)})"
        self._update = (
            f"UPDATE zorkgpt_memories SET revision = {database.revision}, "
            f"{', '.join(f'{name} = %s' for name in WRITTEN)} WHERE number = %s"
        )
        self._version: object = None
        """The version of the cached memories."""
        self._first_expiry: tuple[str | None] | None = None
        """The earliest `expires_at`, or an earlier time, or None if no memory expires. None if it was not read."""
        self._memories: dict[SubjectKey, list[_Stored]] = {}
        self._places: dict[SubjectKey, _PlaceRow | None] = {}
        """None for a place that doesn't exist."""
        self._cached = 0
        self.headings_before: dict[SubjectKey, Heading | None] = {}
        """The headings before this transaction of the places whose headings it has changed. None if there was none."""
        self._at = ""
        self._new: list[tuple[SubjectKey, Memory]] = []
        """Memories that wait to be written together, before the next query or statement."""
        self._new_ids: set[str] = set()
        """The ids of the memories that this transaction has added."""
        self._free_ids: set[str] = set()
        """Ids that no memory had when this transaction asked for them."""
        self._counted: dict[SubjectKey, Heading] = {}
        """Places whose visits wait to be written."""

    # Reading

    def follow(self) -> None:
        """Clear the cache if another process may have changed the memories."""
        version = self._database.version()
        if version != self._version:
            self.forget()
            self._version = version
        elif self._cached > _MOST_CACHED:
            self._drop()

    def forget(self) -> None:
        """Clear the cache, and drop what waits to be written: its transaction was undone."""
        self._drop()
        self._new, self._counted = [], {}
        self._version = self._first_expiry = None

    def _drop(self) -> None:
        self._memories.clear()
        self._places.clear()
        self._cached = 0

    def places(self, prefix: Prefix | None = None, *, believed: bool = False) -> list[SubjectKey]:
        """Return the existing places, in no particular order.

        Args:
            prefix: The beginning of the places. Defaults to all places.
            believed: Only places that have a current memory.
        """
        table = "zorkgpt_memories WHERE is_current = 1 AND" if believed else "zorkgpt_places WHERE"
        query = f"SELECT DISTINCT place FROM {table} place >= %s AND place < %s"
        return [place_in(column) for limits in self._ranges(prefix) for (column,) in self._rows(query, limits)]

    def headings(self, places: Iterable[SubjectKey]) -> dict[SubjectKey, Heading]:
        """Return the headings of these places. Places that don't exist are omitted."""
        found = {}
        for place in self._with_places_read(filter(self._scope.contains, places)):
            if (row := self._places[place]) is not None:
                found[place] = row.heading
        return found

    def _place_of(self, place: SubjectKey) -> _PlaceRow | None:
        if place not in self._places:
            self._with_places_read([place])
        return self._places[place]

    def _with_places_read(self, places: Iterable[SubjectKey]) -> list[SubjectKey]:
        """Return the places, after reading their rows."""
        wanted = list(places)
        if self._places.keys() >= set(wanted):
            return wanted
        missing = {column_of(place): place for place in wanted if place not in self._places}
        for page in _pages(list(missing)):
            query = f"SELECT place, number, name, visits, episodes FROM zorkgpt_places WHERE place IN ({_marks(page)})"
            rows = self._rows(query, page)
            self._places |= dict.fromkeys(missing[column] for column in page)
            for column, number, name, visits, episodes in rows:
                heading = Heading(text_in(name), visits, tuple(json.loads(episodes)))
                self._places[missing[column]] = _PlaceRow(number, heading)
        self._cached += len(missing)
        return wanted

    def heading(self, place: SubjectKey) -> Heading:
        """Return the heading of a place. It is empty if the place doesn't exist."""
        return self.headings([place]).get(place, Heading())

    def episodes(self, place: SubjectKey) -> tuple[int | str, ...]:
        """Return the episodes in which a place was visited, in order. For another subject, those of its memories."""
        return self.heading(place).episodes if is_place(place) else episodes_of_memories(self.memories(place))

    def memories(self, place: SubjectKey) -> list[Memory]:
        """Return the memories of a place in order, including superseded ones."""
        return [stored.memory for stored in self._stored_at(place)] if self._scope.contains(place) else []

    def read_ahead(self, places: Iterable[SubjectKey]) -> None:
        """Read the memories of places in one query, because each of them will be needed."""
        wanted = list(dict.fromkeys(filter(self._scope.contains, places)))
        missing = [place for place in wanted if place not in self._memories]
        for page in _pages(missing):
            stored: dict[str, list[_Stored]] = {column_of(place): [] for place in page}
            query = f"SELECT {_READ} FROM zorkgpt_memories WHERE place IN ({_marks(page)}) ORDER BY place, number"
            rows = self._rows(query, list(stored))
            for row in rows:
                stored[row[0]].append(_stored(row))
            self._memories |= zip(page, stored.values(), strict=True)
            self._cached += len(rows)
        self._with_places_read(wanted)

    def numbered(self, numbers: Sequence[int]) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories with these row numbers, in this order."""
        rows = {row[1]: row for row in self._with_any("number", numbers)}
        return self._read([rows[number] for number in numbers if number in rows])

    def text_keys(self, since: object = None) -> tuple[set[bytes], object]:
        """Return the keys of the texts written since an earlier call, and the value of `since` for the next call.

        Those of the whole memory, also in a scope.

        Args:
            since: The value that the earlier call returned. Defaults to all texts.
        """
        now = int(self._value(f"SELECT {self._database.next_revision}"))
        revision = since if isinstance(since, int) and since <= now else 0
        query = "SELECT text_key FROM zorkgpt_memories WHERE revision >= %s AND place < %s"
        rows = self._rows(query, (revision, _LAST_PLACE))
        return {bytes(key) for (key,) in rows}, now

    def taken(self, ids: Set[str]) -> Set[str]:
        """Return the ids that a memory of the whole store has, among these."""
        found, asked = set[str](), [*(ids - self._free_ids if self._database.is_changing else ids)]
        for page in _pages(asked):
            query = f"SELECT id FROM zorkgpt_memories WHERE id IN ({_marks(page)})"
            # Without writing the waiting rows, whose ids are known.
            found.update(id for (id,) in self._database.rows(query, page))
        self._free_ids.update(asked)
        self._free_ids -= found
        return found | (ids & self._new_ids)

    def count(self) -> int:
        """Return the number of memories, including superseded ones."""
        query = "SELECT count(*) FROM zorkgpt_memories WHERE place >= %s AND place < %s"
        return sum(count for limits in self._ranges(None) for (count,) in self._rows(query, limits))

    def find(self, wanted: Filters, *, limit: int | None = None, offset: int = 0) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories that pass the filters, ordered by place, with their places.

        Args:
            limit: Maximum number of memories. Defaults to no limit.
            offset: The number of memories to skip.
        """
        most = maxsize if limit is None else min(offset + limit, maxsize)
        if wanted.among is not None and all(place in self._memories for place, _ in wanted.among):
            places = sorted({place for place, _ in wanted.among}, key=place_order)
            known = ((place, memory) for place in places for memory in self.memories(place))
            return [(place, memory) for place, memory in known if wanted.passes(place, memory)][offset:most]
        if (rows := self._candidates(wanted)) is not None:
            ranges = self._ranges(None)
            inside = (row for row in rows if any(first <= row[0] < end for first, end in ranges))
            found = self._read(sorted(inside, key=lambda row: row[:2]))
            return [(place, memory) for place, memory in found if wanted.passes(place, memory)][offset:most]
        query, given = self._query(wanted, most)
        query = (
            f"SELECT {_READ} FROM ({query} ORDER BY place, number LIMIT %s OFFSET %s) AS found "
            "JOIN zorkgpt_memories ON zorkgpt_memories.number = found.number ORDER BY 1, 2"
        )
        return self._read(self._rows(query, (*given, most - offset, offset)))

    def passing(self, wanted: Filters, numbers: Sequence[int]) -> list[int]:
        """Return those of the row numbers whose memories pass the filters, in the same order.

        Only filters of columns are used: not `among`, `named`, `texts` and `expires_by`.
        """
        conditions, given = _conditions(wanted)
        for mark in metadata_marks(wanted.metadata):
            conditions.append(_HAS_MARK)
            given.append(mark)
        if not conditions:
            return list(numbers)
        passing: set[int] = set()
        for page in _pages(numbers):
            query = f"SELECT number FROM zorkgpt_memories WHERE number IN ({_marks(page)})"
            query = " AND ".join([query, *conditions])
            passing.update(number for (number,) in self._rows(query, (*page, *given)))
        return [number for number in numbers if number in passing]

    def _candidates(self, wanted: Filters) -> set[tuple[Any, ...]] | None:
        """Return the rows of the memories that the filters name, and perhaps others. None if they name none."""
        select = f"SELECT {_READ} FROM zorkgpt_memories WHERE"
        if wanted.expires_by is not None:
            expires = self._expires(wanted.expires_by)
            return set(self._rows(f"{select} expires_at <= %s", (wanted.expires_by,)) if expires else ())
        if wanted.texts is not None:
            return set(self._with_any("text_key", list(wanted.texts)))
        if wanted.named is not None:
            at = [] if wanted.location_id is None else [column_of(wanted.location_id)]
            query = f"{select} (id BETWEEN %s AND %s OR folded_title = %s){' AND place = %s' * len(at)}"
            named, title = database_text(wanted.named), database_text(folded(wanted.named))
            return set(self._rows(query, (named, named + AFTER_DIGITS, title, *at)))
        if wanted.among is not None:
            return set(self._at_places([(database_text(name), column_of(place)) for place, name in wanted.among]))
        if wanted.changed_after is not None and self._is_rarely_changed_after(wanted.changed_after):
            return set(self._rows(f"{select} updated_at > %s", (time_column(wanted.changed_after),)))
        return None

    def _is_rarely_changed_after(self, moment: str) -> bool:
        query = f"SELECT 1 FROM zorkgpt_memories WHERE updated_at > %s LIMIT {_FEW}"
        return len(self._rows(query, (time_column(moment),))) < _FEW

    def _expires(self, by: str) -> bool:
        """Return whether any memory expires by this time."""
        if self._first_expiry is None:
            query = "SELECT min(expires_at) FROM zorkgpt_memories WHERE expires_at IS NOT NULL"
            self._first_expiry = (self._value(query),)
        [first] = self._first_expiry
        return first is not None and first <= by

    def _note_expiry(self, memory: Memory) -> None:
        """Let the next search for expired memories read the earliest time again if this memory expires."""
        if memory.expires_at is not None:
            self._first_expiry = None

    def _at_places(self, wanted: Sequence[tuple[str, str]]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the memories with these ids or titles and places."""
        # SQLite uses an index only for a join in this order.
        part = f"SELECT {_READ} FROM wanted CROSS JOIN zorkgpt_memories WHERE place = wanted.at AND"
        for page in _pages(wanted):
            values = ", ".join(["(%s, %s)"] * len(page))
            query = (
                f"WITH wanted (wanted_name, at) AS (VALUES {values}) {part} id = wanted_name "
                f"UNION ALL {part} folded_title = wanted_name"
            )
            yield from self._rows(query, [value for pair in page for value in pair])

    def _with_any(self, column: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows with any of these values in a column."""
        for page in _pages(values):
            yield from self._rows(f"SELECT {_READ} FROM zorkgpt_memories WHERE {column} IN ({_marks(page)})", page)

    def _query(self, wanted: Filters, most: int) -> tuple[str, list[object]]:
        """Return the query for the places and numbers of memories that pass filters, and its parameters.

        Args:
            most: The number of memories that must be found.
        """
        ranges = self._ranges(wanted.prefix)
        if wanted.location_id is not None:
            column = column_of(wanted.location_id)
            ranges = _common(ranges, [(column, column + FOLLOWING)])
        ranges = ranges or [("", "")]
        conditions, values = _conditions(wanted)
        marks = self._rarest_first(metadata_marks(wanted.metadata))
        table = "zorkgpt_memories"
        if marks:
            table = "zorkgpt_metadata"
            tests = [_HAS_MARK.replace("zorkgpt_memories", table)] * len(marks[1:])
            if conditions:
                same = "zorkgpt_memories.number = zorkgpt_metadata.number"
                tests.append(f"(SELECT 1 FROM zorkgpt_memories WHERE {same} AND {' AND '.join(conditions)}) = 1")
            # CASE fixes the order. PostgreSQL would first test what is true of most memories.
            nested = [reduce(lambda last, test: f"CASE WHEN {test} THEN {last} END", reversed(tests))] if tests else []
            conditions, values = ["mark = %s", *nested], [*marks, *values]
        where = " AND ".join(["place >= %s", "place < %s", *conditions])
        # With its own limit, each part is read in the order of an index. PostgreSQL would sort the whole union.
        part = f"SELECT place, number FROM {table} WHERE {where} ORDER BY place, number LIMIT %s"
        given: list[object] = [value for first, end in ranges for value in (first, end, *values, most)]
        return " UNION ALL ".join([f"SELECT place, number FROM ({part}) AS part"] * len(ranges)), given

    def _ranges(self, prefix: Prefix | None) -> list[tuple[str, str]]:
        """Return the ranges of the columns of places of the scope that begin with a prefix."""
        ranges = ranges_of(self._scope.path) if self._scope.path else [("", _LAST_PLACE)]
        return ranges if prefix is None else _common(ranges, ranges_of(prefix))

    def _rarest_first(self, marks: list[str]) -> list[str]:
        if len(marks) < 2:
            return marks
        count = f"(SELECT count(*) FROM (SELECT 1 FROM zorkgpt_metadata WHERE mark = %s LIMIT {_MANY}) AS counted)"
        [counts] = self._rows(f"SELECT {', '.join([count] * len(marks))}", marks)
        count_by_mark = dict(zip(marks, map(int, counts), strict=True))
        return sorted(marks, key=lambda mark: count_by_mark[mark])

    def _stored_at(self, place: SubjectKey) -> list[_Stored]:
        stored = self._memories.get(place)
        if stored is None:
            query = f"SELECT {_READ} FROM zorkgpt_memories WHERE place = %s ORDER BY number"
            stored = self._memories[place] = list(map(_stored, self._rows(query, (column_of(place),))))
            self._cached += len(stored) + 1
        return stored

    def _read(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[SubjectKey, Memory]]:
        memories = []
        for column, rows_of_place in groupby(rows, key=lambda row: row[0]):
            place = place_in(column)
            cached = {stored.number: stored.memory for stored in self._memories.get(place, ())}
            memories += [(place, cached.get(row[1]) or memory_in(row)) for row in rows_of_place]
        return memories

    # Changing

    @contextmanager
    def changing(self, *, at: str) -> Iterator[None]:
        """Begin a transaction. Waiting rows are written when the block ends.

        Args:
            at: The time of the changes, in the format of `Memory.created_at`.
        """
        self.headings_before = {}
        self._at = at
        self._new, self._counted = [], {}
        self._new_ids, self._free_ids = set(), set()
        yield
        self._write()

    def apply(self, change: Change) -> None:
        """Change the rows of a memory and of its place.

        Raises:
            KeyError: If the memory that is to be changed does not exist.
        """
        place = change.location_id
        self._scope.check(place)
        if change.before is None:
            self._count_new_visit(place, change.location_name, change.memory.episode)
            self._add(place, change.memory)
            return
        old, new = self._found(place, change.before), change.after
        if new is None:
            self._remove(place, old)
            return
        if change.kind in ("seen again", "merged") and new.observation_count > old.memory.observation_count:
            self._count_new_visit(place, change.location_name, new.episode)
        self._replace(place, old, new)

    def move(self, old: SubjectKey, new: SubjectKey) -> None:
        """Change the place of memories. They keep their ids."""
        self._scope.check(old)
        self._scope.check(new)
        for stored in list(self._stored_at(old)):
            self._remove(old, stored)
            self._add(new, stored.memory)
        heading, row = self._place_of(old), self._place_of(new)
        if heading is not None:
            self._put("DELETE FROM zorkgpt_places WHERE number = %s", [(heading.number,)])
            self._places[old] = None
            if row is None:
                was = heading.heading
                self._set_heading(new, was if is_place(new) else Heading(was.name))

    def erase(self, traces: Traces) -> None:
        """Delete the memories and places of traces, and clean the others."""
        columns = [(column_of(place),) for place in traces.gone]
        for table in ("zorkgpt_memories", "zorkgpt_metadata", "zorkgpt_places"):
            self._put(f"DELETE FROM {table} WHERE place = %s", columns)
        others = [(place, id) for place, id in traces.removed if place not in traces.gone]
        rows = self._at_places([(id, column_of(place)) for place, id in others])
        self._delete_rows([row[1] for row in rows if (place_in(row[0]), row[2]) in traces.removed])
        self._drop()
        if traces.texts or traces.titles:
            self._clean(traces)

    def _clean(self, traces: Traces) -> None:
        for place, memory in self.find(EVERY):
            cleaned = traces.memory_without(memory) if traces.scope.contains(place) else memory
            if cleaned is not memory:
                self._replace(place, self._found(place, memory), cleaned)
        for memory in self.memories(OBJECTIVES) if not traces.scope.path else ():
            cleaned = replace(traces.memory_without(memory), metadata=value_without(memory.metadata, traces))
            if cleaned != memory:
                self._replace(OBJECTIVES, self._found(OBJECTIVES, memory), cleaned)
        for place, heading in self.headings(filter(traces.scope.contains, self.places())).items():
            self.set_heading(place, heading._replace(name=text_without(heading.name, traces)))
        self._write()
        self._drop()

    def _found(self, place: SubjectKey, memory: Memory) -> _Stored:
        for stored in self._stored_at(place):
            if stored.memory.id == memory.id and stored.memory == memory:
                return stored
        raise KeyError(memory.title)

    def _add(self, place: SubjectKey, memory: Memory) -> None:
        self._new.append((place, memory))
        self._new_ids.add(memory.id)
        if place in self._memories:
            # Without a number until it is written.
            self._memories[place].append(_Stored(0, memory))
            self._cached += 1

    def _replace(self, place: SubjectKey, old: _Stored, new: Memory) -> None:
        if not old.number:
            self._write()
            old = self._found(place, old.memory)
        self._put(self._update, [(*values_of(place, self._name(place), new), old.number)])
        if old.memory.metadata != new.metadata:
            self._put("DELETE FROM zorkgpt_metadata WHERE number = %s", [(old.number,)])
            self._put_marks([(old.number, place, new)])
        self._note_expiry(new)
        stored = self._memories[place]
        stored[stored.index(old)] = _Stored(old.number, new)

    def _remove(self, place: SubjectKey, old: _Stored) -> None:
        if not old.number:
            self._write()
            old = self._found(place, old.memory)
        self._note_expiry(old.memory)
        self._delete_rows([old.number])
        self._memories[place].remove(old)

    def _delete_rows(self, numbers: Sequence[int]) -> None:
        self._put("DELETE FROM zorkgpt_memories WHERE number = %s", [(number,) for number in numbers])
        self._put("DELETE FROM zorkgpt_metadata WHERE number = %s", [(number,) for number in numbers])

    def set_heading(self, place: SubjectKey, heading: Heading) -> None:
        """Set the name and the visits of a place, which is created if it is missing."""
        self._scope.check(place)
        row = self._place_of(place)
        if row is None or heading != row.heading:
            self._set_heading(place, heading)
            if row is not None and row.heading.name != heading.name:
                # The index of words has the name for each memory.
                for stored in list(self._stored_at(place)):
                    self._replace(place, stored, stored.memory)

    def remove_place(self, place: SubjectKey) -> None:
        """Delete the row of a place without memories."""
        self._scope.check(place)
        if (row := self._place_of(place)) is not None:
            self._put("DELETE FROM zorkgpt_places WHERE number = %s", [(row.number,)])
            self._places[place] = None

    def count_visits(self, place: SubjectKey, name: str, episodes: Sequence[int | str]) -> None:
        """Count a visit to a place in each of these episodes. Creates it if it is missing, like other subjects."""
        self._scope.check(place)
        row = self._place_of(place)
        heading = Heading(single_spaced(name)) if row is None else row.heading
        if is_place(place):
            every = unique_episodes((*heading.episodes, *episodes))
            heading = heading._replace(visits=heading.visits + len(episodes), episodes=every)
        if row is None or heading != row.heading:
            self._set_heading(place, heading)

    def _count_new_visit(self, place: SubjectKey, name: str, episode: int | str) -> None:
        """Count a visit in an episode if the place has none in it. Creates it if it is missing."""
        row = self._place_of(place)
        heading = Heading(single_spaced(name)) if row is None else row.heading
        known = heading.episodes
        if is_place(place) and episode not in known and not any(same_episode(episode, other) for other in known):
            every = (*known, episode)
            heading = heading._replace(visits=max(heading.visits, len(every)), episodes=every)
        if row is None or heading != row.heading:
            self._set_heading(place, heading)

    def _set_heading(self, place: SubjectKey, heading: Heading) -> None:
        row = self._place_of(place)
        self.headings_before.setdefault(place, None if row is None else row.heading)
        self._counted[place] = heading
        self._places[place] = _PlaceRow(0 if row is None else row.number, heading)

    def _name(self, place: SubjectKey) -> str:
        row = self._place_of(place)
        return "" if row is None else row.heading.name

    def _write(self) -> None:
        """Write the waiting rows."""
        if not (self._counted or self._new):
            return
        counted, new, self._counted, self._new = self._counted, self._new, {}, []
        self._write_places(counted)
        numbers = self._database.numbers("zorkgpt_memories", len(new))
        self._insert_rows(
            [(number, place, self._name(place), memory) for number, (place, memory) in zip(numbers, new, strict=True)]
        )
        for number, (place, memory) in zip(numbers, new, strict=True):
            stored = self._memories.get(place)
            if stored is not None:
                at = next(at for at in reversed(range(len(stored))) if stored[at].memory is memory)
                stored[at] = _Stored(number, memory)

    def _write_places(self, counted: Mapping[SubjectKey, Heading]) -> None:
        new, changed = [], []
        # In the order of their keys, so that two processes don't wait for each other's rows.
        for place in sorted(counted, key=place_order):
            row = self._places[place]
            assert row is not None
            episodes = json.dumps(list(map(episode_key, row.heading.episodes)))
            if row.number:
                changed.append((text_column(row.heading.name), row.heading.visits, episodes, row.number))
            else:
                new.append((place, column_of(place), text_column(row.heading.name), row.heading.visits, episodes))
        query = "UPDATE zorkgpt_places SET name = %s, visits = %s, episodes = %s WHERE number = %s"
        self._database.put(query, changed)
        numbers = self._database.numbers("zorkgpt_places", len(new))
        self._database.put(_INSERT_PLACE, [(number, *row[1:]) for number, row in zip(numbers, new, strict=True)])
        for number, (place, *_) in zip(numbers, new, strict=True):
            row = self._places[place]
            assert row is not None
            self._places[place] = row._replace(number=number)

    def _insert_rows(self, rows: Sequence[tuple[int, SubjectKey, str, Memory]]) -> None:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            page = rows[start : start + _ROWS_AT_ONCE]
            values: list[object] = []
            for number, place, name, memory in page:
                self._note_expiry(memory)
                values += (number, column_of(place), *values_of(place, name, memory))
            self._database.put(self._insert + ", ".join([self._row] * len(page)), [values])
        if marked := [(number, place, memory) for number, place, _, memory in rows if memory.metadata]:
            self._put_marks(marked)

    def _put_marks(self, rows: Iterable[tuple[int, SubjectKey, Memory]]) -> None:
        self._database.put(
            "INSERT INTO zorkgpt_metadata (mark, place, number) VALUES (%s, %s, %s)",
            [
                (mark, column_of(place), number)
                for number, place, memory in rows
                for mark in set(metadata_marks(memory.metadata))
            ],
        )

    def _rows(self, query: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        self._write()
        return self._database.rows(query, parameters)

    def _value(self, query: str) -> Any:
        self._write()
        return self._database.value(query)

    def _put(self, query: str, parameters: Iterable[Sequence[object]]) -> None:
        self._write()
        self._database.put(query, parameters)


def titled_each(lasting: MemoryRows, wanted: Sequence[tuple[SubjectKey, str]]) -> list[Memory | None]:
    """Return the first current memory for each place and title. White space is ignored, case is not."""
    candidates = by_place(lasting.find(Filters(among={(place, folded(title)) for place, title in wanted})))
    return [titled(candidates.get(place, ()), title) for place, title in wanted]


_HAS_MARK = (
    "(SELECT 1 FROM zorkgpt_metadata AS other WHERE other.mark = %s AND other.place = zorkgpt_memories.place "
    "AND other.number = zorkgpt_memories.number) = 1"
)


def _stored(row: tuple[Any, ...]) -> _Stored:
    return _Stored(row[1], memory_in(row))


def _conditions(wanted: Filters) -> tuple[list[str], list[object]]:
    """Return the conditions for the columns of memories that pass filters, with their values."""
    conditions, values = [], list[object]()
    if wanted.is_of_current:
        conditions.append("is_current = 1")
    if wanted.status is not None:
        conditions.append("vetoed = 0")
    for name in ("status", "persistence", "category", "kind"):
        if (value := getattr(wanted, name)) is not None:
            conditions.append(f"lower({name}) = %s")
            values.append(value.lower())
    if wanted.episode is not None:
        conditions.append("(episode = %s OR first_episode = %s)")
        values += [episode_column(episode_key(wanted.episode))] * 2
    if wanted.changed_after is not None:
        conditions.append("updated_at > %s")
        values.append(time_column(wanted.changed_after))
    return conditions, values


def _common(ranges: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the ranges of what is in one of the ranges, and in one of the others."""
    both = [(max(first, other), min(end, other_end)) for first, end in ranges for other, other_end in others]
    return [(first, end) for first, end in both if first < end]


def _pages(values: Sequence[_Value]) -> Iterator[Sequence[_Value]]:
    return (values[start : start + _MOST_PARAMETERS] for start in range(0, len(values), _MOST_PARAMETERS))


def _marks(values: Sequence[object]) -> str:
    return ", ".join(["%s"] * len(values))
