"""Rules on slices, pads and joins: a part of a whole that was put together is looked up in its parts."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops.shapes import broadcast, concat, pad, slice_, update_slice
from symgrad.passes.rewrite import Context, Rule
from symgrad.passes.rules.moves import Ints, ints, same_shape, without


def _bounds(op: Op) -> tuple[Ints, Ints, Ints]:
    return ints(op, "start"), ints(op, "stop"), ints(op, "step")


def _sizes(value: Value) -> Ints:
    return tuple(map(dims.known, value.type.shape))


def slice_slice(op: Op, context: Context) -> Value | None:
    """x[a:b:s][c:d:t] = x[a+c·s : ... : s·t]"""
    inner = context.maker(op.operands[0], slice_)
    if inner is None:
        return None
    start, _, step = _bounds(op)
    first, _, stride = _bounds(inner)
    begin = tuple(a + c * s for a, c, s in zip(first, start, stride, strict=True))
    by = tuple(s * t for s, t in zip(stride, step, strict=True))
    end = tuple(a + (n - 1) * s + 1 for a, n, s in zip(begin, _sizes(op.result), by, strict=True))
    return context.emit(slice_, inner.operands[0], start=begin, stop=end, step=by)


def slice_broadcast(op: Op, context: Context) -> Value | None:
    """broadcast(x)[...] = broadcast(x[...])"""
    inner = context.maker(op.operands[0], broadcast)
    if inner is None:
        return None
    axes = ints(inner, "axes")
    start, stop, step = (without(bound, axes) for bound in _bounds(op))
    part = context.emit(slice_, inner.operands[0], start=start, stop=stop, step=step)
    return context.emit(broadcast, part, type=op.result.type, axes=axes)


def slice_pad(op: Op, context: Context) -> Value | None:
    """pad(x)[...] = x[...] inside the margins"""
    inner = context.maker(op.operands[0], pad)
    if inner is None or any(ints(inner, "interior")):
        return None
    start, stop, step = _bounds(op)
    low = ints(inner, "low")
    begin = tuple(a - k for a, k in zip(start, low, strict=True))
    end = tuple(b - k for b, k in zip(stop, low, strict=True))
    inside = all(a >= 0 and b <= n for a, b, n in zip(begin, end, _sizes(inner.operands[0]), strict=True))
    return context.emit(slice_, inner.operands[0], start=begin, stop=end, step=step) if inside else None


def slice_concat(op: Op, context: Context) -> Value | None:
    """concat(x, y)[...] = x[...], where the part lies in x"""
    inner = context.maker(op.operands[0], concat)
    if inner is None:
        return None
    axis = cast(int, dict(inner.attrs)["axis"])
    start, stop, step = _bounds(op)
    offset = 0
    for x in inner.operands:
        end = offset + dims.known(x.type.shape[axis])
        if offset <= start[axis] and stop[axis] <= end:
            begin = tuple(a - offset if k == axis else a for k, a in enumerate(start))
            until = tuple(b - offset if k == axis else b for k, b in enumerate(stop))
            return context.emit(slice_, x, start=begin, stop=until, step=step)
        offset = end
    return None


def slice_update(op: Op, context: Context) -> Value | None:
    """x with u written at a place, read at that place = u; read beside it = x read there"""
    inner = context.maker(op.operands[0], update_slice)
    if inner is None:
        return None
    x, u = inner.operands
    start, stop, step = _bounds(op)
    at, by = ints(inner, "start"), ints(inner, "step")
    steps_agree = all(s == t or n == 1 for s, t, n in zip(step, by, _sizes(u), strict=True))
    if start == at and steps_agree and dims.same(op.result.type.shape, u.type.shape):
        return u
    reach = tuple(a + (n - 1) * s + 1 for a, n, s in zip(at, _sizes(u), by, strict=True))
    apart = any(b <= c or d <= a for a, b, c, d in zip(start, stop, at, reach, strict=True))
    return context.emit(slice_, x, start=start, stop=stop, step=step) if apart else None


def update_nothing(op: Op, context: Context) -> Value | None:
    """x with a u without elements written into it = x"""
    return op.operands[0] if dims.is_zero(op.operands[1].type.size) else None


def update_all(op: Op, context: Context) -> Value | None:
    """x with u of the same shape written over it = u"""
    x, u = op.operands
    return u if dims.same(x.type.shape, u.type.shape) else None


def update_update(op: Op, context: Context) -> Value | None:
    """x with u and then v written at the same place = x with v written there"""
    inner = context.maker(op.operands[0], update_slice)
    u = op.operands[1]
    if inner is None or inner.attrs != op.attrs or not dims.same(inner.operands[1].type.shape, u.type.shape):
        return None
    return context.emit(update_slice, inner.operands[0], u, start=ints(op, "start"), step=ints(op, "step"))


def pad_pad(op: Op, context: Context) -> Value | None:
    """pad(pad(x)) = pad(x), without zeros between elements"""
    inner = context.maker(op.operands[0], pad)
    if inner is None or any(ints(op, "interior")) or any(ints(inner, "interior")):
        return None
    low = tuple(a + b for a, b in zip(ints(op, "low"), ints(inner, "low"), strict=True))
    high = tuple(a + b for a, b in zip(ints(op, "high"), ints(inner, "high"), strict=True))
    return context.emit(pad, inner.operands[0], low=low, high=high, interior=ints(op, "interior"))


def concat_flat(op: Op, context: Context) -> Value | None:
    """concat(x) = x, concat(x, concat(y, z)) = concat(x, y, z), and operands without elements vanish"""
    axis = cast(int, dict(op.attrs)["axis"])
    parts: list[Value] = []
    for v in op.operands:
        inner = context.maker(v, concat)
        nested = inner is not None and dict(inner.attrs)["axis"] == axis and context.single_use(v)
        parts += inner.operands if inner is not None and nested else (v,)
    parts = [v for v in parts if not dims.is_zero(v.type.size)]
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
    return context.emit(slice_, slices[0].operands[0], start=start, stop=ints(slices[-1], "stop"), step=step)


def _adjoin(left: Op, right: Op, axis: int) -> bool:
    """Whether two slices differ only along the axis, where one begins as the other ends, with step 1."""
    a, b = _bounds(left), _bounds(right)
    beside = all(p[k] == q[k] for p, q in zip(a, b, strict=True) for k in range(len(p)) if k != axis)
    return beside and a[1][axis] == b[0][axis] and a[2][axis] == b[2][axis] == 1


RULES: dict[OpDef, tuple[Rule, ...]] = {
    slice_: (same_shape, slice_slice, slice_broadcast, slice_pad, slice_concat, slice_update),
    update_slice: (update_nothing, update_all, update_update),
    pad: (pad_pad,),
    concat: (concat_flat, concat_slices),
}
