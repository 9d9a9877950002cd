"""The memory file in this process: seen at every call as it is on disk, changed under its lock."""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from logging import INFO, WARNING
from pathlib import Path

from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import BETWEEN_LOOKS_S, LOCK_TIMEOUT_S, LOOKS, Disk, Recovery, Stamp, recover, write_file
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.storage.changes import ChangedDocument
from zorkgpt.memory.storage.damage import is_damaged, is_memory_file, is_sound
from zorkgpt.memory.storage.document import Document, Shelf, indexed, parse_shelf
from zorkgpt.memory.storage.history import ChangeHistory, TurnStamp, differences
from zorkgpt.memory.storage.person_edits import PersonEdits
from zorkgpt.memory.storage.shelves import MAIN, MemoryFiles, ShelfSizes, cut, listed
from zorkgpt.memory.storage.trials import TrialFile
from zorkgpt.memory.storage.word_index import WordIndex, changed_places

log = get_logger(__name__)

_ATTEMPTS = 5

_CONFLICT = "'<<<<<<< "
"""How a problem is described where a line begins one side of a merge conflict."""

_Stamps = dict[str, Stamp]
"""The stamps of the memory file and of each shelf, by their names."""


class MemoryStore:
    """A memory file with its shelves, their document, and the cache of its memories."""

    def __init__(self, path: Path | str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, disk: Disk | None = None) -> None:
        self.files = MemoryFiles(path, lock_timeout_s=lock_timeout_s, disk=disk)
        self.file = self.files.main
        self.path, self.name = self.file.path, str(self.file.path)
        self.sizes = ShelfSizes()
        self.history = ChangeHistory(self.file.path.with_suffix(".history.jsonl"), disk=disk)
        self.trials = TrialFile(self.file.path.with_suffix(".trials.jsonl"))
        self.judgments = None
        self.vectors_kept = "beside the file"
        self.cache: dict[PlaceKey, list[Memory]] = {}
        """The memories of each location, in the order of the file; changed in place."""
        self.index = WordIndex(self.file.path.with_suffix(".index.sqlite"))
        self._edits = PersonEdits(self.history)
        self.history_failures = 0
        self.recovered: Recovery | None = None
        """What was done when a file was found missing or damaged last; None: it never was."""
        self.guard = threading.RLock()
        self._document = Document()
        self._stamp: tuple[_Stamps, int] | None = None
        self._unreconciled = True
        self._redone: tuple[str, ...] = ()
        """The files of a change that a kill had cut short."""
        self._reported: set[str] = set()
        self._load()

    @property
    def document(self) -> Document:
        return self._document

    def refresh(self) -> None:
        """See what other processes and people wrote; a file that is missing or damaged by now is recovered.

        Raises:
            MemoryStoreError: a file can't be read; the cache is what was last seen of it.
        """
        if not self._is_as_seen():
            with self.guard:
                if not self._reread():
                    with self.file.locked():
                        self._reread_or_recover()

    def apply(
        self,
        change: Callable[[Document], ChangedDocument | None],
        *,
        source: str = "agent",
        turn_stamp: TurnStamp | None = None,
    ) -> ChangedDocument | None:
        """Change the document as it is on disk now; on disk when this returns.

        `change` may be called more than once. None from it: nothing is to be done.

        Args:
            source: who changes it, for the history.
            turn_stamp: the turn in which it is made; None: not known.

        Raises:
            MemoryStoreError: it could not be locked, read or written; files and cache are as before.
        """
        with self.guard, self.file.locked():
            for _ in range(_ATTEMPTS):
                if not self._is_as_seen():
                    self._reread_or_recover()
                if self._unreconciled:
                    self._reconcile()
                outcome = change(self._document)
                if outcome is None or outcome.document is self._document:
                    return outcome
                # Somebody who does not know our lock, an editor say, may have saved a file meanwhile.
                if not self._is_as_seen():
                    continue
                if outcome.changes:
                    self._begin_history()
                before = self._document
                if self._commit(outcome.document):
                    self._conclude(before, outcome, source, turn_stamp)
                    return outcome
        raise MemoryStoreError(f"{self.file.path} is being changed all the time by something that ignores its lock.")

    def reconcile(self) -> None:
        """Add to the history what the file says and the history does not; begin it if there is none."""
        with self.guard, self.file.locked():
            self._reread_or_recover()
            self._begin_history()
            self._reconcile()

    def rewrite_history(self, rewrite: Callable[[list[bytes]], list[bytes]]) -> tuple[int, int]:
        """Put other lines in the place of those of the history; the last one then says again what the file is.

        Returns:
            The number of lines before and after.
        """
        if self.history.size() < 0:
            return 0, 0
        with self.guard, self.file.locked():
            lines = self.history.path.read_bytes().splitlines(keepends=True)
            kept = rewrite(lines)
            if kept != lines:
                write_file(self.history.path, b"".join(kept))
            self.history.append((), self._document.fingerprint(), source="rewritten")
            self._note_history_size()
        return len(lines), len(kept)

    def locked(self) -> AbstractContextManager[object]:
        """Keep others from changing the files."""
        return self.file.locked()

    def claim_episode(self, least: int) -> int:
        """Return this number: the folder of the file says which are taken."""
        return least

    def claim_subject(self, subject: str) -> str:
        """Return "": the folder of the file says what it is about."""
        return ""

    def vectors(self) -> None:
        """Return None: they lie beside the file."""

    def forget_vectors(self) -> None:
        """Delete the vectors; they are made again where they are needed."""
        self.path.with_suffix(".vectors.npz").unlink(missing_ok=True)

    def close(self) -> None:
        """Close the index of words; no file is held open."""
        with self.guard:
            self.index.close()

    def compact_history(self) -> tuple[int, int]:
        """Make one line of the observations and trials of a memory that follow one another in the history.

        Returns:
            The number of lines before and after.
        """
        with self.guard, self.file.locked():
            self._reread_or_recover()
            self._reconcile()
            lines = self.history.compact()
            self._note_history_size()
        return lines

    def _load(self) -> None:
        if not self._reread():
            with self.file.locked():
                self._reread_or_recover()
        try:
            if self._is_ahead():
                with self.file.locked():
                    self._reread_or_recover()
                    self._reconcile()
        except (MemoryStoreError, OSError) as error:
            self._history_failed(error)

    # Reading

    def _is_as_seen(self) -> bool:
        """Return whether the files are what was read or written last."""
        if self._stamp is None or self.files.is_pending():
            return False
        stamps, size = self._stamp
        # The history grows with every change, so that a new file of the same size, time and (reused) inode is noticed.
        # The memory file comes first: it says which others there are.
        return self.history.size() == size and self.files.have(stamps)

    def _reread_or_recover(self) -> None:
        self._redone = self.files.finish()
        for _ in range(LOOKS):
            if self._reread():
                return
            time.sleep(BETWEEN_LOOKS_S)
        self._recover(MAIN)
        data, _ = self.file.read()
        for name in listed(data or b""):
            self._recover(name)
        self._reread()

    def _recover(self, name: str) -> None:
        self.recovered = recover(self.files.file(name), partial(self._replacement, name)) or self.recovered

    def _replacement(self, name: str, data: bytes | None) -> bytes | None:
        """Return what is to take the place of a file; None if it is sound or there is nothing better."""
        if data is not None and is_sound(data):
            return None
        backup = self.files.file(name).read_backup()
        if data is None and backup is None:
            # Somebody has deleted both, and wants no memories.
            return None
        # What was seen since the last change is newer than the backup, which is the file before it.
        shelf = next((shelf for shelf in self._document.shelves if shelf.name == name and shelf.sections), None)
        is_newest = shelf is not None and self._document.fingerprint() == self.history.last_fingerprint()
        before = shelf.render() if shelf is not None and is_newest else backup
        if before is None or not is_memory_file(before):
            return None
        return before if data is None or is_damaged(data, before) else None

    def _reread(self) -> bool:
        """Take over what the files say. False: one is missing or damaged and there is something better, or a change
        of several is under way."""
        for _ in range(_ATTEMPTS):
            size = self.history.size()
            found = self._shelves_on_disk()
            # Between the two looks: whoever replaces several files at once says so for as long as that takes.
            if found is None or self.files.is_pending():
                return False
            shelves, stamps = found
            if len(stamps) == 1 or self.files.have(stamps):
                self._take_over(shelves, (stamps, size))
                return True
        return False

    def _shelves_on_disk(self) -> tuple[tuple[Shelf, ...], _Stamps] | None:
        """Return what the files say, with their stamps; None: one is missing or damaged, and there is better."""
        known = {shelf.name: shelf for shelf in self._document.shelves}
        seen = self._stamp[0] if self._stamp is not None else {}
        shelves: list[Shelf] = []
        stamps: _Stamps = {}
        names = [MAIN]
        for name in names:
            stamp = self.files.stamp(name)
            if name in known and stamp and stamp == seen.get(name):
                shelf = known[name]
            else:
                data, stamp = self.files.file(name).read() if stamp else (None, stamp)
                if self._replacement(name, data) is not None:
                    return None
                self._report_missing(name, data, known.get(name))
                old = known.get(name, Shelf())
                shelf = parse_shelf(data or b"", {section.data: section for section in old.sections}, name=name)
            shelves.append(shelf)
            stamps[name] = stamp
            if name == MAIN:
                names += listed(shelf.render())
        return tuple(shelves), stamps

    def _report_missing(self, name: str, data: bytes | None, known: Shelf | None) -> None:
        path = self.files.file(name).path
        if data is None and name != MAIN and str(path) not in self._reported:
            self._reported.add(str(path))
            log.warning("a file is listed and not there, nor its backup", extra={"path": str(path)})
        if data is None and name == MAIN and known is not None and known.sections:
            log.warning("the file and its backup are gone, the memory begins anew", extra={"path": str(path)})

    def _take_over(self, shelves: tuple[Shelf, ...], stamp: tuple[_Stamps, int]) -> None:
        before = {id(shelf): shelf for shelf in self._document.shelves}
        fresh = [shelf for shelf in shelves if before.pop(id(shelf), None) is None]
        for shelf in fresh:
            self._report_problems(shelf)
        if fresh or before:
            self._document = indexed(shelves)
            self._refresh_cache(dict.fromkeys([*_places(before.values()), *_places(fresh)]))
        self._mark_edits()
        self._stamp, self._unreconciled = stamp, True

    def _report_problems(self, shelf: Shelf) -> None:
        for problem in shelf.problems():
            if problem.message not in self._reported:
                self._reported.add(problem.message)
                if _CONFLICT in problem.message:
                    path = str(self.files.file(shelf.name).path)
                    log.warning("a merge conflict is not resolved: both sides are read", extra={"path": path})
                level = WARNING if problem.is_broken else INFO
                where = f" of {shelf.name}" if shelf.name else ""
                log.log(level, "line %d%s is not understood and kept: %s", problem.line, where, problem.message)

    def _refresh_cache(self, places: Iterable[PlaceKey]) -> None:
        for place in places:
            if memories := self._document.memories(place):
                self.cache[place] = memories
            else:
                self.cache.pop(place, None)

    # Writing

    def _conclude(self, before: Document, outcome: ChangedDocument, source: str, turn_stamp: TurnStamp | None) -> None:
        """Take a change that was written into history, cache and index, and cut what has grown too large."""
        self._record(outcome, source, turn_stamp)
        self._note_history_size()
        self._mark_edits()
        # What is forgotten, or only counted, is no change of a memory.
        told = {change.location_id for change in outcome.changes}
        self._refresh_cache(told or changed_places(before, self._document))
        self._cut()
        self.index.follow(self._document)

    def _commit(self, document: Document, *, is_cut: bool = False) -> bool:
        """Put a document in the place of the present one. False: somebody has changed a file, and nothing was done."""
        stamps, size = self._stamp or ({}, -1)
        known = {id(shelf) for shelf in self._document.shelves}
        new = {shelf.name: shelf.render() for shelf in document.shelves if id(shelf) not in known}
        written = self.files.commit(new, stamps, is_cut=is_cut)
        if written is None:
            return False
        self._document = document
        # In the order of the document, with the memory file first.
        self._stamp = (
            {shelf.name: written.get(shelf.name, stamps.get(shelf.name, ())) for shelf in document.shelves},
            size,
        )
        return True

    def _cut(self) -> None:
        """Cut what has grown too large; where that fails it is tried again with the next change."""
        document = self._document
        if all(shelf.size <= (self.sizes.shelf if shelf.name else self.sizes.file) for shelf in document.shelves):
            return
        smaller = cut(document, self.sizes, self.files.names(), self.files.folder.name)
        if smaller is None or not self.files.can_be_cut():
            return
        try:
            if self._commit(smaller, is_cut=True):
                log.info("memories cut into shelves", extra={"shelves": len(smaller.shelves) - 1})
                if self._is_ahead():
                    # One file and several have different fingerprints for the same memories.
                    self.history.append((), smaller.fingerprint())
                    self._note_history_size()
        except (MemoryStoreError, OSError) as error:
            self._stamp = None
            log.warning("memories not cut into shelves", extra={"error": str(error)})

    def _note_history_size(self) -> None:
        try:
            if self._stamp is not None:
                self._stamp = self._stamp[0], self.history.size()
        except MemoryStoreError:
            # The change is on disk; what can't be looked at now is read again at the next call.
            self._stamp = None

    def _record(self, outcome: ChangedDocument, source: str, turn_stamp: TurnStamp | None) -> None:
        # As long as earlier lines are missing, so must this one be: the end of the history tells that it is behind.
        if not outcome.changes or self._unreconciled:
            return
        try:
            self.history.append(outcome.changes, outcome.document.fingerprint(), source=source, turn_stamp=turn_stamp)
        except OSError as error:
            self._history_failed(error)

    def _begin_history(self) -> None:
        """Begin a history before the first change, so that a kill right after that change is noticed."""
        if self.history.size() >= 0:
            return
        try:
            changes = differences({}, self._document)
            self.history.append(changes, self._document.fingerprint(), source="baseline")
        except OSError as error:
            self._history_failed(error)

    def _reconcile(self) -> None:
        self._unreconciled = False
        try:
            if not self._is_ahead():
                return
            changes = differences(self.history.replayed(), self._document)
            source = "recovered" if self._is_one_write_ahead() else "hand"
            self.history.append(changes, self._document.fingerprint(), source=source)
        except (MemoryStoreError, OSError) as error:
            self._history_failed(error)
            return
        else:
            log.info("history brought up to the file", extra={"changes": len(changes), "source": source})
        self._note_history_size()
        self._mark_edits()

    def _mark_edits(self) -> None:
        try:
            self._edits.mark(self._document)
        except MemoryStoreError as error:
            log.warning("edits by a person are not recognized", extra={"error": str(error)})

    def _is_ahead(self) -> bool:
        """Return whether the file says something that its history, if it has one, does not."""
        return self.history.size() >= 0 and self.history.last_fingerprint() != self._document.fingerprint()

    def _is_one_write_ahead(self) -> bool:
        """Return whether the history ends at what the backups say: the writer was killed before its line."""
        stamps = self._stamp[0] if self._stamp is not None else {}
        last = self._redone or (max(stamps, key=lambda name: stamps[name][1:2]),) if stamps else ()
        before = [
            parse_shelf(self.files.file(shelf.name).read_backup() or b"", name=shelf.name)
            if shelf.name in last
            else shelf
            for shelf in self._document.shelves
        ]
        return Document(tuple(before)).fingerprint() == self.history.last_fingerprint()

    def _history_failed(self, error: Exception) -> None:
        self.history_failures += 1
        self._unreconciled = True
        if self.history_failures == 1:
            log.warning("history not written", extra={"path": str(self.history.path), "error": str(error)})


def _places(shelves: Iterable[Shelf]) -> list[PlaceKey]:
    return [s.location_id for shelf in shelves for s in shelf.sections if s.location_id is not None]
