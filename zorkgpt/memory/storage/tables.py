"""The tables beside the memories: the journal and the answers of a model. The same on every database."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from sys import maxsize
from typing import Any, NamedTuple

from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.errors import OutOfBounds
from zorkgpt.memory.checks import utc_now
from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.places import (
    UNSEARCHED_COLUMN,
    column_of,
    place_in,
    place_order,
    ranges_of,
    render_place,
)
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.storage.changes import Change, ChangeKind
from zorkgpt.memory.storage.columns import time_column, time_in
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import (
    UNDATED_SOURCES,
    HistoryRecord,
    Trial,
    TurnStamp,
    content_of,
    dated_changes,
    record_of,
    replayed,
)
from zorkgpt.memory.storage.schema import BY_PERSON, ENDED, IS_CHANGE, IS_SEARCHED, VISITED
from zorkgpt.memory.storage.traces import Traces, record_without
from zorkgpt.memory.storage.words import database_text
from zorkgpt.record.database import RecordDatabase

_compact_json = json.JSONEncoder(separators=(",", ":")).encode
_PAGE = 5_000
"""Number of rows read at a time."""
_COLUMNS = "id, record, memory, place, source, kind, at, turn_episode, turn, reverted_by"
_MOST_PARAMETERS = 400
"""Maximum number of parameters of a query."""
_OF_EPISODE_SINCE = "turn_episode = %s AND id > %s AND reverted_by IS NULL"
_ROWS_OF_TURNS = "FROM zorkgpt_journal WHERE turn_episode IS NOT NULL AND "
_IS_PLAYED = "coalesce(reverted_by, '') != 'agent' AND NOT (kind = 'reverted' AND source = 'agent')"
"""The condition for changes that are not of a repeated turn. See `HistoryRecord.is_of_repeated_turn`."""


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
        scope: Records of other places are left out.
    """

    def __init__(self, database: RecordDatabase, scope: PlaceScope = EVERYWHERE) -> None:
        self._database = database
        self._scope = scope

    def size(self) -> int:
        """Return the position of the last record. 0 if there is none."""
        return int(self._database.value("SELECT coalesce(max(id), 0) FROM zorkgpt_journal"))

    def read(self, start: int, *, every: bool = False, page: int = _PAGE) -> Iterator[tuple[int, HistoryRecord | None]]:
        """Yield the position and the record of each change after this position. None if it is invalid.

        Args:
            every: Whether to include records about subjects that are not searched.
            page: The number of rows read at a time.
        """
        condition = IS_CHANGE if every else IS_SEARCHED
        query = f"SELECT {_COLUMNS} FROM zorkgpt_journal WHERE id > %s AND {condition} ORDER BY id LIMIT %s"
        while rows := self._database.rows(query, (start, page)):
            yield from self._read(rows)
            start = rows[-1][0]

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
        at = at or utc_now()
        self.add(HistoryRecord(at, change, source, turn_stamp) for change in changes)

    def add(self, records: Iterable[HistoryRecord]) -> None:
        """Add records at the end."""
        new = list(records)
        for record in new:
            self._scope.check(record.change.location_id)
        columns = "place, source, episode, memory, kind, at, record, turn_episode, turn, reverted_by, title"
        self._database.put(
            f"INSERT INTO zorkgpt_journal ({columns}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    column_of(record.change.location_id),
                    record.source,
                    None if record.episode is None else _key(record.episode),
                    record.change.memory.id,
                    record.change.kind,
                    time_column(record.at),
                    _compact_json(content_of(record)),
                    *_turn_columns(record.turn_stamp),
                    record.reverted_by,
                    _title_of(record.change),
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
                    column_of(row.place),
                    VISITED,
                    time_column(at),
                    _compact_json({"visits": row.visits, "episodes": list(row.episodes), "first": row.is_first}),
                    *_turn_columns(turn_stamp),
                )
                for row in visits
            ],
        )

    def visits(self, start: int, episode: int | str) -> Iterator[VisitRow]:
        """Yield the rows about visits that an episode has counted after a position, except reverted ones."""
        query = f"SELECT place, record FROM zorkgpt_journal WHERE {_OF_EPISODE_SINCE} AND kind = %s ORDER BY id"
        for place, text in self._database.rows(query, (_key(episode_key(episode)), start, VISITED)):
            row = json.loads(text)
            yield VisitRow(place_in(place), row["visits"], tuple(row["episodes"]), row["first"])

    def lasting_changes(self, episode: int | str, start: int) -> Iterator[HistoryRecord]:
        """Yield the changes of lasting memories in the turns of an episode after a position, except reverted ones."""
        condition = f"{_OF_EPISODE_SINCE} AND episode IS NULL AND {IS_CHANGE} AND NOT ({BY_PERSON})"
        return self._select(condition, (_key(episode_key(episode)), start))

    def ephemeral_changes(self, episode: int | str, start: int) -> Iterator[HistoryRecord]:
        """Yield the changes of the ephemeral memories of an episode after a position, except reverted ones."""
        condition = "episode = %s AND id > %s AND reverted_by IS NULL AND kind != 'reverted'"
        return self._select(condition, (_key(episode_key(episode)), start))

    def mark_reverted(self, positions: Iterable[int], by: str) -> None:
        """Mark changes as reverted.

        Args:
            by: The source of what reverts them. "agent" if their turns are played again.
        """
        query = "UPDATE zorkgpt_journal SET reverted_by = %s WHERE id = %s"
        self._database.put(query, [(by, position) for position in positions if position])

    def take_back_turns(self, episode: int | str, position: int) -> None:
        """Mark the visits and the ends of turns of an episode after a position as reverted."""
        query = f"UPDATE zorkgpt_journal SET reverted_by = 'agent' WHERE {_OF_EPISODE_SINCE} AND NOT {IS_CHANGE}"
        self._database.put(query, [(_key(episode_key(episode)), position)])

    def last_return(self) -> int:
        """Return the position of the last change that takes back a turn to play it again. 0 if there is none."""
        query = "SELECT coalesce(max(id), 0) FROM zorkgpt_journal WHERE kind = 'reverted' AND source = 'agent'"
        return int(self._database.value(query))

    def end_turn(self, episode: int | str, turn: int) -> None:
        """Record that a turn has ended. Changes since the turn before, such as those by a person, belong to it."""
        self._database.put(
            "INSERT INTO zorkgpt_journal (place, source, kind, at, record, turn_episode, turn) "
            "VALUES ('', 'agent', %s, %s, '{}', %s, %s)",
            [(ENDED, time_column(utc_now()), _key(episode_key(episode)), turn)],
        )

    def _next_end(self, position: int) -> tuple[int, TurnStamp | None]:
        """Return the position of the next end of a turn, and the turn. None if no turn has ended since."""
        query = (
            f"SELECT id, turn_episode, turn FROM zorkgpt_journal WHERE kind = '{ENDED}' AND id > %s "
            "AND reverted_by IS NULL ORDER BY id LIMIT 1"
        )
        for end, episode, turn in self._database.rows(query, (position,)):
            return int(end), TurnStamp(json.loads(episode), int(turn))
        return maxsize, None

    def position_at(self, episode: int | str, turn: int) -> int:
        """Return the position at the end of a turn: that of the episode's last row before its later turns.

        Changes after it belong to the next turn, or to this one if there is no later one yet. For an episode without
        turns, it is the position before the first later episode.
        """
        key = _key(episode_key(episode))
        later = f"SELECT coalesce(min(id), %s) {_ROWS_OF_TURNS}{_IS_PLAYED} AND turn_episode = %s AND turn > %s"
        query = f"SELECT max(id) {_ROWS_OF_TURNS}{_IS_PLAYED} AND turn_episode = %s AND id < ({later})"
        position = self._database.value(query, (key, maxsize, key, min(turn, maxsize)))
        if position is None:
            query = f"SELECT turn_episode, min(id) {_ROWS_OF_TURNS}{_IS_PLAYED} GROUP BY turn_episode"
            firsts = dict(self._database.rows(query))
            of_later = [first for other, first in firsts.items() if _is_later(json.loads(other), episode)]
            return int(firsts.get(key, min(of_later, default=self.size() + 1))) - 1
        is_followed = self._database.rows(f"SELECT 1 {_ROWS_OF_TURNS}{_IS_PLAYED} AND id > %s LIMIT 1", (position,))
        return int(position) if is_followed else self.size()

    def position_at_time(self, time: str) -> int:
        """Return the position of the last record at or before a time in the format of `Memory.created_at`."""
        query = "SELECT id FROM zorkgpt_journal WHERE at <= %s ORDER BY at DESC, id DESC LIMIT 1"
        return next((int(position) for (position,) in self._database.rows(query, (time_column(time),))), 0)

    def memories_at(self, position: int, episode: int | str | None = None) -> dict[SubjectKey, list[Memory]]:
        """Return the memories of each place at a position, lasting ones first. Empty places are omitted.

        Args:
            episode: The episode of the ephemeral memories. Defaults to that of the last turn.
        """
        if episode is None:
            query = f"SELECT turn_episode {_ROWS_OF_TURNS}{_IS_PLAYED} AND id <= %s ORDER BY id DESC LIMIT 1"
            episode = next((json.loads(key) for (key,) in self._database.rows(query, (position,))), "")
        lasting, ephemeral = self.lasting(position), self.ephemeral(episode, until=position)
        both = {place: [*lasting.get(place, ()), *ephemeral.get(place, ())] for place in {*lasting, *ephemeral}}
        return {place: both[place] for place in sorted(both, key=place_order) if both[place]}

    def knows(self, episode: int | str) -> bool:
        """Return whether an episode has turns or changes."""
        query, key = "SELECT 1 FROM zorkgpt_journal WHERE {} = %s LIMIT 1", _key(episode_key(episode))
        return any(self._database.rows(query.format(column), (key,)) for column in ("turn_episode", "episode"))

    def records(
        self, place: SubjectKey | None = None, *, start: int = 0, limit: int = maxsize, every: bool = False
    ) -> Iterator[HistoryRecord]:
        """Yield the records after a position, of all places or of one, oldest first.

        Args:
            limit: Maximum number of records.
            every: Whether all places include subjects that are not searched.
        """
        if place is None:
            found = self.read(start, every=every, page=min(limit, _PAGE))
            return islice((record for _, record in found if record is not None), limit)
        return self._select("place = %s AND id > %s", (column_of(place), start), limit)

    def past(self, title: str | None = None, place: SubjectKey | None = None) -> Iterator[HistoryRecord]:
        """Yield the changes that gave an ephemeral memory this title, or took it from a lasting one.

        Args:
            title: Case and white space are ignored. Defaults to all titles.
            place: Only at this place. Defaults to all places.
        """
        conditions, given = [IS_SEARCHED, "title IS NOT NULL" if title is None else "title = %s"], []
        given += [] if title is None else [database_text(folded(title))]
        if place is not None:
            conditions.append("place = %s")
            given.append(column_of(place))
        return self._select(" AND ".join(conditions), given)

    def _select(self, condition: str, parameters: Sequence[object], limit: int = maxsize) -> Iterator[HistoryRecord]:
        query = f"SELECT {_COLUMNS} FROM zorkgpt_journal WHERE {condition} ORDER BY id LIMIT %s"
        rows = self._database.rows(query, (*parameters, limit))
        return (record for _, record in self._read(rows) if record is not None)

    def _read(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, HistoryRecord | None]]:
        """Yield the positions and the records of the scope in ordered rows. Changes between turns get the next turn."""
        end, ended = 0, None
        for position, text, memory, column, source, kind, at, episode, turn, reverted_by in rows:
            values, place = _parsed(text), place_in(column)
            if not self._scope.contains(place):
                continue
            record = None
            if isinstance(values, dict):
                values |= {"source": source, "kind": kind, "at": time_in(at) or ""}
                values |= {"position": position, "memory": memory, "reverted_by": reverted_by}
                if episode is not None:
                    values |= {"episode": json.loads(episode), "turn": turn}
                record = record_of(values, place)
            if record is not None:
                if record.turn_stamp is None and source not in UNDATED_SOURCES:
                    if position > end:
                        end, ended = self._next_end(position)
                    record = replace(record, turn_stamp=ended)
                if self._scope.path and kind == "moved":
                    # The reason names the other place, which may be outside the scope.
                    record = replace(record, change=replace(record.change, reason=None))
            yield position, record

    def of_memory(self, place: SubjectKey, memory: str, kinds: Sequence[ChangeKind]) -> Iterator[HistoryRecord]:
        """Yield the records of these kinds about the memory with this id at a place, oldest first."""
        condition = f"memory = %s AND place = %s AND kind IN ({', '.join(['%s'] * len(kinds))}) AND reverted_by IS NULL"
        return self._select(condition, (memory, column_of(place), *kinds))

    def is_counted(self, memory: str, episode: int | str, turn: int) -> bool:
        """Return whether a trial of the memory with this id in a turn is counted."""
        condition = "memory = %s AND kind = 'credited' AND turn_episode = %s AND reverted_by IS NULL"
        records = self._select(condition, (memory, _key(episode_key(episode))))
        return any(trial is not None and trial.turn == turn for trial in map(Trial.of, records))

    def trials(self, episode: int | str | None = None) -> Iterator[Trial]:
        """Yield the trials of an episode in the order in which they were counted. Defaults to all episodes."""
        condition, given = ("", ()) if episode is None else (" AND turn_episode = %s", (_key(episode_key(episode)),))
        return filter(None, map(Trial.of, self._select(f"kind = 'credited' AND reverted_by IS NULL{condition}", given)))

    def history(self, place: SubjectKey, memory: str) -> list[HistoryRecord]:
        """Return the records of the memory with this id, oldest first, including those from before it was moved."""
        query = f"SELECT place, kind, {_COLUMNS} FROM zorkgpt_journal WHERE memory = %s ORDER BY id"
        rows = self._database.rows(query, (memory,))
        places = {column_of(place)}
        # A move is recorded as a removal from the old place, and then as an addition to the new place.
        for (old_place, kind, *_), (new_place, *_) in zip(reversed(rows[:-1]), reversed(rows[1:]), strict=True):
            if kind == "moved" and new_place in places:
                places.add(old_place)
        known = self._read(row[2:] for row in rows if row[0] in places)
        return [record for _, record in known if record is not None]

    def versions(self, place: SubjectKey, memory: str) -> list[Memory]:
        """Return the versions of the memory with this id, oldest first, with their times and sources."""
        changes = dated_changes(self.history(place, memory))
        return [change.after for change in changes if change.after is not None]

    def places(self, prefix: str | tuple[int | str, ...] | None = None) -> set[SubjectKey]:
        """Return the places that have records.

        Args:
            prefix: The beginning of the places. Defaults to all places.
        """
        query = f"SELECT DISTINCT place FROM zorkgpt_journal WHERE place >= %s AND place < %s AND {IS_CHANGE}"
        ranges = [("", UNSEARCHED_COLUMN)] if prefix is None else ranges_of(prefix)
        columns = (column for limits in ranges for (column,) in self._database.rows(query, limits))
        return set(filter(self._scope.contains, map(place_in, columns)))

    def memories(self, places: Iterable[SubjectKey]) -> set[tuple[SubjectKey, str]]:
        """Return the places and ids of all memories that these places ever had."""
        query = "SELECT DISTINCT memory FROM zorkgpt_journal WHERE place = %s"
        return {(place, id) for place in places for (id,) in self._database.rows(query, (column_of(place),))}

    def erase(self, traces: Traces) -> None:
        """Delete the records about erased memories, and clean the others."""
        gone = [(column_of(place),) for place in traces.gone]
        self._database.put("DELETE FROM zorkgpt_journal WHERE place = %s", gone)
        others = [(place, memory) for place, memory in traces.removed if place not in traces.gone]
        removed = [(memory, column_of(place)) for place, memory in others]
        self._database.put("DELETE FROM zorkgpt_journal WHERE memory = %s AND place = %s", removed)
        if not (traces.texts or traces.titles):
            return
        rows = self._database.rows("SELECT id, record, place FROM zorkgpt_journal WHERE place != ''")
        changed = [
            (number, new)
            for number, text, place in rows
            if (new := record_without(place_in(place), text, traces)) != text
        ]
        self._database.put("DELETE FROM zorkgpt_journal WHERE id = %s", [(at,) for at, new in changed if not new])
        # Its title may be a trace too.
        query = "UPDATE zorkgpt_journal SET record = %s, title = NULL WHERE id = %s"
        self._database.put(query, [(new, at) for at, new in changed if new])

    def last_place(self, memory: str) -> SubjectKey | None:
        """Return the last place of the memory with this id. None if unknown."""
        query = "SELECT place FROM zorkgpt_journal WHERE memory = %s GROUP BY place ORDER BY max(id) DESC"
        places = (place_in(place) for (place,) in self._database.rows(query, (memory,)))
        return next(filter(self._scope.contains, places), None)

    def lasting(self, until: int | None = None) -> dict[SubjectKey, list[Memory]]:
        """Return the lasting memories of each place after the records up to a position. Defaults to all records."""
        records = takewhile(lambda record: until is None or record.position <= until, self.records())
        by_place = replayed(record for record in records if record.change.is_lasting)
        return {place: list(memories) for place, memories in by_place.items()}

    def ephemeral(
        self, episode: int | str, start: int = 0, *, until: int | None = None
    ) -> dict[SubjectKey, tuple[Memory, ...]]:
        """Return the ephemeral memories of an episode by place.

        Args:
            start: Records up to this position are ignored.
            until: The last position. Defaults to that of the last record.
        """
        last = maxsize if until is None else until
        records = self._select("episode = %s AND id > %s AND id <= %s", (_key(episode_key(episode)), start, last))
        return {place: memories for place, memories in replayed(records).items() if memories}

    def of_kind(self, kind: ChangeKind, place: SubjectKey | None = None) -> Iterator[HistoryRecord]:
        """Yield the records of this kind, of all places or of one, oldest first."""
        if place is None:
            return self._select(f"kind = %s AND {IS_SEARCHED}", (kind,))
        return self._select("kind = %s AND place = %s", (kind, column_of(place)))

    def by_person(self, start: int) -> Iterator[HistoryRecord]:
        """Yield the changes that a person made after this position, oldest first."""
        return self._select(f"{BY_PERSON} AND id > %s AND {IS_SEARCHED}", (start,))


