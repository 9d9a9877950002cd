"""The tables beside the memories: the journal and the answers of a model. The same on every database."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.errors import MemoryStoreError, OutOfBounds
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.places import UNSEARCHED, has_prefix, parse_place, place_in_words, render_place
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.storage.changes import Change, ChangeKind
from zorkgpt.memory.storage.history import (
    COUNTED,
    PERSON_SOURCES,
    UNDATED_SOURCES,
    HistoryRecord,
    Trial,
    TurnStamp,
    content_of,
    record_of,
    replayed,
)
from zorkgpt.memory.storage.traces import Traces, record_without

_compact_json = json.JSONEncoder(separators=(",", ":")).encode
_PAGE = 5_000
"""Number of rows read at a time."""
_VISITED = "visited"
"""The kind of the rows about visits."""
_IS_CHANGE = f"kind != '{_VISITED}'"
_MOST_PARAMETERS = 400
"""Maximum number of parameters of a query."""

_BY_PERSON = f"source IN ({', '.join(map(repr, PERSON_SOURCES))})"
"""The condition of an index. Databases use the index only for exactly this condition."""

_IS_NO_COUNT = f"kind NOT IN ({', '.join(map(repr, COUNTED))})"
"""The condition of another index."""

_IS_SEARCHED = f"{_IS_CHANGE} AND place NOT IN ({', '.join(repr(str(subject)) for subject in UNSEARCHED)})"
"""The condition for changes of memories that are searched."""

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS zorkgpt_journal (
    id {{key}},
    place text NOT NULL,
    source text NOT NULL,
    episode text,
    memory text NOT NULL DEFAULT '',
    kind text NOT NULL DEFAULT '',
    at text NOT NULL DEFAULT '',
    record text NOT NULL
);
CREATE INDEX IF NOT EXISTS zorkgpt_journal_place ON zorkgpt_journal (place);
CREATE INDEX IF NOT EXISTS zorkgpt_journal_memory ON zorkgpt_journal (memory, id);
CREATE INDEX IF NOT EXISTS zorkgpt_journal_by_person ON zorkgpt_journal (id) WHERE {_BY_PERSON};
CREATE INDEX IF NOT EXISTS zorkgpt_journal_episode ON zorkgpt_journal (episode, id) WHERE episode IS NOT NULL;
CREATE TABLE IF NOT EXISTS zorkgpt_judgments (
    id {{key}},
    key text NOT NULL UNIQUE,
    answer text NOT NULL
);
"""
"""The tables of this module. `key` is the database's type for ascending row numbers.

`zorkgpt_journal.episode` is the episode of an ephemeral memory, and NULL for a lasting one. `memory` is the id of the
memory. `record` has what no column has, as JSON: see `content_of`.
"""


VECTORS_SCHEMA = """
CREATE TABLE IF NOT EXISTS zorkgpt_vectors (
    id {key},
    model text NOT NULL,
    key blob NOT NULL,
    vector blob NOT NULL,
    UNIQUE (model, key)
);
"""
"""Vectors in SQLite. PostgreSQL uses pgvector instead."""

TURNS_SCHEMA = """
CREATE TABLE zorkgpt_turns (
    id {key},
    episode text NOT NULL,
    turn bigint NOT NULL,
    position bigint NOT NULL,
    UNIQUE (episode, turn)
);
CREATE INDEX zorkgpt_turns_position ON zorkgpt_turns (position, id)
"""
"""The turns of the game. `position` is the last position of the journal at the end of a turn."""

MIGRATIONS: tuple[str, ...] = (
    f"CREATE INDEX zorkgpt_journal_changes ON zorkgpt_journal (memory, id) WHERE {_IS_NO_COUNT}",
    TURNS_SCHEMA,
)
"""Statements that upgrade the tables to each next version, from version 1 on. The same for every database.

A new database gets the tables of version 1 and all upgrades. Types are written as in `STORE_SCHEMA`.
"""

