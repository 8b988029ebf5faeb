"""Arenas: memory that a call borrows for its temporaries, kept from call to call and never shared by two."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from symgrad.ir.types import ALIGNMENT

Arena: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"


class ArenaPool:
    """Arenas of one size. What is done to the list is atomic, so threads need no lock."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.free: list[Arena] = []  # arenas that no call holds

    def take(self) -> Arena:
        """An arena that no other call holds; a new one if all are in use."""
        try:
            return self.free.pop()
        except IndexError:
            return aligned(self.nbytes)

    def drop(self) -> None:
        """Let go of the arenas that no call holds."""
        self.free.clear()

    @contextmanager
    def lent(self) -> Generator[Arena]:
        """An arena for the time of a call; one whose call failed is dropped."""
        arena = self.take()
        yield arena
        self.free.append(arena)


def aligned(nbytes: int) -> Arena:
    """Uninitialised memory that begins at a multiple of ALIGNMENT."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes]
