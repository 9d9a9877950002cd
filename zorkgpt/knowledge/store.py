"""The knowledge base on disk: reload it when the file has changed, and write changes under a lock."""

import threading
from collections.abc import Callable
from pathlib import Path

from zorkgpt.errors import FileError
from zorkgpt.files import LOCK_TIMEOUT_S, AtomicFile, Disk, Stamp, reread_or_recover, write_file
from zorkgpt.knowledge.document import KnowledgeDocument, is_damaged, parse, render
from zorkgpt.log import get_logger

log = get_logger(__name__)

_ATTEMPTS = 5


class KnowledgeStore:
    """The document and its file, which other processes and people may also write.

    If the file is deleted or emptied, its lines are deleted. They are kept in a file beside it, and this is logged.

    Raises:
        FileError: If the file exists and can't be read.
    """

    def __init__(self, path: Path | str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, disk: Disk | None = None) -> None:
        self.file = AtomicFile(path, lock_timeout_s=lock_timeout_s, disk=disk)
        self.recovered = False
        """Whether the file was damaged and was restored from its backup."""
        self._guard = threading.RLock()
        self._document = KnowledgeDocument()
        self._stamp: Stamp | None = None
        if not self._reread():
            with self.file.locked():
                self._reread_or_recover()

    @property
    def document(self) -> KnowledgeDocument:
        """The document as it was last read."""
        return self._document

    def refresh(self) -> KnowledgeDocument:
        """Reload the file if it has changed; a missing or damaged file is ignored.

        Raises:
            FileError: If the file can't be read. The document is unchanged.
        """
        with self._guard:
            if self.file.stamp() != self._stamp:
                self._reread()
            return self._document

    def forget(self) -> None:
        """Drop the cached document and read the file, after it was restored to an earlier state.

        Raises:
            FileError: If the file can't be read.
        """
        with self._guard:
            self._document, self._stamp = KnowledgeDocument(), None
            self._reread()

    def apply(self, change: Callable[[KnowledgeDocument], KnowledgeDocument]) -> bool:
        """Apply `change` to the current file. Return False if it changed nothing.

        `change` may be called more than once.

        Raises:
            FileError: If the file could not be locked, read or written. File and document are unchanged.
        """
        with self._guard, self.file.locked():
            for _ in range(_ATTEMPTS):
                if self.file.stamp() != self._stamp:
                    self._reread_or_recover()
                new = change(self._document)
                if new is self._document:
                    return False
                # A program that ignores the lock, such as an editor, may have saved the file in between.
                written = self.file.write(render(new), over=self._stamp)
                if written is not None:
                    self._document, self._stamp = parse(render(new)), written
                    return True
        raise FileError(f"{self.file.path} keeps being changed by a program that ignores its lock.")

    def _reread_or_recover(self) -> None:
        recovery = reread_or_recover(self.file, self._reread, self._rescue)
        self.recovered |= recovery is not None
        if recovery is None and not self._reread():
            self._accept_deletion()

    def _rescue(self, data: bytes | None) -> bytes | None:
        """Return the content to restore; None if the file is usable, was deleted, or there is nothing better."""
        return None if _is_deleted(data) else self._better_than(data)

    def _better_than(self, data: bytes | None) -> bytes | None:
        """Return the former content if this is damaged or deleted; None if it is usable or nothing better is known."""
        if data is not None and not is_damaged(data):
            return None
        if self._document.rows:
            # The cached document is at least as new as the backup, which lacks the last change.
            return render(self._document)
        backup = self.file.read_backup()
        return None if backup is None or is_damaged(backup) else backup

    def _accept_deletion(self) -> None:
        """Continue without lines, and keep the former ones in another file."""
        data, stamp = self.file.read()
        former = self._better_than(data)
        assert former is not None
        aside = Path(f"{self.file.path}.deleted")
        write_file(aside, former)
        self.file.backup.unlink(missing_ok=True)
        self._document, self._stamp = KnowledgeDocument(), stamp
        way_out = f"To bring them back, copy {aside} to {self.file.path}."
        extra = {"path": str(self.file.path), "set_aside": str(aside), "way_out": way_out}
        log.warning("the lines of a deleted file are no longer used", extra=extra)

    def _reread(self) -> bool:
        """Read the file. Return False, without a change, if it is damaged or deleted and had other content before."""
        data, stamp = self.file.read()
        if self._better_than(data) is not None:
            return False
        self._document, self._stamp = parse(data or b""), stamp
        return True


def _is_deleted(data: bytes | None) -> bool:
    return data is None or not data.strip()