COUNTS_SCHEMA = """
ALTER TABLE zorkgpt_journal ADD COLUMN counted text;
CREATE INDEX zorkgpt_journal_counted ON zorkgpt_journal (memory, counted) WHERE counted IS NOT NULL;
DROP TABLE IF EXISTS zorkgpt_trials
"""
"""The upgrade of databases with a table of trials. `counted` identifies a trial. See `Journal.is_counted`."""

TURN_COLUMNS_SCHEMA = """
ALTER TABLE zorkgpt_journal ADD COLUMN turn_episode text;
ALTER TABLE zorkgpt_journal ADD COLUMN turn bigint;
CREATE INDEX zorkgpt_journal_turn ON zorkgpt_journal (turn_episode, id) WHERE turn_episode IS NOT NULL
"""
"""The upgrade of journals whose records had their turns only in their JSON. NULL if the turn of a change is unknown."""

STATE_SCHEMA = """
CREATE TABLE IF NOT EXISTS zorkgpt_state (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    format integer NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    memories bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0,
    episodes bigint NOT NULL DEFAULT 0,
    subject text NOT NULL DEFAULT ''
);
INSERT INTO zorkgpt_state (format) VALUES (1) ON CONFLICT DO NOTHING;
"""
"""The state of a store that has no Markdown file. SQLite keeps the revision and the counts; PostgreSQL doesn't."""


