"""Sizes of axes, and places along them: numbers, or affine expressions of the indices of loops.

Every other file does its arithmetic and comparison of sizes through these functions, and calls `known` where
it needs the number. An expression without names is always a plain int, so equal sizes are equal objects.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from symgrad.errors import ParseError, ShapeError, UnsupportedError
from symgrad.ir.affine import Affine, Interval, named

Dim: TypeAlias = "int | Affine"
Shape: TypeAlias = tuple[Dim, ...]

# The values that each index name takes, lower, ..., upper - 1, in terms of the names before it.
Ranges: TypeAlias = "Mapping[str, tuple[Dim, Dim]]"

SAMPLES = 6  # values of an index that stand for all

ZERO: Dim = 0
ONE: Dim = 1


# ---- making and reading -----------------------------------------------------------------------------------
def make(size: Dim) -> Dim:
    """The Dim of a known size, or of an expression; negative numbers are refused."""
    if isinstance(size, Affine):
        return plain(size)
    if size < 0:
        raise ShapeError(f"negative size {size}")
    return int(size)


def index(name: str) -> Dim:
    """The index of a loop as an expression."""
    return named(name)


def plain(value: Affine) -> Dim:
    """The expression, as an int if it has no names."""
    if not value.terms:
        return value.const
    # A size that the user's code met computes otherwise.
    return value if type(value) is Affine else Affine(value.const, value.terms)


def known(dim: Dim) -> int:
    """The number behind a Dim; raises where it is not known before the program runs."""
    if isinstance(dim, int):
        return dim
    raise UnsupportedError(
        f"the size {format_dim(dim)} is needed as a number",
        why="it changes from one iteration of a loop to the next",
    )


def is_known(dim: Dim) -> bool:
    """Whether a Dim is a number."""
    return isinstance(dim, int)


def affine(dim: Dim) -> Affine:
    """A Dim as an expression."""
    return Affine(dim) if isinstance(dim, int) else dim


def names(*found: Dim) -> Iterable[str]:
    """The index names in some sizes, each once."""
    return dict.fromkeys(name for dim in found if isinstance(dim, Affine) for name in dim.names())


# ---- comparing --------------------------------------------------------------------------------------------
def equal(a: Dim, b: Dim) -> bool:
    """Whether two sizes are the same for every run."""
    return a == b


def same(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes are the same for every run."""
    return len(a) == len(b) and all(equal(m, n) for m, n in zip(a, b, strict=True))


