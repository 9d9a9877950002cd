"""One process at a time: the lock of `filelock.FileLock`, taken in a fraction of its time."""

import os
import time

from filelock import lock_descriptor, unlock_descriptor

_POLL_S = 0.002


class ProcessLock:
    """Keeps other processes out, and whoever takes a `FileLock` of the same path.

    It is taken for every write, and most of a `FileLock`'s time goes into what isn't needed here. Within the process it
    only counts: threads keep each other out by a lock of their own.
    """

    def __init__(self, path: str, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._descriptor = -1
        self._depth = 0

    def acquire(self) -> bool:
        """False: another process has held it all the time.

        Raises:
            OSError: the file can't be opened or locked.
        """
        if self._depth == 0:
            end = time.monotonic() + self._timeout_s
            while (descriptor := self._try()) is None:
                if time.monotonic() >= end:
                    return False
                time.sleep(_POLL_S)
            self._descriptor = descriptor
        self._depth += 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            try:
                # A forked child may have the descriptor too, so that closing it alone would not do.
                unlock_descriptor(self._descriptor)
            finally:
                os.close(self._descriptor)

    def _try(self) -> int | None:
        # Anew each time: somebody may have removed the file, and a lock on what has no name keeps nobody out.
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if lock_descriptor(descriptor, blocking=False) and os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None
