"""The knowledge base on disk: seen at every call as it is there, changed under the lock."""

import threading
from collections.abc import Callable
from pathlib import Path

from zorkgpt.errors import FileError
from zorkgpt.files import LOCK_TIMEOUT_S, AtomicFile, Disk, Stamp, reread_or_recover
from zorkgpt.knowledge.document import Document, is_damaged, parse, render

_ATTEMPTS = 5


class KnowledgeStore:
    """The document and its file, which several processes and people may write.

    Raises:
        FileError: there is a file and it can't be read.
    """

    def __init__(self, path: Path | str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, disk: Disk | None = None) -> None:
        self.file = AtomicFile(path, lock_timeout_s=lock_timeout_s, disk=disk)
        self.recovered = False
        """Whether the file was missing or damaged and its backup has taken its place."""
        self._guard = threading.RLock()
        self._document = Document()
        self._stamp: Stamp | None = None
        if not self._reread():
            with self.file.locked():
                self._reread_or_recover()

    @property
    def document(self) -> Document:
        """As it was seen last."""
        return self._document

    def refresh(self) -> Document:
        """See what other processes and people wrote; a file that is missing or damaged just now is not believed.

        Raises:
            FileError: the file can't be read; the document is what was last seen of it.
        """
        with self._guard:
            if self.file.stamp() != self._stamp:
                self._reread()
            return self._document

    def forget(self) -> None:
        """The file was put back to what it was earlier: what was seen of it since is not to be believed.

        Raises:
            FileError: it can't be read.
        """
        with self._guard:
            self._document, self._stamp = Document(), None
            self._reread()

    def apply(self, change: Callable[[Document], Document]) -> bool:
        """Change the document as it is on disk now; on disk when this returns. False: there was nothing to change.

        `change` may be called more than once.

        Raises:
            FileError: it could not be locked, read or written; file and document are as before.
        """
        with self._guard, self.file.locked():
            for _ in range(_ATTEMPTS):
                if self.file.stamp() != self._stamp:
                    self._reread_or_recover()
                new = change(self._document)
                if new is self._document:
                    return False
                # Somebody who does not know our lock, an editor say, may have saved the file meanwhile.
                written = self.file.write(render(new), over=self._stamp)
                if written is not None:
                    self._document, self._stamp = parse(render(new)), written
                    return True
        raise FileError(f"{self.file.path} is being changed all the time by something that ignores its lock.")

    def _reread_or_recover(self) -> None:
        self.recovered |= reread_or_recover(self.file, self._reread, self._rescue) is not None

    def _rescue(self, data: bytes | None) -> bytes | None:
        """What is to take the file's place; None if the file is sound or there is nothing better."""
        if data is not None and not is_damaged(data):
            return None
        if self._document.rows:
            # As it was seen last here: at least as new as the backup, which is the file before its last change.
            return render(self._document)
        backup = self.file.read_backup()
        return None if backup is None or is_damaged(backup) else backup

    def _reread(self) -> bool:
        """False: the file is missing or damaged while there is something better, and all stays as it was."""
        data, stamp = self.file.read()
        if self._rescue(data) is not None:
            return False
        self._document, self._stamp = parse(data or b""), stamp
        return True
