"""The Markdown store: `Memories.md` for the memories, and a SQLite file beside it for everything else.

A change is first recorded in the journal, with the digest of the resulting file. Then the file is replaced. After a
kill, the digest of the file shows whether the last change in the journal was made. An unknown digest means that a
person edited the file.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from logging import INFO, WARNING
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import LOCK_TIMEOUT_S, AtomicFile, Disk, Recovery, Stamp, reread_or_recover
from zorkgpt.guards import new_guard
from zorkgpt.log import get_logger
from zorkgpt.memory.checks import utc_now
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.scope import EVERYWHERE
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.damage import is_damaged, is_foreign, is_memory_file, is_sound
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.memory.storage.history import PERSON_SOURCES, TurnStamp, changes_between, differences
from zorkgpt.memory.storage.lasting import EVERY, Filters, LastingMemories, by_place, heading_of
from zorkgpt.memory.storage.person_edits import PersonEdits
from zorkgpt.memory.storage.restorer import CheckpointRestorer
from zorkgpt.memory.storage.section import Problem
from zorkgpt.memory.storage.sqlite import SqliteDatabase
from zorkgpt.memory.storage.tables import (
    MIGRATIONS,
    SCHEMA,
    UNDO_SCHEMA,
    VECTORS_SCHEMA,
    AnswerTable,
    Journal,
    Trials,
    delete_vectors,
    discard,
)
from zorkgpt.memory.storage.traces import Traces
from zorkgpt.memory.storage.words import DocumentWords, WordCounts, matches
from zorkgpt.text import number_of

if TYPE_CHECKING:
    # Loaded only if there are vectors.
    from zorkgpt.embeddings.table import VectorTable

log = get_logger(__name__)

_ATTEMPTS = 5
_WHOLE_FILE = 0
"""The position of the only part that can be restored."""
_KIND = 0x5A6A
_LARGE = 1_000_000
"""Minimum size of a large file, in bytes. Some editors and code hosts don't show larger files."""

_MOST_LINES = 20
"""Maximum number of lines in a message."""

_CONFLICT = "'<<<<<<< "
"""The beginning of a merge conflict, as quoted in a problem's message."""

_SCHEMA = (
    SCHEMA
    + UNDO_SCHEMA
    + VECTORS_SCHEMA
    + """
CREATE INDEX IF NOT EXISTS zorkgpt_journal_at ON zorkgpt_journal (at);
CREATE TABLE IF NOT EXISTS zorkgpt_file (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    digest text NOT NULL,
    before text NOT NULL,
    journal integer NOT NULL,
    trials integer NOT NULL
);
"""
)


class _FileState(NamedTuple):
    """The last change of the file, from the journal."""

    digest: str
    """The digest after the change."""
    before: str
    """The digest before the change."""
    journal: int
    """The last position of the journal before the change."""
    trials: int
    """The last position of the trials before the change."""


def sidecar(memory_file: Path | str, *, timeout_s: float = LOCK_TIMEOUT_S) -> SqliteDatabase:
    """Return the SQLite file beside a memory file, which contains its journal, trials, answers and vectors."""
    return SqliteDatabase(
        Path(f"{memory_file}.sqlite"), schema=_SCHEMA, migrations=MIGRATIONS, kind=_KIND, timeout_s=timeout_s
    )


def read_document(path: Path) -> Document:
    """Read a memory file without recovering it.

    Raises:
        OSError: If the file can't be read.
    """
    return parse(path.read_bytes())


