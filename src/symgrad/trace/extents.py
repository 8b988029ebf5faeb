"""Whole numbers that follow the indices of loops stay exact: one that may need more than 64 bits is refused.

Python's integers have no end, and those of a program have 64 bits. What is computed from indices and numbers
lies between known ends, so it is known whether it fits. If not, the loop is unrolled, and Python computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symgrad.errors import UnsupportedError
from symgrad.ir import dims
from symgrad.ir.affine import Interval
from symgrad.trace.places import caller
from symgrad.trace.raised import raised
from symgrad.trace.tracer import Tracer

_LEAST, _MOST = -(2**63), 2**63 - 1


def note_extent(ufunc: np.ufunc, xs: tuple[Any, ...], made: Tracer) -> None:
    """Note between which ends a Python integer lies; raise if it may not fit."""
    rule = _RULES.get(ufunc)
    ends = [extent_of(x) for x in xs]
    known = [end for end in ends if end is not None]
    found = rule(*known) if rule is not None and len(known) == len(ends) else None
    if found is None:
        return
    if found.low < _LEAST or found.high > _MOST:
        raise raised(UnsupportedError(
            f"a Python integer may reach {found.high if found.high > _MOST else found.low}, beyond 64 bits",
            loc=caller(), why="it follows the index of a loop, and a program's integers have 64 bits",
            cure="compute it as a float: float(i) * i",
        ))  # fmt: skip
    made.recorder.extents[made.value] = found


def extent_of(x: Any) -> Interval | None:
    """The least and the largest that an integer can be, if that is known."""
    if isinstance(x, int):
        return Interval(int(x), int(x))
    if not isinstance(x, Tracer) or x.weak is not int:
        return None
    known = x.recorder.extents.get(x.value)
    place = x.recorder.places.get(x.value)
    if known is not None or place is None or not set(dims.names(place)) <= x.recorder.ranges.keys():
        return known
    return dims.extent(place, x.recorder.ranges)


def _corners(fn: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval]:
    """The ends of a function that is monotone in each operand."""

    def rule(a: Interval, b: Interval) -> Interval:
        values = [fn(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(min(values), max(values))

    return rule


def _power(a: Interval, b: Interval) -> Interval | None:
    if b.low != b.high or not 0 <= b.low <= 64:
        return None
    values = [a.low**b.low, a.high**b.low, *([0] if a.low <= 0 <= a.high and b.low > 0 else [])]
    return Interval(min(values), max(values))


def _remainder(a: Interval, b: Interval) -> Interval | None:
    return Interval(0, b.low - 1) if b.low == b.high > 0 else None


def _quotient(a: Interval, b: Interval) -> Interval | None:
    return Interval(a.low // b.low, a.high // b.low) if b.low == b.high > 0 else None


def _negated(a: Interval) -> Interval:
    return Interval(-a.high, -a.low)


_RULES: dict[np.ufunc, Callable[..., Interval | None]] = {
    np.add: _corners(lambda x, y: x + y),
    np.subtract: _corners(lambda x, y: x - y),
    np.multiply: _corners(lambda x, y: x * y),
    np.power: _power,
    np.remainder: _remainder,
    np.floor_divide: _quotient,
    np.negative: _negated,
    np.minimum: _corners(min),
    np.maximum: _corners(max),
}
