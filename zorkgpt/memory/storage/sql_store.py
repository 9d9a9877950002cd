"""The memory in a database: the sections of the Markdown file as rows, changed in transactions, seen by all processes.

A row holds a section as it would stand in the file, so that parsing, changing and history are those of the file. One
row holds the revision; whoever changes anything locks it first, so that changes come one after the other.
"""

import os
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from zorkgpt.errors import FileError, MemoryStoreError
from zorkgpt.extras import MissingExtra
from zorkgpt.files import LOCK_TIMEOUT_S, Recovery, write_file
from zorkgpt.log import get_logger
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.document import Chunk, Document, indexed, line_end
from zorkgpt.memory.storage.history import PERSON_SOURCES, TurnStamp
from zorkgpt.memory.storage.lasting import LastingMemories
from zorkgpt.memory.storage.person_edits import PersonEdits
from zorkgpt.memory.storage.positions import positions_of, spread
from zorkgpt.memory.storage.postgres import PostgresDatabase
from zorkgpt.memory.storage.restore_point import Restorer
from zorkgpt.memory.storage.section import LocationSection, parse_section
from zorkgpt.memory.storage.sqlite import IN_MEMORY, SqliteDatabase
from zorkgpt.memory.storage.tables import (
    STORE_SCHEMA,
    VECTORS_SCHEMA,
    Journal,
    JudgmentTable,
    Rows,
    Trials,
    delete_vectors,
)
from zorkgpt.memory.storage.undo import Undo
from zorkgpt.memory.storage.vector_table import PostgresVectors, delete_all_but
from zorkgpt.memory.storage.word_index import WordIndex

if TYPE_CHECKING:
    # Loaded only where there are vectors.
    from zorkgpt.embeddings.table import VectorTable

log = get_logger(__name__)

_CHANGED = """
SELECT position, data, (SELECT revision FROM zorkgpt_state), (SELECT read_anew_at FROM zorkgpt_state)
FROM zorkgpt_sections WHERE revision > %s ORDER BY position
"""

_KIND = 0x5A6D
_SEARCH_KIND = 0x5A6E

_CHUNK = 100
"""The number of sections in a chunk."""


class StoreDatabase(Rows, Protocol):
    """A database that keeps the memories."""

    guard: threading.RLock

    @property
    def is_changing(self) -> bool:
        """Whether a change is under way."""
        ...

    def change(self) -> AbstractContextManager[object]:
        """Begin a transaction that no other process's can overlap; nothing is changed if the block raises."""
        ...

    def abandon(self) -> bool:
        """Undo a change that Ctrl-C has left open. False if there is none."""
        ...

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        ...


