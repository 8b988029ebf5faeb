"""Rules on elementwise arithmetic, powers, selection and conversion.

Each holds for every operand, NaN, infinities and zeros of either sign included. So x · 0, x - x and x + 0.0
stay as they are; x - 0.0 and x + (-0.0) are x.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops.elementwise import (
    abs_,
    add,
    and_,
    convert,
    div,
    logaddexp,
    maximum,
    minimum,
    mul,
    neg,
    not_,
    or_,
    pow_,
    select,
    stop_gradient,
    sub,
)
from symgrad.ir.ops.special import softplus
from symgrad.ir.types import DType
from symgrad.passes.literals import Number
from symgrad.passes.rewrite import Context, Rule


def _either_order(op: Op) -> Iterator[tuple[Value, Value]]:
    x, y = op.operands
    yield x, y
    yield y, x


def _minus_zero(number: Number | None, dtype: DType) -> bool:
    """Whether adding the number changes nothing: -0.0, or an integer 0."""
    return number is not None and number == 0 and (dtype.kind != "f" or math.copysign(1.0, number) < 0)


def _plus_zero(number: Number | None, dtype: DType) -> bool:
    """Whether subtracting the number changes nothing: 0.0, or an integer 0."""
    return number is not None and number == 0 and (dtype.kind != "f" or math.copysign(1.0, number) > 0)


# ---- products and quotients -------------------------------------------------------------------------------
def mul_one(op: Op, context: Context) -> Value | None:
    """x · 1 = x"""
    return next((x for x, y in _either_order(op) if context.splat(y) == 1), None)


def mul_minus_one(op: Op, context: Context) -> Value | None:
    """x · (-1) = -x"""
    return next((context.emit(neg, x) for x, y in _either_order(op) if context.splat(y) == -1), None)


def mul_neg_neg(op: Op, context: Context) -> Value | None:
    """(-x) · (-y) = x · y"""
    x, y = (context.maker(v, neg) for v in op.operands)
    return None if x is None or y is None else context.emit(mul, x.operands[0], y.operands[0])


def mul_neg_constant(op: Op, context: Context) -> Value | None:
    """(-x) · c = x · (-c)"""
    if not op.result.type.is_real:
        return None
    for x, y in _either_order(op):
        maker, number = context.maker(x, neg), context.splat(y)
        if maker is not None and number is not None:
            return context.emit(mul, maker.operands[0], context.number(-number, y.type))
    return None


def neg_mul_constant(op: Op, context: Context) -> Value | None:
    """-(x · c) = x · (-c)"""
    product = context.maker(op.operands[0], mul)
    if product is None or not op.result.type.is_real:
        return None
    for x, y in _either_order(product):
        number = context.splat(y)
        if number is not None:
            return context.emit(mul, x, context.number(-number, y.type))
    return None


def neg_neg(op: Op, context: Context) -> Value | None:
    """-(-x) = x"""
    maker = context.maker(op.operands[0], neg)
    return None if maker is None else maker.operands[0]


def div_one(op: Op, context: Context) -> Value | None:
    """x / 1 = x"""
    return op.operands[0] if context.splat(op.operands[1]) == 1 else None


def div_power_of_two(op: Op, context: Context) -> Value | None:
    """x / c = x · (1/c) for c = ±2**k, where 1/c is exact"""
    x, y = op.operands
    number = context.splat(y)
    if number is None or number == 0 or not math.isfinite(number) or abs(math.frexp(number)[0]) != 0.5:
        return None
    with np.errstate(all="ignore"):
        inverse = np.asarray(1 / number).astype(y.type.dtype)
    # The inverse of a very small power of two is infinite, that of a very large one may be subnormal.
    if not np.isfinite(inverse) or abs(float(inverse)) < float(np.finfo(y.type.dtype).tiny):
        return None
    return context.emit(mul, x, context.number(float(inverse), y.type))


def div_neg_neg(op: Op, context: Context) -> Value | None:
    """(-x) / (-y) = x / y"""
    x, y = (context.maker(v, neg) for v in op.operands)
    return None if x is None or y is None else context.emit(div, x.operands[0], y.operands[0])


def div_of_inverse(op: Op, context: Context) -> Value | None:
    """(1/x) / x = (1/x)·(1/x), the slope of 1/x: both are 0, infinite and NaN for the same x"""
    y, x = op.operands
    if (minus := context.maker(y, neg)) is not None:
        (y,) = minus.operands
    inner = context.maker(y, div)
    if inner is None or inner.operands[1] is not x or context.splat(inner.operands[0]) != 1:
        return None
    square = context.emit(mul, y, y)
    return square if minus is None else context.emit(neg, square)


# ---- sums and differences ---------------------------------------------------------------------------------
def add_zero(op: Op, context: Context) -> Value | None:
    """x + (-0.0) = x, and x + 0 = x for integers"""
    dtype = op.result.type.dtype
    return next((x for x, y in _either_order(op) if _minus_zero(context.splat(y), dtype)), None)


def add_neg(op: Op, context: Context) -> Value | None:
    """x + (-y) = x - y"""
    for x, y in _either_order(op):
        maker = context.maker(y, neg)
        if maker is not None:
            return context.emit(sub, x, maker.operands[0])
    return None


def add_negatives(op: Op, context: Context) -> Value | None:
    """(-x) + (-x) = -(x + x)"""
    x, y = op.operands
    maker = context.maker(x, neg)
    if x is not y or maker is None:
        return None
    return context.emit(neg, context.emit(add, maker.operands[0], maker.operands[0]))


def add_double(op: Op, context: Context) -> Value | None:
    """x·c + x·c = x·(2·c), if nothing else reads x·c, for a whole c: so subnormal products are exact"""
    x, y = op.operands
    product = context.maker(x, mul)
    if x is not y or product is None or context.uses.get(x, 0) != 2 or not x.type.is_real:
        return None
    for factor, constant in _either_order(product):
        number = context.splat(constant)
        if number is None or not float(number).is_integer():
            continue
        if abs(2 * number) <= float(np.finfo(x.type.dtype).max):
            return context.emit(mul, factor, context.number(2 * number, x.type))
    return None


def sub_zero(op: Op, context: Context) -> Value | None:
    """x - 0.0 = x, and x - 0 = x for integers"""
    x, y = op.operands
    return x if _plus_zero(context.splat(y), op.result.type.dtype) else None


def zero_sub(op: Op, context: Context) -> Value | None:
    """-0.0 - x = -x, and 0 - x = -x for integers"""
    x, y = op.operands
    return context.emit(neg, y) if _minus_zero(context.splat(x), op.result.type.dtype) else None


def sub_neg(op: Op, context: Context) -> Value | None:
    """x - (-y) = x + y"""
    maker = context.maker(op.operands[1], neg)
    return None if maker is None else context.emit(add, op.operands[0], maker.operands[0])


# ---- powers and magnitudes --------------------------------------------------------------------------------
def pow_zero(op: Op, context: Context) -> Value | None:
    """x**0 = 1, for NaN as well"""
    return context.number(1, op.result.type) if context.splat(op.operands[1]) == 0 else None


def pow_one(op: Op, context: Context) -> Value | None:
    """x**1 = x"""
    return op.operands[0] if context.splat(op.operands[1]) == 1 else None


def pow_small(op: Op, context: Context) -> Value | None:
    """x**2 = x·x, x**3 = x·x·x, x**4 = (x·x)·(x·x)"""
    x, number = op.operands[0], context.splat(op.operands[1])
    if number not in (2, 3, 4):
        return None
    square = context.emit(mul, x, x)
    return square if number == 2 else context.emit(mul, square, x if number == 3 else square)


def pow_inverse(op: Op, context: Context) -> Value | None:
    """x**(-1) = 1/x, x**(-2) = (1/x)·(1/x)"""
    x, number = op.operands[0], context.splat(op.operands[1])
    if number not in (-1, -2) or not x.type.is_real:
        return None
    # Not 1/(x·x), whose square overflows where the result is still a subnormal number.
    inverse = context.emit(div, context.number(1, x.type), x)
    return inverse if number == -1 else context.emit(mul, inverse, inverse)


def logaddexp_zero(op: Op, context: Context) -> Value | None:
    """log(exp(0) + exp(x)) = softplus(x), which shares its exponential with the slope"""
    return next((context.emit(softplus, x) for x, y in _either_order(op) if context.splat(y) == 0), None)


def abs_neg(op: Op, context: Context) -> Value | None:
    """|-x| = |x|, ||x|| = |x|"""
    maker = context.maker(op.operands[0], neg, abs_)
    return None if maker is None else context.emit(abs_, maker.operands[0])


def idempotent(op: Op, context: Context) -> Value | None:
    """max(x, x) = min(x, x) = x & x = x | x = x"""
    x, y = op.operands
    return x if x is y else None


# ---- logic, selection, conversion -------------------------------------------------------------------------
def not_not(op: Op, context: Context) -> Value | None:
    """not not x = x"""
    maker = context.maker(op.operands[0], not_)
    return None if maker is None else maker.operands[0]


def and_constant(op: Op, context: Context) -> Value | None:
    """x & True = x, x & False = False"""
    if op.result.type.dtype.kind != "b":
        return None
    for x, y in _either_order(op):
        number = context.splat(y)
        if number is not None:
            return x if number else y
    return None


def or_constant(op: Op, context: Context) -> Value | None:
    """x | False = x, x | True = True"""
    if op.result.type.dtype.kind != "b":
        return None
    for x, y in _either_order(op):
        number = context.splat(y)
        if number is not None:
            return y if number else x
    return None


def select_constant(op: Op, context: Context) -> Value | None:
    """select(True, x, y) = x, select(False, x, y) = y"""
    condition, x, y = op.operands
    number = context.splat(condition)
    return None if number is None else (x if number else y)


def select_same(op: Op, context: Context) -> Value | None:
    """select(c, x, x) = x"""
    _, x, y = op.operands
    return x if x is y else None


def select_not(op: Op, context: Context) -> Value | None:
    """select(not c, x, y) = select(c, y, x)"""
    condition, x, y = op.operands
    maker = context.maker(condition, not_)
    return None if maker is None else context.emit(select, maker.operands[0], y, x)


def select_nested(op: Op, context: Context) -> Value | None:
    """select(c, select(c, x, _), y) = select(c, x, y), select(c, x, select(c, _, y)) = select(c, x, y)"""
    condition, x, y = op.operands
    on_true, on_false = context.maker(x, select), context.maker(y, select)
    if on_true is not None and on_true.operands[0] is condition:
        return context.emit(select, condition, on_true.operands[1], y)
    if on_false is not None and on_false.operands[0] is condition:
        return context.emit(select, condition, x, on_false.operands[2])
    return None


def convert_same(op: Op, context: Context) -> Value | None:
    """convert(x: t) : t = x"""
    return op.operands[0] if op.operands[0].type == op.result.type else None


def convert_convert(op: Op, context: Context) -> Value | None:
    """convert(convert(x)) = convert(x), where the inner one holds every value of x exactly"""
    maker = context.maker(op.operands[0], convert)
    if maker is None or not _lossless(maker.operands[0].type.dtype, maker.result.type.dtype):
        return None
    return context.emit(convert, maker.operands[0], type=op.result.type)


def stopped(op: Op, context: Context) -> Value | None:
    """stop_gradient(x) = x: a program is differentiated before it is made smaller"""
    return op.operands[0]


def _lossless(source: DType, target: DType) -> bool:
    """Whether every value of one element type is one of the other."""
    if target.kind == "f" and source.kind in "iu":
        return source.itemsize * 8 <= np.finfo(target).nmant + 1
    return source.kind == "b" or np.can_cast(source, target, "safe")


RULES: dict[OpDef, tuple[Rule, ...]] = {
    mul: (mul_one, mul_minus_one, mul_neg_neg, mul_neg_constant),
    div: (div_one, div_power_of_two, div_neg_neg, div_of_inverse),
    neg: (neg_neg, neg_mul_constant),
    add: (add_zero, add_negatives, add_neg, add_double),
    sub: (sub_zero, zero_sub, sub_neg),
    pow_: (pow_zero, pow_one, pow_small, pow_inverse),
    logaddexp: (logaddexp_zero,),
    abs_: (abs_neg,),
    maximum: (idempotent,),
    minimum: (idempotent,),
    and_: (idempotent, and_constant),
    or_: (idempotent, or_constant),
    not_: (not_not,),
    select: (select_constant, select_same, select_not, select_nested),
    convert: (convert_same, convert_convert),
    stop_gradient: (stopped,),
}
