"""The modified Bessel functions I₀ and I₁ as NumPy code, accurate to rounding with all their derivatives.

Below `_FAR` they are their power series, beyond it their asymptotic ones (Abramowitz and Stegun, 9.6.10 and
9.7.1). No terms of the former cancel, so that its derivatives are as accurate as it is, which those of the
Chebyshev series that NumPy evaluates are not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.ir.types import F64
from symgrad.trace.lifting import as_dtype, strong
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_FAR = 20.0  # from here on, the asymptotic series are exact to rounding
_ENDLESS = math.log(sys.float_info.max)  # beyond, the exponential overflows
_NEAR_TERMS, _FAR_TERMS = 40, 26  # what is left out is below rounding, in the first derivatives too


def _near(order: int) -> list[float]:
    """1 / (k! (k + order)!): the coefficients of the powers of x² / 4."""
    return [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(_NEAR_TERMS)]


def _far(order: int) -> list[float]:
    """The coefficients of the powers of 1 / x, without the factor exp(x) / √(2πx)."""
    found = [1.0]
    for k in range(1, _FAR_TERMS):
        found.append(-found[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return found


def _horner(coefficients: list[float], x: Any) -> Any:
    """The polynomial with these coefficients, lowest power first."""
    found = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        found = found * x + c
    return found


def _series(order: int, x: Any) -> tuple[Any, Any, Any]:
    """Whether x is near 0, the function if it is, and exp(-|x|) times the function if it is not."""
    near = np.abs(x) <= _FAR
    small = np.where(near, x, np.ones_like(x))  # what is not taken must not overflow, or its slope is NaN
    large = np.where(near, np.full_like(x, _FAR), np.abs(x))
    below = _horner(_near(order), 0.25 * small * small)
    above = _horner(_far(order), 1 / large) / np.sqrt(2 * math.pi * large)
    return near, (below if order == 0 else 0.5 * small * below), (above if order == 0 else np.sign(x) * above)


def _plain(order: int) -> Callable[..., Any]:
    """Iₙ, which overflows with the exponential."""

    def bessel(x: Any) -> Any:
        wide = as_dtype(x, F64)
        near, below, above = _series(order, wide)
        size = np.abs(wide)
        endless = size > _ENDLESS
        grown = above * np.exp(np.where(endless | near, np.zeros_like(size), size))
        infinite = np.exp(np.where(endless, size, np.zeros_like(size)))  # and so is its slope
        infinite = infinite if order == 0 else np.sign(wide) * infinite
        return as_dtype(np.where(near, below, np.where(endless, infinite, grown)), x.dtype)

    return bessel


def _scaled(order: int) -> Callable[..., Any]:
    """exp(-|x|) Iₙ(x)."""

    def bessel(x: Any) -> Any:
        wide = as_dtype(x, F64)
        near, below, above = _series(order, wide)
        decay = np.exp(-np.abs(np.where(near, wide, np.zeros_like(wide))))
        return as_dtype(np.where(near, below * decay, above), x.dtype)

    return bessel


i0, i1, i0e, i1e = _plain(0), _plain(1), _scaled(0), _scaled(1)


def _numpy_i0(x: Any) -> Any:
    """np.i0, which gives reals for integers, and NaN for infinity, which it divides by."""
    x = strong(x)
    x = x if x.dtype.kind == "f" else as_dtype(x, F64)
    endless = np.isinf(x)
    return np.where(endless, np.full_like(x, np.nan), i0(np.where(endless, np.zeros_like(x), x)))


TABLE: dict[Any, Callable[[Tracer], Any]] = {np.i0: _numpy_i0}
