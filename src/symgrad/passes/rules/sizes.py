"""Rules on sizes as numbers: arithmetic on them gives sizes, and what their ranges decide is decided."""

from __future__ import annotations

from typing import cast

from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import binds_after, bound_by
from symgrad.ir.opdef import Extent, Flow, OpDef
from symgrad.ir.ops import constant, dim
from symgrad.ir.ops.elementwise import add, eq, ge, gt, le, lt, maximum, minimum, mul, ne, neg, sub
from symgrad.ir.regions import as_while, flow_of
from symgrad.ir.types import I64, array_type
from symgrad.passes.rewrite import Context, Rule

# Numbers in expressions stay far from where integers wrap around.
SMALL = 1 << 31


def known_size(op: Op, context: Context) -> Value | None:
    """dim(3) = 3"""
    value = cast(Dim, dict(op.attrs)["value"])
    return context.emit(constant, type=op.result.type, value=value) if isinstance(value, int) else None


def size_of(value: Value, context: Context) -> Dim | None:
    """The size that a number is; None if it is not known as one."""
    if value.type != array_type(I64):
        return None
    maker = context.maker(value)
    if maker is not None and isinstance(maker.opdef.lowering, Extent):
        return cast(Dim, dict(maker.attrs)["value"])
    if maker is not None and _is_named(maker, value):
        return dims.index(cast(str, bound_by(maker)))
    number = context.splat(value)
    return int(number) if number is not None and abs(number) < SMALL else None


def _is_named(maker: Op, value: Value) -> bool:
    """Whether the value is what the op has given a name to: a measure, or the trip count of a `while`."""
    if flow_of(maker) is Flow.WHILE:
        return value is maker.results[len(as_while(maker).carries)]
    return binds_after(maker)


def _sizes(op: Op, context: Context) -> list[Dim]:
    """The sizes that the operands are; none if one is not a size, or if all are constants."""
    found = [size_of(v, context) for v in op.operands]
    known = [n for n in found if n is not None]
    return known if len(known) == len(found) and not all(map(dims.is_known, known)) else []


def sum_of_sizes(op: Op, context: Context) -> Value | None:
    """dim(a) + dim(b) = dim(a + b)"""
    sizes = _sizes(op, context)
    return context.emit(dim, value=dims.add(*sizes)) if sizes else None


def difference_of_sizes(op: Op, context: Context) -> Value | None:
    """dim(a) - dim(b) = dim(a - b)"""
    sizes = _sizes(op, context)
    return context.emit(dim, value=dims.shift(*sizes)) if sizes else None


def negative_size(op: Op, context: Context) -> Value | None:
    """-dim(a) = dim(-a)"""
    sizes = _sizes(op, context)
    return context.emit(dim, value=dims.mul(sizes[0], -1)) if sizes else None


def product_of_sizes(op: Op, context: Context) -> Value | None:
    """dim(a) · n = dim(a · n)"""
    sizes = _sizes(op, context)
    if not sizes or not any(map(dims.is_known, sizes)):
        return None
    return context.emit(dim, value=dims.mul(*sizes))


def extreme_size(op: Op, context: Context) -> Value | None:
    """max(dim(a), dim(b)) = dim(b) where a ≤ b is certain, and so for min"""
    sizes = _sizes(op, context)
    if not sizes:
        return None
    (a, b), (x, y) = sizes, op.operands
    low, high = (x, y) if context.never_above(a, b) else (y, x)
    if low is y and not context.never_above(b, a):
        return None
    return high if op.opdef is maximum else low


def compared_sizes(op: Op, context: Context) -> Value | None:
    """dim(a) < dim(b) = True or False, where the ranges of the indices decide it"""
    sizes = _sizes(op, context)
    if not sizes:
        return None
    truth = _compared(op.opdef, sizes[0], sizes[1], context)
    return None if truth is None else context.number(truth, op.result.type)


def _compared(opdef: OpDef, a: Dim, b: Dim, context: Context) -> bool | None:
    if opdef in (gt, ge):
        opdef, a, b = (lt if opdef is gt else le), b, a
    at_most, below = context.never_above(a, b), context.never_above(dims.add(a, 1), b)
    at_least, above = context.never_above(b, a), context.never_above(dims.add(b, 1), a)
    if opdef in (eq, ne):
        alike = True if at_most and at_least else False if below or above else None
        return alike if alike is None or opdef is eq else not alike
    certain, excluded = (below, at_least) if opdef is lt else (at_most, above)
    return True if certain else False if excluded else None


RULES: dict[OpDef, tuple[Rule, ...]] = {
    dim: (known_size,),
    add: (sum_of_sizes,),
    sub: (difference_of_sizes,),
    neg: (negative_size,),
    mul: (product_of_sizes,),
    maximum: (extreme_size,),
    minimum: (extreme_size,),
    **dict.fromkeys((lt, le, gt, ge, eq, ne), (compared_sizes,)),
}
