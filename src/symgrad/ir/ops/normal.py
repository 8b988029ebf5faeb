"""The normal distribution and what is made of its integral: scaled, inverse and logarithmic forms.

Derivatives: Abramowitz and Stegun, 7.1 and 26.2; that of erfcx, whose terms cancel far out, by its asymptotic
series (7.1.23, differentiated).
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from symgrad.ir.opdef import OpDef
from symgrad.ir.ops.published import published

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_FAR, _TERMS = 10.0, 16  # from there on, so many terms of the series are exact to rounding
_HALF_ROOT_PI, _TWO_OVER_ROOT_PI = math.sqrt(math.pi) / 2, 2 / math.sqrt(math.pi)
_FAR_SERIES = [
    (-1) ** n * (2 * n + 1) * math.prod(range(1, 2 * n, 2)) / 2.0**n for n in range(_TERMS)
]  # of powers of 1/x², of -√π x² times the derivative

_DAWSN_SERIES = [math.prod(range(1, 2 * n, 2)) / 2.0**n for n in range(1, _TERMS)]  # of -x² times the slope


def _erfcx_slope(y: Any, x: Any) -> Any:
    """2 x erfcx(x) - 2/√π."""
    near = x < _FAR
    inverse = 1 / np.where(near, np.full_like(x, _FAR), x)
    square = inverse * inverse
    series = np.full_like(x, _FAR_SERIES[-1])
    for c in reversed(_FAR_SERIES[:-1]):
        series = series * square + c
    # The values not taken are finite, whatever x is.
    inside = np.where(near, x, np.zeros_like(x))
    return np.where(near, 2 * inside * y - _TWO_OVER_ROOT_PI, -series * square * (1 / math.sqrt(math.pi)))


def _dawsn_slope(y: Any, x: Any) -> Any:
    """1 - 2 x dawsn(x), far out by the asymptotic series (7.1.23 at an imaginary argument)."""
    near = np.abs(x) < _FAR
    inverse = 1 / np.where(near, np.full_like(x, _FAR), x)
    square = inverse * inverse
    series = np.full_like(x, _DAWSN_SERIES[-1])
    for c in reversed(_DAWSN_SERIES[:-1]):
        series = series * square + c
    inside = np.where(near, x, np.zeros_like(x))
    return np.where(near, 1 - 2 * inside * y, -series * square)


erfcx = published("erfcx", (_erfcx_slope,), "exp(x²) · erfc(x)", (-2.0, 2.0))
erfinv = published(
    "erfinv", (lambda y, x: _HALF_ROOT_PI * np.exp(y * y),), "the inverse of erf", (-0.9, 0.9), "inf at ±1"
)
erfcinv = published(
    "erfcinv", (lambda y, x: -_HALF_ROOT_PI * np.exp(y * y),), "the inverse of erfc", (0.1, 1.9),
    "-inf at 0 and 2",
)  # fmt: skip
ndtri = published(
    "ndtri", (lambda y, x: math.sqrt(2 * math.pi) * np.exp(0.5 * y * y),),
    "the quantile of the normal distribution", (0.05, 0.95), "inf at 0 and 1",
)  # fmt: skip


def _log_ndtr_slope(y: Any, x: Any) -> Any:
    """The density over the integral; 0 where x is -inf, which no finite step moves."""
    endless = x == -np.inf
    inside = np.where(endless, np.zeros_like(x), x)
    return np.where(endless, np.zeros_like(x), math.sqrt(2 / math.pi) / erfcx(-math.sqrt(0.5) * inside))


log_ndtr = published(
    "log_ndtr", (_log_ndtr_slope,), "the logarithm of the normal distribution's integral", (-3.0, 3.0),
    "0 at -inf",
)  # fmt: skip
dawsn = published("dawsn", (_dawsn_slope,), "Dawson's integral exp(-x²) ∫₀ˣ exp(t²) dt", (-2.0, 2.0))

OPS: tuple[OpDef, ...] = (erfcx, erfinv, erfcinv, ndtri, log_ndtr, dawsn)