def same_count(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether arrays of two shapes have the same number of elements for every run."""
    if 0 in a or 0 in b:
        return 0 in a and 0 in b
    left, right = Counter(a), Counter(b)
    rest = [n for n in (left - right).elements() if n != 1], [n for n in (right - left).elements() if n != 1]
    if any(sum(isinstance(n, Affine) for n in side) > 1 for side in rest):
        return False  # a product of two expressions
    return equal(product(rest[0]), product(rest[1]))


def is_zero(dim: Dim) -> bool:
    """Whether the axis is certainly empty."""
    return dim == 0


def is_one(dim: Dim) -> bool:
    """Whether the axis certainly has one entry."""
    return dim == 1


# ---- arithmetic -------------------------------------------------------------------------------------------
def add(a: Dim, b: Dim) -> Dim:
    """The size a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return plain(affine(a) + affine(b))


def sub(a: Dim, b: Dim) -> Dim:
    """The size a - b; negative numbers are refused."""
    return make(shift(a, b))


def shift(a: Dim, b: Dim) -> Dim:
    """The difference a - b, which may be negative."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return plain(affine(a) + affine(b) * -1)


def mul(a: Dim, b: Dim) -> Dim:
    """The size a · b; a product of two expressions is refused."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if isinstance(a, int):
        return plain(affine(b) * a)
    if isinstance(b, int):
        return plain(a * b)
    raise UnsupportedError(
        f"the size ({format_dim(a)}) · ({format_dim(b)}) is a product of two sizes that change in a loop"
    )


def total(dims: Iterable[Dim]) -> Dim:
    """The sum of sizes."""
    found = ZERO
    for dim in dims:
        found = add(found, dim)
    return found


def product(dims: Iterable[Dim]) -> Dim:
    """The number of elements of a shape."""
    found = ONE
    for dim in dims:
        found = mul(found, dim)
    return found


def strided(start: Dim, stop: Dim, step: int) -> Dim:
    """How many of start, start + step, ... lie before stop (step > 0)."""
    span = shift(stop, start)
    if isinstance(span, int):
        return max(0, -(-span // step))
    if step == 1:
        return span
    if not span.has_one_remainder(step):
        raise UnsupportedError(f"the size ({format_dim(span)}) / {step} is no multiple of an index")
    return plain(Affine(-(-span.const // step), span.divided(step).terms))


def after_last(start: Dim, count: Dim, step: int) -> Dim:
    """The place after the last of `count` entries start, start + step, ...; start if there is none."""
    if isinstance(count, int):
        return add(start, max(0, (count - 1) * step + 1))
    return add(start, count if step == 1 else shift(mul(count, step), step - 1))


# ---- over all iterations ----------------------------------------------------------------------------------
def extent(dim: Dim, ranges: Ranges) -> Interval:
    """The least and the largest value while each index stays in its range."""
    if isinstance(dim, int):
        return Interval(dim, dim)
    ends: list[int] = []
    for sign in (1, -1):
        value = affine(dim) * sign
        for name in reversed(list(ranges)):
            factor = dict(value.terms).get(name, 0)
            if factor:
                lower, upper = ranges[name]
                end = affine(lower) if factor > 0 else affine(upper) + -1
                value = value + (named(name) * -1 + end) * factor
        if value.terms:
            raise UnsupportedError(f"the index {next(value.names())} has no known range")
        ends.append(value.const * sign)
    return Interval(ends[0], ends[1])


def largest(dim: Dim, ranges: Ranges) -> int:
    """The largest value while each index stays in its range; at least 0."""
    return dim if isinstance(dim, int) else max(0, extent(dim, ranges).high)


def usual(dim: Dim, ranges: Ranges) -> int:
    """The mean over all iterations of the loops around, from some that lie evenly among them."""
    if isinstance(dim, int):
        return dim
    total, count = _summed(dim, _needed(dim, ranges), {}, ranges)
    return math.ceil(total / count) if count else 0


def _summed(dim: Dim, free: Sequence[str], at: Mapping[str, Dim], ranges: Ranges) -> tuple[float, float]:
    """The sum of the values, and their number, over the ranges of the free names."""
    if not free:
        return float(max(0, known(substituted(dim, at)))), 1.0
    lower, upper = (known(substituted(end, at)) for end in ranges[free[0]])
    points = min(upper - lower, SAMPLES)
    total = count = 0.0
    for k in range(points):
        value = lower + (2 * k + 1) * (upper - lower) // (2 * points)
        one = _summed(dim, free[1:], {**at, free[0]: value}, ranges)
        total, count = total + one[0], count + one[1]
    share = (upper - lower) / points if points > 0 else 0.0
    return total * share, count * share


def _needed(dim: Dim, ranges: Ranges) -> list[str]:
    """The names that a size depends on, itself or by the ranges of others, in their order."""
    found = set(names(dim))
    for name in reversed(list(ranges)):
        if name in found:
            found.update(names(*ranges[name]))
    return [name for name in ranges if name in found]


def never_above(a: Dim, b: Dim, ranges: Ranges) -> bool:
    """Whether a ≤ b in every iteration, as far as the ranges tell."""
    return extent(shift(b, a), ranges).low >= 0


def substituted(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """The size with indices replaced."""
    if isinstance(dim, int) or not values:
        return dim
    return plain(dim.substituted({name: affine(value) for name, value in values.items()}))


# ---- text -------------------------------------------------------------------------------------------------
def format_dim(dim: Dim) -> str:
    """The text of a size."""
    return str(dim)


_TERM = re.compile(r"\s*([+-]?)\s*(?:([^\W\d]\w*)(?:\s*\*\s*(\d+))?|(\d+))")


def parse_dim(text: str) -> Dim:
    """The size that `format_dim` printed."""
    found, position = Affine(), 0
    while position < len(text.rstrip()) or not position:
        match = _TERM.match(text, position)
        if match is None or (position and not match[1]):
            raise ParseError(f"not a size: {text!r}")
        sign = -1 if match[1] == "-" else 1
        term = Affine(int(match[4])) if match[2] is None else named(match[2]) * int(match[3] or 1)
        found, position = found + term * sign, match.end()
    return plain(found)
