"""Rules on ops that move elements: identities vanish, and moves of moves become one move."""

from __future__ import annotations

import math
from typing import cast

from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Shape
from symgrad.ir.opdef import OpDef, Scalar
from symgrad.ir.ops import OPS, constant
from symgrad.ir.ops.shapes import broadcast, concat, flip, pad, reshape, slice_, transpose, update_slice
from symgrad.ir.types import ArrayType
from symgrad.passes.literals import Number, splat_of
from symgrad.passes.rewrite import Context, Rule

Ints = tuple[int, ...]


def ints(op: Op, name: str) -> Ints:
    """An attribute that is a tuple of integers."""
    return cast(Ints, dict(op.attrs)[name])


def places(op: Op, name: str) -> Shape:
    """An attribute that is a tuple of places or widths."""
    return cast(Shape, dict(op.attrs)[name])


def empty(type: ArrayType) -> bool:
    """Whether arrays of the type certainly have no elements."""
    return any(map(dims.is_zero, type.shape))


def without(shape: Shape, axes: Ints) -> Shape:
    """The shape without some of its axes."""
    return tuple(n for axis, n in enumerate(shape) if axis not in axes)


# ---- constants, nothing, identities -----------------------------------------------------------------------
def nothing(op: Op, context: Context) -> Value | None:
    """a value without elements = a constant"""
    return context.number(0, op.result.type) if op.operands and empty(op.result.type) else None


def moved_splat(op: Op, context: Context) -> Value | None:
    """a move of c, c, ... = c"""
    numbers = {repr(context.splat(v)) for v in op.operands}
    number = context.splat(op.operands[0])
    return None if number is None or len(numbers) > 1 else context.number(number, op.result.type)


def padded_zero(op: Op, context: Context) -> Value | None:
    """pad(0) = 0"""
    number = context.splat(op.operands[0])
    # The margin is filled with 0.0; -0.0 is another number.
    zero = number is not None and number == 0 and math.copysign(1.0, number) > 0
    return context.number(0, op.result.type) if zero else None


def padded_nothing(op: Op, context: Context) -> Value | None:
    """pad(a value without elements) = 0"""
    return context.number(0, op.result.type) if empty(op.operands[0].type) else None


def same_shape(op: Op, context: Context) -> Value | None:
    """a slice, pad, reshape or broadcast to the same shape = x"""
    return op.operands[0] if dims.same(op.operands[0].type.shape, op.result.type.shape) else None


# ---- transpose, flip --------------------------------------------------------------------------------------
def transpose_identity(op: Op, context: Context) -> Value | None:
    """transpose(x, (0, 1, ...)) = x"""
    return op.operands[0] if ints(op, "perm") == tuple(range(op.result.type.rank)) else None


def transpose_transpose(op: Op, context: Context) -> Value | None:
    """transpose(transpose(x, p), q) = transpose(x, p[q])"""
    inner = context.maker(op.operands[0], transpose)
    if inner is None:
        return None
    perm = ints(inner, "perm")
    return context.emit(transpose, inner.operands[0], perm=tuple(perm[q] for q in ints(op, "perm")))


def transpose_broadcast(op: Op, context: Context) -> Value | None:
    """transpose(broadcast(x)) = broadcast(transpose(x))"""
    inner = context.maker(op.operands[0], broadcast)
    if inner is None:
        return None
    perm, new = ints(op, "perm"), ints(inner, "axes")
    kept = [axis for axis in range(len(perm)) if axis not in new]
    order = tuple(kept.index(p) for p in perm if p not in new)
    axes = tuple(k for k, p in enumerate(perm) if p in new)
    return context.emit(
        broadcast, context.emit(transpose, inner.operands[0], perm=order), type=op.result.type, axes=axes
    )


def flip_few(op: Op, context: Context) -> Value | None:
    """flip(x) along axes of one entry = x"""
    axes = ints(op, "axes")
    longer = tuple(axis for axis in axes if not dims.is_one(op.result.type.shape[axis]))
    if longer == axes and axes:
        return None
    return context.emit(flip, op.operands[0], axes=longer) if longer else op.operands[0]


def flip_flip(op: Op, context: Context) -> Value | None:
    """flip(flip(x, a), b) = flip(x, a xor b)"""
    inner = context.maker(op.operands[0], flip)
    if inner is None:
        return None
    axes = set(ints(op, "axes")) ^ set(ints(inner, "axes"))
    return context.emit(flip, inner.operands[0], axes=tuple(sorted(axes)))


# ---- reshape, broadcast -----------------------------------------------------------------------------------
def reshape_reshape(op: Op, context: Context) -> Value | None:
    """reshape(reshape(x)) = reshape(x)"""
    inner = context.maker(op.operands[0], reshape)
    return None if inner is None else context.emit(reshape, inner.operands[0], type=op.result.type)


def reshape_unit(op: Op, context: Context) -> Value | None:
    """reshape(x), where it only inserts axes of one entry = broadcast(x)"""
    x, shape, new, k = op.operands[0], op.result.type.shape, list[int](), 0
    for axis, n in enumerate(shape):
        if k < x.type.rank and dims.equal(n, x.type.shape[k]):
            k += 1
        elif dims.is_one(n):
            new.append(axis)
        else:
            return None
    return context.emit(broadcast, x, type=op.result.type, axes=tuple(new)) if k == x.type.rank else None


