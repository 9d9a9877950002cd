"""The store in a database: one row for each memory, changed in transactions, shared by all processes.

SQLite has one writer at a time. On PostgreSQL, transactions with different places run at the same time.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import LOCK_TIMEOUT_S, Recovery
from zorkgpt.log import get_logger
from zorkgpt.memory.checks import utc_now
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import column_of
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.storage import schema
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.lasting import EVERY, Filters, Heading, by_place
from zorkgpt.memory.storage.postgres import PostgresDatabase
from zorkgpt.memory.storage.reverting import revert_to
from zorkgpt.memory.storage.rows import MemoryRows
from zorkgpt.memory.storage.sqlite import IN_MEMORY, SqliteDatabase
from zorkgpt.memory.storage.tables import AnswerTable, Journal, VisitRow
from zorkgpt.memory.storage.traces import Traces, event_without
from zorkgpt.memory.storage.vector_table import PostgresVectors, delete_all_but
from zorkgpt.memory.storage.words import FullText, PostgresWords, WordCounts, WordIndex, matches, words_in
from zorkgpt.record.events import Events

if TYPE_CHECKING:
    # Loaded only if there are vectors.
    from zorkgpt.embeddings.provider import VectorTable

log = get_logger(__name__)

_KIND = 0x5A76


class _Discarded(Exception):
    """The changes of a transaction must be undone."""


class Store:
    """A memory in a database, shared with other processes. Memories are read on demand.

    Every method may raise `MemoryStoreError`. Nothing is changed then.

    Args:
        words: The index of words.
        name: The path, or the address without its password.
        path: Its folder contains `runs/`.
        scope: The places that can be read and changed.

    Attributes:
        database: The database of the whole record.
        lasting: The lasting memories of the scope.
        journal: The changes in the scope.
        answers: The answers of a model to questions about the scope.
        guard: Held while memories are read or changed.
        recovered: The last recovery of a damaged file. None if there was none.
        notices: What the user should know about the file: that it was restored, that memories are gone, or are not
            understood.
        has_file: Whether the memories are in a Markdown file.
    """

    has_file = False

    def __init__(
        self,
        database: SqliteDatabase | PostgresDatabase,
        words: WordIndex,
        *,
        name: str,
        path: Path,
        scope: PlaceScope,
    ) -> None:
        self.database = database
        self.scope = scope
        self.name = name
        self.path = path
        self.guard = database.guard
        self.journal = Journal(database, scope)
        self.answers = AnswerTable(database, scope)
        self.recovered: Recovery | None = None
        self.notices: list[str] = []
        self._words = words
        self.lasting = MemoryRows(database, scope)
        self._rows = MemoryRows(database) if scope.path else self.lasting
        """All lasting memories."""
        self._records = Journal(database)
        """All changes."""
        self._waiting: list[Callable[[], None]] = []
        """What to call when the running turn is committed."""
        self.refresh()

    def refresh(self) -> None:
        """Read the changes of other processes.

        Raises:
            MemoryStoreError: If the database can't be read.
        """
        with self.guard:
            if self.database.is_turn:
                # Nobody else can write.
                return
            # A signal that arrives at the end of a transaction can leave it open.
            if self.database.abandon():
                self._forget()
            self._follow()

    def _follow(self) -> None:
        self.lasting.follow()
        self._rows.follow()

    def _forget(self) -> None:
        self.lasting.forget()
        self._rows.forget()

    @contextmanager
    def transaction(
        self,
        *,
        source: str = "agent",
        turn_stamp: TurnStamp | None = None,
        places: Collection[SubjectKey] | None = None,
    ) -> Iterator[Draft]:
        """Lock the places, read the present memories, and begin to change them.

        The changes are committed together when the block ends. If it raises, nothing is changed.

        Args:
            source: The author of the change. See `HistoryRecord.source`.
            turn_stamp: The turn of the change. None if unknown.
            places: The places that are changed. Others can then change other places at the same time. Defaults to all.

        Raises:
            MemoryStoreError: If the database can't be locked, read or written.
        """
        rows = self.lasting
        with self.guard:
            self._prepare()
            try:
                with self._changing(places):
                    if not self.database.is_turn:
                        rows.follow()
                    at = utc_now()
                    with rows.changing(at=at):
                        if places is not None:
                            rows.read_ahead(places)
                        draft = Draft(rows, turn_stamp=turn_stamp, at=at, source=source)
                        yield draft
                        if draft.is_discarded:
                            raise _Discarded
                    self.journal.append(draft.changes, source=source, turn_stamp=turn_stamp, at=at)
                    if turn_stamp is not None:
                        self.journal.add_visits(self._visits(), turn_stamp, at)
                    if rows is not self._rows:
                        self._rows.forget()
                    self._before_commit(draft)
            except _Discarded:
                self._forget()
            except BaseException:
                self._forget()
                raise

    def _prepare(self) -> None:
        """Called before a transaction: reconnect before locking the database, so that others don't have to wait."""
        self.refresh()

    @property
    def document(self) -> Document:
        """The lasting memories as a memory file."""
        memories = by_place(self.lasting.find(EVERY))
        headings = self.lasting.headings(self.lasting.places())
        return Document().showing({place: (heading, memories.get(place, ())) for place, heading in headings.items()})

    def _before_commit(self, draft: Draft) -> None:
        """Called at the end of a transaction, before it is committed."""

    def matching(
        self, asked: Iterable[str], wanted: Filters, limit: int
    ) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
        """Return lasting memories with any of the words that pass filters, roughly the best first.

        Also returns the frequencies of the words in all lasting memories. In a scope, every memory is read, because an
        index counts the words of the whole memory.

        Args:
            asked: Words in the form that `words` returns.
            wanted: Filters of properties: not `among`, `named`, `texts` and `expires_by`.
        """
        with self.guard:
            if self.scope.path:
                lasting = self.lasting
                names = {place: heading.name for place, heading in lasting.headings(lasting.places()).items()}
                with_words = ((place, each, words_in(names[place], each)) for place, each in lasting.find(EVERY))
                return matches(with_words, asked, wanted.passes, limit)
            numbers, counts = self._words.find(list(asked), partial(self.lasting.passing, wanted), limit)
            return self.lasting.numbered(numbers), counts

    def _visits(self) -> Iterator[VisitRow]:
        """Yield the visits that this transaction has counted."""
        for place, before in self.lasting.headings_before.items():
            now, was = self.lasting.heading(place), before or Heading()
            episodes = tuple(episode for episode in now.episodes if episode not in was.episodes)
            if now.visits != was.visits or episodes or before is None:
                yield VisitRow(place, now.visits - was.visits, episodes, before is None)

    def revert_to(self, position: int, episode: int | str) -> None:
        """Revert the changes that an episode has made since a position of the journal.

        Changes by a person and by other episodes stay, and so does a memory that one of them has changed too.
        """
        self._check_whole("return to a checkpoint")
        with self.transaction() as draft:
            revert_to(self, draft, position, episode)

    def erase(self, traces: Traces) -> None:
        """Erase traces from the tables beside the memories."""
        with self.database.change():
            self.journal.erase(traces)
            # Events belong to the whole memory.
            if not traces.scope.path:
                Events(self.database).rewrite(lambda text: event_without(text, traces))
            self.answers.clear()
            self._words.erase_deleted()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Commit the changes of the block together, at its end. Within it, they can be read. Can be nested.

        A transaction in it that raises undoes only its own changes. If the block raises, all of them are undone.
        """
        with self.guard:
            if self.database.is_turn:
                yield
                return
            self._prepare()
            self._waiting = []
            try:
                with self.database.turn():
                    self._follow()
                    yield
            except BaseException:
                self._forget()
                raise
            for call in self._waiting:
                call()

    def when_committed(self, call: Callable[[], None]) -> None:
        """Call a function when the running turn is committed, or now if there is none."""
        if self.database.is_turn:
            self._waiting.append(call)
        else:
            call()

    def vectors(self) -> "VectorTable":
        """Return the table of vectors."""
        raise NotImplementedError

    def _changing(self, places: Collection[SubjectKey] | None) -> AbstractContextManager[None]:
        """Begin a transaction that changes these places, or all places if None."""
        raise NotImplementedError

    def claim_episode(self, least: int) -> int:
        """Return a number for a new episode, at least `least`, that no other player of the memory uses."""
        self._check_whole("number an episode")
        with self.database.change():
            last = int(self.database.value("SELECT episodes FROM zorkgpt_state"))
            episode = max(last + 1, least)
            self.database.put("UPDATE zorkgpt_state SET episodes = %s", [(episode,)])
        return episode

    def claim_subject(self, subject: str) -> str:
        """Return the subject of the memory, after setting it if it had none. "" if the folder determines it."""
        self._check_whole("set the subject of the memory")
        with self.database.change():
            self.database.put("UPDATE zorkgpt_state SET subject = %s WHERE subject = ''", [(subject,)])
            return str(self.database.value("SELECT subject FROM zorkgpt_state"))

    def _check_whole(self, what: str) -> None:
        """Raise MemoryStoreError in a scope."""
        if self.scope.path:
            raise MemoryStoreError(f"A memory in the scope {self.scope.path} can't {what}. Open it without a scope.")

    def close(self) -> None:
        """Close files and connections. The next call opens them again."""
        with self.guard:
            self.database.close()
            self._forget()


class PostgresStore(Store):
    """A memory on PostgreSQL.

    Args:
        url: A libpq URL, such as `postgresql://user@host/database`. Its `search_path` selects the schema of the tables.

    Raises:
        MemoryStoreError: If the server can't be reached or refuses the connection.
    """

    database: PostgresDatabase

    def __init__(self, url: str, scope: PlaceScope = EVERYWHERE, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        database = PostgresDatabase(url, lock_timeout_s=lock_timeout_s)
        folder = _own_folder(database.address)
        words = PostgresWords(database)
        super().__init__(database, words, name=database.address, path=folder / "Memories.md", scope=scope)
        self._vectors: VectorTable | None = None

    def vectors(self) -> "VectorTable":
        """Return the table of vectors, created on first use.

        Raises:
            MemoryStoreError: If the database has no extension `vector`, and it can't be created.
            MissingExtra: If a package is missing.
        """
        with self.guard:
            if self._vectors is None:
                self._vectors = PostgresVectors(self.database)
            return self._vectors

    def _changing(self, places: Collection[SubjectKey] | None) -> AbstractContextManager[None]:
        return self.database.change(None if places is None else [column_of(place) for place in places])

    def erase(self, traces: Traces) -> None:
        """Erase traces, and the vectors of deleted texts."""
        super().erase(traces)
        with self.guard:
            # Other machines need the vectors of the remaining texts.
            delete_all_but(self.database, self.lasting.text_keys()[0])


class SqliteFileStore(Store):
    """A memory whose record is a SQLite file."""

    database: SqliteDatabase

    @contextmanager
    def _changing(self, places: Collection[SubjectKey] | None) -> Iterator[None]:
        with self.database.change():
            self.database.put("UPDATE zorkgpt_state SET revision = revision + 1", [()])
            yield

    def vectors(self) -> "VectorTable":
        from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors

        return SqliteVectors(self.database)

    def erase(self, traces: Traces) -> None:
        """Erase traces, the vectors of deleted texts, and what the write-ahead log has of them."""
        with self.database.change():
            super().erase(traces)
            query = "DELETE FROM zorkgpt_vectors WHERE key NOT IN (SELECT text_key FROM zorkgpt_memories)"
            self.database.put(query, [()])
        self.database.empty_log()


class SqliteStore(SqliteFileStore):
    """A memory in a SQLite file, for large memories. ":memory:" needs no file.

    Raises:
        MemoryStoreError: If the file can't be read, or a later version wrote it.
    """

    def __init__(self, path: Path | str, scope: PlaceScope = EVERYWHERE) -> None:
        database = sqlite_record(path)
        # A memory without a file must not find `runs/` in the current folder.
        file = Path(os.devnull, IN_MEMORY) if str(path) == IN_MEMORY else database.path
        super().__init__(database, FullText(database), name=str(database.path), path=file, scope=scope)


def sqlite_record(path: Path | str, *, timeout_s: float = LOCK_TIMEOUT_S) -> SqliteDatabase:
    """Return a SQLite file with the record of a memory. ":memory:" needs no file."""
    file = Path(path if str(path) == IN_MEMORY else os.path.realpath(path))
    return SqliteDatabase(file, schema=schema.SQLITE, kind=_KIND, is_truth=True, timeout_s=timeout_s)


def _own_folder(address: str) -> Path:
    """Return the folder for backups of a memory on this machine. Created if it is missing."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(state) / "zorkgpt" / blake2b(address.encode(), digest_size=8).hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        log.warning("folder for backups not created", extra={"path": str(folder), "error": str(error)})
    return folder
