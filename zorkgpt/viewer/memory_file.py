"""The content of `Memories.md`, used where its history is missing, damaged or older than a manual edit."""

import os
import stat
from pathlib import Path

from zorkgpt.files import Stamp
from zorkgpt.memory.storage.damage import is_memory_file
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.shelves import MemoryFiles, listed, read_document


class MemoryFile:
    """Reads the memory file with its shelves; `refresh` reads it again where it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.document: Document | None = None
        """None: there is no such file, or it can't be read."""
        self.unreadable = 0
        """The number of memories and headings that are not understood."""
        self.trouble = ""
        """Why it is not read, though it is there."""
        self._seen: Stamp = ()
        self._read: Stamp | None = None

    def refresh(self) -> bool:
        """Read the file if it is new, or changed and left alone since the last call; return whether it was read.

        While it is being changed, its history tells the changes, a moment later.
        """
        stamp = self._stamp()
        settled, self._seen = self._read is None or stamp == self._seen, stamp
        if not settled or stamp == self._read:
            return False
        self._read = stamp
        self.document, self.unreadable, self.trouble = None, 0, ""
        try:
            self._take()
        except OSError as error:
            self.trouble = f"can't be read ({error.strerror})"
        return True

    def _take(self) -> None:
        if not self._read:
            return
        # Links may lead out of the run, devices never end.
        if not _is_regular(self.path) or self._folder.is_symlink():
            self.trouble = "not a regular file"
            return
        data = self.path.read_bytes()
        if strange := [name for name in listed(data) if not _is_regular(self._folder / name)]:
            self.trouble = f"{len(strange)} of the files that it lists are missing or not regular files"
        elif not is_memory_file(data) and not listed(data):
            self.trouble = "damaged" if data.strip(b"\x00 \t\r\n") else "empty"
        else:
            self.document = read_document(self.path)
            self.unreadable = sum(problem.is_broken for problem in self.document.problems())

    @property
    def _folder(self) -> Path:
        """Where the shelves of a large file are."""
        return MemoryFiles(self.path, lock_timeout_s=0).folder

    def _stamp(self) -> Stamp:
        """Return what changes with the file or a shelf; () for no file."""
        main = _state(self.path)
        if main is None:
            return ()
        shelves = sorted(self._folder.glob("*.md")) if self._folder.is_dir() else []
        states = [main, *filter(None, map(_state, shelves))]
        return tuple(value for one in states for value in (one.st_mtime_ns, one.st_size, one.st_ino))


def _state(path: Path) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=False)
    except OSError:
        return None


def _is_regular(path: Path) -> bool:
    state = _state(path)
    return state is not None and stat.S_ISREG(state.st_mode)
