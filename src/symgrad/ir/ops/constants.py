"""Ops without operands: constants, index ramps, and sizes as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.errors import ShapeError
from symgrad.ir import dims
from symgrad.ir.core import Attr
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Constant, Coordinate, Example, Extent, Measure, OpDef, Zero
from symgrad.ir.types import BOOL, F32, F64, I64, ArrayType, array_type

# An array of at most so many elements is written into the program; a larger one becomes a hidden input.
DENSE_LIMIT = 64


# A constant with a name for `room` is an array that nobody reads an element of before it is written: machine
# code stores nothing. What has another name is another array, though it has the same numbers.
def _constant(value: Attr, type: ArrayType, room: str = "") -> Any:
    shape = tuple(map(dims.known, type.shape))
    if isinstance(value, tuple):
        return np.array(value, type.dtype).reshape(shape)
    return np.full(shape, value, type.dtype)


def _infer_constant(value: Attr, type: ArrayType, room: str = "") -> ArrayType:
    if isinstance(value, tuple) and not dims.equal(type.size, dims.make(len(value))):
        raise ShapeError(f"constant: {len(value)} elements are not {type}")
    if type.is_complex:
        raise ShapeError(f"constant: {type} is made of its parts")
    return type


constant = OpDef(
    "constant", _constant, _infer_constant, Zero(), Constant(),
    "one number in every element, or all elements in row-major order",
    examples=(
        Example((), (("value", 1.5),), array_type(F64, 2, 3)),
        Example((), (("value", float("nan")),), array_type(F32)),
        Example((), (("value", (1, -2, 3)),), array_type(I64, 3)),
        Example((), (("value", True),), array_type(BOOL, 2)),
    ),
    stated=True,
)  # fmt: skip


def _iota(axis: int, type: ArrayType) -> Any:
    shape = tuple(map(dims.known, type.shape))
    ramp = np.arange(shape[axis], dtype=type.dtype)
    return np.broadcast_to(np.expand_dims(ramp, [i for i in range(len(shape)) if i != axis]), shape).copy()


def _infer_iota(axis: int, type: ArrayType) -> ArrayType:
    if not 0 <= axis < type.rank:
        raise ShapeError(f"iota: axis {axis} does not fit {type}")
    return type


iota = OpDef(
    "iota", _iota, _infer_iota, Zero(), Coordinate(), "each element is its index along an axis",
    examples=(
        Example((), (("axis", 1),), array_type(F64, 2, 3)), Example((), (("axis", 0),), array_type(I64, 4)),
    ),
    stated=True,
)  # fmt: skip


def _dim(value: int) -> Any:
    return np.int64(value)


def _infer_dim(value: Dim) -> ArrayType:
    return array_type(I64)


dim = OpDef(
    "dim", _dim, _infer_dim, Zero(), Extent(), "the number that a size or the index of a loop is",
    examples=(Example((), (("value", 3),)),),
)  # fmt: skip


def _measure(count: Any, limit: int, name: str) -> Any:
    return np.clip(np.asarray(count), 0, limit)


def _infer_measure(count: ArrayType, limit: Dim, name: str) -> ArrayType:
    if count != array_type(I64):
        raise ShapeError(f"measure: a count is {count}, not i64[]")
    return count


measure = OpDef(
    "measure", _measure, _infer_measure, Zero(), Measure(),
    "a count, cut to 0, ..., limit, that the sizes of later values may be expressions of, by its name",
    examples=(Example((array_type(I64),), (("limit", 5), ("name", "n")), bound=5),),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (constant, iota, dim, measure)
