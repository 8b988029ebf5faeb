"""Large results in the memory of earlier ones that nobody refers to any more.

Memory that the system gives anew costs a page fault for every 4 KiB when it is first written to: for an array
of 8 MB as much as reading and writing it several times. Small arrays come from memory that is at hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from symgrad.ir.types import ArrayType
from symgrad.runtime.executable import Array, shape_of

LEAST = 1 << 17  # bytes of an array that is worth it
MOST = 1 << 28  # bytes of one that may be held back
HELD = 2  # arrays of a result: a caller has the last one while the next is computed


def maker(type: ArrayType) -> Callable[[], Array] | None:
    """What gives an array for a result each time it is called; None where NumPy does that as fast."""
    shape, dtype = shape_of(type), np.dtype(type.dtype)
    if not LEAST <= dtype.itemsize * int(np.prod(shape)) <= MOST:
        return None
    held: list[Array] = []  # that were given out; `pop` and `append` are atomic, so threads need no lock

    def take() -> Array:
        for _ in range(len(held)):
            try:
                array = held.pop(0)
            except IndexError:
                break
            if _references(array) > _ALONE:
                held.append(array)
            # A caller may have changed what it was given.
            elif array.shape == shape and array.dtype is dtype and array.flags.carray:
                held.append(array)
                return array
        array = np.empty(shape, dtype)
        held.append(array)
        if len(held) > HELD:
            held.pop(0)
        return array

    return take


def _references(array: Array) -> int:
    """How many references there are to an array, with some of our own."""
    return sys.getrefcount(array)


def _alone() -> int:
    """What `_references` says in `take` of an array that nobody else refers to."""
    held: list[Any] = [np.empty(0)]
    array = held.pop(0)
    return _references(array)


_ALONE = _alone()
