"""Thread locks that are safe with fork: before a fork, the forking thread acquires all of them.

Otherwise, a child could inherit a lock whose owner doesn't exist in it, and half-changed data. The locks also keep a
fork from happening during an SQLite call or an import. Some of them also keep Python from exiting during native code.
"""

import atexit
import os
import threading
from collections.abc import Callable
from weakref import WeakSet

# Hooks before a fork run in reverse order of registration. filelock's hook blocks the threads that hold a file lock.
# Our hook waits for these threads, so it must run first and be registered last.
import filelock  # noqa: F401

_locks: "WeakSet[threading.RLock]" = WeakSet()
_native_locks: "WeakSet[threading.RLock]" = WeakSet()
_making = threading.Lock()
"""Held while a lock is created and during a fork."""
_held = threading.local()
_before_fork: "list[Callable[[], None]]" = []


def new_lock() -> "threading.RLock":
    """Return a reentrant lock that a fork waits for."""
    lock = threading.RLock()
    with _making:
        _locks.add(lock)
    return lock


def new_native_lock() -> "threading.RLock":
    """Return a lock for short calls of native code, which Python acquires when it exits and doesn't release.

    Up to version 3.13, Python ends a daemon thread that returns from native code while Python exits. If that code is
    C++ or Rust, this aborts the process.
    """
    lock = new_lock()
    _native_locks.add(lock)
    return lock


def before_fork(call: Callable[[], None]) -> None:
    """Call a function before each fork, when all locks are held."""
    _before_fork.append(call)


@atexit.register
def _acquire_native_locks() -> None:
    for lock in list(_native_locks):
        lock.acquire()


def _acquire_all() -> None:
    """Acquire all locks. To avoid a deadlock, release them before waiting for one that another thread holds."""
    _making.acquire()
    locks, busy = list(_locks), None
    while True:
        held: list[threading.RLock] = []
        if busy is not None:
            busy.acquire()
            held.append(busy)
        for lock in locks:
            if lock is busy:
                continue
            if not lock.acquire(blocking=False):
                _release(held)
                busy = lock
                break
            held.append(lock)
        else:
            _held.locks = held
            break
    for call in _before_fork:
        call()


def _release_all() -> None:
    _release(_held.locks)
    _held.locks = []
    _making.release()


def _release(locks: "list[threading.RLock]") -> None:
    for lock in locks:
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire_all, after_in_parent=_release_all, after_in_child=_release_all)
