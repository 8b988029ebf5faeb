"""Rules on reductions: of nothing, of what does not vary, of moved elements, of reductions."""

from __future__ import annotations

import numpy as np

from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Dim, Shape
from symgrad.ir.opdef import OpDef, Reduce, Reduction
from symgrad.ir.ops import OPS, dim
from symgrad.ir.ops.elementwise import convert, mul
from symgrad.ir.ops.shapes import broadcast, reshape, transpose
from symgrad.ir.types import DType
from symgrad.passes.literals import Number
from symgrad.passes.rewrite import Context, Rule
from symgrad.passes.rules.moves import Ints, axis_groups, empty, ints, nothing, without

_NEUTRAL = {Reduction.SUM: 0, Reduction.PROD: 1, Reduction.ANY: False, Reduction.ALL: True}

# Those for which any number of equal elements give that element.
_IDEMPOTENT = (Reduction.MAX, Reduction.MIN, Reduction.ANY, Reduction.ALL)


def over_nothing(op: Op, context: Context) -> Value | None:
    """reduce(x) over no axes = x"""
    return None if ints(op, "axes") else op.operands[0]


def of_nothing(op: Op, context: Context) -> Value | None:
    """the sum of nothing = 0, the product = 1, any = False, all = True"""
    if not isinstance(op.opdef.lowering, Reduce) or not empty(op.operands[0].type):
        return None
    return context.number(_NEUTRAL[op.opdef.lowering.kind], op.result.type)


def over_single(op: Op, context: Context) -> Value | None:
    """reduce(x) over axes of one entry = reshape(x)"""
    (x,) = op.operands
    axes = ints(op, "axes")
    single = tuple(axis for axis in axes if dims.is_one(x.type.shape[axis]))
    if not single:
        return None
    rest = [axis for axis in range(x.type.rank) if axis not in single]
    less = context.emit(reshape, x, type=x.type.with_shape(without(x.type.shape, single)))
    return context.emit(op.opdef, less, axes=tuple(rest.index(axis) for axis in axes if axis not in single))


def reduce_reduce(op: Op, context: Context) -> Value | None:
    """reduce(reduce(x, a), b) = reduce(x, a and b)"""
    (x,) = op.operands
    inner = context.maker(x, op.opdef)
    if inner is None or not context.single_use(x):
        return None
    first = ints(inner, "axes")
    rest = [axis for axis in range(inner.operands[0].type.rank) if axis not in first]
    axes = sorted((*first, *(rest[axis] for axis in ints(op, "axes"))))
    return context.emit(op.opdef, inner.operands[0], axes=tuple(axes))


def reduce_transpose(op: Op, context: Context) -> Value | None:
    """reduce(transpose(x)) = transpose(reduce(x))"""
    inner = context.maker(op.operands[0], transpose)
    if inner is None:
        return None
    perm, axes = ints(inner, "perm"), ints(op, "axes")
    gone = tuple(sorted(perm[axis] for axis in axes))
    rest = [axis for axis in range(len(perm)) if axis not in gone]
    order = tuple(rest.index(p) for k, p in enumerate(perm) if k not in axes)
    return context.emit(transpose, context.emit(op.opdef, inner.operands[0], axes=gone), perm=order)


def reduce_reshape(op: Op, context: Context) -> Value | None:
    """reduce(reshape(x)) = reshape(reduce(x)), where the axes hold the elements of whole axes of x"""
    inner = context.maker(op.operands[0], reshape)
    if inner is None or empty(op.operands[0].type):
        return None
    x, axes, gone = inner.operands[0], ints(op, "axes"), list[int]()
    groups = axis_groups(x.type.shape, inner.result.type.shape)
    if groups is None:
        return None
    for before, after in groups:
        reduced = [axis in axes for axis in after]
        if any(reduced) and not all(reduced):
            return None
        if reduced and all(reduced):
            gone += before
    return context.emit(reshape, context.emit(op.opdef, x, axes=tuple(gone)), type=op.result.type)


