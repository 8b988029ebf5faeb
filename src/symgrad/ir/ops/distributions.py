"""Incomplete gamma and beta functions, Student's distribution, and their inverses.

The derivative by the argument is the density (DLMF 8.8.13, 8.17.20). By a shape parameter there is no formula
with few digits lost everywhere, so there an error says that there is none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from symgrad.ir.opdef import OpDef, Undefined
from symgrad.ir.ops.beta import betaln
from symgrad.ir.ops.elementwise import log1p
from symgrad.ir.ops.gamma import gammaln
from symgrad.ir.ops.published import published
from symgrad.ir.ops.special import xlog1py, xlogy

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_LARGE = 10.0  # shapes from there on have Stirling's series (DLMF 5.11.1)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SHAPE = Undefined("its shape parameters are constants for differentiation")
_BY_SHAPE = "by a shape parameter: an error"


def _stirling(a: Any) -> Any:
    """log Γ(a) - (a - 1/2) log a + a - log(2π)/2."""
    inverse = 1 / a
    square = inverse * inverse
    series = np.full_like(a, _STIRLING[-1])
    for c in reversed(_STIRLING[:-1]):
        series = series * square + c
    return series * inverse


def _gamma_density(a: Any, x: Any) -> Any:
    """xᵃ⁻¹ exp(-x) / Γ(a), of which no term is much larger than the sum of all."""
    large = a > _LARGE
    endless = np.isinf(x)
    x = np.where(endless, np.ones_like(x), x)
    small_a, large_a = np.where(large, np.ones_like(a), a), np.where(large, a, np.full_like(a, _LARGE))
    direct = xlogy(small_a - 1, x) - x - gammaln(small_a)
    positive = np.where(x > 0, x, np.ones_like(x))
    apart = (positive - large_a) / large_a
    bump = large_a * (apart - log1p(apart)) + _stirling(large_a)
    scaled = np.exp(-bump) * np.sqrt(large_a * (1 / (2 * math.pi))) / positive
    far = np.where(x > 0, scaled, np.zeros_like(x))
    found = np.where(large, far, np.exp(np.where(large, np.zeros_like(x), direct)))
    return np.where(endless, np.zeros_like(x), found)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    """xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b)."""
    return np.exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


def _student_density(n: Any, t: Any) -> Any:
    """(1 + t²/n)⁻⁽ⁿ⁺¹⁾ᐟ² / (√n B(1/2, n/2))."""
    return np.exp(-0.5 * (n + 1) * log1p(t * t / n) - betaln(np.full_like(n, 0.5), 0.5 * n)) / np.sqrt(n)


_GAMMA, _UNIT, _MORE = (0.4, 4.0), (0.2, 0.8), (0.6, 0.95)
gammainc = published(
    "gammainc", (_SHAPE, lambda y, a, x: _gamma_density(a, x)),
    "P(a, x) = 1/Γ(a) ∫₀ˣ tᵃ⁻¹ exp(-t) dt", _GAMMA, _BY_SHAPE,
)  # fmt: skip
gammaincc = published(
    "gammaincc", (_SHAPE, lambda y, a, x: -_gamma_density(a, x)), "1 - P(a, x), without cancellation",
    _GAMMA, _BY_SHAPE,
)  # fmt: skip
gammaincinv = published(
    "gammaincinv",
    (_SHAPE, lambda x, a, y: 1 / _gamma_density(a, x)),
    "the x of P(a, x) = y",
    _MORE,
    _BY_SHAPE,
)
gammainccinv = published(
    "gammainccinv", (_SHAPE, lambda x, a, y: -1 / _gamma_density(a, x)), "the x of 1 - P(a, x) = y", _MORE,
    _BY_SHAPE,
)  # fmt: skip
betainc = published(
    "betainc", (_SHAPE, _SHAPE, lambda y, a, b, x: _beta_density(a, b, x)),
    "Iₓ(a, b) = 1/B(a, b) ∫₀ˣ tᵃ⁻¹ (1 - t)ᵇ⁻¹ dt", _UNIT, _BY_SHAPE,
)  # fmt: skip
betaincc = published(
    "betaincc", (_SHAPE, _SHAPE, lambda y, a, b, x: -_beta_density(a, b, x)), "1 - Iₓ(a, b)", _UNIT, _BY_SHAPE
)
betaincinv = published(
    "betaincinv", (_SHAPE, _SHAPE, lambda x, a, b, y: 1 / _beta_density(a, b, x)), "the x of Iₓ(a, b) = y",
    _MORE, _BY_SHAPE,
)  # fmt: skip
betainccinv = published(
    "betainccinv", (_SHAPE, _SHAPE, lambda x, a, b, y: -1 / _beta_density(a, b, x)),
    "the x of 1 - Iₓ(a, b) = y", _MORE, _BY_SHAPE,
)  # fmt: skip
stdtr = published(
    "stdtr", (_SHAPE, lambda y, n, t: _student_density(n, t)),
    "Student's distribution of n degrees of freedom up to t", _GAMMA, _BY_SHAPE,
)  # fmt: skip
stdtrit = published(
    "stdtrit", (_SHAPE, lambda t, n, p: 1 / _student_density(n, t)),
    "the quantile p of Student's distribution", _MORE, _BY_SHAPE,
)  # fmt: skip

OPS: tuple[OpDef, ...] = (
    gammainc, gammaincc, gammaincinv, gammainccinv, betainc, betaincc, betaincinv, betainccinv, stdtr, stdtrit
)  # fmt: skip
