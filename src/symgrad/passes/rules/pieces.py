"""Rules on slices, writes, pads and joins: a part of a whole that was put together is found in its parts."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import cast

from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Shape
from symgrad.ir.opdef import OpDef, Update
from symgrad.ir.ops.elementwise import add
from symgrad.ir.ops.shapes import add_slice, broadcast, concat, pad, slice_, update_slice
from symgrad.passes.literals import Number
from symgrad.passes.rewrite import Context, Rule
from symgrad.passes.rules.moves import Ints, empty, ints, places, same_shape, without

# How many writes are looked through for the one that a read meets.
MAX_WRITES = 64


def _bounds(op: Op) -> tuple[Shape, Shape, Ints]:
    return places(op, "start"), places(op, "stop"), ints(op, "step")


def _less(a: Shape, b: Shape) -> Shape:
    """a - b, axis by axis."""
    return tuple(dims.shift(m, n) for m, n in zip(a, b, strict=True))


def slice_slice(op: Op, context: Context) -> Value | None:
    """x[a:b:s][c:d:t] = x[a+c·s : ... : s·t]"""
    inner = context.maker(op.operands[0], slice_)
    if inner is None:
        return None
    start, _, step = _bounds(op)
    first, _, stride = _bounds(inner)
    begin = tuple(dims.add(a, dims.mul(c, s)) for a, c, s in zip(first, start, stride, strict=True))
    by = tuple(s * t for s, t in zip(stride, step, strict=True))
    shape = op.result.type.shape
    if not all(
        s == 1 or dims.is_known(n) or context.never_above(1, n) for n, s in zip(shape, by, strict=True)
    ):
        # Where such a slice is empty, its stop would lie before its start.
        return None
    end = tuple(dims.after_last(a, n, s) for a, n, s in zip(begin, shape, by, strict=True))
    return context.emit(slice_, inner.operands[0], start=begin, stop=end, step=by)


def slice_broadcast(op: Op, context: Context) -> Value | None:
    """broadcast(x)[...] = broadcast(x[...])"""
    inner = context.maker(op.operands[0], broadcast)
    if inner is None:
        return None
    axes = ints(inner, "axes")
    start, stop, step = (without(bound, axes) for bound in _bounds(op))
    part = context.emit(slice_, inner.operands[0], start=start, stop=stop, step=cast(Ints, step))
    return context.emit(broadcast, part, type=op.result.type, axes=axes)


def slice_pad(op: Op, context: Context) -> Value | None:
    """pad(x)[...] = x[...] inside the margins, 0 within them"""
    inner = context.maker(op.operands[0], pad)
    if inner is None or any(ints(inner, "interior")):
        return None
    start, stop, step = _bounds(op)
    low, shape = places(inner, "low"), inner.operands[0].type.shape
    begin, end = _less(start, low), _less(stop, low)
    sides = list(zip(begin, end, shape, strict=True))
    if any(context.never_above(b, 0) or context.never_above(n, a) for a, b, n in sides):
        return context.number(0, op.result.type)
    inside = all(context.never_above(0, a) and context.never_above(b, n) for a, b, n in sides)
    return context.emit(slice_, inner.operands[0], start=begin, stop=end, step=step) if inside else None


def slice_concat(op: Op, context: Context) -> Value | None:
    """concat(x, y)[...] = x[...], where the part lies in x"""
    inner = context.maker(op.operands[0], concat)
    if inner is None:
        return None
    axis = cast(int, dict(inner.attrs)["axis"])
    start, stop, step = _bounds(op)
    offset = dims.ZERO
    for x in inner.operands:
        end = dims.add(offset, x.type.shape[axis])
        if context.never_above(offset, start[axis]) and context.never_above(stop[axis], end):
            begin = tuple(dims.shift(a, offset) if k == axis else a for k, a in enumerate(start))
            until = tuple(dims.shift(b, offset) if k == axis else b for k, b in enumerate(stop))
            return context.emit(slice_, x, start=begin, stop=until, step=step)
        offset = end
    return None


def slice_update(op: Op, context: Context) -> Value | None:
    """x with u written at a place, read within it = u read there, whatever was written beside it afterwards

    What lies beside all that was written is read from x, if x is a number in every place, or if nothing else
    reads what was made of x: a read of x after the write would keep x, and so make the write a copy.
    """
    (whole,) = op.operands
    start, stop, step = _bounds(op)
    last = True  # nothing but this slice reads what has been written
    for _ in range(MAX_WRITES):
        write = context.maker(whole)
        if write is None or not isinstance(write.opdef.lowering, Update):
            break
        last = last and context.single_use(whole)
        if not write.opdef.lowering.add:
            found = _within(op, write, context)
            if found is not None:
                return found
        if not _apart(op, write, context):
            return None
        whole = write.operands[0]
    if whole is op.operands[0] or not (last or context.splat(whole) is not None):
        return None
    return context.emit(slice_, whole, start=start, stop=stop, step=step)


def _within(op: Op, write: Op, context: Context) -> Value | None:
    """The part of what was written that a slice reads, if it reads no other elements."""
    start, stop, step = _bounds(op)
    at, by, u = places(write, "start"), ints(write, "step"), write.operands[1]
    shape = u.type.shape
    steps_agree = all(s == t or dims.is_one(n) for s, t, n in zip(step, by, shape, strict=True))
    if start == at and steps_agree and dims.same(op.result.type.shape, shape):
        return u
    begin, end = _less(start, at), _less(stop, at)
    sides = zip(begin, end, by, shape, strict=True)
    if all(t == 1 and context.never_above(0, a) and context.never_above(b, n) for a, b, t, n in sides):
        return context.emit(slice_, u, start=begin, stop=end, step=step)
    return None


def _apart(op: Op, write: Op, context: Context) -> bool:
    """Whether a slice certainly reads none of the elements that were written."""
    start, stop, _ = _bounds(op)
    at = places(write, "start")
    reach = zip(at, write.operands[1].type.shape, ints(write, "step"), strict=True)
    ends = (dims.after_last(c, n, t) for c, n, t in reach)
    return any(
        context.never_above(b, c) or context.never_above(d, a)
        for a, b, c, d in zip(start, stop, at, ends, strict=True)
    )


# ---- writes -----------------------------------------------------------------------------------------------
def update_nothing(op: Op, context: Context) -> Value | None:
    """x with a u without elements written into it = x"""
    return op.operands[0] if empty(op.operands[1].type) else None


def update_all(op: Op, context: Context) -> Value | None:
    """x with u of the same shape written over it = u, added to it = x + u"""
    x, u = op.operands
    if not dims.same(x.type.shape, u.type.shape) or not isinstance(op.opdef.lowering, Update):
        return None
    return context.emit(add, x, u) if op.opdef.lowering.add else u


def update_update(op: Op, context: Context) -> Value | None:
    """x with u and then v written at the same place = x with v written there, and with u + v if v is added"""
    x, v = op.operands
    inner = context.maker(x, update_slice)
    if inner is None or inner.attrs != op.attrs or not context.single_use(x):
        return None
    u = inner.operands[1]
    if not dims.same(u.type.shape, v.type.shape) or not isinstance(op.opdef.lowering, Update):
        return None
    new = context.emit(add, u, v) if op.opdef.lowering.add else v
    start, step = places(op, "start"), ints(op, "step")
    return context.emit(update_slice, inner.operands[0], new, start=start, step=step)


def update_own(op: Op, context: Context) -> Value | None:
    """x with x[...] written at the place where it was read = x"""
    x, u = op.operands
    read = context.maker(u, slice_)
    if read is None or read.operands[0] is not x or places(read, "start") != places(op, "start"):
        return None
    same = zip(ints(read, "step"), ints(op, "step"), u.type.shape, strict=True)
    return x if all(s == t or dims.is_one(n) for s, t, n in same) else None


def add_to_zeros(op: Op, context: Context) -> Value | None:
    """0 with u added at a place = pad(u), where u has no -0.0, for 0.0 + (-0.0) is 0.0"""
    x, u = op.operands
    if not _plus_zero(context.splat(x)) or not _no_minus_zero(u, context):
        return None
    start, step = places(op, "start"), ints(op, "step")
    ends = (dims.after_last(a, n, s) for a, n, s in zip(start, u.type.shape, step, strict=True))
    high = _less(x.type.shape, tuple(ends))
    return context.emit(pad, u, low=start, high=high, interior=tuple(s - 1 for s in step))


def add_pad(op: Op, context: Context) -> Value | None:
    """x + pad(u) = x with u added at a place, where u is small and x has no -0.0, for -0.0 + 0.0 is 0.0"""
    for x, y in (op.operands, tuple(reversed(op.operands))):
        inner = context.maker(y, pad)
        if inner is None or not _small_part(inner) or not _no_minus_zero(x, context):
            continue
        step = tuple(k + 1 for k in ints(inner, "interior"))
        return context.emit(add_slice, x, inner.operands[0], start=places(inner, "low"), step=step)
    return None


def add_pads(op: Op, context: Context) -> Value | None:
    """pad(x) + pad(y) = pad(x + y), where the zeros are in the same places"""
    x, y = (context.maker(v, pad) for v in op.operands)
    if x is None or y is None or x.attrs != y.attrs:
        return None
    a, b = x.operands[0], y.operands[0]
    if a.type.shape != b.type.shape or not all(map(context.single_use, op.operands)):
        return None
    return context.builder.emit(pad, (context.emit(add, a, b),), dict(x.attrs))


def _small_part(op: Op) -> bool:
    """Whether a pad is mostly zeros, as one whose operand grows in a loop is."""
    part, whole = op.operands[0].type.shape, op.result.type.shape
    if not all(map(dims.is_known, (*part, *whole))):
        return True
    return 2 * dims.known(dims.product(part)) <= dims.known(dims.product(whole))


def _plus_zero(number: Number | None) -> bool:
    return number is not None and number == 0 and math.copysign(1.0, number) > 0


def _no_minus_zero(value: Value, context: Context) -> bool:
    """Whether no element is -0.0: integers, a constant, or a sum that began with such."""
    for _ in range(MAX_WRITES):
        maker, number = context.maker(value), context.splat(value)
        if not value.type.is_real or number is not None:
            return number is None or number != 0 or _plus_zero(number)
        if maker is None or not isinstance(maker.opdef.lowering, Update) or not maker.opdef.lowering.add:
            return False
        value = maker.operands[0]
    return False


# ---- pads, joins ------------------------------------------------------------------------------------------
def pad_pad(op: Op, context: Context) -> Value | None:
    """pad(pad(x)) = pad(x), without zeros between elements"""
    inner = context.maker(op.operands[0], pad)
    if inner is None or any(ints(op, "interior")) or any(ints(inner, "interior")):
        return None
    low = tuple(dims.add(a, b) for a, b in zip(places(op, "low"), places(inner, "low"), strict=True))
    high = tuple(dims.add(a, b) for a, b in zip(places(op, "high"), places(inner, "high"), strict=True))
    return context.emit(pad, inner.operands[0], low=low, high=high, interior=ints(op, "interior"))


def concat_flat(op: Op, context: Context) -> Value | None:
    """concat(x) = x, concat(x, concat(y, z)) = concat(x, y, z), and operands without elements vanish"""
    axis = cast(int, dict(op.attrs)["axis"])
    parts: list[Value] = []
    for v in op.operands:
        inner = context.maker(v, concat)
        nested = inner is not None and dict(inner.attrs)["axis"] == axis and context.single_use(v)
        parts += inner.operands if inner is not None and nested else (v,)
    parts = [v for v in parts if not empty(v.type)]
    if tuple(parts) == op.operands and len(parts) > 1:
        return None
    return parts[0] if len(parts) == 1 else context.emit(concat, *parts, axis=axis)


def concat_slices(op: Op, context: Context) -> Value | None:
    """concat(x[a:b], x[b:c]) = x[a:c]"""
    axis = cast(int, dict(op.attrs)["axis"])
    makers = [context.maker(v, slice_) for v in op.operands]
    slices = [maker for maker in makers if maker is not None]
    if len(slices) < 2 or len(slices) < len(makers):
        return None
    for left, right in pairwise(slices):
        if left.operands[0] is not right.operands[0] or not _adjoin(left, right, axis):
            return None
    start, _, step = _bounds(slices[0])
    return context.emit(
        slice_, slices[0].operands[0], start=start, stop=places(slices[-1], "stop"), step=step
    )


def _adjoin(left: Op, right: Op, axis: int) -> bool:
    """Whether two slices differ only along the axis, where one begins as the other ends, with step 1."""
    a, b = _bounds(left), _bounds(right)
    beside = all(p[k] == q[k] for p, q in zip(a, b, strict=True) for k in range(len(p)) if k != axis)
    return beside and a[1][axis] == b[0][axis] and a[2][axis] == b[2][axis] == 1


RULES: dict[OpDef, tuple[Rule, ...]] = {
    slice_: (same_shape, slice_slice, slice_broadcast, slice_pad, slice_concat, slice_update),
    update_slice: (update_nothing, update_all, update_own, update_update),
    add_slice: (update_nothing, update_all, update_update, add_to_zeros),
    add: (add_pads, add_pad),
    pad: (pad_pad,),
    concat: (concat_flat, concat_slices),
}
