"""Locks of threads that survive a fork: no other thread has one of them while the process forks.

Otherwise a child would wait forever for a thread that it doesn't have, over data that this thread left half changed.
SQLite must not be in the middle of a call either, and a module must not be half imported.
"""

import os
import threading
from weakref import WeakSet

# Hooks before a fork run in reverse order. That of filelock stops the threads that hold a file lock, so ours, which
# waits for these threads, is registered after it and runs before it.
import filelock  # noqa: F401

_guards: "WeakSet[threading.RLock]" = WeakSet()
_making = threading.Lock()
"""Held while a guard is made, and during a fork."""
_held = threading.local()


def new_guard() -> "threading.RLock":
    """Return a reentrant lock that a fork waits for."""
    guard = threading.RLock()
    with _making:
        _guards.add(guard)
    return guard


def _acquire_all() -> None:
    """Acquire all guards, in any order: what is held is released before one of another thread is waited for."""
    _making.acquire()
    guards, busy = list(_guards), None
    while True:
        held: list[threading.RLock] = []
        if busy is not None:
            busy.acquire()
            held.append(busy)
        for guard in guards:
            if guard is busy:
                continue
            if not guard.acquire(blocking=False):
                _release(held)
                busy = guard
                break
            held.append(guard)
        else:
            _held.guards = held
            return


def _release_all() -> None:
    _release(_held.guards)
    _held.guards = []
    _making.release()


def _release(guards: "list[threading.RLock]") -> None:
    for guard in guards:
        guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire_all, after_in_parent=_release_all, after_in_child=_release_all)
