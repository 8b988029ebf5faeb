"""BLAS on one thread while chunks run: they are as many as there are threads.

Compiled code calls the BLAS of SciPy. The library that it is linked to is asked by the names that the common
ones have for this; one that has none is left alone.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

from symgrad.codegen.llvm_symbols import published

_NAMES = [
    *((f"{a}openblas_get_num_threads{b}", f"{a}openblas_set_num_threads{b}")
      for a, b in product(("scipy_", ""), ("", "64_", "_64"))),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """The number of threads of a library."""

    get: Callable[[], int]
    set: Callable[[int], object]


def setting_of(path: str) -> Setting | None:
    """The setting of the BLAS that a shared library is linked to, or is; None if it has none."""
    library = ctypes.CDLL(path)
    for get, set in _NAMES:
        if hasattr(library, get) and hasattr(library, set):
            return Setting(library[get], library[set])
    return None


class OneThread:
    """The setting held at 1 while anyone needs it."""

    def __init__(self, setting: Setting | None) -> None:
        self.setting = setting
        self._lock = threading.Lock()
        self._users = 0
        self._before = 1  # what it was when the first of them came

    @contextmanager
    def held(self) -> Generator[None]:
        """BLAS on one thread; when the last one leaves, on as many as before the first one came."""
        if self.setting is None:
            yield
            return
        with self._lock:
            if self._users == 0:
                self._before = self.setting.get()
                self.setting.set(1)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self.setting.set(self._before)

    def forget(self) -> None:
        """In a forked process none of the users is left."""
        self._lock = threading.Lock()
        if self._users and self.setting is not None:
            self.setting.set(self._before)
        self._users = 0


ONE_THREAD = OneThread(setting_of(str(published("cython_blas").__file__)))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ONE_THREAD.forget)
