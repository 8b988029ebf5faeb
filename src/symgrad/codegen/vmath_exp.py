"""The exponential and its family: x = k ln 2 + r with |r| <= ln(2)/2, and a polynomial in r.

The reduction is Cody and Waite's with fused multiply-add; what r loses is kept as a second part, so that
functions made of exponentials can be rounded once at the end (Muller and others, Handbook of Floating-Point
Arithmetic).
"""

from __future__ import annotations

import math
from typing import TypeAlias

from symgrad.codegen.vmath_arith import (
    Format,
    Real,
    RealLike,
    V,
    Word,
    fast_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from symgrad.codegen.vmath_tables import TABLES, Table

__all__ = [
    "Pair",
    "cosh",
    "exp",
    "exp2",
    "exp2_of_sum",
    "exp_pair",
    "expm1",
    "power_of_two",
    "quotient",
    "reduced",
    "scales",
    "sigmoid",
    "sinh",
    "table",
    "tail",
    "tanh",
    "to_integer",
    "vanishing",
]

Pair: TypeAlias = tuple[Real[V], Real[V]]


def table(x: Real[V]) -> Table:
    """The numbers for the format of `x`."""
    return TABLES[x.format.name]


def overflow(form: Format) -> float:
    """The natural logarithm of the first power of two that is not finite."""
    return (form.bias + 1) * math.log(2)


def vanishing(form: Format) -> float:
    """The natural logarithm of a number that rounds to 0."""
    return -(form.bias + form.fraction_bits + 2) * math.log(2)


def to_integer(x: Real[V]) -> tuple[Real[V], Word[V]]:
    """The integer nearest to `x`, as a real and as a word; `x` is far below `rounder`."""
    shifted = x + x.format.rounder
    return shifted - x.format.rounder, shifted.bits() - x.format.rounder_bits


def power_of_two(k: Word[V], form: Format) -> Real[V]:
    """2**k for an exponent in the normal range."""
    return ((k + form.bias) << form.fraction_bits).as_real()


def scales(k: Word[V], form: Format) -> Pair[V]:
    """Two numbers whose product is 2**k, for `|k|` up to nearly twice the exponent range."""
    even = 4 * form.bias
    half = ((k + even) >> 1) - even // 2
    return power_of_two(half, form), power_of_two(k - half, form)


def reduced(x: Real[V]) -> tuple[Word[V], Real[V], Pair[V]]:
    """k, k as a real, and r in two parts, where x = k ln 2 + r."""
    t = table(x)
    k_real, k = to_integer(x * t.log2_e[0])
    exact = (-k_real).fma(t.ln2[0], x)
    r = (-k_real).fma(t.ln2[1], exact)
    return k, k_real, (r, (-k_real).fma(t.ln2[1], exact - r))


def tail(r: Pair[V]) -> Real[V]:
    """exp(r) - 1 - r for a reduced r, where r without a second part is the first."""
    high, low = r
    return (high * high).fma(high.fma(polynomial(high, table(high).exp), 0.5), low)


def half_expm1(x: Real[V]) -> Pair[V]:
    """(exp(x) - 1)/2 in two parts, for a clamped x; subnormal results lose a bit."""
    k, _, r = reduced(x)
    high, low = fast_two_sum(r[0], tail(r))
    half = power_of_two(k - 1, x.format)
    total, error = two_sum(half - 0.5, half * high)
    return total, half.fma(low, error)


def quotient(numerator: Pair[V], denominator: Pair[V]) -> Real[V]:
    """The quotient of two numbers given in two parts, rounded nearly correctly."""
    inverse = 1.0 / denominator[0]
    first = numerator[0] * inverse
    rest = (-first).fma(denominator[0], numerator[0]) + (-first).fma(denominator[1], numerator[1])
    return rest.fma(inverse, first)


def exp(x: Real[V]) -> Real[V]:
    """e**x."""
    k, _, r = reduced(x.clamp(vanishing(x.format), overflow(x.format) + 0.25))
    first, second = scales(k, x.format)
    return (1.0 + (r[0] + tail(r))) * first * second


def exp_pair(x: Real[V], low: RealLike[V]) -> Pair[V]:
    """exp(x + low) in two parts, for a clamped `x` and a `low` of a few last places of it."""
    k, _, (r, r_low) = reduced(x)
    high, high_low = fast_two_sum(x.like(1.0), r + tail((r, r_low + low)))
    first, second = scales(k, x.format)
    return high * first * second, high_low * first * second


def exp2_of_sum(high: Real[V], low: Real[V] | None) -> Real[V]:
    """2**(high + low) for a clamped `high`; no `low` is 0."""
    form, t = high.format, table(high)
    k_real, k = to_integer(high)
    r = high - k_real
    if low is not None:
        r, low = two_sum(r, low)
    first, second = scales(k, form)
    linear, error = two_product(r, t.ln2_full[0])
    if low is not None:
        error = low.fma(t.ln2_full[0], error)
    rest = (r * r).fma(polynomial(r, t.exp2[1:]), r.fma(t.ln2_full[1], error))
    return (1.0 + (linear + rest)) * first * second


def exp2(x: Real[V]) -> Real[V]:
    """2**x."""
    form = x.format
    return exp2_of_sum(x.clamp(-(form.bias + form.fraction_bits + 3.0), form.bias + 2.0), None)


def expm1(x: Real[V]) -> Real[V]:
    """e**x - 1, to full precision near 0."""
    form = x.format
    # Clamped as in exp, so that both in one loop share what they do.
    high, low = half_expm1(x.clamp(vanishing(form), overflow(form) + 0.25))
    value = (x < -(form.fraction_bits + 4) * math.log(2)).pick_const(-1.0, 2.0 * (high + low))
    return (abs(x) < 4 * form.smallest_normal).pick(x, value).copysign(x)


def tanh(x: Real[V]) -> Real[V]:
    """(e**2x - 1) / (e**2x + 1)."""
    form = x.format
    magnitude = abs(x)
    high, low = half_expm1(2.0 * magnitude.clamp(0.0, (form.fraction_bits + 4) * math.log(2) / 2))
    below, error = two_sum(high, high.like(1.0))
    ratio = quotient((high, low), (below, error + low))
    return (magnitude < 4 * form.smallest_normal).pick(x, ratio).copysign(x)


def sigmoid(x: Real[V]) -> Real[V]:
    """1 / (1 + e**-x), which is e**x / (1 + e**x), without overflow."""
    power, power_low = exp_pair((-abs(x)).clamp(vanishing(x.format), 0.0), 0.0)
    below, error = fast_two_sum(x.like(1.0), power)
    negative = x < 0.0
    numerator = negative.pick(power, 1.0), negative.pick(power_low, 0.0)
    return quotient(numerator, (below, error + power_low))


def hyperbolic(x: Real[V]) -> tuple[Real[V], Real[V]]:
    """sinh(|x|) and cosh(x): the addition theorems for k ln 2 + r."""
    form, t = x.format, table(x)
    k, k_real, (r, low) = reduced(abs(x).clamp(0.0, overflow(form) + math.log(2) + 0.2))
    _, k_small = to_integer(k_real.clamp(0.0, 2.0 * form.fraction_bits))
    large = power_of_two(k - 2, form)
    small = power_of_two(-k_small - 2, form)
    square = r * r
    cosh_tail = square * polynomial(square, t.cosh)
    sinh_tail = (square * r).fma(polynomial(square, t.sinh), low)

    def combined(a: Pair[V], b: Real[V]) -> Real[V]:
        """2 (a cosh(r) + b sinh(r))"""
        total = b.fma(r, a[0])
        error = b.fma(r, a[0] - total) + a[1]
        return 2.0 * (total + (a[0].fma(cosh_tail, b * sinh_tail) + error))

    half_sinh, half_cosh = fast_two_sum(large, -small), fast_two_sum(large, small)
    return combined(half_sinh, half_cosh[0]), combined(half_cosh, half_sinh[0])


def sinh(x: Real[V]) -> Real[V]:
    """(e**x - e**-x) / 2."""
    magnitude, _ = hyperbolic(x)
    return (abs(x) < 4 * x.format.smallest_normal).pick(x, magnitude).copysign(x)


def cosh(x: Real[V]) -> Real[V]:
    """(e**x + e**-x) / 2."""
    _, value = hyperbolic(x)
    return value
