# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Numbers rounded to a smaller type for memory, and back, as LLVM code without a branch, which vectorises.

Half precision is made of integer operations: not every processor has an instruction for it, and none for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_arithmetic import isfinite, isinf, isnan
from symgrad.codegen.llvm_values import NARROW, constant, converted
from symgrad.ir.ops.packing import NAN16, NAN_BF16
from symgrad.ir.types import F32, F64, DType

_SHORT, _FLOAT = ir.IntType(16), ir.FloatType()

# Bits of float32 numbers.
_SIGN, _INFINITY = 0x80000000, 0x7F800000
_OVER16 = (127 + 16) << 23  # 2**16: above all of float16
_LEAST16 = (127 - 14) << 23  # 2**-14: the least normal number of float16
_ALIGN16 = (127 - 14 + 13) << 23  # 2**-1: adding it puts the last bit of float16 at the end of the fraction
_REBIAS16 = ((15 - 127) << 23) & 0xFFFFFFFF  # from the exponents of float32 to those of float16


def _word(value: int) -> ir.Constant:
    return ir.Constant(NARROW, value)


def pack_float32(builder: Any, dtype: DType, x: Any) -> Any:
    """A float64 as a float32; NaN where that overflows."""
    y = converted(builder, x, F64, F32)
    lost = builder.and_(isinf(builder, F32, y), isfinite(builder, F64, x))
    return builder.select(lost, constant(float("nan"), F32), y)


def unpack_float32(builder: Any, dtype: DType, x: Any) -> Any:
    """A float32 as a float64."""
    return converted(builder, x, F32, F64)


def pack_bfloat16(builder: Any, dtype: DType, x: Any) -> Any:
    """The upper half of a float32, rounded; that of NaN where it overflows."""
    bits = builder.bitcast(x, NARROW)
    tie = builder.and_(builder.lshr(bits, _word(16)), _word(1))
    upper = builder.lshr(builder.add(builder.add(bits, _word(0x7FFF)), tie), _word(16))
    infinite = builder.icmp_unsigned("==", builder.and_(upper, _word(0x7FFF)), _word(_INFINITY >> 16))
    lost = builder.or_(isnan(builder, F32, x), builder.and_(infinite, isfinite(builder, F32, x)))
    return builder.trunc(builder.select(lost, _word(NAN_BF16), upper), _SHORT)


def unpack_bfloat16(builder: Any, dtype: DType, x: Any) -> Any:
    """The float32 whose upper half this is."""
    return builder.bitcast(builder.shl(builder.zext(x, NARROW), _word(16)), _FLOAT)


def pack_float16(builder: Any, dtype: DType, x: Any) -> Any:
    """The bits of a float32 as a float16; those of NaN where it overflows."""
    whole = builder.bitcast(x, NARROW)
    sign = builder.and_(whole, _word(_SIGN))
    bits = builder.xor(whole, sign)
    # Below the normal numbers an addition rounds, and leaves the fraction of a float16 in the last bits.
    aligned = builder.fadd(builder.bitcast(bits, _FLOAT), builder.bitcast(_word(_ALIGN16), _FLOAT))
    small = builder.sub(builder.bitcast(aligned, NARROW), _word(_ALIGN16))
    tie = builder.and_(builder.lshr(bits, _word(13)), _word(1))
    up = builder.add(builder.add(bits, _word((_REBIAS16 + 0xFFF) & 0xFFFFFFFF)), tie)
    normal = builder.lshr(up, _word(13))
    found = builder.select(builder.icmp_unsigned("<", bits, _word(_LEAST16)), small, normal)
    found = builder.select(builder.icmp_unsigned("<", bits, _word(_OVER16)), found, _word(0x7C00))
    infinite = builder.icmp_unsigned("==", found, _word(0x7C00))
    signed = builder.or_(found, builder.lshr(sign, _word(16)))
    lost = builder.or_(isnan(builder, F32, x), builder.and_(infinite, isfinite(builder, F32, x)))
    return builder.trunc(builder.select(lost, _word(NAN16), signed), _SHORT)


def unpack_float16(builder: Any, dtype: DType, x: Any) -> Any:
    """The float32 of the bits of a float16."""
    wide = builder.zext(x, NARROW)
    rest = builder.shl(builder.and_(wide, _word(0x7FFF)), _word(13))
    # The exponent is off by as much for all numbers but infinity and NaN.
    scaled = builder.fmul(builder.bitcast(rest, _FLOAT), constant(2.0**112, F32))
    special = builder.icmp_unsigned(">=", rest, _word(0x7C00 << 13))
    bits = builder.select(special, builder.or_(rest, _word(_INFINITY)), builder.bitcast(scaled, NARROW))
    sign = builder.shl(builder.and_(wide, _word(0x8000)), _word(16))
    return builder.bitcast(builder.or_(bits, sign), _FLOAT)


PACKING: dict[str, Callable[..., Any]] = {
    emit.__name__: emit
    for emit in (
        pack_float32, unpack_float32, pack_bfloat16, unpack_bfloat16, pack_float16, unpack_float16,
    )
}  # fmt: skip
