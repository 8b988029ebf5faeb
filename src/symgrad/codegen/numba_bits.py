"""Integer powers and shifts as NumPy has them, and a buffer's bytes as elements of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from symgrad.codegen import llvm_arithmetic as arithmetic
from symgrad.codegen.numba_support import Buffer, emitted, lowers

_INTEGER: Any = types.Integer
_CLASS: Any = types.NumberClass


def _same_ints(x: Any, y: Any) -> Any:
    return x if x == y and isinstance(x, _INTEGER) else None


def int_power(x: Any, y: Any) -> Any:
    """x to the power y, wrapping; for y < 0 the integer part of 1 / x**-y, and 0 for x = 0."""
    if y >= 0:
        return np.power(x, y)
    if x == 1 or x == -1:
        return x if y % 2 else np.multiply(x, x)
    return np.subtract(x, x)


lowers(int_power, _same_ints)(emitted(arithmetic.int_power))


def left_shift(x: Any, y: Any) -> Any:
    """x · 2**y; 0 where y is negative or not less than the width."""
    return np.left_shift(x, y)


def right_shift(x: Any, y: Any) -> Any:
    """floor(x / 2**y); the sign of x, 0 or -1, where y is negative or not less than the width."""
    return np.right_shift(x, y)


lowers(left_shift, _same_ints)(emitted(arithmetic.left_shift))
lowers(right_shift, _same_ints)(emitted(arithmetic.right_shift))


def retyped(buffer: Any, dtype: Any) -> Any:
    """The bytes of a buffer as elements of another dtype of the same size."""
    return buffer.view(dtype)


def _type_retyped(buffer: Any, dtype: Any) -> Any:
    return Buffer(dtype.instance_type) if isinstance(buffer, Buffer) and isinstance(dtype, _CLASS) else None


@lowers(retyped, _type_retyped)
def _retyped(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.bitcast(args[0], context.get_value_type(sig.return_type))
