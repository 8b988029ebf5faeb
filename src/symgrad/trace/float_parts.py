"""Ufuncs of the parts of a floating-point number: exponent, fraction, and the distance to the next one."""

from __future__ import annotations

from typing import Any

import numpy

from symgrad.ir.types import F64, I64, DType
from symgrad.trace.lifting import align, as_dtype, fit, kind_of, the_tracer, to_shape
from symgrad.trace.promotion import loop_dtypes
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_I32, _F16 = np.dtype(np.int32), np.dtype(np.float16)


def _power_of_two(k: Any) -> Any:
    """2ᵏ in doubles, exactly."""
    return np.exp2(as_dtype(k, F64))


def _scaled(x: Any, k: Any) -> Any:
    """x · 2ᵏ for a double x, in steps of which none overflows before the result does."""
    for _ in range(3):
        step = np.clip(k, -1000, 1000)
        x, k = x * _power_of_two(step), k - step
    return x


def ldexp(x1: Any, x2: Any) -> Any:
    """x1 · 2^x2, linear in x1."""
    like = the_tracer((x1, x2))
    dtype, whole, _ = loop_dtypes(np.ldexp, (kind_of(x1), kind_of(x2)))
    x, _ = align("ldexp", dtype, (x1, np.zeros(np.shape(x2), dtype)), like)
    k = to_shape(fit(x2, whole, np.shape(x2), like), x.type.shape)
    return as_dtype(_scaled(as_dtype(x, F64), np.clip(as_dtype(k, I64), -3000, 3000)), dtype)


def _exponent(x: Any) -> Any:
    """The k for which 2ᵏ⁻¹ ≤ |x| < 2ᵏ, and 0 where there is none, for a double x."""
    size = np.abs(x)
    there = (size > 0) & np.isfinite(x)
    size = np.where(there, size, np.full_like(size, 0.5))
    k = as_dtype(np.floor(np.log2(size)), I64) + 1
    fraction = _scaled(size, -k)  # a logarithm may be rounded to a whole number that it is not
    k = k + (fraction >= 1) - (fraction < 0.5)
    return np.where(there, k, np.zeros_like(k))


def frexp(x: Any) -> Any:
    """The fraction from ½ to 1, which is x / 2ᵏ as far as derivatives go, and the exponent k."""
    like = the_tracer((x,))
    dtype = loop_dtypes(np.frexp, (kind_of(x),))[0]
    (x,) = align("frexp", dtype, (x,), like)
    wide = as_dtype(x, F64)
    k = _exponent(wide)
    return as_dtype(_scaled(wide, -k), dtype), as_dtype(k, _I32)


def _distance(x: Any, k: Any, dtype: DType) -> Any:
    """The distance of neighbours between 2ᵏ⁻¹ and 2ᵏ."""
    limits: Any = np.finfo(dtype)
    return _power_of_two(np.maximum(k - limits.nmant - 1, limits.minexp - limits.nmant))


def spacing(x: Any) -> Any:
    """The distance to the next number away from 0, with the sign of x."""
    like = the_tracer((x,))
    dtype = loop_dtypes(np.spacing, (kind_of(x),))[0]
    (x,) = align("spacing", dtype, (x,), like)
    wide = as_dtype(x, F64)
    limits: Any = np.finfo(dtype)
    gap = _distance(wide, _exponent(wide), dtype)
    gap = np.where(wide == 0, np.full_like(gap, float(limits.smallest_subnormal)), gap)
    gap = np.where(np.abs(wide) == float(limits.max), np.full_like(gap, np.inf), gap)
    if dtype == _F16:  # NumPy's is the distance to the next larger number, whatever the sign
        gap = as_dtype(nextafter(x, np.full_like(x, np.inf)), F64) - wide
    signed = gap if dtype == _F16 else np.where(wide < 0, -gap, gap)
    return as_dtype(np.where(np.isfinite(wide), signed, np.full_like(gap, np.nan)), dtype)


def nextafter(x1: Any, x2: Any) -> Any:
    """The next number from x1 towards x2, which moves as x1 does."""
    like = the_tracer((x1, x2))
    dtype = loop_dtypes(np.nextafter, (kind_of(x1), kind_of(x2)))[0]
    pair: list[Tracer] = align("nextafter", dtype, (x1, x2), like)
    x, y = (as_dtype(v, F64) for v in pair)
    k = _exponent(x)
    up, least = y > x, float(np.finfo(dtype).smallest_subnormal)
    inwards = (up != (x > 0)) & (np.abs(x) == _power_of_two(k - 1)) & (x != 0)
    gap = _distance(x, np.where(inwards, k - 1, k), dtype)
    gap = np.where(x == 0, np.full_like(gap, least), gap)
    largest = np.full_like(x, float(np.finfo(dtype).max))
    finite = np.isfinite(x)
    base = np.where(finite, x, np.zeros_like(x))
    moved = base + np.where(up, gap, -gap)
    moved = np.where(np.abs(moved) > largest, np.copysign(np.full_like(x, np.inf), moved), moved)
    moved = np.where(moved == 0, np.copysign(moved, x), moved)
    moved = np.where(finite, moved, np.copysign(largest, x))
    same = x if dtype == _F16 else y  # of zeros, which differ in sign alone
    found = np.where(x == y, same, np.where(np.isnan(x) | np.isnan(y), x + y, moved))
    return as_dtype(found, dtype)
