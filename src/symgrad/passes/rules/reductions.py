"""Rules on reductions: of nothing, of what does not vary, of moved elements, of reductions."""

from __future__ import annotations

import numpy as np

from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import OpDef, Reduce, Reduction
from symgrad.ir.ops import OPS
from symgrad.ir.ops.elementwise import mul
from symgrad.ir.ops.shapes import broadcast, reshape, transpose
from symgrad.ir.types import DType
from symgrad.passes.literals import Number
from symgrad.passes.rewrite import Context, Rule
from symgrad.passes.rules.moves import axis_groups, ints, nothing, without

_NEUTRAL = {Reduction.SUM: 0, Reduction.PROD: 1, Reduction.ANY: False, Reduction.ALL: True}

# Those for which any number of equal elements give that element.
_IDEMPOTENT = (Reduction.MAX, Reduction.MIN, Reduction.ANY, Reduction.ALL)


def over_nothing(op: Op, context: Context) -> Value | None:
    """reduce(x) over no axes = x"""
    return None if ints(op, "axes") else op.operands[0]


def of_nothing(op: Op, context: Context) -> Value | None:
    """the sum of nothing = 0, the product = 1, any = False, all = True"""
    if not isinstance(op.opdef.lowering, Reduce) or not dims.is_zero(op.operands[0].type.size):
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
    if inner is None or dims.is_zero(op.operands[0].type.size):
        return None
    x, axes, gone = inner.operands[0], ints(op, "axes"), list[int]()
    for before, after in axis_groups(x.type.shape, inner.result.type.shape):
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
    copies = dims.product(shape[axis] for axis in gone)
    if not gone or dims.is_zero(copies) or not (kind in _IDEMPOTENT or kind is Reduction.SUM):
        return None
    if kind is Reduction.SUM and not _holds(copies, op.result.type.dtype):
        return None
    rest = [axis for axis in range(len(shape)) if axis not in gone]
    less = context.emit(
        broadcast,
        inner.operands[0],
        type=inner.result.type.with_shape(without(shape, gone)),
        axes=tuple(rest.index(axis) for axis in new if axis not in gone),
    )
    found = context.emit(op.opdef, less, axes=tuple(rest.index(axis) for axis in axes if axis not in gone))
    if kind is not Reduction.SUM:
        return found
    return context.emit(mul, found, context.number(dims.known(copies), op.result.type))


def reduce_splat(op: Op, context: Context) -> Value | None:
    """sum of n times c = c · n, rounded once; the maximum, minimum, any or all of c = c"""
    (x,) = op.operands
    number = context.splat(x)
    if number is None or not isinstance(op.opdef.lowering, Reduce):
        return None
    copies = dims.product(x.type.shape[axis] for axis in ints(op, "axes"))
    if op.opdef.lowering.kind in _IDEMPOTENT and not dims.is_zero(copies):
        return context.number(number, op.result.type)
    if op.opdef.lowering.kind is not Reduction.SUM:
        return None
    return context.number(_times(number, dims.known(copies), op.result.type.dtype), op.result.type)


def _holds(number: Dim, dtype: DType) -> bool:
    """Whether the element type has this whole number."""
    if dtype.kind == "f":
        largest = 2 ** (int(np.finfo(dtype).nmant) + 1)
        return dims.known(number) <= largest
    return dims.known(number) <= int(np.iinfo(dtype).max)


def _times(number: Number, copies: int, dtype: DType) -> Number:
    """number · copies: rounded, or wrapped around, as the element type does."""
    if copies == 0:
        return 0
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
