"""Functions of scipy.special on whole arrays: sums of exponentials, and counts of choices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import UnsupportedError
from symgrad.ir.ops.beta import binom
from symgrad.ir.ops.elementwise import stop_gradient
from symgrad.ir.ops.gamma import MAX_ORDER, digamma, gamma, gammaln, polygamma, trigamma
from symgrad.ir.ops.special import softplus
from symgrad.ir.types import F64
from symgrad.trace.lifting import as_dtype
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer
from symgrad.trace.ufunc_compositions import joined

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


# ---- sums of exponentials ---------------------------------------------------------------------------------
def _peak(a: Any, axis: Any) -> Any:
    """The largest elements along the axes, or 0 where those are not finite; no result depends on them."""
    top = np.max(a, axis=axis, keepdims=True)
    return stop_gradient(np.where(np.isfinite(top), top, np.zeros_like(top)))


def _log_of_sum(total: Any) -> Any:
    """The logarithm; that of an empty or vanishing sum is constant."""
    none = total == 0
    return np.where(none, np.full_like(total, -np.inf), np.log(np.where(none, np.ones_like(total), total)))


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(sum(b · exp(a))); with its sign, of the sum's size."""
    if b is None:
        (a,) = joined(np.exp, a)
        weights = None
    else:
        a, weights = joined(np.logaddexp, a, b)
        a = np.where(weights == 0, np.full_like(a, -np.inf), a)
    a, weights = np.atleast_1d(a), None if weights is None else np.atleast_1d(weights)
    axes = tuple(range(a.ndim)) if axis is None else axis
    if a.size == 0:
        found, sign = _sum_of_none(a, axes, keepdims)
        return (found, sign) if return_sign else found
    peak = _peak(a, axes)
    terms = np.exp(a - peak)
    total = np.sum(terms if weights is None else weights * terms, axis=axes, keepdims=True)
    found = _log_of_sum(np.abs(total) if return_sign else total) + peak
    sign = np.sign(total)
    if not keepdims:
        found, sign = np.squeeze(found, axis=axes), np.squeeze(sign, axis=axes)
    return (found, sign) if return_sign else found


def _sum_of_none(a: Any, axes: Any, keepdims: bool) -> tuple[Any, Any]:
    """What there is of sums without terms."""
    empty = np.sum(a, axis=axes, keepdims=keepdims)
    return np.full_like(empty, -np.inf), np.full_like(empty, -1.0)


def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) over its sum."""
    (x,) = joined(np.exp, x)
    powers = np.exp(x - stop_gradient(np.max(x, axis=axis, keepdims=True)))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of softmax."""
    (x,) = joined(np.exp, x)
    shifted = x - _peak(x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


# ---- gamma functions --------------------------------------------------------------------------------------
def _constant(name: str, what: str, value: Any, low: int, high: int) -> int:
    """An argument that is one known integer."""
    if isinstance(value, Tracer) or np.ndim(value) > 0 or value != int(value) or not low <= value <= high:
        given = f"a traced {value.type}" if isinstance(value, Tracer) else f"{value!r}"
        raise UnsupportedError(
            f"scipy.special.{name} takes {what} from {low} to {high}, not {given}",
            loc=caller(),
            cure=f"make it a plain integer, and call {name} once for each",
        )
    return int(value)


def _polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma."""
    order = _constant("polygamma", "an order", n, 0, MAX_ORDER)
    x = as_dtype(x, F64)
    if order < 2:
        return trigamma(x) if order == 1 else digamma(x)
    return polygamma(np.full_like(x, order), x)


def _zeta(x: Any, q: Any = None) -> Any:
    """Σ (q + k)⁻ˣ over k ≥ 0, a multiple of a derivative of digamma."""
    s = _constant("zeta", "a power", x, 2, MAX_ORDER + 1)
    (q,) = joined(np.log, 1.0 if q is None else q)
    found = _polygamma(s - 1, q) * ((-1) ** s / math.factorial(s - 1))
    # At 0, -1, ... SciPy has the limit from above, and nothing between for odd powers.
    return as_dtype(found, q.dtype)


def _multigammaln(a: Any, d: Any) -> Any:
    """log Γ_d(a) = d(d - 1)/4 · log π + Σ gammaln(a - j/2) for j = 0, ..., d - 1; else NaN."""
    count = _constant("multigammaln", "a dimension", d, 1, 1000)
    (a,) = joined(np.log, a)
    defined = a > 0.5 * (count - 1)
    inside = np.where(defined, a, np.full_like(a, float(count)))
    total = np.full_like(a, 0.25 * count * (count - 1) * math.log(math.pi))
    for j in range(count):
        total = total + gammaln(inside - 0.5 * j)
    return np.where(defined, total, np.full_like(a, np.nan))


def _factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Γ(n + 1), and 0 for negative n."""
    if exact or extend != "zero":
        raise UnsupportedError(
            "scipy.special.factorial of a traced number is that of reals", loc=caller(),
            cure="leave out exact= and extend=",
        )  # fmt: skip
    (n,) = joined(np.log, n)
    known = ~(n < 0)
    return np.where(known, gamma(np.where(known, n, np.ones_like(n)) + 1), np.zeros_like(n))


def _comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """The number of choices of k of N things, and 0 where there is none."""
    if exact:
        raise UnsupportedError(
            "scipy.special.comb of traced numbers is that of reals", loc=caller(), cure="leave out exact="
        )
    n, k = joined(np.logaddexp, N, k)
    if repetition:
        nothing = (k == 0) & (n >= 0)
        return np.where(nothing, np.ones_like(n), binom(n + k - 1, k))
    there = (k <= n) & (n >= 0) & (k >= 0)
    one = np.ones_like(n)
    return np.where(there, binom(np.where(there, n, one), np.where(there, k, one)), np.zeros_like(n))


def _softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return softplus(*joined(np.logaddexp, x, 0)[:1])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "polygamma": _polygamma,
    "zeta": _zeta,
    "multigammaln": _multigammaln,
    "factorial": _factorial,
    "comb": _comb,
    "softplus": _softplus,
}
