"""Complex arrays, and the real arrays in their memory, whose last axis has the two parts, in a trace."""

from __future__ import annotations

from typing import Any

from symgrad.ir.ops.complexes import complex_, imag, real
from symgrad.ir.ops.shapes import concat, reshape, slice_
from symgrad.trace.tracer import Tracer


def taken_apart(z: Tracer) -> Tracer:
    """z with its parts along a new last axis."""
    single = z.type.part.with_shape((*z.type.shape, 1))
    parts: list[Any] = [reshape(part(z), type=single) for part in (real, imag)]
    return concat(*parts, axis=z.type.rank)


def put_together(x: Tracer) -> Tracer:
    """The complex numbers whose parts are along the last axis of x."""
    *sizes, _ = x.type.shape
    part, ones = x.type.with_shape(tuple(sizes)), (1,) * x.type.rank
    start = (0,) * len(sizes)
    ends = [slice_(x, start=(*start, k), stop=(*sizes, k + 1), step=ones) for k in range(2)]
    return complex_(*(reshape(end, type=part) for end in ends))