class MarkdownStore:
    """A memory file and its document."""

    scope = EVERYWHERE
    has_file = True

    def __init__(self, path: Path | str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, disk: Disk | None = None) -> None:
        self.file = AtomicFile(path, lock_timeout_s=lock_timeout_s, error=MemoryStoreError, disk=disk)
        self.path, self.name = self.file.path, str(self.file.path)
        self.guard = new_guard()
        self.database = sidecar(self.path, timeout_s=lock_timeout_s)
        self.journal = Journal(self.database)
        self.trials = Trials(self.database)
        self.answers = AnswerTable(self.database)
        self._words = DocumentWords()
        self.recovered: Recovery | None = None
        """The last recovery of a damaged file. None if there was none."""
        self.notices: list[str] = []
        self._document = Document()
        self._digest = ""
        """The digest of the file when it was last read or written. "" if there was no file."""
        self._seen: tuple[Stamp, tuple[int, int]] | None = None
        """The file's stamp and the journal's version when they were last read or written."""
        self._unreconciled = True
        self._reported: set[str] = set()
        self._is_large = False
        """Whether it was logged that the file is large."""
        self._edits = PersonEdits(self.journal)
        self.restorer = CheckpointRestorer(self)
        self._load()

    @property
    def lasting(self) -> LastingMemories:
        return self._document

    def refresh(self) -> None:
        """Read the changes of other processes and people. Recover the file if it is damaged.

        Raises:
            MemoryStoreError: If the file can't be read. The document stays the same.
        """
        self._abandon()
        if not self._is_as_seen():
            with self.guard:
                if not self._reread():
                    with self.file.locked():
                        self._reread_or_recover()
                elif (state := self._file_state()) is not None and state.digest != self._digest:
                    # Record an edit in the turn that finds it. If this fails, the next write records it.
                    with suppress(MemoryStoreError), self.file.locked():
                        self._catch_up()

    def matching(
        self, asked: Iterable[str], wanted: Filters, limit: int
    ) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
        with self.guard:
            return matches(self._words.of(self._document), asked, wanted.passes, limit)

    @contextmanager
    def transaction(
        self,
        *,
        source: str = "agent",
        turn_stamp: TurnStamp | None = None,
        places: Collection[SubjectKey] | None = None,
    ) -> Iterator[Draft]:
        """Lock and read the file, and begin to change its memories. The changes are on disk when the block ends.

        Raises:
            MemoryStoreError: If the file can't be locked, read or written. File, journal and document are unchanged.
        """
        with self.guard, self.file.locked():
            self._abandon()
            self._catch_up()
            at = utc_now()
            draft = Draft(MemoryBook(self._document), turn_stamp=turn_stamp, at=at, source=source)
            yield draft
            for _ in range(_ATTEMPTS):
                if not draft.is_changed:
                    return
                if draft.start.lasting is not self._document:
                    draft.rebase(self._document)
                if self._commit(draft, source, turn_stamp, at):
                    return
                self._catch_up()
        raise MemoryStoreError(f"{self.path} keeps being changed by a program that ignores its lock.")

    def erase(self, traces: Traces) -> None:
        """Clean the tables beside the file, and delete the vectors and the data for returning to a checkpoint."""
        with self.guard, self.file.locked(), self.database.change():
            self.journal.erase(traces)
            self.trials.erase(traces)
            self.answers.clear()
            delete_vectors(self.database)
            self.restorer.forget_all()
        self.database.shrink()

    def changed_after(self, moment: str) -> Filters:
        return Filters(among=self.journal.changed_after(moment))

    def claim_episode(self, least: int) -> int:
        """Return `least`: the folder of the file shows which numbers are used."""
        return least

    def claim_subject(self, subject: str) -> str:
        """Return "": the folder of the file determines the subject."""
        return ""

    def vectors(self) -> "VectorTable":
        from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors

        return SqliteVectors(self.database)

    def close(self) -> None:
        """Close the database. The memory file is never kept open."""
        with self.guard:
            self.database.close()

    # Reading

    def _load(self) -> None:
        if not self._reread():
            with self.file.locked():
                self._reread_or_recover()
        state = self._file_state()
        if state is not None:
            try:
                self.journal.complete_ids()
                if state.digest != self._digest:
                    with self.file.locked():
                        self._catch_up()
            except MemoryStoreError as error:
                log.warning("journal not brought up to date", extra={"path": str(self.path), "error": str(error)})

    def _abandon(self) -> None:
        """Undo a change of the database that an interrupt left open, so that the next one is not part of it."""
        if self.database.abandon():
            self._seen, self._unreconciled = None, True

    def _is_as_seen(self) -> bool:
        """Return whether file and journal are unchanged since they were last read or written.

        The version of the journal reveals a new file with the same size, time and (reused) inode.
        """
        return self._seen == (self.file.stamp(), self.database.version())

    def _catch_up(self) -> None:
        """Read the changes of others, and update the journal. The file must be locked."""
        if not self._is_as_seen():
            self._reread_or_recover()
        if self._unreconciled:
            self._reconcile()

    def _reread_or_recover(self) -> None:
        recovery = reread_or_recover(self.file, self._reread, self._replacement)
        if recovery is not None:
            self.recovered = recovery
            self.notices.append(recovery.describe())
            self._reconcile(source="recovered")

    def _reread(self) -> bool:
        """Read the file. False if it is damaged and can be recovered."""
        version = self.database.version()
        data, stamp = self.file.read()
        if self._replacement(data) is not None:
            return False
        if data is not None and is_foreign(data) and not self._wrote(data):
            raise MemoryStoreError(
                f"{self.path} is not a memory: it is not text in UTF-8. Name another file, or move it away."
            )
        document = parse(data or b"", {section.data: section for section in self._document.sections})
        self._document, self._digest = document, digest_of(data)
        self._report_problems()
        self._document = self._edits.marked(document)
        self._seen, self._unreconciled = (stamp, version), True
        return True

    def _replacement(self, data: bytes | None) -> bytes | None:
        """Return the content that should replace the file. None if the file is intact or can't be recovered."""
        # A person may delete or empty the file. Only other content can be damage.
        if data is None or not data.strip() or is_sound(data) or self._wrote(data):
            return None
        state = self._file_state()
        if self._document.sections and state is not None and state.digest == self._digest:
            before = render(self._document)
            return before if is_memory_file(before) and is_damaged(data, before) else None
        # The backup is the file before the last change, which only the journal has.
        backup = self.file.read_backup() or b""
        before = backup if is_memory_file(backup) else b""
        if not is_damaged(data, before):
            return None
        document = parse(before)
        if state is not None:
            document = self._as_recorded(document)
        recovered = render(document)
        return recovered if is_memory_file(recovered) else None

    def _wrote(self, data: bytes) -> bool:
        """Return whether this is the content after the last change in the journal."""
        state = self._file_state()
        return state is not None and state.digest == digest_of(data)

    def _as_recorded(self, document: Document) -> Document:
        """Return the document with the memories of the journal."""
        found = by_place(document.find(EVERY))
        changes = changes_between(found, self.journal.lasting(), lambda place: heading_of(document, place).name)
        for change in self._named(changes):
            document = document.applied(change)
        return document

    def _named(self, changes: list[Change]) -> list[Change]:
        """Return the changes with the recorded names of places that have no section."""
        if all(change.location_name for change in changes):
            return changes
        recorded = (record.change for record in self.journal.records())
        names = {change.location_id: change.location_name for change in recorded if change.location_name}
        return [
            replace(change, location_name=change.location_name or names.get(change.location_id, ""))
            for change in changes
        ]

    def _report_problems(self) -> None:
        new = [problem for problem in self._document.problems() if problem.message not in self._reported]
        for problem in new:
            self._reported.add(problem.message)
            level = WARNING if problem.is_broken else INFO
            log.log(level, "line %d is preserved but not understood: %s", problem.line, problem.message)
        broken = [problem for problem in new if problem.is_broken]
        markers = [problem for problem in broken if _CONFLICT in problem.message]
        if markers:
            self._notify("a merge conflict is not resolved: both sides are read", "Remove its marks from the file.")
        if broken:
            self._notify(
                f"{_lines(broken)} {'is' if len(broken) == 1 else 'are'} preserved but not understood",
                "`memories check` lists them.",
            )

    def _report_removed(self, changes: Sequence[Change]) -> None:
        """Report memories that are no longer in the file."""
        added, removed = (sum(change.kind == kind for change in changes) for kind in ("added", "removed"))
        if removed <= added:
            return
        lost, left = number_of(removed - added, "memory is", "memories are"), self._document.count()
        what = "the file was deleted" if not self._digest else f"{number_of(left, 'memory', 'memories')} left"
        if problems := list(self._document.problems()):
            what += f", not understood: {_lines(problems)}"
        self._notify(f"{lost} no longer in the file ({what})", "To bring them back: `memories undo`.")

    def _notify(self, message: str, way_out: str) -> None:
        """Log a warning that is also shown to the user."""
        log.warning(message, extra={"path": self.name, "set_aside": "", "way_out": way_out})
        self.notices.append(f"{self.name}: {message}. {way_out}")

    # Writing

    def _commit(self, draft: Draft, source: str, turn_stamp: TurnStamp | None, at: str) -> bool:
        """Journal the changes and replace the file. False if another program changed the file, and nothing was done."""
        # An editor, which ignores our lock, may have saved the file meanwhile.
        if self._seen is None or self._seen[0] != self.file.stamp():
            return False
        document, (stamp, version) = draft.lasting.document, self._seen
        if document is self._document:
            self.journal.append(draft.changes, source=source, turn_stamp=turn_stamp, at=at)
            return True
        data = render(document)
        digest = digest_of(data)
        # If an error follows, the digest of the file shows whether it was replaced.
        self._seen, self._unreconciled = None, True
        with self.database.change():
            self._begin_journal()
            before = render(self._document) if self._digest and self.restorer.is_keeping else None
            self.restorer.keep({_WHOLE_FILE: before})
            self._note_file(digest)
            self.journal.append(draft.changes, source=source, turn_stamp=turn_stamp, at=at)
            self.trials.append(draft.trials)
        written = self.file.write(data, over=stamp)
        if written is None:
            state = self._file_state()
            if state is not None:
                # The file was not replaced.
                self._discard(state.journal, state.trials)
            return False
        if len(data) > _LARGE and not self._is_large:
            self._is_large = True
            log.warning(
                "%s is over %d kB, and each change writes all of it: `zorkgpt memories convert` makes it a SQLite file",
                self.path.name,
                _LARGE // 1000,
            )
        if not self._digest:
            # There was no file before. From now on, a missing file was deleted.
            self.database.put("UPDATE zorkgpt_file SET before = digest WHERE digest = %s", [(digest,)])
            version = self.database.version()
        self._document, self._digest = document, digest
        self._seen, self._unreconciled = (written, version), False
        if source in PERSON_SOURCES:
            self._document = self._edits.marked(self._document)
        return True

    def _reconcile(self, source: str = "hand") -> None:
        """Update the journal from the file: discard a change that was not made, or add edits. The file must be locked.

        Args:
            source: The author of the edits. See `HistoryRecord.source`.
        """
        state = self._file_state()
        if state is not None and state.digest != self._digest:
            ends = self._ends_at_file(state)
            if ends is not None:
                self._discard(*ends)
            else:
                self._record_edits(source)
        self._unreconciled = False

    def _ends_at_file(self, state: _FileState) -> tuple[int, int] | None:
        """Return the last positions of journal and trials when the file was as it is now. None if it was edited."""
        if state.before == self._digest:
            # The process was killed or failed before the file was replaced.
            return state.journal, state.trials
        for content, journal, trials in self.restorer.kept():
            if digest_of(content) == self._digest:
                # The process was killed right after the file was restored to a checkpoint.
                return journal, trials
        return None

    def _record_edits(self, source: str) -> None:
        changes = self._named(differences(self.journal.lasting(), self._document))
        with self.database.change():
            self._note_file(self._digest)
            self.journal.append(changes, source=source)
            self.restorer.invalidate()
        self._document = self._edits.marked(self._document)
        log.info("journal updated from the file", extra={"changes": len(changes), "source": source})
        if source == "hand":
            self._report_removed(changes)

    def _begin_journal(self) -> None:
        """Begin a journal with the memories of the file, if there is none."""
        if self._file_state() is None:
            self.journal.append(differences({}, self._document), source="baseline")
            self._note_file(self._digest)

    def _note_file(self, digest: str) -> None:
        """Record the digest of the file after the changes that follow."""
        ends = "(SELECT coalesce(max(id), 0) FROM zorkgpt_journal), (SELECT coalesce(max(id), 0) FROM zorkgpt_trials)"
        self.database.put(f"INSERT OR REPLACE INTO zorkgpt_file VALUES (1, %s, %s, {ends})", [(digest, self._digest)])

    def _discard(self, journal: int, trials: int) -> None:
        """Delete the changes and trials after these positions, because the file doesn't include them."""
        with self.database.change():
            discard(self.database, journal=journal, trials=trials)
            self._note_file(self._digest)

    def _file_state(self) -> _FileState | None:
        rows = self.database.rows("SELECT digest, before, journal, trials FROM zorkgpt_file")
        return _FileState(*rows[0]) if rows else None

    def put_back(self, parts: Mapping[int, bytes | None]) -> None:
        """Restore the file, and record its digest. None deletes it."""
        content = parts[_WHOLE_FILE]
        if digest_of(content) != self._digest:
            if content is None:
                self.file.remove()
            else:
                self.file.restore(content)
        self._seen = None
        self._document, self._digest = Document(), ""
        self._reread()
        self._note_file(self._digest)


def _lines(problems: Sequence[Problem]) -> str:
    """Return the lines of problems in words, such as "lines 3, 17 and 5 more"."""
    numbers = [str(problem.line) for problem in problems]
    more = f" and {len(numbers) - _MOST_LINES} more" if len(numbers) > _MOST_LINES else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {', '.join(numbers[:_MOST_LINES])}{more}"


def is_awaited(database: SqliteDatabase, digest: str) -> bool:
    """Return whether the last change in the journal has not yet replaced the file with this digest.

    Raises:
        MemoryStoreError: If the journal can't be read.
    """
    return database.rows("SELECT before FROM zorkgpt_file WHERE digest != before") == [(digest,)]


def digest_of(data: bytes | None) -> str:
    """Return the digest of a file for the journal. "" if there is no file."""
    # SHA-256 is fast because processors have instructions for it.
    return "" if data is None else sha256(data).hexdigest()