def reduce_broadcast(op: Op, context: Context) -> Value | None:
    """sum of n copies of x = x · n; the maximum, minimum, any or all of copies of x = x"""
    inner = context.maker(op.operands[0], broadcast)
    if inner is None or not isinstance(op.opdef.lowering, Reduce):
        return None
    new, axes = ints(inner, "axes"), ints(op, "axes")
    gone = tuple(axis for axis in axes if axis in new)
    shape, kind = inner.result.type.shape, op.opdef.lowering.kind
    copies = _count(shape, gone, context)
    if not gone or copies is None or not (kind in _IDEMPOTENT or kind is Reduction.SUM):
        return None
    if kind is Reduction.SUM and not _holds(dims.largest(copies, context.ranges), op.result.type.dtype):
        return None
    rest = [axis for axis in range(len(shape)) if axis not in gone]
    less = context.emit(
        broadcast,
        inner.operands[0],
        type=inner.result.type.with_shape(without(shape, gone)),
        axes=tuple(rest.index(axis) for axis in new if axis not in gone),
    )
    found = context.emit(op.opdef, less, axes=tuple(rest.index(axis) for axis in axes if axis not in gone))
    return found if kind is not Reduction.SUM else context.emit(mul, found, _everywhere(copies, op, context))


def reduce_splat(op: Op, context: Context) -> Value | None:
    """sum of n times c = c · n, rounded once; the maximum, minimum, any or all of c = c"""
    (x,) = op.operands
    number = context.splat(x)
    if number is None or not isinstance(op.opdef.lowering, Reduce):
        return None
    copies = _count(x.type.shape, ints(op, "axes"), context)
    if copies is None:
        return None
    if op.opdef.lowering.kind in _IDEMPOTENT:
        return context.number(number, op.result.type)
    if op.opdef.lowering.kind is not Reduction.SUM:
        return None
    if isinstance(copies, int):
        return context.number(_times(number, copies, op.result.type.dtype), op.result.type)
    if not _holds(dims.largest(copies, context.ranges), op.result.type.dtype):
        return None
    return context.emit(mul, context.number(number, op.result.type), _everywhere(copies, op, context))


def _count(shape: Shape, axes: Ints, context: Context) -> Dim | None:
    """How many places there are along some axes; None unless that is one size, and certainly not 0."""
    sizes = [shape[axis] for axis in axes]
    if sum(not dims.is_known(n) for n in sizes) > 1:
        return None
    found = dims.product(sizes)
    return found if context.never_above(1, found) else None


def _everywhere(number: Dim, op: Op, context: Context) -> Value:
    """A size as a number in every element of the op's result."""
    type_ = op.result.type
    if isinstance(number, int):
        return context.number(number, type_)
    found = context.emit(dim, value=number)
    if found.type.dtype != type_.dtype:
        found = context.emit(convert, found, type=type_.with_shape(()))
    return context.emit(broadcast, found, type=type_, axes=tuple(range(type_.rank))) if type_.rank else found


def _holds(number: int, dtype: DType) -> bool:
    """Whether the element type has this whole number, and those below it."""
    if dtype.kind == "f":
        return number <= 2 ** (int(np.finfo(dtype).nmant) + 1)
    return number <= int(np.iinfo(dtype).max)


def _times(number: Number, copies: int, dtype: DType) -> Number:
    """number · copies: rounded, or wrapped around, as the element type does."""
    if dtype.kind != "f":
        bits = 8 * dtype.itemsize
        wrapped = int(number) * copies % (1 << bits)
        return wrapped - (1 << bits) if dtype.kind == "i" and wrapped >> (bits - 1) else wrapped
    with np.errstate(all="ignore"):
        return float((np.float64(number) * np.float64(copies)).astype(dtype))


RULES: dict[OpDef, tuple[Rule, ...]] = {
    op: (
        nothing,
        over_nothing,
        of_nothing,
        over_single,
        reduce_splat,
        reduce_broadcast,
        reduce_transpose,
        reduce_reshape,
    )
    + ((reduce_reduce,) if op.lowering.kind is not Reduction.PROD else ())
    for op in OPS.values()
    if isinstance(op.lowering, Reduce)
}
