"""NumPy's scalar arithmetic where numba's differs from it, stops the process, or is missing.

Operands have one type, as the IR's operands have.  What is not here is right in numba under NumPy's own name:
`np.add`, `np.subtract`, `np.multiply`, `np.negative`, `np.absolute` (they keep the integer type and wrap,
where Python's operators widen), `np.left_shift`, `np.right_shift`, `np.bitwise_*`, `np.invert`,
`np.logical_*`, comparisons, `np.rint`, `np.floor`, `np.ceil`, `np.trunc`, `np.copysign`, `np.nextafter`,
`np.signbit`.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from symgrad.codegen.numba_support import lowers


def _same_ints(x: Any, y: Any) -> Any:
    return x if x == y and isinstance(x, types.Integer) else None


def _real(x: Any) -> Any:
    return x if isinstance(x, types.Float | types.Integer) else None


def _int_divide(builder: Any, kind: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient and remainder towards zero: both 0 where y is 0, and where y is -1 the quotient wraps."""
    zero, one = ir.Constant(x.type, 0), ir.Constant(x.type, 1)
    by_zero = builder.icmp_unsigned("==", y, zero)
    if not kind.signed:
        safe = builder.select(by_zero, one, y)
        quotient, rest = builder.udiv(x, safe), builder.urem(x, safe)
        return builder.select(by_zero, zero, quotient), builder.select(by_zero, zero, rest)
    # The least integer divided by -1 stops the process on x86, so -1 is never a divisor.
    by_minus = builder.icmp_unsigned("==", y, ir.Constant(x.type, -1))
    safe = builder.select(builder.or_(by_zero, by_minus), one, y)
    quotient = builder.select(by_minus, builder.neg(x), builder.sdiv(x, safe))
    rest = builder.select(by_minus, zero, builder.srem(x, safe))
    return builder.select(by_zero, zero, quotient), builder.select(by_zero, zero, rest)


def _needs_step(builder: Any, rest: Any, y: Any) -> Any:
    """Whether a remainder towards zero has the sign that Python's may not have."""
    zero = ir.Constant(rest.type, 0)
    some = builder.icmp_unsigned("!=", rest, zero)
    return builder.and_(some, builder.icmp_signed("<", builder.xor(rest, y), zero))


def int_floor_divide(x: Any, y: Any) -> Any:
    """`x // y` of integers as NumPy has it: 0 where y is zero."""
    return np.floor_divide(x, y)


