"""Reads, writes and additions at integer positions: gather, scatter and scatter_add."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.opdef import Example, Gather, Linear, OpDef, Scatter, Staged
from symgrad.ir.ops.constants import constant, iota
from symgrad.ir.ops.elementwise import eq, select
from symgrad.ir.ops.shapes import broadcast, reshape
from symgrad.ir.types import F64, I64, ArrayType, array_type, type_of

Ints = tuple[int, ...]


def _first(rank: int, axes: Ints) -> Ints:
    """The order of axes with the indexed ones in front."""
    return (*axes, *(axis for axis in range(rank) if axis not in axes))


def _gathered(x: ArrayType, indices: tuple[ArrayType, ...], axes: Ints, name: str) -> ArrayType:
    """The type of x read at the indices; raises where they do not fit."""
    if len(indices) != len(axes) or not axes:
        raise ShapeError(f"{name}: {len(indices)} indices for axes {axes}")
    if any(not 0 <= axis < x.rank for axis in axes) or tuple(sorted(set(axes))) != axes:
        raise ShapeError(f"{name}: axes {axes} do not fit {x}")
    for t in indices:
        if t.dtype != I64:
            raise DTypeError(f"{name}: an index is {t}, not i64")
        if not dims.same(t.shape, indices[0].shape):
            raise ShapeError(f"{name}: index shapes differ: {', '.join(map(str, indices))}")
    rest = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    return x.with_shape((*indices[0].shape, *rest))


def _gather(x: Any, *indices: Any, axes: Ints) -> Any:
    x = np.transpose(x, _first(np.ndim(x), axes))
    return x[tuple(map(np.asarray, indices))]


def _infer_gather(x: ArrayType, *indices: ArrayType, axes: Ints) -> ArrayType:
    return _gathered(x, indices, axes, "gather")


def _scatter_add(x: Any, u: Any, *indices: Any, axes: Ints) -> Any:
    found = np.array(x)
    view = np.transpose(found, _first(found.ndim, axes))
    np.add.at(view, tuple(map(np.asarray, indices)), u)
    return found


def _scatter(x: Any, u: Any, *indices: Any, axes: Ints) -> Any:
    found = np.array(x)
    view = np.transpose(found, _first(found.ndim, axes))
    view[tuple(map(np.asarray, indices))] = u
    return found


def _infer_scatter(x: ArrayType, u: ArrayType, *indices: ArrayType, axes: Ints) -> ArrayType:
    if _gathered(x, indices, axes, "scatter") != u:
        raise ShapeError(f"scatter: updates {u} do not fit {x} at {', '.join(map(str, indices))}")
    return x


def _gather_transpose(ct: Any, i: int, x: Any, *indices: Any, axes: Ints) -> Any:
    return scatter_add(np.zeros_like(x), ct, *indices, axes=axes)


def _scatter_transpose(ct: Any, i: int, x: Any, u: Any, *indices: Any, axes: Ints) -> Any:
    if i == 0:
        return scatter(ct, np.zeros_like(u), *indices, axes=axes)
    found, lead = gather(ct, *indices, axes=axes), type_of(indices[0])
    if lead.rank == 0:
        return found
    # Where a place is written again, what was written before has no part in the result.
    sizes = tuple(type_of(x).shape[axis] for axis in axes)
    order = made(iota, indices[0], lead.with_shape((lead.size,)), axis=0)
    order = reshape(order, type=lead)
    blank = made(constant, indices[0], lead.with_shape(sizes), value=0)
    own = tuple(range(len(axes)))
    last = eq(gather(scatter(blank, order, *indices, axes=own), *indices, axes=own), order)
    kind = type_of(found)
    rest = tuple(range(lead.rank, kind.rank))
    last = broadcast(last, axes=rest, type=type_of(last).with_shape(kind.shape)) if rest else last
    return select(last, found, np.zeros_like(found))


def made(op: OpDef, like: Any, type: ArrayType, **attrs: Any) -> Any:
    """The result of an op without operands: recorded where a tracer stands beside it."""
    return like.stage(op, (), attrs, type) if isinstance(like, Staged) else op(type=type, **attrs)


def _scatter_add_transpose(ct: Any, i: int, x: Any, u: Any, *indices: Any, axes: Ints) -> Any:
    return ct if i == 0 else gather(ct, *indices, axes=axes)


_X, _INDEX = array_type(F64, 5, 4), array_type(I64, 6)
gather = OpDef(
    "gather", _gather, _infer_gather, Linear(_gather_transpose), Gather(),
    "result[b, r] = x at index_k[b] along axes[k] and r along the others; negative ones count from the end",
    examples=(
        Example((_X, _INDEX), (("axes", (0,)),), bound=5), Example((_X, _INDEX), (("axes", (1,)),), bound=4),
        Example((_X, _INDEX, _INDEX), (("axes", (0, 1)),), bound=4),
        Example((_X, array_type(I64)), (("axes", (0,)),), bound=5),
    ),
)  # fmt: skip
scatter = OpDef(
    "scatter", _scatter, _infer_scatter, Linear(_scatter_transpose), Scatter(add=False),
    "x with u[b, r] put at index_k[b] along axes[k] and at r along the others; the last of repeats counts",
    examples=(
        Example((_X, array_type(F64, 6, 4), _INDEX), (("axes", (0,)),), bound=5),
        Example((_X, array_type(F64, 6, 5), _INDEX), (("axes", (1,)),), bound=4),
        Example((_X, array_type(F64, 6), _INDEX, _INDEX), (("axes", (0, 1)),), bound=4),
        Example((_X, array_type(F64, 4), array_type(I64)), (("axes", (0,)),), bound=5),
    ),
)  # fmt: skip
scatter_add = OpDef(
    "scatter_add", _scatter_add, _infer_scatter, Linear(_scatter_add_transpose), Scatter(add=True),
    "x with u[b, r] added at index_k[b] along axes[k] and at r along the others; repeats accumulate",
    examples=(
        Example((_X, array_type(F64, 6, 4), _INDEX), (("axes", (0,)),), bound=5),
        Example((_X, array_type(F64, 6, 5), _INDEX), (("axes", (1,)),), bound=4),
        Example((_X, array_type(F64, 6), _INDEX, _INDEX), (("axes", (0, 1)),), bound=4),
    ),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (gather, scatter, scatter_add)
