"""Integer powers and shifts as NumPy has them, and a buffer's bytes as elements of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from symgrad.codegen.numba_support import Buffer, lowers

_INTEGER: Any = types.Integer
_CLASS: Any = types.NumberClass
_kind_of: Any = type


def _same_ints(x: Any, y: Any) -> Any:
    return x if x == y and isinstance(x, _INTEGER) else None


def int_power(x: Any, y: Any) -> Any:
    """x to the power y, wrapping; for y < 0 the integer part of 1 / x**-y, and 0 for x = 0."""
    if y >= 0:
        return np.power(x, y)
    if x == 1 or x == -1:
        return x if y % 2 else np.multiply(x, x)
    return np.subtract(x, x)


@lowers(int_power, _same_ints)
def _int_power(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.compile_internal(builder, _power_by_squaring, sig, args)


def _power_by_squaring(x: Any, y: Any) -> Any:
    kind = _kind_of(x)
    if y < 0:
        if x == 1:
            return x
        if x == -1:
            return x if y & 1 else kind(1)
        return kind(0)
    result, base, left = kind(1), x, y
    while left != 0:
        if left & 1:
            result = kind(result * base)
        base = kind(base * base)
        left = kind(left >> 1)
    return result


def left_shift(x: Any, y: Any) -> Any:
    """x · 2**y; 0 where y is negative or not less than the width."""
    return np.left_shift(x, y)


def right_shift(x: Any, y: Any) -> Any:
    """floor(x / 2**y); the sign of x, 0 or -1, where y is negative or not less than the width."""
    return np.right_shift(x, y)


@lowers(left_shift, _same_ints)
def _left_shift(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, y = args
    inside, count = _count(builder, y)
    return builder.select(inside, builder.shl(x, count), ir.Constant(x.type, 0))


@lowers(right_shift, _same_ints)
def _right_shift(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, y = args
    inside, count = _count(builder, y)
    if not sig.return_type.signed:
        return builder.select(inside, builder.lshr(x, count), ir.Constant(x.type, 0))
    widest = ir.Constant(x.type, x.type.width - 1)
    return builder.ashr(x, builder.select(inside, count, widest))


def _count(builder: Any, y: Any) -> tuple[Any, Any]:
    """Whether a shift is by less than the width, and one that always is."""
    inside = builder.icmp_unsigned("<", y, ir.Constant(y.type, y.type.width))
    return inside, builder.select(inside, y, ir.Constant(y.type, 0))


def retyped(buffer: Any, dtype: Any) -> Any:
    """The bytes of a buffer as elements of another dtype of the same size."""
    return buffer.view(dtype)


def _type_retyped(buffer: Any, dtype: Any) -> Any:
    return Buffer(dtype.instance_type) if isinstance(buffer, Buffer) and isinstance(dtype, _CLASS) else None


@lowers(retyped, _type_retyped)
def _retyped(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.bitcast(args[0], context.get_value_type(sig.return_type))