def reshape_transpose(op: Op, context: Context) -> Value | None:
    """reshape(transpose(x)) = reshape(x), where only axes of one entry change places"""
    inner = context.maker(op.operands[0], transpose)
    if inner is None:
        return None
    (x,) = inner.operands
    long = [axis for axis in ints(inner, "perm") if not dims.is_one(x.type.shape[axis])]
    return context.emit(reshape, x, type=op.result.type) if long == sorted(long) else None


def reshape_broadcast(op: Op, context: Context) -> Value | None:
    """reshape(broadcast(x)) = broadcast(reshape(x)), where no axis mixes new axes with old ones"""
    inner = context.maker(op.operands[0], broadcast)
    if inner is None:
        return None
    new = ints(inner, "axes")
    found: list[int] = []
    groups = axis_groups(inner.result.type.shape, op.result.type.shape)
    if groups is None:
        return None
    for before, after in groups:
        fresh = [axis in new for axis in before]
        if any(fresh) and not all(fresh):
            return None
        if all(fresh):
            found += after
    kept = op.result.type.with_shape(without(op.result.type.shape, tuple(found)))
    return context.emit(
        broadcast, context.emit(reshape, inner.operands[0], type=kept), type=op.result.type, axes=tuple(found)
    )


def axis_groups(before: Shape, after: Shape) -> list[tuple[list[int], list[int]]] | None:
    """The finest runs of axes of two shapes, in step, that hold the same elements each; None if unknown."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) or j < len(after):
        left, right = [i] if i < len(before) else [], [j] if j < len(after) else []
        i, j = i + len(left), j + len(right)
        m = dims.product(before[k] for k in left)
        n = dims.product(after[k] for k in right)
        if not dims.equal(m, n) and (dims.is_one(m) or dims.is_one(n)):
            # An axis of one entry on one side alone is a run of its own.
            if dims.is_one(m) and left:
                right, j = [], j - len(right)
            else:
                left, i = [], i - len(left)
            groups.append((left, right))
            continue
        while not dims.equal(m, n):
            if not (dims.is_known(m) and dims.is_known(n)):
                return None
            if i < len(before) and (j == len(after) or dims.known(m) < dims.known(n)):
                left.append(i)
                m, i = dims.mul(m, before[i]), i + 1
            else:
                right.append(j)
                n, j = dims.mul(n, after[j]), j + 1
        groups.append((left, right))
    return groups


def broadcast_broadcast(op: Op, context: Context) -> Value | None:
    """broadcast(broadcast(x)) = broadcast(x)"""
    inner = context.maker(op.operands[0], broadcast)
    if inner is None:
        return None
    new = ints(op, "axes")
    kept = [axis for axis in range(op.result.type.rank) if axis not in new]
    axes = sorted((*new, *(kept[axis] for axis in ints(inner, "axes"))))
    return context.emit(broadcast, inner.operands[0], type=op.result.type, axes=tuple(axes))


def hoist_broadcast(op: Op, context: Context) -> Value | None:
    """f(broadcast(x), broadcast(y), c) = broadcast(f(x, y, c)), along the axes new to all"""
    makers = [context.maker(v, broadcast, constant) for v in op.operands]
    found = [maker for maker in makers if maker is not None]
    moved = [maker for maker in found if maker.opdef is broadcast]
    numbers = [splat_of(maker) for maker in found if maker.opdef is constant]
    if not moved or len(found) < len(makers) or None in numbers:
        return None
    common = set(ints(moved[0], "axes")).intersection(*(ints(maker, "axes") for maker in moved))
    if not common:
        return None
    shared = tuple(sorted(common))
    small = without(op.result.type.shape, shared)
    operands = [_less_broadcast(maker, shared, small, context) for maker in found]
    type_ = op.result.type.with_shape(small)
    inner = context.builder.emit(op.opdef, operands, dict(op.attrs), type_ if op.opdef.stated else None)
    return context.emit(broadcast, inner, type=op.result.type, axes=shared)


def _less_broadcast(maker: Op, shared: Ints, small: Shape, context: Context) -> Value:
    """The value of a broadcast or splat without the shared axes."""
    type_ = maker.result.type.with_shape(small)
    number: Number | None = splat_of(maker)
    if number is not None:
        return context.number(number, type_)
    axes = ints(maker, "axes")
    rest = [axis for axis in range(maker.result.type.rank) if axis not in shared]
    left = tuple(rest.index(axis) for axis in axes if axis not in shared)
    return context.emit(broadcast, maker.operands[0], type=type_, axes=left)


_MOVES = (broadcast, reshape, transpose, flip, slice_, concat, update_slice)

RULES: dict[OpDef, tuple[Rule, ...]] = {
    **{op: (nothing, hoist_broadcast) for op in OPS.values() if isinstance(op.lowering, Scalar)},
    **dict.fromkeys(_MOVES, (nothing, moved_splat)),
    pad: (nothing, padded_zero, padded_nothing, same_shape),
}
RULES[broadcast] += (same_shape, broadcast_broadcast)
RULES[reshape] += (same_shape, reshape_reshape, reshape_unit, reshape_transpose, reshape_broadcast)
RULES[transpose] += (transpose_identity, transpose_transpose, transpose_broadcast)
RULES[flip] += (flip_few, flip_flip)
