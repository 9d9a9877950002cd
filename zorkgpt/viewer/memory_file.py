"""The content of `Memories.md`, used if its journal is missing, damaged or older than a manual edit."""

import os
import stat
from pathlib import Path

from zorkgpt.files import Stamp
from zorkgpt.memory.storage.damage import is_memory_file
from zorkgpt.memory.storage.document import Document, parse
from zorkgpt.memory.storage.markdown import digest_of


class MemoryFile:
    """A reader of the memory file. `refresh` reads the file again if it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.document: Document | None = None
        """None if there is no file or it can't be read."""
        self.unreadable = 0
        """The number of memories and headings that can't be parsed."""
        self.digest = ""
        """The digest of the content that was read, or "" if there is no file."""
        self.trouble = ""
        """Why an existing file can't be read, or ""."""
        self._seen: Stamp = ()
        self._read: Stamp | None = None

    def refresh(self) -> bool:
        """Read the file if it has changed, but not since the last call. Return whether it was read.

        A file that is still changing is skipped, because the journal has the same changes.
        """
        stamp = self._stamp()
        settled, self._seen = self._read is None or stamp == self._seen, stamp
        if not settled or stamp == self._read:
            return False
        self._read = stamp
        self.document, self.digest, self.unreadable, self.trouble = None, "", 0, ""
        try:
            self._load()
        except OSError as error:
            self.trouble = f"can't be read ({error.strerror})"
        return True

    @property
    def is_current(self) -> bool:
        """Whether the file has not changed since it was read."""
        return self._stamp() == self._read

    def _load(self) -> None:
        if not self._read:
            return
        # Links may leave the run, and devices never end.
        if not _is_regular(self.path):
            self.trouble = "not a regular file"
            return
        data = self.path.read_bytes()
        self.digest = digest_of(data)
        if not is_memory_file(data):
            self.trouble = "damaged" if data.strip(b"\x00 \t\r\n") else "empty"
        else:
            self.document = parse(data)
            self.unreadable = sum(problem.is_broken for problem in self.document.problems())

    def _stamp(self) -> Stamp:
        """Return a value that changes with the file, or () if there is no file."""
        state = _state(self.path)
        return () if state is None else (state.st_mtime_ns, state.st_size, state.st_ino)


def _state(path: Path) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=False)
    except OSError:
        return None


def _is_regular(path: Path) -> bool:
    state = _state(path)
    return state is not None and stat.S_ISREG(state.st_mode)
