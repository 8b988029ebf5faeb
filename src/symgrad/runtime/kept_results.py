"""Large results in the memory of earlier ones that nobody refers to any more.

Memory that the system gives anew costs a page fault for every 4 KiB when it is first written to: for an array
of 8 MB as much as reading and writing it several times. Small arrays come from memory that is at hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from weakref import getweakrefcount

import numpy as np

from symgrad.ir.types import ArrayType
from symgrad.runtime.executable import Array, shape_of

LEAST = 1 << 17  # bytes of an array that is worth it
MOST = 1 << 28  # bytes of one that may be held back
HELD = 2  # arrays of a result: a caller has the last one while the next is computed
ALONE = 3  # the most that `_references` says of what one variable alone refers to


def maker(type: ArrayType, held: list[Array] | None = None) -> Callable[[], Array] | None:
    """What gives an array for a result each time it is called; None where NumPy does that as fast.

    `held` is the list in which it holds arrays back.
    """
    shape, dtype = shape_of(type), np.dtype(type.dtype)
    if not LEAST <= dtype.itemsize * int(np.prod(shape)) <= MOST:
        return None
    # Those that were given out; what is done to the list is atomic, so threads need no lock.
    held = [] if held is None else held

    def take() -> Array:
        found = None
        for _ in range(len(held)):
            try:
                array = held.pop(0)
            except IndexError:
                break
            control = object()
            # Measured side by side: a debugger may refer to what lies in this frame.
            alone = _references(array) <= _references(control) <= ALONE
            alone = alone and getweakrefcount(array) == 0
            # A caller may have changed what it was given; such an array is dropped.
            same = array.shape == shape and array.dtype is dtype and array.base is None
            if not alone or (same and array.flags.carray):
                held.append(array)
                if alone:
                    found = array
                    break
        if found is None:
            found = np.empty(shape, dtype)
            held.append(found)
        _trim(held)
        return found

    return take


def _trim(held: list[Array]) -> None:
    """Hold back no more than is said; several threads may do so at once."""
    while len(held) > HELD:
        try:
            held.pop(0)
        except IndexError:
            return


def _references(value: object) -> int:
    """How many references there are to a value, with some of our own."""
    return sys.getrefcount(value)