class AnswerTable:
    """The answers of a model, by the keys of the questions.

    Args:
        scope: The scope of the questions. Answers may contain text from their scope.
    """

    def __init__(self, database: RecordDatabase, scope: PlaceScope = EVERYWHERE) -> None:
        self._database = database
        self._prefix = f"{render_place(scope.path)} " if scope.path else ""
        """The prefix of all keys."""

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

    def clear(self) -> None:
        """Delete all answers, so that their questions are asked again."""
        self._database.put("DELETE FROM zorkgpt_judgments", [()])


def _parsed(text: str) -> Any:
    """Return the value of a JSON text. None if it exceeds the limits."""
    try:
        return parse_json(text, RECORD)
    except OutOfBounds:
        return None


def _key(value: int | str) -> str:
    return json.dumps(value)


def _is_later(episode: int | str, than: int | str) -> bool:
    than = episode_key(than)
    return isinstance(episode, int) and isinstance(than, int) and episode > than


def _title_of(change: Change) -> str | None:
    """Return the title that an ephemeral memory gets by a change, or that a lasting one loses. None if it gets none."""
    before, after = (None if each is None else folded(each.title) for each in (change.before, change.after))
    title = before if change.is_lasting else after
    return None if before == after or title is None else database_text(title)


def _turn_columns(stamp: TurnStamp | None) -> tuple[str | None, int | None]:
    return (None, None) if stamp is None else (_key(episode_key(stamp.episode)), stamp.turn)
