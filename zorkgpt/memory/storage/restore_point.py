"""Restore points: what a file was at the last checkpoint, so that a turn that was cut short can be taken back."""

import json
import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from zorkgpt.files import AtomicFile, ReplacementObserver
from zorkgpt.log import get_logger
from zorkgpt.memory.storage.shelves import MemoryFiles, is_shelf_name, listed

log = get_logger(__name__)

_FOREIGN = "changed by somebody else"


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """What a checkpoint says of the files that are restored to it."""

    number: int
    """The number of the checkpoint; what is kept under another number belongs to an earlier one."""
    lengths: tuple[int, ...]
    """The sizes of the files that are only appended to, in bytes; -1: there was no such file."""


class Restorer(Protocol):
    """Takes back what was written since a checkpoint."""

    @property
    def name(self) -> str:
        """What it takes back, by which a checkpoint knows it."""
        ...

    def restore_point(self, number: int) -> RestorePoint:
        """Return how it stands, for a checkpoint that is about to be written."""
        ...

    def begin(self, folder: Path, number: int) -> None:
        """Keep from now on what is needed to return to the checkpoint of this number."""
        ...

    def end(self) -> None:
        """Stop keeping it."""
        ...

    def restore(self, folder: Path, point: RestorePoint) -> bool:
        """Undo what was written since the checkpoint. False: somebody else wrote too, and nothing was undone."""
        ...


class SharedMemory:
    """A memory that others share: what was committed stays, since they may have built upon it.

    A turn that is played again makes the same observation again, which counts once.
    """

    name = "memories"

    def restore_point(self, number: int) -> RestorePoint:
        """Return nothing but the number."""
        return RestorePoint(number, ())

    def begin(self, folder: Path, number: int) -> None:
        """Do nothing: nothing will be taken back."""

    def end(self) -> None:
        """Do nothing."""

    def restore(self, folder: Path, point: RestorePoint) -> bool:
        """Take back nothing, and say so."""
        log.info("what was learned since the checkpoint stays: others share the memory")
        return True


