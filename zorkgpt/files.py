"""Files that are replaced as a whole, so that no reader and no killed process ever leaves or sees half of one."""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from filelock import FileLock, Timeout

from zorkgpt.errors import FileError
from zorkgpt.log import get_logger

log = get_logger(__name__)

Stamp = tuple[int, ...]
"""Differs when a file has been replaced or edited; () for no file."""

LOCK_TIMEOUT_S = 10.0
_LOCK_POLL_S = 0.002
LOOKS, BETWEEN_LOOKS_S = 5, 0.05
"""An editor that is just saving may have emptied the file, or not put it in its place yet."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Disk:
    """What writing safely asks of the operating system; one call each, so that a test can let any of them fail."""

    create = staticmethod(os.open)
    write = staticmethod(os.write)
    flush = staticmethod(os.fsync)
    close = staticmethod(os.close)
    chmod = staticmethod(os.fchmod)
    link = staticmethod(os.link)
    replace = staticmethod(os.replace)
    remove = staticmethod(os.unlink)
    stat = staticmethod(os.stat)
    make_folder = staticmethod(os.makedirs)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()


_DISK = Disk()


def write_file(path: Path | str, data: bytes, *, durable: bool = True) -> None:
    """Put these bytes in the place of a file, whole or not at all.

    For a file that needs neither lock nor backup: of several writers the last one wins.

    Args:
        durable: whether the bytes are to survive a power cut once this returns. What can be made again need not.

    Raises:
        FileError: it can't be written; the file is what it was.
    """
    target = os.path.realpath(path)
    # Unlike an `AtomicFile`, it may be written by several processes and threads at once.
    temporary = f"{target}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            # A terminal or a pipe can't be replaced: writing to it is what was asked for.
            with open(target, "wb") as file:
                file.write(data)
            return
        _write_new(_DISK, temporary, data, like=target, durable=durable)
        os.replace(temporary, target)
        if durable:
            _flush_folder(_DISK, os.path.dirname(target))
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise FileError(f"Can't write {path}: {error.strerror or error}.") from error


def create_file(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, whole or not at all; one that another process makes meanwhile stays.

    Raises:
        OSError: it can't be written.
    """
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        _write_new(_DISK, temporary, data, like=temporary, durable=True)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
        except OSError:
            # Where there are no second names.
            os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def check_is_file(path: str, mode: int, error: type[FileError] = FileError) -> None:
    """Pass if it is a file, as told by its mode.

    Raises:
        FileError: it is something else; `error` says which class of it.
    """
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise error(f"Can't read {path}: it is {kind}, not a file. Move it away, or name another file.")


class ReplacementObserver(Protocol):
    """Is told of every replacement of a file."""

    def before_replacement(self, data: bytes) -> None:
        """Called when the file is about to be replaced by these bytes, under its lock. Never raises."""

    def after_replacement(self) -> None:
        """Called when the file has been replaced."""


