"""Elementwise ops around the gamma function, closed under differentiation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.ir.opdef import OpDef, Partials
from symgrad.ir.ops.records import elementwise, typed

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


# ---- values ----------------------------------------------------------------------------------------------
def _gamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:  # a negative integer, or -inf
        return math.nan


def _gammaln(x: float) -> float:
    if x == -math.inf:
        return x
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):  # too large, or a pole
        return math.inf


_FAR = 12  # from here on, few terms of an asymptotic series suffice
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _above(x: float) -> tuple[list[float], float]:
    """x, x + 1, ... below a number beyond which series are short, and that number."""
    count = max(0, math.ceil(_FAR - x))
    return [x + k for k in range(count)], x + count


def _cotangent(x: float) -> float:
    """π cot(πx), for an x that is not an integer."""
    rest = math.pi * (x - round(x))
    return math.pi * math.cos(rest) / math.sin(rest)


def _digamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, -x)
    if x < 0:
        pole = math.isinf(x) or x == round(x)
        return math.nan if pole else _digamma(1 - x) - _cotangent(x)
    if math.isnan(x) or x > 1e15:
        return math.log(x)
    near, y = _above(x)
    series = sum(b / (2 * j * y ** (2 * j)) for j, b in enumerate(_BERNOULLI, 1))
    return math.log(y) - 1 / (2 * y) - series - math.fsum(1 / v for v in near)


def _zeta(s: int, x: float) -> float:
    """Σ (x + k)⁻ˢ over k ≥ 0, for positive x."""
    near, y = _above(x)
    rest = y ** (1 - s) / (s - 1) + y**-s / 2
    rising = s * y ** (-s - 1)
    for j, b in enumerate(_BERNOULLI, 1):
        rest += b / math.factorial(2 * j) * rising
        rising *= (s + 2 * j - 1) * (s + 2 * j) / (y * y)  # a square by ** may not overflow
    try:
        return math.fsum([rest, *(v**-s for v in near)])
    except OverflowError:
        return math.inf


MAX_ORDER = 170  # of derivatives of digamma: its factorial is the last finite one


def _polygamma(n: float, x: float) -> float:
    if not math.isfinite(n) or math.isnan(x) or not 1 <= round(n) <= MAX_ORDER:
        return math.nan
    s = round(n) + 1
    sign = (-1) ** s
    if math.isinf(x):
        return sign * (0.0 if x > 0 else math.inf)
    if x <= 0 and x == round(x):
        return sign * math.inf
    if x > 0:
        return sign * math.factorial(s - 1) * _zeta(s, x)
    f = x - round(x)
    right, left = (f + 1, -f) if f < 0 else (f, 1 - f)
    return sign * math.factorial(s - 1) * (_zeta(s, right) + sign * (_zeta(s, left) - _zeta(s, 1 - x)))


# ---- ops -------------------------------------------------------------------------------------------------
_POSITIVE = (0.2, 4.0)


def _special(
    name: str, of_one: Callable[..., float], partial: Callable[..., Any], doc: str, flops: int
) -> OpDef:
    return elementwise(
        name, typed(of_one), f"{name}({{0}})", Partials(partial), doc, domain=_POSITIVE, flops=flops
    )


gammaln = _special("gammaln", _gammaln, lambda y, x: digamma(x), "log |Γ(x)|", 450)
gamma = _special("gamma", _gamma, lambda y, x: y * digamma(x), "Γ(x) = ∫₀^∞ tˣ⁻¹ exp(-t) dt", 480)
digamma = _special("digamma", _digamma, lambda y, x: trigamma(x), "ψ(x), the derivative of log Γ", 255)
trigamma = _special(
    "trigamma", lambda x: _polygamma(1, x), lambda y, x: polygamma(np.full_like(x, 2.0), x),
    "ψ'(x), the derivative of digamma", 168,
)  # fmt: skip
polygamma = elementwise(
    "polygamma", typed(_polygamma), "polygamma({0}, {1})",
    Partials(None, lambda y, n, x: polygamma(n + 1, x)),
    "ψ⁽ⁿ⁾(x), the n-th derivative of digamma, n rounded to an integer from 1 to 170",
    arity=2, domain=(1.6, 2.4), flops=1200, convention="0 in n",
)  # fmt: skip

OPS: tuple[OpDef, ...] = (gammaln, gamma, digamma, trigamma, polygamma)
