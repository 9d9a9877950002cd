"""Replace files atomically, so that neither readers nor killed processes produce half-written files.

Also tells local disks from network file systems.
"""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from zorkgpt.errors import FileError
from zorkgpt.log import get_logger

log = get_logger(__name__)

Stamp = tuple[int, ...]
"""A value that changes when a file is replaced or edited. () if there is no file."""

LOCK_TIMEOUT_S = 10.0
_LOCK_POLL_S = 0.002
_LOOKS, _BETWEEN_LOOKS_S = 5, 0.05
"""Retries, because an editor that is saving may have emptied or removed the file for a moment."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Disk:
    """The operating system calls for safe writing. Tests replace it to make calls fail."""

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
    """Replace the content of a file atomically, without lock and backup. The last of several writers wins.

    Args:
        durable: Whether the bytes must survive a power failure after this returns.

    Raises:
        FileError: If the file can't be written. It is unchanged.
    """
    target = os.path.realpath(path)
    # A unique name, because without a lock several processes and threads may write at once.
    temporary = f"{target}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            # A terminal or a pipe can't be replaced, only written to.
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
    """Create a file atomically. If another process creates it at the same time, its file is kept.

    Raises:
        OSError: If the file can't be written.
    """
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        _write_new(_DISK, temporary, data, like=temporary, durable=True)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
        except OSError:
            # The file system has no hard links.
            os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def check_is_file(path: str, mode: int, error: type[FileError] = FileError) -> None:
    """Check that a mode is that of a regular file.

    Raises:
        FileError: If it is not. `error` is the class of the exception.
    """
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise error(f"Can't read {path}: it is {kind}, not a file. Move it away, or name another file.")


class AtomicFile:
    """A file that several processes write, with a lock, atomic replacement and a backup of the previous content.

    Every method may raise `FileError`, or the class given as `error`.

    Args:
        lock_timeout_s: Maximum wait for another process that has the lock.
        error: The class of the errors.
        disk: The operating system calls, for tests.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        error: type[FileError] = FileError,
        disk: Disk | None = None,
    ) -> None:
        # Replacing a symbolic link would not change the file that it points to.
        self._path = os.path.realpath(path)
        self.path = Path(self._path)
        self.backup = Path(f"{self._path}.backup")
        # The same name for all writers. Only the one with the lock writes, and it removes the file of a killed writer.
        self._temporary = f"{self._path}.tmp"
        self._error = error
        self._disk = disk or _DISK
        self._folder = os.path.dirname(self._path)
        self._folder_existed = os.path.isdir(self._folder)
        """Used to recognize a folder that was deleted later. It is not created again."""
        self._lock_timeout_s = lock_timeout_s
        self._locks: dict[int, FileLock] = {}
        """The lock of each process. A child process can't use the lock of its parent."""

    def stamp(self) -> Stamp:
        """Return the current stamp of the file."""
        return self._stamp_of(self._path)

    def read(self) -> tuple[bytes | None, Stamp]:
        """Return the content (None if there is no file) and its stamp."""
        return self._read(self._path)

    def read_backup(self) -> bytes | None:
        """Return the content before the last replacement. None if there is no backup."""
        return self._read(str(self.backup))[0]

    @contextmanager
    def locked(self, timeout_s: float | None = None) -> Iterator[None]:
        """Hold the lock against other processes and threads. It is reentrant.

        Args:
            timeout_s: Maximum wait for another process. Defaults to that of the file.
        """
        lock = self._own_lock()
        held = lock.lock_counter
        try:
            self._acquire(lock, timeout_s)
            yield
        finally:
            # An interrupt may arrive before `acquire` has returned the lock that it holds, or before `release` is done.
            try:
                self._release(lock, held)
            finally:
                self._release(lock, held)

    @staticmethod
    def _release(lock: FileLock, held: int) -> None:
        """Release the lock if it is held more often than `held`."""
        if lock.lock_counter > held:
            lock.release()

    def _acquire(self, lock: FileLock, timeout_s: float | None) -> None:
        try:
            self._check_folder()
            if not self._folder_existed:
                self._disk.make_folder(self._folder, exist_ok=True)
                self._folder_existed = True
            lock.acquire(timeout_s, poll_interval=_LOCK_POLL_S)
        except Timeout:
            raise self._error(
                f"{self._path}.lock has been held by another process for {self._lock_timeout_s:g} s. "
                "If that process hangs, end it, which releases the lock."
            ) from None
        except OSError as error:
            raise self._error(f"Can't lock {self._path}: {error}") from error

    def write(self, data: bytes, over: Stamp | None = None) -> Stamp | None:
        """Replace the content durably and keep the previous one as the backup. The caller must hold the lock.

        Args:
            over: The stamp of the content to replace. None to replace any content.

        Returns:
            The stamp of the new file, or () if unknown. None if a program without the lock has changed the file in
            the meantime, which is then kept.

        Raises:
            FileError: If the file can't be written. It is unchanged.
        """
        try:
            _write_new(self._disk, self._free_temporary(), data, like=self._path, durable=True)
            if over is not None and self._stamp_of(self._path) != over:
                self._disk.remove(self._temporary)
                return None
            self._keep_backup()
            self._disk.replace(self._temporary, self._path)
        except OSError as error:
            with suppress(OSError):
                self._disk.remove(self._temporary)
            raise self._error(f"Can't write {self._path}: {error}. The file is unchanged.") from error
        try:
            # Immediately, so that later changes by other programs are detected.
            written = self._stamp_of(self._path)
        except FileError:
            written = ()
        _flush_folder(self._disk, self._folder)
        return written

    def recover(self, replacement: Callable[[bytes], bytes | None]) -> "Recovery | None":
        """Set a damaged file aside and replace its content. The caller must hold the lock.

        Args:
            replacement: Returns the content that replaces damaged content. None if it is intact or can't be replaced.

        Returns:
            The recovery, or None if none was needed.
        """
        better = b""
        for look in range(_LOOKS + 1):
            if look:
                time.sleep(_BETWEEN_LOOKS_S)
            data, _ = self.read()
            replacing = None if data is None else replacement(data)
            if replacing is None:
                return None
            better = replacing
        aside = self.set_aside()
        try:
            _write_new(self._disk, self._free_temporary(), better, like=self._path, durable=True)
            self._disk.replace(self._temporary, self._path)
        except OSError as error:
            raise self._error(f"Can't restore {self._path}: {error}") from error
        _flush_folder(self._disk, self._folder)
        recovery = Recovery(self.path, aside, self.backup)
        extra = {"path": str(self.path), "set_aside": str(aside or ""), "way_out": recovery.way_out}
        log.warning("a file was recovered from its backup", extra=extra)
        return recovery

    def remove(self) -> None:
        """Delete the file, its backup and its temporary file."""
        for path in (self._path, str(self.backup), self._temporary):
            try:
                self._disk.remove(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._error(f"Can't remove {path}: {error}") from error

    def set_aside(self) -> Path | None:
        """Link a damaged file to a free name. Return the new path, or None if there is no file."""
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
        raise self._error(f"There are already 999 damaged files beside {self._path}. Check and remove them.")

    def _free_temporary(self) -> str:
        """Remove any temporary file of a killed process, and return the path."""
        with suppress(FileNotFoundError):
            self._disk.remove(self._temporary)
        return self._temporary

    def _keep_backup(self) -> None:
        beside = f"{self._temporary}.backup"
        with suppress(FileNotFoundError):
            self._disk.remove(beside)
        try:
            # A hard link is cheap, whatever the size of the file.
            self._disk.link(self._path, beside)
        except FileNotFoundError:
            return
        except OSError:
            # The file system has no hard links.
            _write_new(self._disk, beside, self._disk.read(self._path), like=self._path, durable=True)
        try:
            self._disk.replace(beside, str(self.backup))
        except OSError:
            with suppress(OSError):
                self._disk.remove(beside)
            raise

    def _own_lock(self) -> FileLock:
        process = os.getpid()
        return self._locks.get(process) or self._locks.setdefault(
            process, FileLock(f"{self._path}.lock", timeout=self._lock_timeout_s)
        )

    def _check_folder(self) -> None:
        if self._folder_existed and not os.path.isdir(self._folder):
            raise self._error(f"The folder {self._folder} was deleted or moved, and {self.path.name} with it.")

    def _stamp_of(self, path: str) -> Stamp:
        try:
            status = self._disk.stat(path)
        except FileNotFoundError:
            self._check_folder()
            return ()
        except OSError as error:
            raise self._error(f"Can't access {path}: {error}") from error
        # Checked before opening, because opening a pipe blocks until another process writes to it.
        check_is_file(path, status.st_mode, self._error)
        return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size

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
    """The replacement of a damaged file."""

    path: Path
    set_aside: Path | None
    """The new path of the damaged file. None if it was deleted meanwhile."""
    backup: Path

    @property
    def way_out(self) -> str:
        """How to start over."""
        return f"To start over instead, delete both {self.path.name} and {self.backup.name} in {self.path.parent}."

    def describe(self) -> str:
        aside = f" (set aside as {self.set_aside})" if self.set_aside else ""
        return f"{self.path} was damaged{aside}. It was restored from its backup. {self.way_out}"


def _write_new(disk: Disk, path: str, data: bytes, *, like: str, durable: bool) -> None:
    """Create a file with the mode of another one, if that exists."""
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
        # The new file is complete. Only an immediate power failure could bring the old one back.
        log.warning("folder not flushed", extra={"path": folder, "error": str(error)})


_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "fuse.sshfs", "fuse.rclone", "ncpfs")
"""Beginnings of the types of network file systems on Linux."""


def is_on_local_disk(path: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Return whether a file is on a disk of this machine, as far as the operating system tells.

    Processes on one machine can share memory, which SQLite's write-ahead log needs.

    Args:
        mounts: The list of mounted file systems, on Linux.
    """
    file = os.path.realpath(path)
    if file.startswith(("\\\\", "//")):
        return False
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return True
    points = [(point, kind) for _, point, kind, *_ in (line.split(" ") for line in lines if line.count(" ") > 2)]
    containing = [(point, kind) for point, kind in points if os.path.commonpath([point, file]) == point]
    return not max(containing, key=lambda each: len(each[0]), default=("", ""))[1].startswith(_NETWORK)
