"""Locks of threads that survive a fork: no other thread has one of them while the process forks.

Otherwise a child would wait for ever for a thread that it doesn't have, over data that this thread left half changed.
SQLite must not be in the middle of a call either.
"""

import os
import threading
from itertools import count
from weakref import WeakValueDictionary

_guards: "WeakValueDictionary[int, threading.RLock]" = WeakValueDictionary()
_numbers = count()
_held = threading.local()


def new_guard() -> "threading.RLock":
    """Return a reentrant lock. Of two that are held together, the one that was made first is acquired first."""
    guard = threading.RLock()
    _guards[next(_numbers)] = guard
    return guard


def _acquire_all() -> None:
    _held.guards = held = list[threading.RLock]()
    for _, guard in sorted(_guards.items(), key=lambda item: item[0]):
        guard.acquire()
        held.append(guard)


def _release_all() -> None:
    for guard in reversed(_held.guards):
        guard.release()
    _held.guards = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire_all, after_in_parent=_release_all, after_in_child=_release_all)
