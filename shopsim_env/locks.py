"""Locks that survive a fork: trainers and data loaders fork while other threads search.

A lock that another thread holds at the moment of the fork stays held in the child for ever, because that
thread is not there. So every lock of the package is held by the forking thread across the fork and let go on
both sides. They guard single look-ups and never nest; a lock that nests must not come from here.
"""

import os
import threading
import weakref

_LOCKS: "weakref.WeakSet[threading.Lock]" = weakref.WeakSet()
_HELD: list[threading.Lock] = []


def fork_safe_lock() -> threading.Lock:
    """A new lock that no fork leaves held."""
    lock = threading.Lock()
    _LOCKS.add(lock)
    return lock


def _hold() -> None:
    for lock in list(_LOCKS):
        lock.acquire()
        _HELD.append(lock)


def _let_go() -> None:
    while _HELD:
        _HELD.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