class FileRestorer:
    """Keeps the file as it was before it was first replaced since the checkpoint, and remembers what replaced it.

    The file is put back only if what stands there now was written by the process that was cut short, and by nobody
    else: what another process or a person wrote since is never taken back.

    Args:
        file: the one that is replaced as a whole; its replacements are followed from now on.
        appended: files beside it that only grow.
        on_restored: called when the file may have been put back, for whoever holds what stood there.
    """

    def __init__(
        self, file: AtomicFile, appended: Sequence[Path] = (), *, on_restored: Callable[[], None] = lambda: None
    ) -> None:
        self._file = file
        self._on_restored = on_restored
        self._path = file.path
        file.notify(self)
        self._appended = tuple(appended)
        self._folder: Path | None = None
        self._number = 0
        self._before: Path | None = None
        """Where what the file was is kept; None: it was not replaced since the checkpoint."""
        self._written: set[str] = set()
        """The digests of what it was replaced by since then."""
        self._notes: int | None = None
        """The descriptor of the file in which the same is written down, opened once: a turn is short."""
        self._own_stamp: tuple[int, ...] | None = None
        """The stamp of the file as it was left by the last replacement."""
        self._failures = 0

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    def restore_point(self, number: int) -> RestorePoint:
        """Return the state of the files for a checkpoint that is about to be written."""
        return RestorePoint(number, self._lengths())

    def begin(self, folder: Path, number: int) -> None:
        """Keep from now on what the file was at the checkpoint of this number, and nothing for earlier ones."""
        before = self._before
        if folder != self._folder:
            self.end()
        self._folder, self._number = folder, number
        self._before = self._own_stamp = None
        self._written.clear()
        if before:
            # Where it can't be removed it lies there unused: it is named after the earlier checkpoint.
            with suppress(OSError):
                before.unlink()

    def end(self) -> None:
        """Stop keeping what the file was."""
        self._folder = None
        if self._notes is not None:
            os.close(self._notes)
            self._notes = None

    def before_replacement(self, data: bytes) -> None:
        """Keep what the file was, and note what replaces it. A failure is logged, and stops nothing."""
        folder = self._folder
        if folder is None:
            return
        digest = _digest(data)
        try:
            if self._before is None:
                self._keep(folder, digest)
            elif self._own_stamp != _stamp(self._path) and not self._is_ours():
                self._note(folder, _FOREIGN, digest)
            else:
                self._note(folder, digest)
            self._written.add(digest)
        except OSError as error:
            if not self._failures:
                log.warning("an interrupted turn could not be taken back", extra={"reason": str(error)})
            self._failures += 1

    def after_replacement(self) -> None:
        """Note what the file looks like, so that a change by somebody else is noticed."""
        self._own_stamp = _stamp(self._path)

    def restore(self, folder: Path, point: RestorePoint) -> bool:
        """Undo what was written since the checkpoint. False: somebody else wrote too, and nothing was undone.

        Raises:
            OSError, FileError: a file can't be locked, read or written; calling again goes on from there.
        """
        with self._file.locked():
            done = self._restore(folder, point)
        self._on_restored()
        return done

    def _restore(self, folder: Path, point: RestorePoint) -> bool:
        if not self._is_all_ours(folder, point):
            return False
        lengths = self._lengths_at_first(folder, point)
        self._put_back(folder, point.number)
        for path, length in zip(self._appended, lengths, strict=True):
            _shorten(path, length)
        self.end()
        self._forget(folder, point.number)
        return True

    def _is_all_ours(self, folder: Path, point: RestorePoint) -> bool:
        """Return whether what stands there now is what it was, or was written by the process that was cut short."""
        before, notes = self._places(folder, point.number)
        noted = _noted(notes, point.number)
        if noted is None:
            return self._lengths()[:1] == point.lengths[:1]
        was, now = _content(before), _content(self._path)
        return now == was or (_FOREIGN not in noted.digests and now is not None and _digest(now) in noted.digests)

    def _lengths_at_first(self, folder: Path, point: RestorePoint) -> tuple[int, ...]:
        before, notes = self._places(folder, point.number)
        noted = _noted(notes, point.number)
        # Others may have appended between the checkpoint and our first change, unless that was the very first.
        if noted is None or not before.is_file() or noted.lengths[:1] == point.lengths[:1]:
            return point.lengths
        return noted.lengths

    def _put_back(self, folder: Path, number: int) -> None:
        before, notes = self._places(folder, number)
        if _noted(notes, number) is None or (was := _content(before)) == _content(self._path):
            return
        if was is None:
            self._file.remove()
        else:
            self._file.restore(was)

    def _forget(self, folder: Path, number: int) -> None:
        before, notes = self._places(folder, number)
        for path in (notes, before):
            path.unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        """Return whether what stands there was kept or written here; an interrupt may have cut a write short."""
        now = self._path.read_bytes()
        return _digest(now) in self._written or (self._before is not None and now == self._before.read_bytes())

    def _keep(self, folder: Path, digest: str) -> None:
        before, _ = self._places(folder, self._number)
        folder.mkdir(exist_ok=True)
        before.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            try:
                # A second name for the old file costs nothing, however large it is.
                os.link(self._path, before)
            except OSError:
                before.write_bytes(self._path.read_bytes())
        # On a line of its own, also where a kill has cut the last one short.
        self._note(
            folder, "", json.dumps({"number": self._number, "lengths": self._lengths(), "at": time.time_ns()}), digest
        )
        self._before = before

    def _note(self, folder: Path, *lines: str) -> None:
        if self._notes is None:
            _, notes = self._places(folder, self._number)
            self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        os.write(self._notes, "".join(f"{line}\n" for line in lines).encode("ascii"))

    def _places(self, folder: Path, number: int) -> tuple[Path, Path]:
        return folder / f"{number}.{self.name}", folder / f"{self.name}.written"

    def _lengths(self) -> tuple[int, ...]:
        return tuple(_size(path) for path in self._appended)


