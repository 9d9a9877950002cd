"""The knowledge base on disk: reload it when the file has changed, and write changes under a lock."""

import threading
from collections.abc import Callable
from pathlib import Path

from zorkgpt.errors import FileError
from zorkgpt.files import LOCK_TIMEOUT_S, AtomicFile, Disk, Stamp, reread_or_recover
from zorkgpt.knowledge.document import KnowledgeDocument, is_damaged, parse, render

_ATTEMPTS = 5


class KnowledgeStore:
    """The document and its file, which other processes and people may also write.

    Raises:
        FileError: If the file exists and can't be read.
    """

    def __init__(self, path: Path | str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, disk: Disk | None = None) -> None:
        self.file = AtomicFile(path, lock_timeout_s=lock_timeout_s, disk=disk)
        self.recovered = False
        """Whether the file was missing or damaged and was restored from its backup."""
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
        self.recovered |= reread_or_recover(self.file, self._reread, self._rescue) is not None

    def _rescue(self, data: bytes | None) -> bytes | None:
        """Return the content to restore; None if the file is usable or there is nothing better."""
        if data is not None and not is_damaged(data):
            return None
        if self._document.rows:
            # The cached document is at least as new as the backup, which lacks the last change.
            return render(self._document)
        backup = self.file.read_backup()
        return None if backup is None or is_damaged(backup) else backup

    def _reread(self) -> bool:
        """Read the file. Return False, without a change, if it is damaged and something better can be restored."""
        data, stamp = self.file.read()
        if self._rescue(data) is not None:
            return False
        self._document, self._stamp = parse(data or b""), stamp
        return True
