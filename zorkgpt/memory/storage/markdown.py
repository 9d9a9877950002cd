"""The Markdown store: a SQLite file with the record, and `Memories.md`, which shows the memories and can be edited.

A transaction commits the changes with the digest of the file that will show them, and then replaces the file. The
digest of the file found later tells what happened meanwhile: the last digest of the record means nothing; the digest
before it means that the process was killed before it replaced the file; an earlier one that a person brought back an
older copy; any other that somebody edited the file.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import LOCK_TIMEOUT_S, AtomicFile, Disk, Stamp
from zorkgpt.log import get_logger
from zorkgpt.memory.checks import utc_now
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import UNSEARCHED
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.storage import schema
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.damage import is_damaged, is_foreign, is_memory_file, is_sound
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.memory.storage.file_messages import FileMessages
from zorkgpt.memory.storage.history import HistoryRecord, TurnStamp, differences
from zorkgpt.memory.storage.lasting import EVERY, by_place
from zorkgpt.memory.storage.merging import FileEdits, merged_heading
from zorkgpt.memory.storage.section import LocationSection
from zorkgpt.memory.storage.sql_store import SqliteFileStore
from zorkgpt.memory.storage.sqlite import SqliteDatabase
from zorkgpt.memory.storage.traces import document_without
from zorkgpt.memory.storage.words import FullText

log = get_logger(__name__)

_ATTEMPTS = 5
_KIND = 0x5A77


class _ShownContent(NamedTuple):
    """A content of the file."""

    number: int
    digest: str
    """"" if there was no file."""
    position: int
    """The last position of the journal that it shows."""
    is_shown: bool
    """Whether the file is known to have had the content."""


_NOTHING = _ShownContent(0, "", 0, is_shown=True)
"""What a file without a record has shown."""


def sidecar(memory_file: Path | str, *, timeout_s: float = LOCK_TIMEOUT_S) -> SqliteDatabase:
    """Return the SQLite file beside a memory file, with the record: memories, journal, answers, vectors and events."""
    return SqliteDatabase(
        Path(f"{memory_file}.sqlite"),
        schema=schema.SQLITE,
        kind=_KIND,
        timeout_s=timeout_s,
    )


def read_document(path: Path) -> Document:
    """Read a memory file without recovering it.

    Raises:
        OSError: If the file can't be read.
    """
    return parse(path.read_bytes())


class MarkdownStore(SqliteFileStore):
    """A memory file and its record.

    Args:
        only_reads: Whether an edit of the file is read without recording it, and a file that is damaged or unreadable
            is ignored.
    """

    has_file = True

    def __init__(
        self,
        path: Path | str,
        scope: PlaceScope = EVERYWHERE,
        *,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        disk: Disk | None = None,
        only_reads: bool = False,
    ) -> None:
        self.file = AtomicFile(path, lock_timeout_s=lock_timeout_s, error=MemoryStoreError, disk=disk)
        database = sidecar(self.file.path, timeout_s=lock_timeout_s)
        self.trouble = ""
        """Why the file is ignored, so that only the record is read. "" if it is not."""
        self._only_reads = only_reads
        self._digest = ""
        """The digest of the file when it was last read or written. "" if there was no file."""
        self._seen: tuple[Stamp, tuple[int, ...]] | None = None
        """The file's stamp and the database's version when they were last read or written."""
        self._document: Document | None = None
        """The document that shows the record. None if it must be read again."""
        self._sections: Mapping[bytes, LocationSection] = {}
        """The sections of the last document, by their bytes, which need not be parsed again."""
        self._messages = FileMessages(self.file.path, lambda notice: self.notices.append(notice))
        super().__init__(database, FullText(database), name=str(self.file.path), path=self.file.path, scope=scope)

    def refresh(self) -> None:
        """Read the changes of other processes and people. Recover the file if it is damaged.

        Raises:
            MemoryStoreError: If the file can't be read. The memories stay the same.
        """
        with self.guard:
            if self.database.is_turn:
                return
            self._abandon()
            if not self._is_as_seen():
                self._look()
            self._follow()

    @contextmanager
    def transaction(
        self,
        *,
        source: str = "agent",
        turn_stamp: TurnStamp | None = None,
        places: Collection[SubjectKey] | None = None,
    ) -> Iterator[Draft]:
        """Lock file and database, read the edits, and begin to change the memories.

        The changes are recorded when the block ends, and then shown in the file. If it can't be written, a later
        transaction does.

        Raises:
            MemoryStoreError: If the file can't be locked or read, or the changes can't be recorded. Nothing is changed.
        """
        with self.guard, self.file.locked():
            if not self.database.is_turn:
                self._abandon()
                self._catch_up()
            try:
                with super().transaction(source=source, turn_stamp=turn_stamp, places=places) as draft:
                    yield draft
            except BaseException:
                self._document = None
                raise
            if not self.database.is_turn:
                self._show_changes()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Lock file and database, and commit the changes of the block together. The file is then written once."""
        if self.database.is_turn:
            yield
            return
        with self.guard, self.file.locked():
            self._abandon()
            self._catch_up()
            try:
                with super().turn():
                    yield
            except BaseException:
                self._seen = self._document = None
                raise
            self._show_changes()

    def _show_changes(self) -> None:
        """Write the file if it does not show the record."""
        try:
            self._show()
            if self._seen is None:
                # An editor, which ignores our lock, has saved the file meanwhile.
                self._catch_up()
        except MemoryStoreError as error:
            # The changes are recorded, so they are not undone.
            self._seen = None
            self._messages.unwritten(error)

    def _abandon(self) -> None:
        """Undo a transaction that an interrupt has left open when it arrived at its end."""
        if self.database.abandon():
            self._forget()
            self._seen = self._document = None

    def _prepare(self) -> None:
        """Do nothing: edits and changes have just been read."""

    def claim_episode(self, least: int) -> int:
        """Return `least`: the folder of the file shows which numbers are used."""
        return least

    def claim_subject(self, subject: str) -> str:
        """Return "": the folder of the file determines the subject."""
        return ""

    # Reading

    def _is_as_seen(self) -> bool:
        """Return whether file and database are unchanged since they were last read or written."""
        return self._seen == (self.file.stamp(), self.database.version())

    def _look(self) -> None:
        """Read the changes of others. An edit of the file is recorded if the lock is free, and otherwise only read."""
        for _ in range(_ATTEMPTS):
            if (read := self._read_again()) is None:
                return
            data, stamp = read
            if self.database.exists() and not self._only_reads:
                try:
                    with self.file.locked(timeout_s=0):
                        self._catch_up()
                    return
                except MemoryStoreError:
                    self._seen = None
            with self.database.copied():
                # Otherwise, the copy may be of a later record than this file.
                if self.file.stamp() == stamp:
                    self._merge(data)
                    self._seen = stamp, self.database.version()
                    return

    def _catch_up(self) -> None:
        """Record the edits of the file, and write it if it doesn't show the record. The file must be locked."""
        for _ in range(_ATTEMPTS):
            if self._is_as_seen() and not self.database.is_copy and self._digest == self._last_shown().digest:
                return
            if (read := self._read_again()) is None:
                return
            data, stamp = read
            self._follow()
            self._merge(data)
            self._seen = stamp, self.database.version()
            try:
                self._show()
            except MemoryStoreError as error:
                self._messages.unwritten(error)
            if self._seen is not None:
                return
        raise MemoryStoreError(f"{self.path} keeps being changed by a program that ignores its lock.")

    def _read_again(self) -> tuple[bytes | None, Stamp] | None:
        """Read the file. None if it shows the record."""
        self.database.leave_copy()
        try:
            data, stamp = self._read()
            self.trouble = (
                "damaged" if self._only_reads and data is not None and self._replacement(data) is not None else ""
            )
        except MemoryStoreError as error:
            if not self._only_reads:
                raise
            data, stamp, self.trouble = None, self.file.stamp(), str(error)
        if self._last_shown().digest != digest_of(data) and not self.trouble:
            return data, stamp
        if self._digest != digest_of(data):
            self._document = None
        self._digest = digest_of(data)
        self._seen = stamp, self.database.version()
        return None

    def _read(self) -> tuple[bytes | None, Stamp]:
        """Read the file. If it is damaged, replace it."""
        data, stamp = self.file.read()
        if not self._only_reads and data is not None and self._replacement(data) is not None:
            with self.file.locked():
                recovery = self.file.recover(self._replacement)
            if recovery is not None:
                self.recovered = recovery
                self.notices.append(recovery.describe())
            data, stamp = self.file.read()
        if data is not None and is_foreign(data) and not self._wrote(data):
            raise MemoryStoreError(
                f"{self.path} is not a memory: it is not text in UTF-8. Name another file, or move it away."
            )
        return data, stamp

    def _replacement(self, data: bytes) -> bytes | None:
        """Return the content that should replace the file. None if the file is intact or can't be recovered."""
        # A person may empty the file. Only other content can be damage.
        if not data.strip() or is_sound(data) or self._wrote(data):
            return None
        backup = self.file.read_backup() or b""
        document = parse(backup if is_memory_file(backup) else b"")
        # The backup is the file before the last change, which only the record has.
        before = render(self._showing(document) if self._last_shown().number else document)
        return before if is_memory_file(before) and is_damaged(data, before) else None

    def _wrote(self, data: bytes) -> bool:
        """Return whether the record has ever had this content."""
        return self._shown("digest = %s", digest_of(data)) is not None

    @property
    def document(self) -> Document:
        """The document that shows the record."""
        with self.guard:
            if self._document is None:
                data, _ = self.file.read()
                document = parse(data or b"", self._sections)
                self._keep(document if digest_of(data) == self._last_shown().digest else self._showing(document))
            assert self._document is not None
            return self._document

    def _keep(self, document: Document) -> None:
        self._document = document
        self._sections = {section.data: section for section in document.sections}

    def _last_shown(self) -> _ShownContent:
        """Return the last content of the record. Its digest differs from that of the file if this must be written."""
        return self._shown("number > %s", 0) or _NOTHING

    def _shown(self, condition: str, value: object) -> _ShownContent | None:
        """Return the last content that meets a condition. None if there is none."""
        query = f"SELECT number, digest, position, is_shown FROM zorkgpt_shown WHERE {condition}"
        rows = self.database.rows(f"{query} ORDER BY number DESC LIMIT 1", (value,))
        return _ShownContent(*rows[0]) if rows else None

    # Merging

    def _merge(self, data: bytes | None) -> None:
        """Record what happened to the file: edits, a return to an older copy, or nothing if it was not yet written."""
        digest, last = digest_of(data), self._last_shown()
        document = parse(data or b"", self._sections)
        self._messages.problems(document)
        at = utc_now()
        records: list[HistoryRecord] | None
        with self._changing(None), self._rows.changing(at=at):
            if not last.number:
                records = self._imported(document, at)
            else:
                records = self._edits(document, digest, last, at)
            if records is not None:
                self._records.add(records)
            document = self._showing(document)
            self._digest = digest
            self._note(digest if not document.sections else digest_shown(document))
        self._keep(document)
        if self.lasting is not self._rows:
            self.lasting.forget()
        if records is not None and last.number:
            log.info("record updated from the file", extra={"changes": len(records)})
            self._messages.removed([record.change for record in records], document, has_file=bool(self._digest))

    def _imported(self, document: Document, at: str) -> list[HistoryRecord]:
        """Record the memories of a file without a record, and return their records."""
        source = "baseline" if self.recovered is None else "recovered"
        records = []
        for change in differences({}, document):
            new = replace(change, after=replace(change.memory, source=source))
            self._rows.apply(new)
            records.append(HistoryRecord(at, new, source))
        self._take_headings(document)
        return records

    def _edits(self, document: Document, digest: str, last: _ShownContent, at: str) -> list[HistoryRecord] | None:
        """Record what a person or another program did with the file. None if it was only not written yet."""
        shown = self._shown("is_shown = %s", 1) or _NOTHING
        found = self._shown("digest = %s", digest) if digest else None
        if digest == shown.digest:
            return None
        present, names = by_place(self._rows.find(EVERY)), self._names(document)
        theirs, undated, is_broken = document.by_place(), document.undated, document.is_broken
        edits = FileEdits(theirs, undated, is_broken, present, at, names, self._records.versions)
        is_current = found is not None or shown.number == last.number
        if found is not None:
            records = edits.returning_to(self._records.lasting(found.position))
        else:
            records = edits.since(edits.present if is_current else self._records.lasting(shown.position))
        for record in records:
            self._rows.apply(record.change)
        self._take_headings(document, is_current=is_current)
        return records

    def _names(self, document: Document) -> dict[SubjectKey, str]:
        """Return the names of places in the record and in a file, which a person may have changed."""
        recorded = self._rows.headings(self._rows.places())
        every = {**recorded, **document.headings()}
        return {place: heading.name for place, heading in every.items()}

    def _take_headings(self, document: Document, *, is_current: bool = True) -> None:
        """Record the names and visits of the places in a file.

        Args:
            is_current: Whether the file had shown the whole record before it was edited.
        """
        for place, theirs in document.headings().items():
            ours = self._rows.heading(place)
            self._rows.set_heading(place, theirs if is_current else merged_heading(theirs, ours))
        if is_current and not document.is_broken:
            for place in self._rows.places():
                if place not in document.section_indexes and not self._rows.memories(place):
                    self._rows.remove_place(place)

    def _showing(self, document: Document, places: Collection[SubjectKey] | None = None) -> Document:
        """Return the document with the memories and the visits of the record.

        Args:
            places: Only those of these places. Defaults to all places.
        """
        if places is None:
            places = {*self._rows.places(), *document.section_indexes}
        headings = self._rows.headings(places)
        self._rows.read_ahead(headings)
        wanted = {place: (headings.get(place), self._rows.memories(place)) for place in places}
        if not document.is_broken:
            return document.showing(wanted)
        # Other missing memories may be in the parts of the file that are not understood.
        last = self._shown("is_shown = %s", 1) or _NOTHING
        added = {
            (record.change.location_id, record.change.memory.id)
            for record in self._records.records(start=last.position)
            if record.change.before is None
        }
        return document.showing(wanted, may_add=lambda place, memory: (place, memory.id) in added)

    # Writing

    def _before_commit(self, draft: Draft) -> None:
        places = draft.changed_places.difference(UNSEARCHED)
        if places or draft.traces or draft.moves:
            document = self.document if draft.document is None else draft.document
            if draft.traces is not None:
                document = document_without(document, draft.traces)
            for old, new in draft.moves:
                document = document.moved(old, new)
            self._keep(self._showing(document, places))
            self._note(digest_shown(self.document))
        elif not self._last_shown().number:
            self._note(self._digest)

    def _note(self, digest: str) -> None:
        """Record the digest of the file that will show the record."""
        last = self._last_shown()
        if last.number and last.digest == digest:
            return
        if not last.number and self._digest != digest:
            self._put_shown(self._digest, 0, is_shown=True)
        self._mark_shown()
        self._put_shown(digest, self._records.size(), is_shown=digest == self._digest)

    def _put_shown(self, digest: str, position: int, *, is_shown: bool) -> None:
        insert = "INSERT INTO zorkgpt_shown (digest, position, is_shown) VALUES (%s, %s, %s)"
        self.database.put(insert, [(digest, position, int(is_shown))])

    def _mark_shown(self) -> None:
        """Record that the file has the last content of the record, if that is true."""
        last = self._last_shown()
        if not last.is_shown and last.digest == self._digest:
            self.database.put("UPDATE zorkgpt_shown SET is_shown = 1 WHERE number = %s", [(last.number,)])

    def _show(self) -> None:
        """Write the file, unless it shows the record. The file must be locked. Then `_seen` is None if it was edited.

        Raises:
            MemoryStoreError: If the file can't be written.
        """
        recorded = self._last_shown().digest
        if self._digest == recorded or self._seen is None:
            return
        document = self.document
        data = render(document)
        if digest_shown(document) != recorded:
            # The document was derived from the file again.
            with self.database.change():
                self._note(digest_shown(document))
        written: Stamp | None = ()
        if document.sections:
            written = self.file.write(data, over=self._seen[0])
        else:
            self.file.remove()
        if written is None:
            self._seen = None
            return
        self._digest = digest_shown(document)
        # If this is lost, the next transaction does it.
        with self.database.transaction():
            self._mark_shown()
        self._seen = written, self._seen[1]
        self._messages.written(len(data))


def digest_of(data: bytes | None) -> str:
    """Return the digest of a file for the record. "" if there is no file."""
    # SHA-256 is fast because processors have instructions for it.
    return "" if data is None else sha256(data).hexdigest()


def digest_shown(document: Document) -> str:
    """Return the digest of the file with this document. "" if it needs no file."""
    return digest_of(render(document)) if document.sections else ""
