"""What the memory file was at the last checkpoint, so that a turn that was cut short can be taken back."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from zorkgpt.log import get_logger
from zorkgpt.memory.storage.file import MemoryFile

log = get_logger(__name__)

_FOREIGN = "changed by somebody else"


@dataclass(frozen=True, slots=True)
class Mark:
    """A checkpoint, as far as the files are concerned."""

    number: int
    """Of the checkpoint; what is kept under another number is of an earlier one."""
    lengths: tuple[int, ...]
    """Of the files that are only appended to, in bytes; -1: there was none."""


class Rollback:
    """Keeps the file as it was before it was first replaced since the checkpoint, and remembers what replaced it.

    The file is put back only if what stands there now was written by the process that was cut short, and by nobody
    else: what another process or a person wrote since is never taken back.

    Args:
        file: it is replaced as a whole, and tells of it from now on.
        appended: files beside it that only grow.
        then: called when the file may have been put back, for whoever holds what stood there.
    """

    def __init__(
        self, file: MemoryFile, appended: Sequence[Path] = (), *, then: Callable[[], None] = lambda: None
    ) -> None:
        self._file = file
        self._then = then
        self._whole = file.path
        file.keeper = self
        self._appended = tuple(appended)
        self._folder: Path | None = None
        self._number = 0
        self._before: Path | None = None
        """What the file was; None: it was not replaced since the checkpoint."""
        self._written: set[str] = set()
        """What it was replaced by since then."""
        self._notes: int | None = None
        """The file of the folder in which the same is written down, opened once: a turn is short."""
        self._left: tuple[int, ...] | None = None
        self._failures = 0

    @property
    def name(self) -> str:
        """Of the file."""
        return self._whole.name

    def mark(self, number: int) -> Mark:
        """The state of the files at a checkpoint that is about to be written."""
        return Mark(number, self._lengths())

    def begin(self, folder: Path, number: int) -> None:
        """The checkpoint of this number is written: what was kept for an earlier one is of no use any longer."""
        if self._before:
            self._before.unlink(missing_ok=True)
        if folder != self._folder:
            self.end()
        self._folder, self._number = folder, number
        self._before = self._left = None
        self._written.clear()

    def end(self) -> None:
        """Nothing is to be put back any more."""
        self._folder = None
        if self._notes is not None:
            os.close(self._notes)
            self._notes = None

    def replacing(self, data: bytes) -> None:
        """The file is about to be replaced by these bytes, under its lock. A failure is logged, and stops nothing."""
        if self._folder is None:
            return
        digest = _digest(data)
        try:
            if self._before is None:
                self._keep(self._folder, digest)
            elif self._left != _stamp(self._whole) and not self._is_ours():
                self._note(_FOREIGN, digest)
            else:
                self._note(digest)
            self._written.add(digest)
        except OSError as error:
            if not self._failures:
                log.warning("an interrupted turn could not be taken back", extra={"reason": str(error)})
            self._failures += 1

    def replaced(self) -> None:
        """It has been."""
        self._left = _stamp(self._whole)

    def put_back(self, folder: Path, mark: Mark) -> bool:
        """Undo what was written since the checkpoint. False: somebody else wrote too, and nothing was undone.

        Raises:
            OSError, MemoryStoreError: a file can't be locked, read or written; calling again goes on from there.
        """
        with self._file.locked():
            done = self._put_back(folder, mark)
        self._then()
        return done

    def _put_back(self, folder: Path, mark: Mark) -> bool:
        before, notes = self._places(folder, mark.number)
        lengths = mark.lengths
        if noted := _noted(notes, mark.number):
            at_first, digests = noted
            was = before.read_bytes() if before.is_file() else None
            # Others may have appended between the checkpoint and our first change, unless that was the very first.
            lengths = lengths if was is None or at_first[:1] == lengths[:1] else at_first
            now = self._whole.read_bytes() if self._whole.is_file() else None
            if now != was:
                if _FOREIGN in digests or now is None or _digest(now) not in digests:
                    return False
                self._restore(was)
        elif self._lengths()[:1] != lengths[:1]:
            return False
        for path, length in zip(self._appended, lengths, strict=True):
            _cut(path, length)
        self.end()
        for path in (notes, before):
            path.unlink(missing_ok=True)
        return True

    def _is_ours(self) -> bool:
        """Whether what stands there is what was kept, or was written here; an interrupt may have cut a write short."""
        now = self._whole.read_bytes()
        return _digest(now) in self._written or now == self._before.read_bytes()

    def _note(self, *lines: str) -> None:
        os.write(self._notes, "".join(f"{line}\n" for line in lines).encode("ascii"))

    def _keep(self, folder: Path, digest: str) -> None:
        before, notes = self._places(folder, self._number)
        if self._notes is None:
            folder.mkdir(exist_ok=True)
            self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        before.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            try:
                # A second name for the old file costs nothing, however large it is.
                os.link(self._whole, before)
            except OSError:
                before.write_bytes(self._whole.read_bytes())
        # On a line of its own, also where a kill has cut the last one short.
        self._note("", json.dumps({"number": self._number, "lengths": self._lengths()}), digest)
        self._before = before

    def _restore(self, data: bytes | None) -> None:
        if data is None:
            self._file.remove()
        else:
            self._file.restore(data)

    def _places(self, folder: Path, number: int) -> tuple[Path, Path]:
        return folder / f"{number}.{self.name}", folder / f"{self.name}.written"

    def _lengths(self) -> tuple[int, ...]:
        return tuple(_size(path) for path in self._appended)


def mark_of(given: Any) -> Mark:
    """The mark that was kept as JSON.

    Raises:
        TypeError, ValueError, KeyError: it is none.
    """
    return Mark(int(given["number"]), tuple(int(length) for length in given["lengths"]))


def _noted(notes: Path, number: int) -> tuple[tuple[int, ...], list[str]] | None:
    """The lengths before the first change since the checkpoint of this number, and what followed; None: there was none.

    What a kill has cut short was noted of a change that did not come to be.
    """
    if not notes.is_file():
        return None
    lines = notes.read_text(encoding="ascii").splitlines()
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].startswith("{") and lines[at].endswith("}"):
            head = json.loads(lines[at])
            return (tuple(head["lengths"]), lines[at + 1 :]) if head["number"] == number else None
    return None


def _digest(data: bytes) -> str:
    # Processors have instructions for it, which makes it faster than what was made to be fast.
    return sha256(data).hexdigest()


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return -1


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _cut(path: Path, length: int) -> None:
    if length < 0:
        path.unlink(missing_ok=True)
    elif _size(path) > length:
        os.truncate(path, length)