class ShelfRestorer(FileRestorer):
    """The same for a memory file with its shelves: all of them are put back, or none."""

    def __init__(
        self, files: MemoryFiles, appended: Sequence[Path] = (), *, on_restored: Callable[[], None] = lambda: None
    ) -> None:
        self._files = files
        self._each: dict[str, FileRestorer] = {}
        super().__init__(files.main, appended, on_restored=on_restored)
        files.notify(self._observer_of)

    def begin(self, folder: Path, number: int) -> None:
        super().begin(folder, number)
        for one in self._each.values():
            one.begin(folder, number)

    def end(self) -> None:
        super().end()
        for one in self._each.values():
            one.end()

    def before_shelf(self) -> None:
        """Note what the memory file was and how long the others were, before a shelf is replaced the first time."""
        if self._folder is not None and self._before is None and (content := _content(self._path)) is not None:
            self.before_replacement(content)
            self.after_replacement()

    def _observer_of(self, name: str) -> ReplacementObserver:
        one = self._each[name] = FileRestorer(self._files.file(name))
        if self._folder is not None:
            one.begin(self._folder, self._number)
        return _OfShelf(one, self)

    def _restore(self, folder: Path, point: RestorePoint) -> bool:
        shelves = self._noted_shelves(folder, point.number)
        own = RestorePoint(point.number, ())
        if not self._is_all_ours(folder, point) or not all(one._is_all_ours(folder, own) for one in shelves.values()):
            return False
        if shelves and self._was_other_changed(folder, point.number, shelves.keys()):
            return False
        for one in shelves.values():
            one._put_back(folder, point.number)
        done = super()._restore(folder, point)
        for one in shelves.values():
            one._forget(folder, point.number)
        return done

    def _noted_shelves(self, folder: Path, number: int) -> dict[str, FileRestorer]:
        before, _ = self._places(folder, number)
        known = {*listed(_content(before) or b""), *listed(_content(self._path) or b"")}
        found = {}
        for notes in folder.glob("*.md.written"):
            name = notes.name.removesuffix(".written")
            if name == self.name or not is_shelf_name(name) or _noted(notes, number) is None:
                continue
            # Other files of the episode are kept in the same folder, and one of them may be named as a shelf could be.
            shelf = self._files.file(name)
            if name in known or shelf.path.is_file():
                found[name] = FileRestorer(shelf)
        return found

    def _was_other_changed(self, folder: Path, number: int, ours: Collection[str]) -> bool:
        """Return whether a shelf that we did not change was changed since: then the history is not ours alone."""
        noted = _noted(self._places(folder, number)[1], number)
        names = [name for name in listed(_content(self._path) or b"") if name not in ours]
        stamps = [_stamp(self._files.file(name).path) for name in names]
        return noted is None or any(stamp and stamp[1] > noted.at for stamp in stamps)


class _OfShelf:
    """Observes a shelf for a `ShelfRestorer`."""

    def __init__(self, one: FileRestorer, whole: ShelfRestorer) -> None:
        self._one = one
        self._whole = whole

    def before_replacement(self, data: bytes) -> None:
        self._whole.before_shelf()
        self._one.before_replacement(data)

    def after_replacement(self) -> None:
        self._one.after_replacement()


def restore_point_of(given: Any) -> RestorePoint:
    """Build a restore point from what was kept of it as JSON.

    Raises:
        TypeError, ValueError, KeyError: it is not a restore point.
    """
    return RestorePoint(int(given["number"]), tuple(int(length) for length in given["lengths"]))


@dataclass(frozen=True, slots=True)
class _Noted:
    """What was noted of the changes since a checkpoint."""

    lengths: tuple[int, ...]
    """The sizes before the first change."""
    at: int
    """The time before the first change, in nanoseconds; 0: an earlier version did not note it."""
    digests: list[str]


def _noted(notes: Path, number: int) -> _Noted | None:
    """Return what was noted since this checkpoint; None: no change.

    What a kill has cut short was noted of a change that did not come to be.
    """
    if not notes.is_file():
        return None
    lines = notes.read_text(encoding="ascii").splitlines()
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].startswith("{") and lines[at].endswith("}"):
            head = json.loads(lines[at])
            found = _Noted(tuple(head["lengths"]), int(head.get("at", 0)), lines[at + 1 :])
            return found if head["number"] == number else None
    return None


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


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


def _shorten(path: Path, length: int) -> None:
    if length < 0:
        path.unlink(missing_ok=True)
    elif _size(path) > length:
        os.truncate(path, length)
