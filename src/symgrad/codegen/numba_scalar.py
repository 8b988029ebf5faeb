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
from numba.core import types
from numba.np.numpy_support import as_dtype

from symgrad.codegen import llvm_arithmetic as arithmetic
from symgrad.codegen.llvm_values import to_int as to_integer
from symgrad.codegen.numba_support import emitted, lowers


def _same_ints(x: Any, y: Any) -> Any:
    return x if x == y and isinstance(x, types.Integer) else None


def _real(x: Any) -> Any:
    return x if isinstance(x, types.Float | types.Integer) else None


def int_floor_divide(x: Any, y: Any) -> Any:
    """`x // y` of integers as NumPy has it: 0 where y is zero."""
    return np.floor_divide(x, y)


lowers(int_floor_divide, _same_ints)(emitted(arithmetic.int_floor_divide))


def int_remainder(x: Any, y: Any) -> Any:
    """`x % y` of integers, with the sign of y: 0 where y is zero."""
    return np.remainder(x, y)


lowers(int_remainder, _same_ints)(emitted(arithmetic.int_remainder))


def int_fmod(x: Any, y: Any) -> Any:
    """The remainder of integers with the sign of x: 0 where y is zero."""
    return np.fmod(x, y)


lowers(int_fmod, _same_ints)(emitted(arithmetic.int_fmod))


def sign(x: Any) -> Any:
    """-1, 0 or 1, and NaN for NaN."""
    return np.sign(x)


lowers(sign, _real)(emitted(arithmetic.sign))


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
    return to_integer(builder, args[0], as_dtype(sig.args[0]), as_dtype(sig.return_type))