class AtomicFile:
    """A file that several processes write: locked, whole at every instant, the previous one kept beside it.

    Every method may raise `FileError`, or what was given as `error`.

    Args:
        lock_timeout_s: how long another process may hold the lock.
        error: the class of the errors.
        disk: the operating system; for tests.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        error: type[FileError] = FileError,
        disk: Disk | None = None,
    ) -> None:
        # Replacing a symbolic link would leave the file it points to behind.
        self._path = os.path.realpath(path)
        self.path = Path(self._path)
        self.backup = Path(f"{self._path}.backup")
        # One name for all writers: only who holds the lock writes, and what a killed one left is removed.
        self._temporary = f"{self._path}.tmp"
        self._error = error
        self._disk = disk or _DISK
        self._folder = os.path.dirname(self._path)
        self._folder_existed = os.path.isdir(self._folder)
        """If it is gone later, somebody has deleted it, and it is not made again."""
        self._lock = FileLock(f"{self._path}.lock", timeout=lock_timeout_s)
        self._observer: ReplacementObserver | None = None

    def notify(self, observer: ReplacementObserver) -> None:
        """Tell this one, and no other any longer, of every replacement from now on."""
        self._observer = observer

    def stamp(self) -> Stamp:
        """Return what tells whether the file was changed since."""
        return self._stamp_of(self._path)

    def read(self) -> tuple[bytes | None, Stamp]:
        """Return the bytes with the stamp they had; None if there is no file."""
        return self._read(self._path)

    def read_backup(self) -> bytes | None:
        """Return what the file was before it was replaced last; None if there is no backup."""
        return self._read(str(self.backup))[0]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes and threads out for as long as this takes; the same thread may take it again."""
        try:
            self._check_folder()
            if not self._folder_existed:
                self._disk.make_folder(self._folder, exist_ok=True)
                self._folder_existed = True
            self._lock.acquire(poll_interval=_LOCK_POLL_S)
        except Timeout:
            raise self._error(
                f"{self._path}.lock has been held by another process for {self._lock.timeout:g} s. "
                "If that process hangs, end it; the lock goes with it."
            ) from None
        except OSError as error:
            raise self._error(f"Can't lock {self._path}: {error}") from error
        try:
            yield
        finally:
            self._lock.release()

    def write(self, data: bytes, over: Stamp | None = None) -> Stamp | None:
        """Put these bytes in the place of the file, for good, and keep the previous ones as the backup.

        Only under the lock. If anything fails, the file is what it was.

        Args:
            over: the stamp of the file that they are to replace; None: whatever stands there.

        Returns:
            The stamp of the new file, () if it can't be looked at. None: somebody who does not know our lock has
            changed the file meanwhile, and it was left alone.
        """
        try:
            _write_new(self._disk, self._free_temporary(), data, like=self._path, durable=True)
            if over is not None and self._stamp_of(self._path) != over:
                self._disk.remove(self._temporary)
                return None
            self._put(data)
        except OSError as error:
            with suppress(OSError):
                self._disk.remove(self._temporary)
            raise self._error(f"Can't write {self._path}: {error}. The file is as it was.") from error
        return self._written()

    def prepare(self, data: bytes) -> None:
        """Write the bytes that are to take the file's place beside it, flushed; `put_prepared` or `discard` follows."""
        try:
            _write_new(self._disk, self._free_temporary(), data, like=self._path, durable=True)
        except OSError as error:
            self.discard()
            raise self._error(f"Can't write {self._path}: {error}. The file is as it was.") from error

    def prepared(self) -> bytes | None:
        """Return what `prepare` has written, perhaps in a process that was killed; None if there is nothing."""
        return self._read(self._temporary)[0]

    def put_prepared(self, data: bytes) -> Stamp:
        """Put these bytes, which were prepared, in the place of the file, and return its stamp."""
        try:
            self._put(data)
        except OSError as error:
            raise self._error(f"Can't replace {self._path}: {error}") from error
        return self._written()

    def discard(self) -> None:
        """Remove what was prepared."""
        with suppress(OSError):
            self._disk.remove(self._temporary)

    def _put(self, data: bytes) -> None:
        if self._observer:
            self._observer.before_replacement(data)
        self._keep_backup()
        self._disk.replace(self._temporary, self._path)

    def _written(self) -> Stamp:
        try:
            # At once: what is changed after this is somebody else's change.
            written = self._stamp_of(self._path)
        except FileError:
            written = ()
        if self._observer:
            self._observer.after_replacement()
        _flush_folder(self._disk, self._folder)
        return written

    def restore(self, data: bytes) -> None:
        """Put the backup's bytes in the place of the file; the backup stays."""
        try:
            _write_new(self._disk, self._free_temporary(), data, like=self._path, durable=True)
            self._disk.replace(self._temporary, self._path)
        except OSError as error:
            raise self._error(f"Can't restore {self._path} from {self.backup}: {error}") from error
        _flush_folder(self._disk, self._folder)

    def remove(self) -> None:
        """Delete the file, and everything that it would be recovered from."""
        for path in (self._path, str(self.backup), self._temporary):
            try:
                self._disk.remove(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._error(f"Can't remove {path}: {error}") from error

    def set_aside(self) -> Path | None:
        """Keep a damaged file under another name, one that is free; None if there was none."""
        for number in range(1, 1000):
            aside = Path(f"{self._path}.damaged-{number}")
            if aside.exists():
                continue
            try:
                self._disk.link(self._path, str(aside))
            except FileNotFoundError:
                return None
            except OSError as error:
                raise self._error(f"Can't set the damaged {self._path} aside as {aside}: {error}") from error
            return aside
        raise self._error(f"There are 999 damaged files beside {self._path}. Look at them and remove them.")

    def _free_temporary(self) -> str:
        """Return the path of the temporary file, which is not there: what a kill has left is removed."""
        with suppress(FileNotFoundError):
            self._disk.remove(self._temporary)
        return self._temporary

    def _keep_backup(self) -> None:
        beside = f"{self._temporary}.backup"
        with suppress(FileNotFoundError):
            self._disk.remove(beside)
        try:
            # A second name for the old file costs nothing, however large it is.
            self._disk.link(self._path, beside)
        except FileNotFoundError:
            return
        except OSError:
            # Where there are no second names.
            _write_new(self._disk, beside, self._disk.read(self._path), like=self._path, durable=True)
        try:
            self._disk.replace(beside, str(self.backup))
        except OSError:
            with suppress(OSError):
                self._disk.remove(beside)
            raise

    def _check_folder(self) -> None:
        if self._folder_existed and not os.path.isdir(self._folder):
            raise self._error(f"The folder {self._folder} was deleted or moved, and {self.path.name} with it.")

    def _stamp_of(self, path: str) -> Stamp:
        try:
            found = self._disk.stat(path)
        except FileNotFoundError:
            self._check_folder()
            return ()
        except OSError as error:
            raise self._error(f"Can't look at {path}: {error}") from error
        # Before anything opens it: whoever reads a pipe waits for somebody to write.
        check_is_file(path, found.st_mode, self._error)
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size

    def _read(self, path: str) -> tuple[bytes | None, Stamp]:
        while True:
            before = self._stamp_of(path)
            if not before:
                return None, ()
            try:
                data = self._disk.read(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._error(f"Can't read {path}: {error}") from error
            if self._stamp_of(path) == before:
                return data, before


@dataclass(frozen=True, slots=True)
class Recovery:
    """A file was not as it was left, and has been replaced."""

    path: Path
    was: Literal["missing", "damaged"]
    set_aside: Path | None
    """Where what was found is kept; None: nothing was found."""
    backup: Path

    @property
    def way_out(self) -> str:
        """What to do for whoever had deleted it on purpose."""
        return f"To begin anew instead, delete both {self.path.name} and {self.backup.name} in {self.path.parent}."

    def describe(self) -> str:
        aside = f" (set aside as {self.set_aside})" if self.set_aside else ""
        return f"{self.path} was {self.was}{aside}; its backup has taken its place. {self.way_out}"


def reread_or_recover(
    file: AtomicFile, reread: Callable[[], bool], replacement: Callable[[bytes | None], bytes | None]
) -> Recovery | None:
    """Read a file again; one that is missing or damaged is set aside and replaced.

    Args:
        reread: takes over what the file says; False if it is missing or damaged.
        replacement: given the content, None if the file is missing: what is to take its place; None if nothing
            better is known.

    Returns:
        What was done; None: the file was as it should be.
    """
    for _ in range(LOOKS):
        if reread():
            return None
        time.sleep(BETWEEN_LOOKS_S)
    recovery = recover(file, replacement)
    reread()
    return recovery


def recover(file: AtomicFile, replacement: Callable[[bytes | None], bytes | None]) -> Recovery | None:
    """Set a file aside and replace it, if it is missing or damaged: see `reread_or_recover`."""
    data, _ = file.read()
    better = replacement(data)
    if better is None:
        return None
    aside = file.set_aside() if data else None
    file.restore(better)
    recovery = Recovery(file.path, "missing" if data is None else "damaged", aside, file.backup)
    extra = {"path": str(file.path), "was": recovery.was, "set_aside": str(aside or "")}
    log.warning("a file was recovered from its backup", extra=extra | {"way_out": recovery.way_out})
    return recovery


def _write_new(disk: Disk, path: str, data: bytes, *, like: str, durable: bool) -> None:
    """Write a file that is not there yet, with the mode of another one, if that is there."""
    descriptor = disk.create(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with suppress(FileNotFoundError):
            disk.chmod(descriptor, stat.S_IMODE(disk.stat(like).st_mode))
        rest = memoryview(data)
        while rest:
            rest = rest[disk.write(descriptor, rest) :]
        if durable:
            disk.flush(descriptor)
    finally:
        disk.close(descriptor)


def _flush_folder(disk: Disk, folder: str) -> None:
    try:
        descriptor = disk.create(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            disk.flush(descriptor)
        finally:
            disk.close(descriptor)
    except OSError as error:
        # The new file is in its place and whole; only a power cut in this second could bring the old one back.
        log.warning("folder not flushed", extra={"path": folder, "error": str(error)})
