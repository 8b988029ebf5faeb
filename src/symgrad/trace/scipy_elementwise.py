"""Elementwise functions of scipy.special as NumPy code over ops: operands of one real type, values SciPy's.

A quotient whose limit is finite, as (exp x - 1)/x, is a series next to it, so that derivatives of every order
are exact there too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from symgrad.ir.ops.distributions import betainc, betaincc, gammainc, gammaincc
from symgrad.ir.ops.elementwise import hypot, log1p
from symgrad.ir.ops.gamma import gammaln
from symgrad.ir.ops.special import erfc, softplus, xlogy
from symgrad.trace import bessel
from symgrad.trace.ufunc_compositions import Composition

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


# ---- entropies --------------------------------------------------------------------------------------------
def _entr(x: Any) -> Any:
    return np.where(x < 0, np.full_like(x, -np.inf), -xlogy(x, np.where(x < 0, np.ones_like(x), x)))


def _entropy(x: Any, y: Any, inside: Any, edge: Any) -> Any:
    """`inside` where x is 0 or more and y positive, `edge` where both are 0, infinite elsewhere."""
    outside = np.where((x == 0) & (y == 0), edge, np.full_like(x, np.inf))
    found = np.where((x >= 0) & (y > 0), inside, outside)
    return np.where(np.isnan(x) | np.isnan(y), np.full_like(x, np.nan), found)


def _relative(x: Any, y: Any) -> Any:
    """x · log(x / y) where x is 0 or more and y positive, and some number elsewhere."""
    fits = (x >= 0) & (y > 0)
    over, under = (np.where(fits, v, np.ones_like(v)) for v in (x, y))
    return xlogy(over, over / under)


def _rel_entr(x: Any, y: Any) -> Any:
    return _entropy(x, y, _relative(x, y), np.zeros_like(x))


def _kl_div(x: Any, y: Any) -> Any:
    return _entropy(x, y, _relative(x, y) - x + y, y)


# ---- losses -----------------------------------------------------------------------------------------------
def _not_negative(delta: Any, found: Any) -> Any:
    """Infinite where delta is negative."""
    return np.where(delta < 0, np.full_like(delta, np.inf), found)


def _huber(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    return _not_negative(delta, np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta)))


def _pseudo_huber(delta: Any, r: Any) -> Any:
    """delta² (√(1 + (r/delta)²) - 1), without the difference."""
    flat = (delta == 0) | ((r == 0) & np.isnan(delta))
    ratio = r / np.where(flat, np.ones_like(delta), delta)
    inside = r * (r / (1 + hypot(np.ones_like(r), ratio)))
    return _not_negative(delta, np.where(flat, np.zeros_like(r), inside))


# ---- quotients with a limit --------------------------------------------------------------------------------
_NEAR = 1.0  # below, exp's series of 20 terms is exact to rounding
_EXPREL = [1 / math.factorial(n + 1) for n in range(20)]
_NEAR_ONE = 0.25  # below, the series of log of 26 terms is exact to rounding
_LOGREL = [(-1) ** n / (n + 1) for n in range(26)]


def _series(coefficients: Sequence[float], x: Any) -> Any:
    """The polynomial with these coefficients, lowest power first."""
    found = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        found = found * x + c
    return found


def _by_series(near: Any, coefficients: Sequence[float], x: Any) -> Any:
    """The series where it is near, and a number elsewhere."""
    return _series(coefficients, np.where(near, x, np.zeros_like(x)))


def _exprel(x: Any) -> Any:
    near, endless = np.abs(x) <= _NEAR, x == np.inf
    apart = np.where(near | endless, np.ones_like(x), x)
    far = np.where(endless, x, np.expm1(apart) / apart)
    return np.where(near, _by_series(near, _EXPREL, x), far)


def _power_less_one(log: Any, factor: Any) -> Any:
    """(exp(factor · log) - 1) / factor, and log where factor is 0."""
    exponent = np.where(factor == 0, np.zeros_like(log), factor * log)
    near = np.abs(exponent) <= _NEAR
    apart = np.where(near, np.ones_like(factor), factor)
    # An infinite logarithm is near where the factor is 0: there the product is the logarithm.
    inside = log * _by_series(near, _EXPREL, np.where(near, factor * log, np.zeros_like(log)))
    found = np.where(near, inside, np.expm1(exponent) / apart)
    return np.where((factor == 0) & np.isinf(log), log, found)


def _boxcox(x: Any, factor: Any) -> Any:
    return _power_less_one(np.log(x), factor)


def _boxcox1p(x: Any, factor: Any) -> Any:
    return _power_less_one(log1p(x), factor)


def _log_of_inverse(y: Any, factor: Any) -> Any:
    """log(1 + factor · y) / factor, and y where factor is 0."""
    product = factor * y
    near = np.abs(product) <= _NEAR_ONE
    apart = np.where(near, np.ones_like(factor), factor)
    far = np.log1p(np.where(near, np.zeros_like(product), product)) / apart
    return np.where(near, y * _by_series(near, _LOGREL, product), far)


def _logit(p: Any) -> Any:
    near = (p > 0.3) & (p < 0.65)
    s = 2 * (np.where(near, p, np.full_like(p, 0.5)) - 0.5)
    return np.where(near, np.log1p(s) - np.log1p(-s), np.log(p / (1 - p)))


def _cosm1(x: Any) -> Any:
    sine = np.sin(0.5 * x)
    return -2 * sine * sine


# ---- distributions ----------------------------------------------------------------------------------------
def _fdtr(upper: bool) -> Composition:
    def composed(m: Any, n: Any, x: Any) -> Any:
        inside = m * x / (n + m * x)
        return (betaincc if upper else betainc)(0.5 * m, 0.5 * n, inside)

    return composed


def _pdtr(of: Callable[..., Any]) -> Composition:
    def composed(k: Any, m: Any) -> Any:
        # No event is certain if none is expected, whatever k is.
        return of(np.where((m == 0) & np.isnan(k), np.zeros_like(k), np.floor(k)) + 1, m)

    return composed


def _loggamma(x: Any) -> Any:
    return np.where(x < 0, np.full_like(x, np.nan), gammaln(x))


ELEMENTWISE: dict[str, Composition] = {
    "entr": _entr,
    "rel_entr": _rel_entr,
    "kl_div": _kl_div,
    "huber": _huber,
    "pseudo_huber": _pseudo_huber,
    "exprel": _exprel,
    "boxcox": _boxcox,
    "boxcox1p": _boxcox1p,
    "inv_boxcox": lambda y, factor: np.exp(_log_of_inverse(y, factor)),
    "inv_boxcox1p": lambda y, factor: np.expm1(_log_of_inverse(y, factor)),
    "logit": _logit,
    "log_expit": lambda x: -softplus(-x),
    "cosm1": _cosm1,
    "exp10": lambda x: np.power(np.full_like(x, 10.0), x),
    "ndtr": lambda x: 0.5 * erfc(x * -math.sqrt(0.5)),
    "chdtr": lambda v, x: gammainc(0.5 * v, 0.5 * x),
    "chdtrc": lambda v, x: gammaincc(0.5 * v, 0.5 * x),
    "gdtr": lambda a, b, x: gammainc(b, a * x),
    "gdtrc": lambda a, b, x: gammaincc(b, a * x),
    "pdtr": _pdtr(gammaincc),
    "pdtrc": _pdtr(gammainc),
    "fdtr": _fdtr(upper=False),
    "fdtrc": _fdtr(upper=True),
    "loggamma": _loggamma,
    "i0": bessel.i0,
    "i0e": bessel.i0e,
    "i1": bessel.i1,
    "i1e": bessel.i1e,
}
