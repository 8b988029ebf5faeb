"""Complex matrices as real ones of twice the size, which multiply and invert as they do.

A + iB is [[A, -B], [B, A]], or the same with a block of two by two for each element: the Cholesky factor of
the second form is that of the complex matrix in the same form, for its diagonal blocks are multiples of one.
"""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.ir.ops.constants import iota
from symgrad.ir.ops.indexing import made
from symgrad.ir.ops.pairs import Pair
from symgrad.ir.ops.shapes import concat, reshape, slice_
from symgrad.ir.types import I64, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def by_halves(z: Pair) -> Any:
    """[[A, -B], [B, A]]"""
    a, b = z
    rank = type_of(a).rank
    rows = concat(a, -b, axis=rank - 1), concat(b, a, axis=rank - 1)
    return concat(*rows, axis=rank - 2)


def stacked(z: Pair) -> Any:
    """[[A], [B]], the first columns of the real matrix."""
    return concat(*z, axis=type_of(z[0]).rank - 2)


def unstacked(x: Any) -> Pair:
    """The parts of a complex matrix, which are the halves of the rows of x."""
    shape = type_of(x).shape
    half, start = x.shape[-2] // 2, (0,) * (len(shape) - 2)
    step = (1,) * len(shape)
    first = slice_(x, start=(*start, 0, 0), stop=(*shape[:-2], half, shape[-1]), step=step)
    second = slice_(x, start=(*start, half, 0), stop=(*shape[:-2], 2 * half, shape[-1]), step=step)
    return first, second


def by_elements(z: Pair) -> Any:
    """A block [[a, -b], [b, a]] for each element; on the diagonal b is 0, as a Hermitian matrix has it."""
    a, b = z
    type = type_of(a)
    *lead, n, _ = type.shape
    rows, columns = (
        made(iota, a, type.with_dtype(I64), axis=axis) for axis in (type.rank - 2, type.rank - 1)
    )
    b = np.where(rows == columns, np.zeros_like(b), b)
    single = type.with_shape((*lead, n, 1, n, 1))
    parts = {name: reshape(x, type=single) for name, x in (("a", a), ("b", b), ("minus", -b))}
    rank = single.rank
    upper, lower = (concat(parts[x], parts[y], axis=rank - 1) for x, y in (("a", "minus"), ("b", "a")))
    whole = concat(upper, lower, axis=rank - 3)
    return reshape(whole, type=type.with_shape((*lead, 2 * n, 2 * n)))


def from_elements(x: Any) -> Pair:
    """The parts of a complex matrix of which x has a block for each element."""
    type = type_of(x)
    count = type.rank - 2
    start, step = (0,) * count, (*(1,) * count, 2, 2)
    real = slice_(x, start=(*start, 0, 0), stop=type.shape, step=step)
    imag = slice_(x, start=(*start, 1, 0), stop=type.shape, step=step)
    return real, imag
