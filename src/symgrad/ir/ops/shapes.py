"""Ops that move elements without changing them: broadcast, reshape, transpose, slice, pad, concat and kin."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.core import Attr
from symgrad.ir.dims import Dim, Shape
from symgrad.ir.opdef import Component, Example, Linear, OpDef, Piece, Range, Remap, Update, View
from symgrad.ir.types import F64, I64, ArrayType, array_type, type_of

Ints = tuple[int, ...]
Dims = tuple[Dim, ...]
Attributes = dict[str, Attr]


def _ints(attrs: Attributes, name: str) -> Ints:
    return cast(Ints, attrs[name])


def _dims(attrs: Attributes, name: str) -> Dims:
    return cast(Dims, attrs[name])


def _check_axes(name: str, axes: Ints, rank: int) -> None:
    if any(not 0 <= axis < rank for axis in axes) or len(set(axes)) != len(axes):
        raise ShapeError(f"{name}: axes {axes} do not fit rank {rank}")


# ---- broadcast -------------------------------------------------------------------------------------------
def _broadcast(x: Any, axes: Ints, type: ArrayType) -> Any:
    return np.broadcast_to(np.expand_dims(x, axes), tuple(map(dims.known, type.shape)))


def _infer_broadcast(x: ArrayType, axes: Ints, type: ArrayType) -> ArrayType:
    _check_axes("broadcast", axes, type.rank)
    kept = tuple(n for i, n in enumerate(type.shape) if i not in axes)
    if not dims.same(kept, x.shape) or type.dtype != x.dtype:
        raise ShapeError(f"broadcast: {x} with new axes {axes} is not {type}")
    return type


def _broadcast_pieces(
    operands: tuple[ArrayType, ...], result: ArrayType, attrs: Attributes
) -> tuple[Piece, ...]:
    axes = _ints(attrs, "axes")
    return (Piece(0, tuple(Component(axis) for axis in range(result.rank) if axis not in axes)),)


def _sum_over(ct: Any, axes: Ints) -> Any:
    return np.sum(ct, axis=axes) if axes else ct


broadcast = OpDef(
    "broadcast", _broadcast, _infer_broadcast, Linear(lambda ct, i, x, axes, type: _sum_over(ct, axes)),
    Remap(_broadcast_pieces), "x repeated along new axes: y[i] = x[i without axes]",
    examples=(
        Example((array_type(F64, 3),), (("axes", (0,)),), array_type(F64, 2, 3)),
        Example((array_type(F64),), (("axes", (0, 1)),), array_type(F64, 2, 3)),
    ),
    stated=True,
)  # fmt: skip


# ---- reshape ---------------------------------------------------------------------------------------------
def _reshape(x: Any, type: ArrayType) -> Any:
    return np.reshape(x, tuple(map(dims.known, type.shape)))


def _infer_reshape(x: ArrayType, type: ArrayType) -> ArrayType:
    if not dims.same_count(x.shape, type.shape) or x.dtype != type.dtype:
        raise ShapeError(f"reshape: {x} does not have the elements of {type}")
    return type


reshape = OpDef(
    "reshape", _reshape, _infer_reshape,
    Linear(lambda ct, i, x, type: reshape(ct, type=type_of(ct).with_shape(type_of(x).shape))), View(),
    "the elements in row-major order under another shape",
    examples=(Example((array_type(F64, 2, 6),), (), array_type(F64, 3, 4)),), stated=True,
)  # fmt: skip


# ---- transpose, flip -------------------------------------------------------------------------------------
def _infer_transpose(x: ArrayType, perm: Ints) -> ArrayType:
    if sorted(perm) != list(range(x.rank)):
        raise ShapeError(f"transpose: {perm} is not an order of {x.rank} axes")
    return x.with_shape(tuple(x.shape[p] for p in perm))


def _inverse(perm: Ints) -> Ints:
    return tuple(perm.index(axis) for axis in range(len(perm)))


def _transpose_pieces(
    operands: tuple[ArrayType, ...], result: ArrayType, attrs: Attributes
) -> tuple[Piece, ...]:
    return (Piece(0, tuple(Component(axis) for axis in _inverse(_ints(attrs, "perm")))),)


transpose = OpDef(
    "transpose", lambda x, perm: np.transpose(x, perm), _infer_transpose,
    Linear(lambda ct, i, x, perm: transpose(ct, perm=_inverse(perm))), Remap(_transpose_pieces),
    "axis k of the result is axis perm[k] of x",
    examples=(Example((array_type(F64, 2, 3, 4),), (("perm", (2, 0, 1)),)),),
)  # fmt: skip


def _infer_flip(x: ArrayType, axes: Ints) -> ArrayType:
    _check_axes("flip", axes, x.rank)
    return x


def _flip_pieces(operands: tuple[ArrayType, ...], result: ArrayType, attrs: Attributes) -> tuple[Piece, ...]:
    axes = _ints(attrs, "axes")
    return (
        Piece(
            0,
            tuple(
                Component(axis, -1, dims.shift(n, 1)) if axis in axes else Component(axis)
                for axis, n in enumerate(result.shape)
            ),
        ),
    )


flip = OpDef(
    "flip", lambda x, axes: np.flip(x, axes), _infer_flip, Linear(lambda ct, i, x, axes: flip(ct, axes=axes)),
    Remap(_flip_pieces), "x reversed along axes",
    examples=(Example((array_type(F64, 2, 3),), (("axes", (1,)),)),),
)  # fmt: skip


# ---- slice, pad ------------------------------------------------------------------------------------------
def _slices(start: Ints, stop: Ints, step: Ints) -> tuple[slice, ...]:
    return tuple(slice(a, b, s) for a, b, s in zip(start, stop, step, strict=True))


def _certainly_outside(start: Dim, stop: Dim, size: Dim) -> bool:
    """Whether places do not lie within an axis; where an index decides, the verifier knows its range."""
    ends = (start, dims.shift(stop, start), dims.shift(size, stop))
    return any(isinstance(end, int) and end < 0 for end in ends)


def _infer_slice(x: ArrayType, start: Dims, stop: Dims, step: Ints) -> ArrayType:
    if not len(start) == len(stop) == len(step) == x.rank:
        raise ShapeError(f"slice: bounds {start}, {stop}, {step} do not fit {x}")
    for a, b, s, n in zip(start, stop, step, x.shape, strict=True):
        if s < 1 or _certainly_outside(a, b, n):
            bounds = f"{dims.format_dim(a)}:{dims.format_dim(b)}:{s}"
            raise ShapeError(f"slice: {bounds} does not fit an axis of {dims.format_dim(n)}")
    sizes = (dims.strided(a, b, s) for a, b, s in zip(start, stop, step, strict=True))
    return x.with_shape(tuple(sizes))


def _slice_transpose(ct: Any, i: int, x: Any, start: Dims, stop: Dims, step: Ints) -> Any:
    # The axis ends with `after` entries beyond the last one read.
    after = [
        dims.shift(n, dims.after_last(a, k, s))
        for n, k, a, s in zip(type_of(x).shape, type_of(ct).shape, start, step, strict=True)
    ]
    return pad(ct, low=start, high=tuple(after), interior=tuple(s - 1 for s in step))


def _slice_pieces(operands: tuple[ArrayType, ...], result: ArrayType, attrs: Attributes) -> tuple[Piece, ...]:
    steps = zip(_ints(attrs, "step"), _dims(attrs, "start"), strict=True)
    return (Piece(0, tuple(Component(axis, s, a) for axis, (s, a) in enumerate(steps))),)


def _resized_slice(attrs: Attributes, axis: int, size: Dim) -> Attributes:
    stop = _dims(attrs, "stop")
    return {**attrs, "stop": (*stop[:axis], size, *stop[axis + 1 :])}


slice_ = OpDef(
    "slice", lambda x, start, stop, step: np.asarray(x)[_slices(start, stop, step)], _infer_slice,
    Linear(_slice_transpose), Remap(_slice_pieces, _resized_slice),
    "x[start:stop:step], one bound an axis, step ≥ 1",
    examples=(
        Example((array_type(F64, 5, 4),), (("start", (1, 0)), ("step", (2, 1)), ("stop", (5, 3)))),
        Example((array_type(F64, 6),), (("start", (1,)), ("step", (2,)), ("stop", (5,)))),
        Example((array_type(F64, 3),), (("start", (2,)), ("step", (1,)), ("stop", (2,)))),
    ),
)  # fmt: skip


def _pad_shape(shape: Shape, low: Dims, high: Dims, interior: Ints) -> Shape:
    return tuple(
        dims.add(dims.after_last(a, n, k + 1), b)
        for n, a, b, k in zip(shape, low, high, interior, strict=True)
    )


def _stops(start: Dims, shape: Shape, step: Ints) -> Dims:
    """Where elements of a shape end when laid out from start with a step."""
    return tuple(dims.after_last(a, n, s) for a, n, s in zip(start, shape, step, strict=True))


def _spread(start: Ints, shape: Shape, step: Ints) -> tuple[slice, ...]:
    """Where elements of a shape land when laid out from start with a step."""
    return _slices(start, tuple(map(dims.known, _stops(start, shape, step))), step)


def _pad(x: Any, low: Ints, high: Ints, interior: Ints) -> Any:
    x = np.asarray(x)
    found = np.zeros(tuple(map(dims.known, _pad_shape(x.shape, low, high, interior))), x.dtype)
    found[_spread(low, x.shape, tuple(k + 1 for k in interior))] = x
    return found


def _infer_pad(x: ArrayType, low: Dims, high: Dims, interior: Ints) -> ArrayType:
    widths = [width for width in (*low, *high, *interior) if isinstance(width, int)]
    if not len(low) == len(high) == len(interior) == x.rank or min((*widths, 0)) < 0:
        raise ShapeError(f"pad: widths {low}, {high}, {interior} do not fit {x}")
    return x.with_shape(_pad_shape(x.shape, low, high, interior))


def _pad_transpose(ct: Any, i: int, x: Any, low: Dims, high: Dims, interior: Ints) -> Any:
    step = tuple(k + 1 for k in interior)
    return slice_(ct, start=low, stop=_stops(low, type_of(x).shape, step), step=step)


def _box(start: Dims, shape: Shape, step: Ints) -> tuple[Range, ...]:
    places = zip(start, _stops(start, shape, step), step, strict=True)
    return tuple(Range(axis, a, b, s) for axis, (a, b, s) in enumerate(places))


def _from_box(start: Dims, step: Ints) -> tuple[Component, ...]:
    places = enumerate(zip(start, step, strict=True))
    return tuple(Component(axis, 1, dims.mul(-1, a), s) for axis, (a, s) in places)


def _pad_pieces(operands: tuple[ArrayType, ...], result: ArrayType, attrs: Attributes) -> tuple[Piece, ...]:
    low, step = _dims(attrs, "low"), tuple(k + 1 for k in _ints(attrs, "interior"))
    return (Piece(0, _from_box(low, step), _box(low, operands[0].shape, step)),)


pad = OpDef(
    "pad", _pad, _infer_pad, Linear(_pad_transpose), Remap(_pad_pieces),
    "x with zeros before (low), after (high) and between (interior) its elements",
    examples=(
        Example((array_type(F64, 2, 3),), (("high", (0, 2)), ("interior", (1, 0)), ("low", (1, 0)))),
        Example((array_type(F64, 0),), (("high", (2,)), ("interior", (1,)), ("low", (1,)))),
    ),
)  # fmt: skip


# ---- update_slice, concat --------------------------------------------------------------------------------
def _update_slice(x: Any, u: Any, start: Ints, step: Ints) -> Any:
    found = np.array(x)
    found[_spread(start, np.shape(u), step)] = u
    return found


def _infer_update_slice(x: ArrayType, u: ArrayType, start: Dims, step: Ints) -> ArrayType:
    if x.dtype != u.dtype:
        raise DTypeError(f"update_slice: {u} cannot be written into {x}")
    if not len(start) == len(step) == x.rank == u.rank or min((*step, 1)) < 1:
        raise ShapeError(f"update_slice: {u} at {start} with step {step} does not fit {x}")
    for a, b, n in zip(start, _stops(start, u.shape, step), x.shape, strict=True):
        if _certainly_outside(a, b, n):
            raise ShapeError(f"update_slice: {u} at {start} with step {step} reaches beyond {x}")
    return x


def _update_slice_transpose(ct: Any, i: int, x: Any, u: Any, start: Dims, step: Ints) -> Any:
    if i == 0:
        return update_slice(ct, np.zeros_like(u), start=start, step=step)
    return slice_(ct, start=start, stop=_stops(start, type_of(u).shape, step), step=step)


update_slice = OpDef(
    "update_slice", _update_slice, _infer_update_slice, Linear(_update_slice_transpose), Update(add=False),
    "x with x[start::step] replaced by u",
    examples=(
        Example((array_type(F64, 5, 4), array_type(F64, 2, 3)), (("start", (1, 0)), ("step", (2, 1)))),
    ),
)  # fmt: skip


def _add_slice(x: Any, u: Any, start: Ints, step: Ints) -> Any:
    found = np.array(x)
    found[_spread(start, np.shape(u), step)] += u
    return found


def _add_slice_transpose(ct: Any, i: int, x: Any, u: Any, start: Dims, step: Ints) -> Any:
    return ct if i == 0 else _update_slice_transpose(ct, i, x, u, start, step)


add_slice = OpDef(
    "add_slice", _add_slice, _infer_update_slice, Linear(_add_slice_transpose), Update(add=True),
    "x with u added to x[start::step]",
    examples=(
        Example((array_type(F64, 5, 4), array_type(F64, 2, 3)), (("start", (1, 0)), ("step", (2, 1)))),
    ),
)  # fmt: skip


def _infer_concat(*types: ArrayType, axis: int) -> ArrayType:
    if not types:
        raise ShapeError("concat: no operands")
    first = types[0]
    _check_axes("concat", (axis,), first.rank)
    for t in types:
        if t.dtype != first.dtype:
            raise DTypeError(f"concat: element types differ: {', '.join(map(str, types))}")
        if t.rank != first.rank or any(
            i != axis and not dims.equal(m, n)
            for i, (m, n) in enumerate(zip(t.shape, first.shape, strict=True))
        ):
            raise ShapeError(f"concat: shapes differ beyond axis {axis}: {', '.join(map(str, types))}")
    joined = dims.total(t.shape[axis] for t in types)
    return first.with_shape((*first.shape[:axis], joined, *first.shape[axis + 1 :]))


def _offsets(types: tuple[ArrayType, ...], axis: int) -> Dims:
    """Where each operand begins along the axis, and where the last one ends."""
    found = [dims.ZERO]
    for t in types:
        found.append(dims.add(found[-1], t.shape[axis]))
    return tuple(found)


def _concat_transpose(ct: Any, i: int, *xs: Any, axis: int) -> Any:
    at = _offsets(tuple(map(type_of, xs)), axis)
    shape = type_of(ct).shape
    start = tuple(at[i] if k == axis else 0 for k in range(len(shape)))
    stop = tuple(at[i + 1] if k == axis else n for k, n in enumerate(shape))
    return slice_(ct, start=start, stop=stop, step=(1,) * len(shape))


def _concat_pieces(
    operands: tuple[ArrayType, ...], result: ArrayType, attrs: Attributes
) -> tuple[Piece, ...]:
    axis = cast(int, attrs["axis"])
    at = _offsets(operands, axis)
    return tuple(
        Piece(
            k,
            tuple(Component(i, 1, dims.mul(-1, at[k]) if i == axis else 0) for i in range(result.rank)),
            (Range(axis, at[k], at[k + 1]),),
        )
        for k in range(len(operands))
    )


concat = OpDef(
    "concat", lambda *xs, axis: np.concatenate(xs, axis=axis), _infer_concat, Linear(_concat_transpose),
    Remap(_concat_pieces), "the operands one after another along an axis",
    examples=(
        Example((array_type(F64, 2, 3), array_type(F64, 2, 1), array_type(F64, 2, 2)), (("axis", 1),)),
        Example((array_type(I64, 2), array_type(I64, 0)), (("axis", 0),), bound=9),
    ),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (
    broadcast, reshape, transpose, flip, slice_, pad, update_slice, add_slice, concat,
)  # fmt: skip
