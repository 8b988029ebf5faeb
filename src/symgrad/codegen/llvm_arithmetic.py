# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Scalar arithmetic that agrees with NumPy's, as LLVM code: one function a name of the scalar library.

Each takes the builder, the dtype of the operands, and the operands. Integers wrap.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_values import (
    BIT,
    constant,
    intrinsic,
)
from symgrad.ir.types import DType

_ANY_ORDER = ("reassoc", "nsz", "contract")


# ---- operators --------------------------------------------------------------------------------------------
def add(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """`x + y`."""
    return (builder.fadd if dtype.kind == "f" else builder.add)(x, y)


def subtract(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """`x - y`."""
    return (builder.fsub if dtype.kind == "f" else builder.sub)(x, y)


def multiply(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """`x · y`."""
    return (builder.fmul if dtype.kind == "f" else builder.mul)(x, y)


def divide(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """`x / y` of floats."""
    return builder.fdiv(x, y)


def negative(builder: Any, dtype: DType, x: Any) -> Any:
    """`-x`."""
    return (builder.fneg if dtype.kind == "f" else builder.neg)(x)


def compare(relation: str, builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """Whether a relation holds; with NaN only `!=` does."""
    if dtype.kind == "f":
        return (builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered)(relation, x, y)
    return (builder.icmp_signed if dtype.kind == "i" else builder.icmp_unsigned)(relation, x, y)


def bitwise_and(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """The bits set in both."""
    return builder.and_(x, y)


def bitwise_or(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """The bits set in either."""
    return builder.or_(x, y)


def bitwise_xor(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """The bits set in one."""
    return builder.xor(x, y)


def invert(builder: Any, dtype: DType, x: Any) -> Any:
    """The bits not set."""
    return builder.not_(x)


# ---- sums, extrema, choices -------------------------------------------------------------------------------
def fold_add(builder: Any, dtype: DType, total: Any, x: Any) -> Any:
    """`total + x`, where the order of a run of such additions is the compiler's to choose."""
    return builder.fadd(total, x, flags=_ANY_ORDER)


def fold_dot(builder: Any, dtype: DType, total: Any, x: Any, y: Any) -> Any:
    """`total + x * y` as `fold_add`, the product rounded or not."""
    return builder.fadd(total, builder.fmul(x, y, flags=("contract",)), flags=_ANY_ORDER)


def sum_error(builder: Any, dtype: DType, total: Any, x: Any) -> Any:
    """What rounding takes from `total + x`, to be added at the end; 0 where that is not finite."""
    new = builder.fadd(total, x)
    # Knuth's two-sum: the same as comparing sizes, without the comparison.
    seen = builder.fsub(new, total)
    lost = builder.fadd(builder.fsub(total, builder.fsub(new, seen)), builder.fsub(x, seen))
    # Within a factor 2 of the largest number the error term can itself overflow, and is then unknown.
    known = builder.and_(isfinite(builder, dtype, new), isfinite(builder, dtype, lost))
    return builder.select(known, lost, constant(0.0, dtype))


def maximum(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """The larger, NaN if either is."""
    return _extremum(builder, dtype, "llvm.maximum", ">", x, y)


def minimum(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """The smaller, NaN if either is."""
    return _extremum(builder, dtype, "llvm.minimum", "<", x, y)


def _extremum(builder: Any, dtype: DType, name: str, relation: str, x: Any, y: Any) -> Any:
    if dtype.kind == "f":
        return intrinsic(builder, name, x, y)
    return builder.select(compare(relation, builder, dtype, x, y), x, y)


def select(builder: Any, dtype: DType, condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds and `y` elsewhere, both having been computed."""
    return builder.select(condition, x, y)


# ---- signs and kinds of numbers ---------------------------------------------------------------------------
def absolute(builder: Any, dtype: DType, x: Any) -> Any:
    """`|x|`; the least integer stays."""
    if dtype.kind == "f":
        return intrinsic(builder, "llvm.fabs", x)
    if dtype.kind != "i":
        return x
    return builder.select(builder.icmp_signed("<", x, constant(0, dtype)), builder.neg(x), x)


def copysign(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """`|x|` with the sign of y."""
    return intrinsic(builder, "llvm.copysign", x, y)


def isnan(builder: Any, dtype: DType, x: Any) -> Any:
    """Whether x is NaN."""
    return builder.fcmp_unordered("uno", x, x)


def isinf(builder: Any, dtype: DType, x: Any) -> Any:
    """Whether x is infinite."""
    return builder.fcmp_ordered("==", intrinsic(builder, "llvm.fabs", x), constant(float("inf"), dtype))


def isfinite(builder: Any, dtype: DType, x: Any) -> Any:
    """Whether x is neither infinite nor NaN."""
    return builder.fcmp_ordered("<", intrinsic(builder, "llvm.fabs", x), constant(float("inf"), dtype))


def signbit(builder: Any, dtype: DType, x: Any) -> Any:
    """Whether x has a minus sign."""
    bits = ir.IntType(8 * dtype.itemsize)
    return builder.icmp_signed("<", builder.bitcast(x, bits), ir.Constant(bits, 0))


def sign(builder: Any, dtype: DType, x: Any) -> Any:
    """-1, 0 or 1, and NaN for NaN."""
    zero, one = constant(0, dtype), constant(1, dtype)
    if dtype.kind == "f":
        above = builder.fcmp_ordered(">", x, zero)
        below = builder.fcmp_ordered("<", x, zero)
        equal = builder.fcmp_ordered("==", x, zero)
        rest = builder.select(equal, zero, x)
        return builder.select(above, one, builder.select(below, constant(-1, dtype), rest))
    some = builder.select(builder.icmp_unsigned("!=", x, zero), one, zero)
    if dtype.kind != "i":
        return some
    return builder.select(builder.icmp_signed("<", x, zero), constant(-1, dtype), some)


# ---- rounding, roots --------------------------------------------------------------------------------------
def floor(builder: Any, dtype: DType, x: Any) -> Any:
    """The largest integer ≤ x."""
    return intrinsic(builder, "llvm.floor", x)


def ceil(builder: Any, dtype: DType, x: Any) -> Any:
    """The smallest integer ≥ x."""
    return intrinsic(builder, "llvm.ceil", x)


def trunc(builder: Any, dtype: DType, x: Any) -> Any:
    """x rounded towards 0."""
    return intrinsic(builder, "llvm.trunc", x)


def rint(builder: Any, dtype: DType, x: Any) -> Any:
    """x rounded to the nearest integer, ties to even."""
    return intrinsic(builder, "llvm.rint", x)


def sqrt(builder: Any, dtype: DType, x: Any) -> Any:
    """The square root."""
    return intrinsic(builder, "llvm.sqrt", x)


# ---- division ---------------------------------------------------------------------------------------------
def int_divide(builder: Any, dtype: DType, x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient and remainder towards zero: both 0 where y is 0, and where y is -1 the quotient wraps."""
    zero, one = constant(0, dtype), constant(1, dtype)
    by_zero = builder.icmp_unsigned("==", y, zero)
    if dtype.kind != "i":
        safe = builder.select(by_zero, one, y)
        quotient, rest = builder.udiv(x, safe), builder.urem(x, safe)
        return builder.select(by_zero, zero, quotient), builder.select(by_zero, zero, rest)
    # The least integer divided by -1 stops the process on x86, so -1 is never a divisor.
    by_minus = builder.icmp_unsigned("==", y, constant(-1, dtype))
    safe = builder.select(builder.or_(by_zero, by_minus), one, y)
    quotient = builder.select(by_minus, builder.neg(x), builder.sdiv(x, safe))
    rest = builder.select(by_minus, zero, builder.srem(x, safe))
    return builder.select(by_zero, zero, quotient), builder.select(by_zero, zero, rest)


def _needs_step(builder: Any, rest: Any, y: Any) -> Any:
    """Whether a remainder towards zero has the sign that Python's may not have."""
    zero = ir.Constant(rest.type, 0)
    some = builder.icmp_unsigned("!=", rest, zero)
    return builder.and_(some, builder.icmp_signed("<", builder.xor(rest, y), zero))


def int_floor_divide(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """`x // y` of integers as NumPy has it: 0 where y is zero."""
    quotient, rest = int_divide(builder, dtype, x, y)
    if dtype.kind != "i":
        return quotient
    return builder.sub(quotient, builder.zext(_needs_step(builder, rest, y), x.type))


def int_remainder(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """`x % y` of integers, with the sign of y: 0 where y is zero."""
    _, rest = int_divide(builder, dtype, x, y)
    if dtype.kind != "i":
        return rest
    return builder.select(_needs_step(builder, rest, y), builder.add(rest, y), rest)


def int_fmod(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """The remainder of integers with the sign of x: 0 where y is zero."""
    return int_divide(builder, dtype, x, y)[1]


# ---- bits -------------------------------------------------------------------------------------------------
def left_shift(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """x · 2**y; 0 where y is negative or not less than the width."""
    inside, count = _count(builder, y)
    return builder.select(inside, builder.shl(x, count), constant(0, dtype))


def right_shift(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """floor(x / 2**y); the sign of x, 0 or -1, where y is negative or not less than the width."""
    inside, count = _count(builder, y)
    if dtype.kind != "i":
        return builder.select(inside, builder.lshr(x, count), constant(0, dtype))
    widest = ir.Constant(x.type, x.type.width - 1)
    return builder.ashr(x, builder.select(inside, count, widest))


def _count(builder: Any, y: Any) -> tuple[Any, Any]:
    """Whether a shift is by less than the width, and one that always is."""
    inside = builder.icmp_unsigned("<", y, ir.Constant(y.type, y.type.width))
    return inside, builder.select(inside, y, ir.Constant(y.type, 0))


def int_power(builder: Any, dtype: DType, x: Any, y: Any) -> Any:
    """x to the power y, wrapping; for y < 0 the integer part of 1 / x**-y, and 0 for x = 0."""
    zero, one = constant(0, dtype), constant(1, dtype)
    function = builder.function
    signed = dtype.kind == "i"
    times = builder.select(builder.icmp_signed("<", y, zero), zero, y) if signed else y
    before = builder.block
    test, inside, after = (function.append_basic_block(name) for name in ("power", "square", "raised"))
    builder.branch(test)

    builder.position_at_end(test)
    result, base, left = (builder.phi(x.type) for _ in range(3))
    builder.cbranch(builder.icmp_unsigned("!=", left, zero), inside, after)

    builder.position_at_end(inside)
    raised = builder.select(builder.trunc(left, BIT), builder.mul(result, base), result)
    laters = (raised, builder.mul(base, base), builder.lshr(left, one))
    for phi, first, later in zip((result, base, left), (one, x, times), laters, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(later, inside)
    builder.branch(test)

    builder.position_at_end(after)
    if not signed:
        return result
    minus = constant(-1, dtype)
    unit = builder.select(
        builder.icmp_unsigned("==", x, one),
        one,
        builder.select(
            builder.icmp_unsigned("==", x, minus),
            builder.select(builder.trunc(y, BIT), minus, one),
            zero,
        ),
    )
    return builder.select(builder.icmp_signed("<", y, zero), unit, result)