class Rows(Protocol):
    """A database. Parameters of queries are written as `%s`. Every method may raise `MemoryStoreError`."""

    @property
    def is_changing(self) -> bool:
        """Whether a transaction is open."""
        ...

    def change(self) -> AbstractContextManager[object]:
        """Begin a transaction, or continue the open one. Nothing is changed if the block raises."""
        ...

    def rows(self, query: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return the result of a query."""
        ...

    def value(self, query: str, parameters: Sequence[object] | None = None) -> Any:
        """Return the single value of a query's result."""
        ...

    def put(self, query: str, parameters: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each set of parameters, all or none. Use `[()]` for one without parameters."""
        ...


class VisitRow(NamedTuple):
    """A row of the journal about visits."""

    place: SubjectKey
    visits: int
    """The number of visits that were counted."""
    episodes: tuple[int | str, ...]
    """The episodes that were added to those of the place."""
    is_first: bool
    """Whether nothing was known of the place before."""


class Journal:
    """Every change of a memory, lasting or ephemeral, and every visit in a turn, in order.

    Positions are row numbers.

    Args:
        machine: Identifies the writer of trials, because two machines may use the same episode numbers.
    """

    def __init__(
        self,
        database: Rows,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        machine: str = "",
        has_turns: bool = True,
    ) -> None:
        self._database = database
        self._now = now
        self._machine = machine
        self._has_turns = has_turns
        turn = "turn_episode, turn" if has_turns else "NULL, NULL"
        self._columns = f"id, record, place, source, kind, at, {turn}"
        self._scope = EVERYWHERE

    def within(self, scope: PlaceScope) -> "Journal":
        """Return the journal without the records of places outside a scope."""
        table = copy(self)
        table._scope = scope
        return table

    def size(self) -> int:
        """Return the position of the last record. 0 if there is none."""
        return int(self._database.value("SELECT coalesce(max(id), 0) FROM zorkgpt_journal"))

    def read(self, start: int, *, every: bool = False) -> Iterator[tuple[int, HistoryRecord | None]]:
        """Yield the position and the record of each change after this position. None if it is invalid.

        Args:
            every: Whether to include records about subjects that are not searched.
        """
        condition = _IS_CHANGE if every else _IS_SEARCHED
        query = f"SELECT {self._columns} FROM zorkgpt_journal WHERE id > %s AND {condition} ORDER BY id LIMIT %s"
        while page := self._database.rows(query, (start, _PAGE)):
            yield from self._read(page)
            start = page[-1][0]

    def time_at(self, position: int) -> str:
        """Return the time of the record at a position. "" if there is none.

        If it changes, the table was rolled back.
        """
        rows = self._database.rows("SELECT at FROM zorkgpt_journal WHERE id = %s", (position,))
        return str(rows[0][0]) if rows else ""

    def append(
        self, changes: Iterable[Change], *, source: str = "agent", turn_stamp: TurnStamp | None = None, at: str = ""
    ) -> None:
        """Add a record for each change.

        Args:
            at: The time in the format of `Memory.expires_at`. Defaults to now.
        """
        at = at or self._now().isoformat(timespec="microseconds")
        self.add(HistoryRecord(at, change, source, turn_stamp) for change in changes)

    def copy(self, other: "Journal") -> None:
        """Add the records of another journal."""
        self.add(other.records(every=True))

    def add(self, records: Iterable[HistoryRecord]) -> None:
        """Add records at the end."""
        new = list(records)
        for record in new:
            if not self._scope.contains(place := record.change.location_id):
                raise MemoryStoreError(f"{place_in_words(place)} is outside the scope {self._scope.path}.")
        columns = "place, source, episode, memory, kind, at, record, counted, turn_episode, turn"
        self._database.put(
            f"INSERT INTO zorkgpt_journal ({columns}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    render_place(record.change.location_id),
                    record.source,
                    None if record.episode is None else _key(record.episode),
                    memory_id(record.change.location_id, record.change.memory),
                    record.change.kind,
                    record.at,
                    _compact_json(content_of(record)),
                    None if (trial := Trial.of(record)) is None else self._counted(trial.episode, trial.turn),
                    *_turn_columns(record.turn_stamp),
                )
                for record in new
            ],
        )

    def add_visits(self, visits: Iterable[VisitRow], turn_stamp: TurnStamp, at: str) -> None:
        """Add a row for the visits to each place."""
        self._database.put(
            "INSERT INTO zorkgpt_journal (place, source, kind, at, record, turn_episode, turn) "
            "VALUES (%s, 'agent', %s, %s, %s, %s, %s)",
            [
                (
                    render_place(row.place),
                    _VISITED,
                    at,
                    _compact_json({"visits": row.visits, "episodes": list(row.episodes), "first": row.is_first}),
                    *_turn_columns(turn_stamp),
                )
                for row in visits
            ],
        )

    def visits(self, start: int, episode: int | str) -> Iterator[tuple[int, VisitRow]]:
        """Yield the rows about visits that an episode has counted after a position, with their positions."""
        query = "SELECT id, place, record FROM zorkgpt_journal WHERE turn_episode = %s AND id > %s AND kind = %s"
        given = _key(episode_key(episode)), start, _VISITED
        for position, place, text in self._database.rows(f"{query} ORDER BY id", given):
            row = json.loads(text)
            yield position, VisitRow(parse_place(place), row["visits"], tuple(row["episodes"]), row["first"])

    def remove(self, positions: Iterable[int], episode: int | str) -> None:
        """Delete records, and the ends of the later turns of an episode."""
        gone = [(position,) for position in positions]
        self._database.put("DELETE FROM zorkgpt_journal WHERE id = %s", gone)
        first = min(gone, default=(sys.maxsize,))
        query = "DELETE FROM zorkgpt_turns WHERE episode = %s AND position >= %s"
        self._database.put(query, [(_key(episode_key(episode)), *first)])

    def end_turn(self, episode: int | str, turn: int) -> None:
        """Record that a turn has ended. Changes since the turn before, such as those by a person, belong to it."""
        self._database.put(
            "INSERT INTO zorkgpt_turns (episode, turn, position) VALUES (%s, %s, %s) "
            "ON CONFLICT (episode, turn) DO UPDATE SET position = excluded.position",
            [(_key(episode_key(episode)), turn, self.size())],
        )

    def turn_of(self, position: int) -> tuple[int | str, int] | None:
        """Return the episode and turn that had the record at a position first. None if no turn has ended since."""
        query = "SELECT episode, turn FROM zorkgpt_turns WHERE position >= %s ORDER BY position, id LIMIT 1"
        rows = self._database.rows(query, (position,))
        return (json.loads(rows[0][0]), int(rows[0][1])) if rows else None

    def is_last_turn(self, episode: int | str, turn: int) -> bool:
        """Return whether no later turn has ended."""
        rows = self._database.rows("SELECT episode, turn FROM zorkgpt_turns ORDER BY id DESC LIMIT 1")
        return not rows or (json.loads(rows[0][0]) == episode_key(episode) and turn >= rows[0][1])

    def records(
        self, place: SubjectKey | None = None, *, start: int = 0, every: bool = False
    ) -> Iterator[HistoryRecord]:
        """Yield the records after a position, of all places or of one, oldest first.

        Args:
            every: Whether all places include subjects that are not searched.
        """
        if place is None:
            return (record for _, record in self.read(start, every=every) if record is not None)
        return self._select("place = %s AND id > %s", (render_place(place), start))

    def numbered(self, start: int) -> Iterator[tuple[int, HistoryRecord]]:
        """Yield all records after a position with their positions, oldest first."""
        return ((position, record) for position, record in self.read(start, every=True) if record is not None)

    def _select(self, condition: str, parameters: Sequence[object]) -> Iterator[HistoryRecord]:
        query = f"SELECT {self._columns} FROM zorkgpt_journal WHERE {condition} ORDER BY id"
        return (record for _, record in self._read(self._database.rows(query, parameters)) if record is not None)

    def _read(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, HistoryRecord | None]]:
        """Yield the positions and the records of the scope in rows. Changes between turns get the next turn."""
        for position, text, at_place, source, kind, at, episode, turn in rows:
            values, place = _parsed(text), parse_place(at_place)
            if not self._scope.contains(place):
                continue
            record = None
            if isinstance(values, dict):
                values |= {"source": source, "kind": kind, "at": at}
                if episode is not None:
                    values |= {"episode": json.loads(episode), "turn": turn}
                record = record_of(values, place)
            if record is not None:
                is_undated = self._has_turns and record.turn_stamp is None and source not in UNDATED_SOURCES
                if is_undated and (ended := self.turn_of(position)):
                    record = replace(record, turn_stamp=TurnStamp(*ended))
                if self._scope.path and kind == "moved":
                    # The reason names the other place, which may be outside the scope.
                    record = replace(record, change=replace(record.change, reason=None))
            yield position, record

    def of_memory(self, place: SubjectKey, memory: str, kinds: Sequence[ChangeKind]) -> Iterator[HistoryRecord]:
        """Yield the records of these kinds about the memory with this id at a place, oldest first."""
        condition = f"memory = %s AND place = %s AND kind IN ({', '.join(['%s'] * len(kinds))})"
        if not set(kinds).intersection(COUNTED):
            condition = f"{condition} AND {_IS_NO_COUNT}"
        return self._select(condition, (memory, render_place(place), *kinds))

    def is_counted(self, memory: str, episode: int | str, turn: int) -> bool:
        """Return whether this machine has counted a trial of the memory with this id in a turn."""
        query = "SELECT 1 FROM zorkgpt_journal WHERE memory = %s AND counted = %s"
        return bool(self._database.rows(query, (memory, self._counted(episode, turn))))

    def trials(self) -> Iterator[Trial]:
        """Yield the trials of all machines, in the order in which they were counted."""
        return self._trials("")

    def own_trials(self, episode: int | str | None = None) -> Iterator[Trial]:
        """Yield the trials of this machine, in the same order. `episode` defaults to all episodes."""
        return self._trials(f"{self._machine}:" if episode is None else self._counted(episode, ""))

    def _trials(self, beginning: str) -> Iterator[Trial]:
        condition = "counted IS NOT NULL AND substr(counted, 1, %s) = %s"
        return filter(None, map(Trial.of, self._select(condition, (len(beginning), beginning))))

    def _counted(self, episode: int | str, turn: int | str) -> str:
        return f"{self._machine}:{_key(episode_key(episode))}:{turn}"

    def history(self, place: SubjectKey, memory: str, *, until: int | None = None) -> list[HistoryRecord]:
        """Return the records of the memory with this id, oldest first, including those from before it was moved.

        Args:
            until: The last position. Defaults to that of the last record.
        """
        query = f"SELECT place, kind, {self._columns} FROM zorkgpt_journal WHERE memory = %s ORDER BY id"
        rows = self._database.rows(query, (memory,))
        places = {render_place(place)}
        # A move is recorded as a removal from the old place, and then as an addition to the new place.
        for (_, old_place, _, kind, *_), (_, new_place, *_) in zip(
            reversed(rows[:-1]), reversed(rows[1:]), strict=True
        ):
            if kind == "moved" and new_place in places:
                places.add(old_place)
        known = self._read(row[2:] for row in rows if row[0] in places)
        return [record for at, record in known if record is not None and (until is None or at <= until)]

    def places(self, prefix: str | tuple[int | str, ...] | None = None) -> set[SubjectKey]:
        """Return the places that have records.

        Args:
            prefix: The beginning of the places. Defaults to all places.
        """
        rows = self._database.rows(f"SELECT DISTINCT place FROM zorkgpt_journal WHERE {_IS_SEARCHED}")
        texts = [text for (text,) in rows]
        if isinstance(prefix, tuple):
            # Parsing takes longer.
            begins = json.dumps(prefix[0]), render_place((*prefix, 0)).removesuffix(", 0]")
            texts = [text for text in texts if text.startswith(begins)]
        places = {place for place in map(parse_place, texts) if prefix is None or has_prefix(place, prefix)}
        return set(filter(self._scope.contains, places))

    def memories(self, places: Iterable[SubjectKey]) -> set[tuple[SubjectKey, str]]:
        """Return the places and ids of all memories that these places ever had."""
        query = "SELECT DISTINCT memory FROM zorkgpt_journal WHERE place = %s"
        return {(place, id) for place in places for (id,) in self._database.rows(query, (render_place(place),))}

    def complete_ids(self) -> None:
        """Give records of earlier versions, which have the first half of an id, the whole id."""
        query = f"SELECT {self._columns} FROM zorkgpt_journal WHERE length(memory) = 8"
        records = self._read(self._database.rows(query))
        ids = [(memory_id(each.change.location_id, each.change.memory), number) for number, each in records if each]
        self._database.put("UPDATE zorkgpt_journal SET memory = %s WHERE id = %s", ids)

    def erase(self, traces: Traces) -> None:
        """Delete the records about erased memories, and clean the others."""
        gone = [(render_place(place),) for place in traces.gone]
        self._database.put("DELETE FROM zorkgpt_journal WHERE place = %s", gone)
        others = [(place, memory) for place, memory in traces.removed if place not in traces.gone]
        removed = [(memory, render_place(place)) for place, memory in others]
        self._database.put("DELETE FROM zorkgpt_journal WHERE memory = %s AND place = %s", removed)
        if not (traces.texts or traces.titles):
            return
        rows = self._database.rows("SELECT id, record, place FROM zorkgpt_journal")
        changed = [
            (number, new)
            for number, text, place in rows
            if (new := record_without(parse_place(place), text, traces)) != text
        ]
        self._database.put("DELETE FROM zorkgpt_journal WHERE id = %s", [(at,) for at, new in changed if not new])
        query = "UPDATE zorkgpt_journal SET record = %s WHERE id = %s"
        self._database.put(query, [(new, at) for at, new in changed if new])

    def last_place(self, memory: str) -> SubjectKey | None:
        """Return the last place of the memory with this id. None if unknown."""
        query = "SELECT place FROM zorkgpt_journal WHERE memory = %s GROUP BY place ORDER BY max(id) DESC"
        places = (parse_place(place) for (place,) in self._database.rows(query, (memory,)))
        return next(filter(self._scope.contains, places), None)

    def lasting(self, until: int | None = None) -> dict[SubjectKey, list[Memory]]:
        """Return the lasting memories of each place after the records up to a position. Defaults to all records."""
        records = (record for at, record in self.read(0) if record is not None and (until is None or at <= until))
        by_place = replayed(record for record in records if record.change.is_lasting)
        return {place: list(memories) for place, memories in by_place.items()}

    def ephemeral(self, episode: int | str, start: int = 0) -> dict[SubjectKey, tuple[Memory, ...]]:
        """Return the ephemeral memories of an episode by place.

        Args:
            start: Records up to this position are ignored.
        """
        records = self._select("episode = %s AND id > %s", (_key(episode_key(episode)), start))
        return {place: memories for place, memories in replayed(records).items() if memories}

    def discard_ephemeral(self, episode: int | str, position: int) -> None:
        """Delete the changes of an episode's ephemeral memories after this position."""
        key = _key(episode_key(episode))
        self._database.put("DELETE FROM zorkgpt_journal WHERE episode = %s AND id > %s", [(key, position)])

    def by_person(self, start: int) -> Iterator[HistoryRecord]:
        """Yield the changes that a person made after this position, oldest first."""
        return self._select(f"{_BY_PERSON} AND id > %s AND {_IS_SEARCHED}", (start,))


class AnswerTable:
    """The answers of a model, by the keys of the questions.

    Args:
        prefix: The prefix of all keys. It separates scopes, because answers may contain text from their scope.
    """

    def __init__(self, database: Rows, prefix: str = "") -> None:
        self._database = database
        self._prefix = prefix

    def within(self, scope: PlaceScope) -> "AnswerTable":
        """Return the table of the questions in a scope."""
        return AnswerTable(self._database, f"{render_place(scope.path)} ")

    def get(self, key: str) -> object:
        """Return the answer to a question as plain values. None if there is none."""
        rows = self._database.rows("SELECT answer FROM zorkgpt_judgments WHERE key = %s", (self._prefix + key,))
        return _parsed(rows[0][0]) if rows else None

    def put(self, key: str, answer: dict[str, object]) -> None:
        """Store the answer to a question."""
        query = (
            "INSERT INTO zorkgpt_judgments (key, answer) VALUES (%s, %s) "
            "ON CONFLICT (key) DO UPDATE SET answer = excluded.answer"
        )
        self._database.put(query, [(self._prefix + key, json.dumps(answer))])

    def size(self) -> int:
        """Return the position of the last answer. 0 if there is none."""
        return int(self._database.value("SELECT coalesce(max(id), 0) FROM zorkgpt_judgments"))

    def remove(self, start: int) -> None:
        """Delete the answers after a position."""
        self._database.put("DELETE FROM zorkgpt_judgments WHERE id > %s", [(start,)])

    def clear(self) -> None:
        """Delete all answers, so that their questions are asked again."""
        self._database.put("DELETE FROM zorkgpt_judgments", [()])


def delete_vectors(database: Rows) -> None:
    """Delete all vectors in SQLite. They are computed again when they are needed."""
    database.put("DELETE FROM zorkgpt_vectors", [()])


def _parsed(text: str) -> Any:
    """Return the value of a JSON text. None if it exceeds the limits."""
    try:
        return parse_json(text, RECORD)
    except OutOfBounds:
        return None


def _key(value: int | str) -> str:
    return json.dumps(value)


def _turn_columns(stamp: TurnStamp | None) -> tuple[str | None, int | None]:
    return (None, None) if stamp is None else (_key(episode_key(stamp.episode)), stamp.turn)