class SqlStore:
    """A memory in a database and its document.

    Args:
        search: Holds the index of words.
        name: What names the database to people.
        path: The folder of this path contains `runs/`.
        machine: Who writes trials: two machines may number their episodes alike.

    Raises:
        MemoryStoreError: The database can't be read.
    """

    def __init__(
        self,
        database: StoreDatabase,
        search: SqliteDatabase,
        *,
        name: str,
        path: Path,
        machine: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.database = database
        self._search = search
        self.name = name
        self.path = path
        self.guard = database.guard
        self.journal = Journal(database, now)
        self.trials = Trials(database, machine)
        self.judgments = JudgmentTable(database)
        self.index = WordIndex(search)
        self.recovered: Recovery | None = None
        self._document = Document()
        self._positions: list[list[int]] = [[]]
        """Where the sections of the document stand, in ascending order, chunk by chunk."""
        self._revision = -1
        self._edits = PersonEdits(self.journal)
        self._undo = Undo(self)
        self.refresh()

    @property
    def lasting(self) -> LastingMemories:
        return self._document

    @property
    def document(self) -> Document:
        return self._document

    def refresh(self) -> None:
        """See what others wrote.

        Raises:
            MemoryStoreError: The database can't be read; the document is as last read.
        """
        with self.guard:
            # A signal can arrive as Python is about to end a change, which is then ended some time later.
            if self.database.abandon():
                self._revision = -1
            revision, read_anew_at = self._state()
            if revision != self._revision:
                self._pull(revision, read_anew_at)

    @contextmanager
    def transaction(self, *, source: str = "agent", turn_stamp: TurnStamp | None = None) -> Iterator[Draft]:
        """Begin a change of the memories as they are in the database now. It is committed when the block ends.

        Args:
            source: Who makes the change, for the journal.
            turn_stamp: The turn in which it is made; None if unknown.

        Raises:
            MemoryStoreError: The database could not be locked, read or written; it is as before.
        """
        with self.guard:
            # Large reads come before others have to wait, and show whether the connection is alive.
            self.refresh()
            try:
                with self.database.change():
                    revision, read_anew_at = self._state()
                    if revision != self._revision:
                        self._pull(revision, read_anew_at)
                    episode = None if turn_stamp is None else turn_stamp.episode
                    draft = Draft(MemoryBook(self._document), episode=episode)
                    yield draft
                    is_written = draft.document is not self._document
                    positions = self._write(draft.document, revision + 1) if is_written else self._positions
                    self.journal.append(draft.changes, source=source, turn_stamp=turn_stamp)
                    self.trials.append(draft.trials)
            except MemoryStoreError:
                # It is unknown whether an interrupted commit succeeded.
                self._revision = -1
                raise
            if is_written:
                self._document, self._positions, self._revision = draft.document, positions, revision + 1
                self._cut_anew()
                if source in PERSON_SOURCES:
                    self._edits.mark(self._document)
                self.index.follow(self._document)

    def restorer(self) -> Restorer:
        """Return an object that undoes changes since a checkpoint."""
        return self._undo

    def put_back(self, parts: Mapping[int, bytes | None]) -> None:
        """Restore sections by position. None deletes a section that did not exist."""
        revision = self._state()[0] + 1
        deleted = [position for position, data in parts.items() if data is None]
        changed = [(position, revision, data) for position, data in parts.items() if data is not None]
        self._write_sections(deleted, changed)
        self.database.put("UPDATE zorkgpt_state SET revision = %s, read_anew_at = %s", [(revision, revision)])

    def note_put_back(self) -> None:
        """Do nothing: the journal is in the same database."""

    def erase(self, clean: Callable[[str], str]) -> None:
        """Replace every JSON text beside the memories by what `clean` returns; "" deletes it.

        What was kept to return to a checkpoint is dropped.
        """
        with self.database.change():
            self._undo.forget_all()
            self.journal.clean(clean)
            self.trials.clean(clean)
            self.judgments.clear()
        self.index.delete()

    def vectors(self) -> "VectorTable":
        """Return the table of vectors."""
        raise NotImplementedError

    def claim_episode(self, least: int) -> int:
        """Return the number of a new episode, this one or a higher one, which no other machine has."""
        with self.database.change():
            known = int(self.database.rows("SELECT episodes FROM zorkgpt_state")[0][0])
            episode = max(known + 1, least)
            self.database.put("UPDATE zorkgpt_state SET episodes = %s", [(episode,)])
        return episode

    def claim_subject(self, subject: str) -> str:
        """Return what the memory is about: this, where nobody has said it before."""
        with self.database.change():
            self.database.put("UPDATE zorkgpt_state SET subject = %s WHERE subject = ''", [(subject,)])
            return str(self.database.rows("SELECT subject FROM zorkgpt_state")[0][0])

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        with self.guard:
            self.database.close()
            self._search.close()

    def _state(self) -> tuple[int, int]:
        """Return the revision, and the one since which everything has to be read anew."""
        revision, read_anew_at = self.database.rows("SELECT revision, read_anew_at FROM zorkgpt_state")[0]
        return int(revision), int(read_anew_at)

    def _pull(self, revision: int, read_anew_at: int) -> None:
        """Take in what has changed since the last time."""
        is_anew = self._revision < read_anew_at or self._revision < 0
        found = self.database.rows(_CHANGED, (-1 if is_anew else self._revision,))
        if found:
            # One statement sees one state of the database, which may be a later one by now.
            revision, read_anew_at = found[0][2:]
            if not is_anew and self._revision < read_anew_at:
                return self._pull(revision, read_anew_at)
        known = {section.data: section for section in self._document.sections} if is_anew else {}
        new = {position: known.get(data) or parse_section(data) for position, data, *_ in found}
        if is_anew:
            self._document, self._positions = _one_chunk(list(new.values())), [list(new)]
        else:
            for position, section in new.items():
                self._put(position, section)
        self._cut_anew()
        self._revision = revision
        self._edits.mark(self._document)
        return None

    def _put(self, position: int, section: LocationSection) -> None:
        """Put a section at a position, and replace the one that was there."""
        number = max(0, bisect_right([its[0] if its else position for its in self._positions], position) - 1)
        its, sections = self._positions[number], list(self._document.chunks[number].sections)
        at = bisect_left(its, position)
        old = sections[at] if at < len(its) and its[at] == position else None
        if old is not None and old.location_id == section.location_id:
            self._document = self._document.replaced((number, at), section)
            return
        sections[at : at + (old is not None)] = [section]
        its[at : at + (old is not None)] = [position]
        self._document = self._document.with_sections(number, sections)

    def _cut_anew(self) -> None:
        """Cut the document anew if a chunk has grown long, so that a change costs the same with many places."""
        if all(len(its) <= 2 * _CHUNK for its in self._positions) and all(self._positions[1:]):
            return
        sections = self._document.sections
        positions = list(chain.from_iterable(self._positions))
        cuts = [*range(0, max(1, len(sections) - _CHUNK // 2), _CHUNK), len(sections)]
        ends = list(pairwise(cuts))
        eol = self._document.chunks[0].eol
        self._document = indexed(tuple(Chunk(sections[start:end], eol) for start, end in ends))
        self._positions = [positions[start:end] for start, end in ends]

    def _write(self, document: Document, revision: int) -> list[list[int]]:
        """Write the sections that differ, and return where all of them stand."""
        positions = self._placed(document)
        old: dict[int, LocationSection] = {}
        is_anew = positions is None
        if positions is None:
            old |= zip(chain.from_iterable(self._positions), self._document.sections, strict=True)
            left = iter(spread(len(document.sections)))
            positions = [list(islice(left, len(chunk.sections))) for chunk in document.chunks]
        changed: list[tuple[int, int, bytes]] = []
        for number, (chunk, its) in enumerate(zip(document.chunks, positions, strict=True)):
            if not is_anew:
                was = self._document.chunks[number]
                if was is chunk:
                    continue
                old |= zip(self._positions[number], was.sections, strict=True)
            changed += [
                (position, revision, section.data)
                for position, section in zip(its, chunk.sections, strict=True)
                if is_anew or old.get(position) is not section
            ]
        deleted = old.keys() - set(chain.from_iterable(positions))
        touched = [*deleted, *(position for position, *_ in changed)]
        self._undo.keep({position: old[position].data if position in old else None for position in touched})
        self._write_sections(deleted, changed)
        self.database.put("UPDATE zorkgpt_state SET revision = %s", [(revision,)])
        if is_anew or deleted:
            self.database.put("UPDATE zorkgpt_state SET read_anew_at = %s", [(revision,)])
        return positions

    def _write_sections(self, deleted: Iterable[int], changed: Iterable[tuple[int, int, bytes]]) -> None:
        self.database.put("DELETE FROM zorkgpt_sections WHERE position = %s", [(position,) for position in deleted])
        self.database.put(
            "INSERT INTO zorkgpt_sections (position, revision, data) VALUES (%s, %s, %s) "
            "ON CONFLICT (position) DO UPDATE SET revision = excluded.revision, data = excluded.data",
            changed,
        )

    def _placed(self, document: Document) -> list[list[int]] | None:
        """Return where the sections stand, chunk by chunk; None: all are to be placed anew."""
        if len(document.chunks) != len(self._positions) or self._document.is_empty:
            return None
        placed: list[list[int]] = []
        for number, chunk in enumerate(document.chunks):
            old, its = self._document.chunks[number], self._positions[number]
            if old is not chunk:
                low = next((one[-1] for one in reversed(placed) if one), None)
                high = next((one[0] for one in self._positions[number + 1 :] if one), None)
                found = positions_of(old.sections, its, chunk.sections, low, high)
                if found is None:
                    return None
                its = found
            placed.append(its)
        return placed


def _one_chunk(sections: Sequence[LocationSection]) -> Document:
    return indexed((Chunk(tuple(sections), line_end(sections[0].data) if sections else "\n"),))


class PostgresStore(SqlStore):
    """A memory on PostgreSQL.

    Args:
        url: As libpq reads it: `postgresql://user@host/database`; its `search_path` says where the tables are.

    Raises:
        MemoryStoreError: There is no such server, or it lets nobody in.
    """

    database: PostgresDatabase

    def __init__(
        self,
        url: str,
        *,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        database = PostgresDatabase(url, lock_timeout_s=lock_timeout_s)
        folder = _own_folder(database.address)
        search = SqliteDatabase(folder / "search.sqlite", schema=VECTORS_SCHEMA, kind=_SEARCH_KIND)
        super().__init__(
            database, search, name=database.address, path=folder / "Memories.md", machine=_machine(folder), now=now
        )
        self._vectors: VectorTable | None = None

    def vectors(self) -> "VectorTable":
        """Return the table of vectors in the database, created on first use. Falls back to a file on this machine."""
        with self.guard:
            if self._vectors is None:
                try:
                    self._vectors = PostgresVectors(self.database)
                except (MemoryStoreError, MissingExtra) as error:
                    from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors

                    kept = f"on each machine, since the database can't keep them: {error}"
                    self._vectors = SqliteVectors(self._search, kept=kept)
                    log.warning("vectors are kept on each machine", extra={"error": str(error)})
            return self._vectors

    def erase(self, clean: Callable[[str], str]) -> None:
        """Replace every JSON text beside the memories by what `clean` returns; "" deletes it.

        Vectors of texts that no memory has any more are deleted, and those that this machine keeps.
        """
        from zorkgpt.embeddings.table import key_of

        super().erase(clean)
        if self._search.exists():
            delete_vectors(self._search)
            self._search.shrink()
        with self.guard:
            self.refresh()
            # Other machines rely on those of the texts that are left.
            keys = {key_of(memory.text) for kept in self._document.all_memories().values() for memory in kept}
            delete_all_but(self.database, keys)


class SqliteStore(SqlStore):
    """A memory in a SQLite file: for large memories that nobody has to read as Markdown. ":memory:" needs no file.

    Raises:
        MemoryStoreError: The file can't be read, or a later version wrote it.
    """

    database: SqliteDatabase

    def __init__(
        self,
        path: Path | str,
        *,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        is_in_memory = str(path) == IN_MEMORY
        file = Path(path if is_in_memory else os.path.realpath(path))
        schema = STORE_SCHEMA + VECTORS_SCHEMA
        database = SqliteDatabase(file, schema=schema, kind=_KIND, is_truth=True, timeout_s=lock_timeout_s)
        # Of a memory in this process there is nothing beside it, in whatever folder the process is.
        beside = Path(os.devnull, IN_MEMORY) if is_in_memory else file
        super().__init__(database, database, name=str(file), path=beside, now=now)

    def vectors(self) -> "VectorTable":
        """Return the table of vectors."""
        from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors

        return SqliteVectors(self.database)

    def erase(self, clean: Callable[[str], str]) -> None:
        """Replace every JSON text beside the memories by what `clean` returns; "" deletes it. Leaves no trace."""
        super().erase(clean)
        delete_vectors(self.database)
        self.database.shrink()


def _own_folder(address: str) -> Path:
    """Return the folder for what this machine keeps of a memory for itself; made if there is none."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(state) / "zorkgpt" / blake2b(address.encode(), digest_size=8).hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        log.warning("what this machine keeps for itself is not kept", extra={"path": str(folder), "error": str(error)})
    return folder


def _machine(folder: Path) -> str:
    """Return the name by which this machine's rows are known, made up where there is none."""
    path = folder / "machine"
    try:
        if not path.exists():
            # Several processes may be the first; the file is there whole or not at all.
            write_file(path, uuid4().hex.encode())
        return path.read_text(encoding="ascii")
    except (OSError, FileError, ValueError):
        return uuid4().hex
