"""The memory on PostgreSQL: the sections of the Markdown file as rows, changed in transactions, seen by many machines.

A row holds a section as it would stand in the file, so that parsing, changing and history are those of the file. One
row holds the revision; whoever changes anything locks it first, so that changes come one after the other.
"""

import json
import os
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zorkgpt.errors import MemoryStoreError, reason_of
from zorkgpt.files import LOCK_TIMEOUT_S, Recovery
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.storage.changes import ChangedDocument, DocumentChange
from zorkgpt.memory.storage.document import Document, Shelf, indexed, line_end
from zorkgpt.memory.storage.history import HistoryRecord, TurnStamp, compacted, record_of, row_of
from zorkgpt.memory.storage.section import LocationSection, parse_section
from zorkgpt.memory.storage.word_index import WordIndex, changed_places

log = get_logger(__name__)

if TYPE_CHECKING:
    # An extra: loaded where it is used first.
    import psycopg

    _Connection = psycopg.Connection[tuple[Any, ...]]

_FORMAT = 1
_PAGE = 5_000
"""How many records of the history are read at a time."""
_SETUP_LOCK = 0x5A6F726B
"""The number of the advisory lock under which the tables are made."""

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS zorkgpt_state (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    format integer NOT NULL,
    revision bigint NOT NULL,
    read_anew_at bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS zorkgpt_sections (
    position bigint PRIMARY KEY,
    revision bigint NOT NULL,
    data bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS zorkgpt_sections_revision ON zorkgpt_sections (revision);
CREATE TABLE IF NOT EXISTS zorkgpt_history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    record json NOT NULL
);
INSERT INTO zorkgpt_state (format, revision, read_anew_at) VALUES ({_FORMAT}, 0, 0) ON CONFLICT DO NOTHING;
"""

_CHANGED = """
SELECT position, data, (SELECT revision FROM zorkgpt_state), (SELECT read_anew_at FROM zorkgpt_state)
FROM zorkgpt_sections WHERE revision > %s ORDER BY position
"""

_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 10,
    # A network that is gone is noticed within a minute.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "zorkgpt",
}

STEP = 1 << 32
"""Between the positions of two sections, so that others fit in."""
_FIRST = -(1 << 62)
_SHELF = 100
"""Sections that are looked at together when one of them changes."""


class Database:
    """A connection that is made when it is needed first, and anew when it was lost. Never names the password.

    Raises:
        MemoryStoreError: `url` is no address of a database.
    """

    def __init__(self, url: str, *, lock_timeout_s: float) -> None:
        try:
            from psycopg import ProgrammingError
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise MemoryStoreError(
                f"A memory on PostgreSQL needs psycopg, and {error}. Install it: pip install 'zorkgpt[postgres]'."
            ) from error
        try:
            self._given = conninfo_to_dict(url)
        except ProgrammingError:
            # Without what libpq says: it repeats the part that it does not understand, which may be the password.
            raise MemoryStoreError(
                "The address of the memory can't be read as one of PostgreSQL. It is of the form "
                "postgresql://user@host:5432/database, with %40 for an @ in a name or a password."
            ) from None
        self.address = _address(self._given)
        self.guard = threading.RLock()
        self._lock_timeout_s = lock_timeout_s
        self._connection: _Connection | None = None
        self._opened_by = 0

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds; asked once more over a new connection, where the old one was lost."""
        from psycopg import OperationalError

        def ask() -> list[tuple[Any, ...]]:
            return _asking(self._connected())(query, parameters)

        with self.guard, self._clear_errors():
            known = self._connection
            try:
                return ask()
            except OperationalError:
                if known is None or not known.closed:
                    raise
                return ask()

    @contextmanager
    def change(self) -> "Iterator[tuple[_Connection, int, int]]":
        """Begin a transaction that nobody else's can overlap; yield it with the revision and when to read anew.

        Committed at the end; nothing is changed where the block or the commit raises.
        """
        from psycopg import sql

        with self.guard, self._clear_errors():
            connection = self._connected()
            with connection.transaction():
                cursor = connection.execute(
                    sql.SQL(
                        # A machine that vanishes with the lock is let go of by the server.
                        "SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = 60000; "
                        "SELECT revision, read_anew_at FROM zorkgpt_state FOR UPDATE"
                    ).format(sql.Literal(max(1, int(self._lock_timeout_s * 1000))))
                )
                while cursor.nextset():
                    pass
                revision, read_anew_at = cursor.fetchone() or (0, 0)
                yield connection, revision, read_anew_at

    def close(self) -> None:
        with self.guard:
            if self._connection is not None and self._opened_by == os.getpid():
                self._connection.close()
            self._connection = None

    def _connected(self) -> "_Connection":
        if self._opened_by != os.getpid():
            # A child must not go on with what its parent process opened.
            self._connection = None
        if self._connection is None or self._connection.closed:
            self._connection = self._connect()
            self._opened_by = os.getpid()
        return self._connection

    def _connect(self) -> "_Connection":
        import psycopg
        from psycopg.conninfo import make_conninfo

        try:
            # Without prepared statements, since a pooler in between may not know them.
            connection = psycopg.connect(
                make_conninfo(**{**_DEFAULTS, **self._given, "client_encoding": "utf8"}),
                autocommit=True,
                prepare_threshold=None,
            )
        except psycopg.Error as error:
            raise MemoryStoreError(
                f"Can't reach PostgreSQL at {self.address}: {self._without_password(error)}. Is the server running, "
                "and do user, password and database exist? A file, such as Memories.md, needs no server."
            ) from None
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: "_Connection") -> None:
        """Make the tables where there are none."""
        there = connection.execute("SELECT to_regclass('zorkgpt_state')").fetchone()
        if there == (None,):
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SETUP_LOCK,))
                connection.execute(_SCHEMA)
        found = connection.execute("SELECT format FROM zorkgpt_state").fetchone()
        if found is None or found[0] > _FORMAT:
            raise MemoryStoreError(f"The memory at {self.address} was written by a later version. Update zorkgpt.")

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.errors.LockNotAvailable:
            raise MemoryStoreError(
                f"The memory at {self.address} has been locked by another process for {self._lock_timeout_s:g} s."
            ) from None
        except psycopg.Error as error:
            raise MemoryStoreError(f"PostgreSQL at {self.address}: {self._without_password(error)}") from None

    def _without_password(self, error: "psycopg.Error") -> str:
        said, password = reason_of(error).rstrip(".?"), self._given.get("password")
        return said.replace(str(password), "***") if password else said