@lowers(int_floor_divide, _same_ints)
def _int_floor_divide(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, y = args
    quotient, rest = _int_divide(builder, sig.return_type, x, y)
    if not sig.return_type.signed:
        return quotient
    return builder.sub(quotient, builder.zext(_needs_step(builder, rest, y), x.type))


def int_remainder(x: Any, y: Any) -> Any:
    """`x % y` of integers, with the sign of y: 0 where y is zero."""
    return np.remainder(x, y)


@lowers(int_remainder, _same_ints)
def _int_remainder(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, y = args
    _, rest = _int_divide(builder, sig.return_type, x, y)
    if not sig.return_type.signed:
        return rest
    return builder.select(_needs_step(builder, rest, y), builder.add(rest, y), rest)


def int_fmod(x: Any, y: Any) -> Any:
    """The remainder of integers with the sign of x: 0 where y is zero."""
    return np.fmod(x, y)


@lowers(int_fmod, _same_ints)
def _int_fmod(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _int_divide(builder, sig.return_type, *args)[1]


def sign(x: Any) -> Any:
    """-1, 0 or 1, and NaN for NaN."""
    return np.sign(x)


@lowers(sign, _real)
def _sign(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    (x,) = args
    zero, one = ir.Constant(x.type, 0), ir.Constant(x.type, 1)
    if isinstance(sig.return_type, types.Float):
        above = builder.fcmp_ordered(">", x, zero)
        below = builder.fcmp_ordered("<", x, zero)
        equal = builder.fcmp_ordered("==", x, zero)
        rest = builder.select(equal, zero, x)
        return builder.select(above, one, builder.select(below, ir.Constant(x.type, -1), rest))
    some = builder.select(builder.icmp_unsigned("!=", x, zero), one, zero)
    if not sig.return_type.signed:
        return some
    return builder.select(builder.icmp_signed("<", x, zero), ir.Constant(x.type, -1), some)


def heaviside(x: Any, half: Any) -> Any:
    """0 for negative x, 1 for positive x, `half` at 0, NaN for NaN."""
    return np.heaviside(x, half)


@lowers(heaviside, lambda x, half: x if x == half and isinstance(x, types.Float) else None)
def _heaviside(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, half = args
    zero = ir.Constant(x.type, 0.0)
    at_most = builder.select(builder.fcmp_ordered("==", x, zero), half, x)
    below = builder.select(builder.fcmp_ordered("<", x, zero), zero, at_most)
    return builder.select(builder.fcmp_ordered(">", x, zero), ir.Constant(x.type, 1.0), below)


def to_int(x: Any, dtype: Any) -> Any:
    """The float `x` as an integer of `dtype`, rounded towards zero; out of range, as C has it on x86."""
    wide = np.float64(x)
    low, high = (-(2.0**63), 2.0**64) if np.dtype(dtype) == np.uint64 else (-(2.0**63), 2.0**63)
    narrow = np.dtype(dtype).itemsize < 4 or np.dtype(dtype) == np.int32
    if narrow:
        low, high = -(2.0**31) - 1, 2.0**31
    inside = low < wide < high or wide == low == -(2.0**63)
    value = int(wide) if inside else (-(2**31) if narrow else -(2**63))
    bits = 8 * np.dtype(dtype).itemsize
    return np.array([value % (1 << bits)], f"u{bits // 8}").view(dtype)[0]


def _type_to_int(x: Any, dtype: Any) -> Any:
    if isinstance(x, types.Float) and isinstance(dtype, types.NumberClass):
        kind = dtype.instance_type
        return kind if isinstance(kind, types.Integer) else None
    return None


@lowers(to_int, _type_to_int)
def _to_int(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    # Convert to the int of 32 or 64 bits that holds the type, the least one where nothing fits, and keep
    # the low bits: what C compilers do, and NumPy with them.  LLVM's conversion is undefined out of range.
    kind = sig.return_type
    width = 32 if kind.bitwidth < 32 or kind == types.int32 else 64
    wide = args[0] if sig.args[0] == types.float64 else builder.fpext(args[0], ir.DoubleType())
    result = ir.IntType(width)
    if kind == types.uint64:
        return _to_uint64(builder, wide)
    lowest = -(2.0 ** (width - 1))
    # Doubles below -2**31 are truncated to it; below -2**63 the next double is already out of range.
    above = builder.fcmp_ordered(
        ">" if width == 32 else ">=", wide, ir.Constant(wide.type, lowest - (width == 32))
    )
    below = builder.fcmp_ordered("<", wide, ir.Constant(wide.type, -lowest))
    inside = builder.and_(above, below)
    safe = builder.select(inside, wide, ir.Constant(wide.type, 0.0))
    value = builder.select(inside, builder.fptosi(safe, result), ir.Constant(result, -(1 << (width - 1))))
    return builder.trunc(value, ir.IntType(kind.bitwidth)) if kind.bitwidth < width else value


def _to_uint64(builder: Any, wide: Any) -> Any:
    integer = ir.IntType(64)
    bottom, top = ir.Constant(wide.type, -(2.0**63)), ir.Constant(wide.type, 2.0**64)
    negative = builder.fcmp_ordered("<", wide, ir.Constant(wide.type, 0.0))
    inside = builder.and_(builder.fcmp_ordered(">=", wide, bottom), builder.fcmp_ordered("<", wide, top))
    zero = ir.Constant(wide.type, 0.0)
    below = builder.fptosi(builder.select(builder.and_(inside, negative), wide, zero), integer)
    above = builder.fptoui(builder.select(builder.and_(inside, builder.not_(negative)), wide, zero), integer)
    value = builder.select(negative, below, above)
    return builder.select(inside, value, ir.Constant(integer, -(1 << 63)))
