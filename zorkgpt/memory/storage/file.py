"""The memory file on disk: locked, whole at every instant, the previous one kept beside it."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.storage.lock import ProcessLock

log = get_logger(__name__)

Stamp = tuple[int, ...]
"""Differs when the file has been replaced or edited; () for no file."""

LOCK_TIMEOUT_S = 10.0


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_is_file(path: str, mode: int) -> None:
    """Pass if it is a file, as told by its mode.

    Raises:
        MemoryStoreError: it is something else.
    """
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise MemoryStoreError(f"Can't read {path}: it is {kind}, not a file. Move it away, or name another file.")


class Disk:
    """What writing safely asks of the operating system; one call each, so that a test can let any of them fail."""

    create = staticmethod(os.open)
    write = staticmethod(os.write)
    truncate = staticmethod(os.ftruncate)
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


class Keeper(Protocol):
    """Keeps what a file was before it is replaced."""

    def replacing(self, data: bytes) -> None:
        """It is about to be, by these bytes, under its lock. Never raises."""

    def replaced(self) -> None:
        """It has been."""


class MemoryFile:
    """One file that several processes write; every method may raise `MemoryStoreError`."""

    def __init__(self, path: Path | str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, disk: Disk | None = None) -> None:
        # Replacing a symbolic link would leave the file it points to behind.
        self._path = os.path.realpath(path)
        self.path = Path(self._path)
        self.backup = Path(f"{self._path}.backup")
        # One name for all writers: only who holds the lock writes, and what a killed one left is overwritten.
        self._temporary, self._spare = f"{self._path}.tmp", f"{self._path}.spare"
        self._lock_timeout_s = lock_timeout_s
        self._disk = disk or Disk()
        self._folder = os.path.dirname(self._path)
        self._has_folder = os.path.isdir(self._folder)
        """Whether it has been there: then it is not made again, for it was deleted."""
        self._lock = ProcessLock(f"{self._path}.lock", lock_timeout_s)
        self.keeper: Keeper | None = None
        """Told of every replacement; None: nothing has to be taken back."""

    def stamp(self) -> Stamp:
        return self._stamp(self._path)

    def read(self) -> tuple[bytes | None, Stamp]:
        """The bytes with the stamp they had; None if there is no file."""
        return self._read(self._path)

    def read_backup(self) -> bytes | None:
        return self._read(str(self.backup))[0]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out for as long as this takes."""
        try:
            self._check_folder()
            if not self._has_folder:
                self._disk.make_folder(self._folder, exist_ok=True)
                self._has_folder = True
            is_ours = self._lock.acquire()
        except OSError as error:
            raise MemoryStoreError(f"Can't lock {self._path}: {error}") from error
        if not is_ours:
            raise MemoryStoreError(
                f"{self._path}.lock has been held by another process for {self._lock_timeout_s:g} s. "
                "If that process hangs, end it; the lock goes with it."
            )
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
        temporary = self._temporary
        try:
            self._write_through(temporary, data)
            if over is not None and self._stamp(self._path) != over:
                return None
            if self.keeper:
                self.keeper.replacing(data)
            self._keep_previous(temporary)
            self._disk.replace(temporary, self._path)
        except OSError as error:
            with suppress(OSError):
                self._disk.remove(temporary)
            raise MemoryStoreError(f"Can't write {self._path}: {error}. The file is as it was.") from error
        try:
            # At once: what is changed after this is somebody else's change.
            written = self._stamp(self._path)
        except MemoryStoreError:
            written = ()
        if self.keeper:
            self.keeper.replaced()
        # Until the new names are on disk, a power cut may bring the old backup back.
        if self._flush_folder():
            with suppress(OSError):
                self._disk.replace(self._spare, temporary)
        return written

    def restore(self, data: bytes) -> None:
        """Put the backup's bytes in the place of the file; the backup stays."""
        try:
            self._write_through(self._temporary, data)
            self._disk.replace(self._temporary, self._path)
        except OSError as error:
            raise MemoryStoreError(f"Can't restore {self._path} from {self.backup}: {error}") from error
        self._flush_folder()

    def remove(self) -> None:
        """There is no such file any longer, and nothing that it would be recovered from."""
        for path in (self._path, str(self.backup), self._spare, self._temporary):
            try:
                self._disk.remove(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise MemoryStoreError(f"Can't remove {path}: {error}") from error

    def set_aside(self) -> Path | None:
        """Move a damaged file out of the way, under a name that is free; None if there was none."""
        for number in range(1, 1000):
            aside = Path(f"{self._path}.damaged-{number}")
            if aside.exists():
                continue
            try:
                self._disk.link(self._path, str(aside))
            except FileNotFoundError:
                return None
            except OSError as error:
                raise MemoryStoreError(f"Can't set the damaged {self._path} aside as {aside}: {error}") from error
            return aside
        raise MemoryStoreError(f"There are 999 damaged files beside {self._path}. Look at them and remove them.")

    def _write_through(self, path: str, data: bytes) -> None:
        """The space that a file has already is written in half the time that new space takes."""
        try:
            self._fill(path, data, os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            with suppress(FileNotFoundError):
                self._disk.remove(path)
            self._fill(path, data, os.O_EXCL)

    def _fill(self, path: str, data: bytes, how: int) -> None:
        descriptor = self._disk.create(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o666)
        try:
            found = self._disk.stat(descriptor)
            if found.st_nlink != 1:
                # It is the backup still, or somebody else has kept it: what is read under another name stays.
                raise OSError(errno.EMLINK, os.strerror(errno.EMLINK), path)
            with suppress(FileNotFoundError):
                self._disk.chmod(descriptor, stat.S_IMODE(self._disk.stat(self._path).st_mode))
            rest = memoryview(data)
            while rest:
                rest = rest[self._disk.write(descriptor, rest) :]
            if found.st_size > len(data):
                self._disk.truncate(descriptor, len(data))
            self._disk.flush(descriptor)
        finally:
            self._disk.close(descriptor)

    def _keep_previous(self, temporary: str) -> None:
        """As the backup; the one so far is what the next file is written over, under a name of its own until then."""
        keep = f"{temporary}.backup"
        try:
            # A second name for the old file costs nothing, however large it is.
            self._name(self._path, keep)
        except FileNotFoundError:
            return
        except OSError:
            self._write_through(keep, self._disk.read(self._path))
        with suppress(OSError):
            self._name(str(self.backup), self._spare)
        try:
            self._disk.replace(keep, str(self.backup))
        except OSError:
            with suppress(OSError):
                self._disk.remove(keep)
            raise

    def _name(self, path: str, also: str) -> None:
        """Give the file a second name, taken from what a killed writer left under it."""
        try:
            self._disk.link(path, also)
        except FileExistsError:
            self._disk.remove(also)
            self._disk.link(path, also)

    def _flush_folder(self) -> bool:
        try:
            descriptor = self._disk.create(self._folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                self._disk.flush(descriptor)
            finally:
                self._disk.close(descriptor)
        except OSError as error:
            # The new file is in its place and whole; only a power cut in this second could bring the old one back.
            log.warning("folder not flushed", extra={"path": self._path, "error": str(error)})
            return False
        return True

    def _check_folder(self) -> None:
        if self._has_folder and not os.path.isdir(self._folder):
            raise MemoryStoreError(f"The folder {self._folder} was deleted or moved, and {self.path.name} with it.")

    def _stamp(self, path: str) -> Stamp:
        try:
            found = self._disk.stat(path)
        except FileNotFoundError:
            self._check_folder()
            return ()
        except OSError as error:
            raise MemoryStoreError(f"Can't look at {path}: {error}") from error
        # Before anything opens it: whoever reads a pipe waits for somebody to write.
        check_is_file(path, found.st_mode)
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size

    def _read(self, path: str) -> tuple[bytes | None, Stamp]:
        while True:
            before = self._stamp(path)
            if not before:
                return None, ()
            try:
                data = self._disk.read(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise MemoryStoreError(f"Can't read {path}: {error}") from error
            if self._stamp(path) == before:
                return data, before