class PostgresHistory:
    """The table of changes; never rewritten. A position in it is the number of a record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def size(self) -> int:
        """Return the number of the last record; 0 if there is none."""
        return int(self._database.rows("SELECT coalesce(max(id), 0) FROM zorkgpt_history")[0][0])

    def records(self) -> Iterator[HistoryRecord]:
        """Yield all records, oldest first."""
        for _, record in self._from(0):
            yield record

    def records_from(self, start: int) -> tuple[list[HistoryRecord], int]:
        """Return the records after this number, and the number of the last."""
        found = list(self._from(start))
        return [record for _, record in found], found[-1][0] if found else start

    def bytes_before(self, end: int) -> bytes:
        """Return the record of this number, which tells whether a history is still the one that was read."""
        found = self._database.rows("SELECT record::text FROM zorkgpt_history WHERE id = %s", (end,))
        return str(found[0][0]).encode() if found else b""

    def _from(self, start: int) -> Iterator[tuple[int, HistoryRecord]]:
        query = "SELECT id, record::text FROM zorkgpt_history WHERE id > %s ORDER BY id LIMIT %s"
        while page := self._database.rows(query, (start, _PAGE)):
            for start, said in page:
                record = record_of(json.loads(said))
                if record is not None:
                    yield start, record


class PostgresStore:
    """A memory on PostgreSQL, its document, and the cache of its memories.

    Args:
        url: as libpq reads it: `postgresql://user@host/database`; its `search_path` says where the tables are.

    Raises:
        MemoryStoreError: there is no such server, or it lets nobody in.
    """

    def __init__(
        self,
        url: str,
        *,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = Database(url, lock_timeout_s=lock_timeout_s)
        self._now = now
        self.name = self._database.address
        self.path = _own_folder(self.name) / "Memories.md"
        self.guard = self._database.guard
        self.history = PostgresHistory(self._database)
        self.index = WordIndex(self.path.with_suffix(".index.sqlite"))
        self.cache: dict[PlaceKey, list[Memory]] = {}
        self.recovered: Recovery | None = None
        self.history_failures = 0
        self._document = Document()
        self._positions: list[list[int]] = [[]]
        """Where the sections of the document stand, in ascending order, shelf by shelf."""
        self._revision = -1
        self.refresh()

    @property
    def document(self) -> Document:
        return self._document

    def refresh(self) -> None:
        """See what others wrote.

        Raises:
            MemoryStoreError: the server can't be asked; the cache is what was last seen.
        """
        with self.guard:
            ((revision, read_anew_at),) = self._database.rows("SELECT revision, read_anew_at FROM zorkgpt_state")
            if revision != self._revision:
                self._pull(self._database.rows, revision, read_anew_at)

    def apply(
        self, change: DocumentChange, *, source: str = "agent", turn_stamp: TurnStamp | None = None
    ) -> ChangedDocument | None:
        """Change the document as it is in the database now; committed when this returns, with its history.

        None from `change`: nothing is to be done.

        Args:
            source: who changes it, for the history.
            turn_stamp: the turn in which it is made; None: not known.

        Raises:
            MemoryStoreError: it could not be locked, read or written; database and cache are as before.
        """
        with self.guard:
            # What there is much of is read before others have to wait, and over a connection that is known to live.
            self.refresh()
            try:
                with self._database.change() as (connection, revision, read_anew_at):
                    if revision != self._revision:
                        self._pull(_asking(connection), revision, read_anew_at)
                    outcome = change(self._document)
                    if outcome is None or outcome.document is self._document:
                        return outcome
                    positions = self._write(connection, outcome.document, revision + 1)
                    self._record(connection, outcome, source, turn_stamp)
            except MemoryStoreError:
                # Nobody knows whether a commit that was cut short has come through.
                self._revision = -1
                raise
            before = self._document
            self._document, self._positions, self._revision = outcome.document, positions, revision + 1
            # What is forgotten, or only counted, is no change of a memory.
            told = {made.location_id for made in outcome.changes}
            self._refresh_cache(told or changed_places(before, self._document))
            self._shelve()
            self.index.follow(self._document)
            return outcome

    def reconcile(self) -> None:
        """See what others wrote: the history is written with each change, and never behind."""
        self.refresh()

    def compact_history(self) -> tuple[int, int]:
        """Make one record of the observations and trials of a memory that follow one another in the history.

        Returns:
            The number of records before and after.
        """
        return self.rewrite_history(compacted)

    def rewrite_history(self, rewrite: Callable[[list[bytes]], list[bytes]]) -> tuple[int, int]:
        """Put other lines in the place of those of the history, each the JSON of a change.

        Returns:
            The number of lines before and after.
        """
        with self._database.change() as (connection, *_):
            lines = [
                str(row[0]).encode() + b"\n"
                for row in connection.execute("SELECT record::text FROM zorkgpt_history ORDER BY id")
            ]
            kept = rewrite(lines)
            connection.execute("TRUNCATE zorkgpt_history RESTART IDENTITY")
            _append(connection, [line.decode() for line in kept])
        return len(lines), len(kept)

    def locked(self) -> AbstractContextManager[object]:
        """Keep the other threads from changing what this machine keeps."""
        return self.guard

    def close(self) -> None:
        """Close the connection and the index of words; the next call opens them again."""
        with self.guard:
            self._database.close()
            self.index.close()

    def _pull(
        self, rows: Callable[[str, Sequence[object]], list[tuple[Any, ...]]], revision: int, read_anew_at: int
    ) -> None:
        """Take in what has changed since the last time."""
        is_anew = self._revision < read_anew_at or self._revision < 0
        found = rows(_CHANGED, (-1 if is_anew else self._revision,))
        if found:
            # One statement sees one state of the database, which may be a later one by now.
            revision, read_anew_at = found[0][2:]
            if not is_anew and self._revision < read_anew_at:
                return self._pull(rows, revision, read_anew_at)
        known = {section.data: section for section in self._document.sections} if is_anew else {}
        new = {position: known.get(data) or parse_section(data) for position, data, *_ in found}
        if is_anew:
            self._document, self._positions = _one_shelf(list(new.values())), [list(new)]
            self._refresh_cache({*self.cache, *self._document.section_indexes})
        else:
            changed: set[PlaceKey] = set()
            for position, section in new.items():
                old = self._put(position, section)
                changed |= {
                    one.location_id for one in (old, section) if one is not None and one.location_id is not None
                }
            self._refresh_cache(changed)
        self._shelve()
        self._revision = revision
        return None

    def _put(self, position: int, section: LocationSection) -> LocationSection | None:
        """Put a section where it stands now, and return the one that stood there."""
        least = 1 if section.location_id is not None and len(self._positions) > 1 else 0
        number = max(least, bisect_right([its[0] if its else position for its in self._positions], position) - 1)
        its, sections = self._positions[number], list(self._document.shelves[number].sections)
        at = bisect_left(its, position)
        old = sections[at] if at < len(its) and its[at] == position else None
        if old is not None and old.location_id == section.location_id:
            self._document = self._document.replaced((number, at), section)
            return old
        sections[at : at + (old is not None)] = [section]
        its[at : at + (old is not None)] = [position]
        self._document = self._document.with_sections(number, sections)
        return old

    def _shelve(self) -> None:
        """Cut what has grown long, so that a change costs no more where there are many places.

        Above the first place stands what is on the first shelf, as where files are cut.
        """
        if all(len(its) <= 2 * _SHELF for its in self._positions) and all(self._positions[1:]):
            return
        sections = self._document.sections
        positions = list(chain.from_iterable(self._positions))
        first = next((at for at, section in enumerate(sections) if section.location_id is not None), 0)
        cuts = [0, *range(first, max(first + 1, len(sections) - _SHELF // 2), _SHELF), len(sections)]
        ends = list(pairwise(cuts))
        eol = self._document.shelves[0].eol
        self._document = indexed(tuple(Shelf(sections[start:end], eol) for start, end in ends))
        self._positions = [positions[start:end] for start, end in ends]

    def _refresh_cache(self, places: Iterable[PlaceKey]) -> None:
        for place in places:
            if memories := self._document.memories(place):
                self.cache[place] = memories
            else:
                self.cache.pop(place, None)

    def _write(self, connection: "_Connection", document: Document, revision: int) -> list[list[int]]:
        """Write the sections that differ, and return where all of them stand."""
        positions = self._placed(document)
        before: dict[int, LocationSection] = {}
        is_anew = positions is None
        if positions is None:
            left = iter(spread(len(document.sections)))
            positions = [list(islice(left, len(shelf.sections))) for shelf in document.shelves]
        changed: list[tuple[int, int, bytes]] = []
        for number, (shelf, its) in enumerate(zip(document.shelves, positions, strict=True)):
            if not is_anew:
                old = self._document.shelves[number]
                if old is shelf:
                    continue
                before |= zip(self._positions[number], old.sections, strict=True)
            changed += [
                (position, revision, section.data)
                for position, section in zip(its, shelf.sections, strict=True)
                if before.pop(position, None) is not section
            ]
        if is_anew:
            connection.execute("DELETE FROM zorkgpt_sections")
        elif before:
            connection.execute("DELETE FROM zorkgpt_sections WHERE position = ANY(%s)", (list(before),))
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO zorkgpt_sections (position, revision, data) VALUES (%s, %s, %s) "
                "ON CONFLICT (position) DO UPDATE SET revision = excluded.revision, data = excluded.data",
                changed,
            )
        connection.execute(
            "UPDATE zorkgpt_state SET revision = %s, read_anew_at = CASE WHEN %s THEN %s ELSE read_anew_at END",
            (revision, is_anew or bool(before), revision),
        )
        return positions

    def _placed(self, document: Document) -> list[list[int]] | None:
        """Return where the sections stand, shelf by shelf; None: all are to be placed anew."""
        if len(document.shelves) != len(self._positions) or self._document.is_empty:
            return None
        placed: list[list[int]] = []
        for number, shelf in enumerate(document.shelves):
            old, its = self._document.shelves[number], self._positions[number]
            if old is not shelf:
                low = next((one[-1] for one in reversed(placed) if one), None)
                high = next((one[0] for one in self._positions[number + 1 :] if one), None)
                found = positions_of(old.sections, its, shelf.sections, low, high)
                if found is None:
                    return None
                its = found
            placed.append(its)
        return placed

    def _record(
        self, connection: "_Connection", outcome: ChangedDocument, source: str, turn_stamp: TurnStamp | None
    ) -> None:
        at = self._now().isoformat(timespec="milliseconds")
        _append(connection, [json.dumps(row_of(at, change, source, turn_stamp)) for change in outcome.changes])


def _append(connection: "_Connection", records: Iterable[str]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO zorkgpt_history (record) VALUES (%s)", [(record,) for record in records])


def positions_of(
    old: Sequence[LocationSection],
    positions: Sequence[int],
    new: Sequence[LocationSection],
    low: int | None = None,
    high: int | None = None,
) -> list[int] | None:
    """Return where the new sections stand: those of the old ones where they stood, others between them.

    None: there is no room between two of them; then all are placed anew.

    Args:
        positions: of the old sections.
        low, high: the positions of what stands above and below; None: nothing does.
    """
    same = {id(section): position for section, position in zip(old, positions, strict=True)}
    stay = {id(section) for section in new}
    changed: dict[PlaceKey | None, list[int]] = {}
    for section, position in zip(old, positions, strict=True):
        if id(section) not in stay:
            changed.setdefault(section.location_id, []).append(position)
    found: list[int | None] = []
    for section in new:
        others = changed.get(section.location_id)
        found.append(same[id(section)] if id(section) in same else others.pop(0) if others else None)
    filled = _filled([*([] if low is None else [low]), *found, *([] if high is None else [high])])
    if filled is None:
        return None
    return filled[low is not None : len(filled) - (high is not None)]


def _filled(positions: Sequence[int | None]) -> list[int] | None:
    """Return the positions with those that are not known chosen between the others; None: there is no room."""
    filled: list[int] = []
    waiting = 0
    for position in positions:
        if position is None:
            waiting += 1
            continue
        low = filled[-1] if filled else position - (waiting + 1) * STEP
        step = min(STEP, (position - low) // (waiting + 1))
        if step < 1:
            return None
        filled += [position - step * (waiting - number) for number in range(waiting)]
        filled.append(position)
        waiting = 0
    if waiting and not filled:
        return spread(waiting)
    return filled + [filled[-1] + STEP * (number + 1) for number in range(waiting)]


def _one_shelf(sections: Sequence[LocationSection]) -> Document:
    return indexed((Shelf(tuple(sections), line_end(sections[0].data) if sections else "\n"),))


def spread(count: int) -> list[int]:
    """Return positions for this many sections, with room between them, and most of it behind the title."""
    return [_FIRST, *(number * STEP for number in range(1, count))][:count]


def _asking(connection: "_Connection") -> Callable[[str, Sequence[object]], list[tuple[Any, ...]]]:
    from psycopg import sql

    # The text of every query is a constant of this module.
    return lambda query, parameters: connection.execute(sql.SQL(query), parameters).fetchall()


def _address(given: dict[str, Any]) -> str:
    """Return what names the database, without the password."""
    user = f"{given['user']}@" if given.get("user") else ""
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST", "")
    port = f":{given['port']}" if given.get("port") else ""
    where = f"postgresql://{user}{host}{port}/{given.get('dbname') or ''}"
    return f"{where}?options={given['options']}" if given.get("options") else where


def _own_folder(address: str) -> Path:
    """Return the folder for what this machine keeps of a memory for itself; made if there is none."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(state) / "zorkgpt" / blake2b(address.encode(), digest_size=8).hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        log.warning("what this machine keeps for itself is not kept", extra={"path": str(folder), "error": str(error)})
    return folder
