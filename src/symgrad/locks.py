"""Locks that a forked process finds free, whichever threads of its parent held them.

A fork copies the thread that forks, and the locks of all: one that another thread held would never be
released in the child. What these guard is whole at every moment at which it can be read.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, cast

_all: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A lock that one thread may take several times."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Let go of a thread that is not in this process."""
        if self._lock.acquire(blocking=False):  # it was free, or is held by the thread that forked
            self._lock.release()
        else:
            self._lock = threading.RLock()


def wait_at_forks(lock: Lock) -> None:
    """From now on a fork waits until no other thread holds the lock."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.__enter__, after_in_parent=_leave(lock), after_in_child=_leave(lock))


def _leave(lock: Lock) -> Callable[[], None]:
    return lambda: lock.__exit__(None, None, None)


def _renew() -> None:
    for lock in list(_all):
        lock.renew()
    if sys.version_info < (3, 12):
        _renew_properties()


def _renew_properties() -> None:
    """Up to Python 3.11 a cached property has a lock, one for all objects of its class."""
    package = __name__.partition(".")[0]
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == package]
    classes = [cls for module in modules for cls in list(vars(module).values()) if isinstance(cls, type)]
    for cls in classes:
        for attr in vars(cls).values():
            if isinstance(attr, functools.cached_property):
                cast(Any, attr).lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
