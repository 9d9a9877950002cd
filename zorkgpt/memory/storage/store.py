"""The memory file in this process: seen at every call as it is on disk, changed under its lock."""

import threading
from collections.abc import Callable
from logging import INFO, WARNING
from pathlib import Path

from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import LOCK_TIMEOUT_S, AtomicFile, Disk, Recovery, Stamp, reread_or_recover
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.storage.changes import ChangedDocument
from zorkgpt.memory.storage.damage import is_damaged, is_memory_file, is_sound
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.memory.storage.history import ChangeHistory, TurnStamp, differences, is_one_write_behind

log = get_logger(__name__)

_ATTEMPTS = 5


class MemoryStore:
    """A memory file, its document, and the cache of its memories."""

    def __init__(self, path: Path | str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, disk: Disk | None = None) -> None:
        self.file = AtomicFile(path, lock_timeout_s=lock_timeout_s, error=MemoryStoreError, disk=disk)
        self.history = ChangeHistory(self.file.path.with_suffix(".history.jsonl"), disk=disk)
        self.cache: dict[PlaceKey, list[Memory]] = {}
        """The memories of each location, in the order of the file; changed in place."""
        self.history_failures = 0
        self.recovered: Recovery | None = None
        """What was done when the file was found missing or damaged last; None: it never was."""
        self.guard = threading.RLock()
        self._document = Document()
        self._stamp: tuple[Stamp, int] | None = None
        self._unreconciled = True
        self._reported: set[str] = set()
        self._load()

    @property
    def document(self) -> Document:
        return self._document

    def refresh(self) -> None:
        """See what other processes and people wrote; a file that is missing or damaged by now is recovered.

        Raises:
            MemoryStoreError: the file can't be read; the cache is what was last seen of it.
        """
        if self._current_stamp() != self._stamp:
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
            MemoryStoreError: it could not be locked, read or written; file and cache are as before.
        """
        with self.guard, self.file.locked():
            for _ in range(_ATTEMPTS):
                if self._current_stamp() != self._stamp:
                    self._reread_or_recover()
                if self._unreconciled:
                    self._reconcile()
                outcome = change(self._document)
                if outcome is None or outcome.document is self._document:
                    return outcome
                # Somebody who does not know our lock, an editor say, may have saved the file meanwhile.
                now = self._current_stamp()
                if now == self._stamp and self._write(outcome, now[0], source, turn_stamp):
                    return outcome
        raise MemoryStoreError(f"{self.file.path} is being changed all the time by something that ignores its lock.")

    def reconcile(self) -> None:
        """Add to the history what the file says and the history does not; begin it if there is none."""
        with self.guard, self.file.locked():
            self._reread_or_recover()
            self._begin_history()
            self._reconcile()

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

    def _reread_or_recover(self) -> None:
        self.recovered = reread_or_recover(self.file, self._reread, self._replacement) or self.recovered

    def _replacement(self, data: bytes | None) -> bytes | None:
        """Return what is to take the file's place; None if the file is sound or there is nothing better."""
        if data is not None and is_sound(data):
            return None
        backup = self.file.read_backup()
        if data is None and backup is None:
            # Somebody has deleted both, and wants no memories.
            return None
        # What was seen since the last change is newer than the backup, which is the file before it.
        is_newest = self._document.sections and self._document.fingerprint() == self.history.last_fingerprint()
        before = render(self._document) if is_newest else backup
        if before is None or not is_memory_file(before):
            return None
        return before if data is None or is_damaged(data, before) else None

    def _current_stamp(self) -> tuple[Stamp, int]:
        # The history grows with every change, so that a new file of the same size, time and (reused) inode is noticed.
        return self.file.stamp(), self.history.size()

    def _reread(self) -> bool:
        """Take over what the file says. False: it is missing or damaged, and there is something better."""
        size = self.history.size()
        data, stamp = self.file.read()
        if self._replacement(data) is not None:
            return False
        if data is None and self._document.sections:
            log.warning("the file and its backup are gone, the memory begins anew", extra={"path": str(self.file.path)})
        known = {section.data: section for section in self._document.sections}
        document = parse(data or b"", known)
        for problem in document.problems():
            if problem.message not in self._reported:
                self._reported.add(problem.message)
                level = WARNING if problem.is_broken else INFO
                log.log(level, "line %d is not understood and kept: %s", problem.line, problem.message)
        self._document = document
        self._stamp, self._unreconciled = (stamp, size), True
        fresh = document.all_memories()
        self.cache.clear()
        self.cache.update(fresh)
        return True

    def _write(self, outcome: ChangedDocument, over: Stamp, source: str, turn_stamp: TurnStamp | None) -> bool:
        """Write what came of a change. False: somebody else changed the file at the last moment; nothing was done."""
        if outcome.changes:
            self._begin_history()
        written = self.file.write(render(outcome.document), over=over)
        if written is None:
            return False
        self._document = outcome.document
        self._record(outcome, source, turn_stamp)
        try:
            self._stamp = written, self.history.size()
        except MemoryStoreError:
            # The change is on disk; what can't be looked at now is read again at the next call.
            self._stamp = None
        for location_id in {change.location_id for change in outcome.changes}:
            memories = outcome.document.memories(location_id)
            if memories:
                self.cache[location_id] = memories
            else:
                self.cache.pop(location_id, None)
        return True

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
            source = "recovered" if is_one_write_behind(self.file.read_backup(), self.history) else "hand"
            self.history.append(changes, self._document.fingerprint(), source=source)
        except (MemoryStoreError, OSError) as error:
            self._history_failed(error)
            return
        else:
            log.info("history brought up to the file", extra={"changes": len(changes), "source": source})
        if self._stamp is not None:
            self._stamp = self._stamp[0], self.history.size()

    def _is_ahead(self) -> bool:
        """Return whether the file says something that its history, if it has one, does not."""
        return self.history.size() >= 0 and self.history.last_fingerprint() != self._document.fingerprint()

    def _history_failed(self, error: Exception) -> None:
        self.history_failures += 1
        self._unreconciled = True
        if self.history_failures == 1:
            log.warning("history not written", extra={"path": str(self.history.path), "error": str(error)})
