"""Derivatives of digamma: (-1)**(n + 1) n! times the sum over k >= 0 of (x + k)**-(n + 1).

The first terms are added, the rest is the Euler-Maclaurin formula. n! is in the exponent of each power, so
that none is out of range before the result is. Negative x, which is rare, is taken from the sum over all
integers k, out of line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic

from symgrad.codegen.vmath_arith import FLOAT64, Real, V, two_sum
from symgrad.codegen.vmath_exp import Pair, to_integer
from symgrad.codegen.vmath_gamma_tables import GAMMA_TABLES
from symgrad.codegen.vmath_pow import positive_power

__all__ = ["polygamma"]


@dataclass(frozen=True)
class Order(Generic[V]):
    """What depends on n alone."""

    s: Real[V]  # n + 1
    factorial: Pair[V]  # log2(n!) in two parts
    sign: Real[V]  # (-1)**s


def order_of(n: Real[V]) -> Order[V]:
    """The order of a derivative from 1 to 170."""
    t = GAMMA_TABLES[n.format.name]
    _, index = to_integer(n)
    factorial = index.entry_of(t.log2_factorial), index.entry_of(t.log2_factorial_low)
    half = 0.5 * n
    sign = half.equals(half.rint()).pick_const(-1.0, 1.0)
    return Order(n + 1.0, factorial, sign)


def power(x: Real[V], k: int, s: Real[V], order: Order[V]) -> tuple[Real[V], Real[V]]:
    """x + k, and n! times that to the power -s, mended for the rounding of x + k."""
    total, lost = two_sum(x, x.like(k))
    value = positive_power(total, -s, order.factorial)
    return total, (-s * (lost / total)).fma(value, value)


def zeta(x: Real[V], order: Order[V]) -> Real[V]:
    """n! times the sum over k >= 0 of (x + k)**-s, for finite positive x."""
    s = order.s
    count, degree = (7, 10) if x.format is FLOAT64 else (4, 5)
    total, value = power(x, count, s - 1.0, order)
    inverse = 1.0 / total
    square = inverse * inverse
    rising = s * inverse
    series = x.like(0.5)
    for j, coefficient in enumerate(GAMMA_TABLES[x.format.name].euler_maclaurin[:degree]):
        series = rising.fma(coefficient, series)
        rising = rising * ((s + (2.0 * j + 1.0)) * (s + (2.0 * j + 2.0)) * square)
    result, error = value * inverse.fma(series, 1.0 / (s - 1.0)), x.like(0.0)
    small = x.format.smallest_normal * 2.0**16
    first = positive_power((x < small).pick_const(small, x), -s, order.factorial)
    for value in (*(power(x, k, s, order)[1] for k in reversed(range(1, count))), first):
        result, lost = two_sum(result, value)
        error = error + lost
    # an infinite sum has no error term
    return (result < math.inf).pick(result + error, result)


def zeta_of_negative(n: Real[V], x: Real[V]) -> Real[V]:
    """n! times the sum over k >= 0 of (x + k)**-s, for negative x that is not an integer."""
    order = order_of(n)
    f = x - x.rint()
    right, left = (f < 0.0).pick(f + 1.0, f), (f < 0.0).pick(-f, 1.0 - f)
    return zeta(right, order) + order.sign * (zeta(left, order) - zeta(1.0 - x, order))


def polygamma(n: Real[V], x: Real[V]) -> Real[V]:
    """The n-th derivative of digamma for n from 1 to 170; n is rounded to an integer."""
    whole = n.rint()
    known = (whole >= 1.0) & (whole < len(GAMMA_TABLES[x.format.name].log2_factorial))
    whole = known.pick(whole, 1.0)
    order = order_of(whole)
    infinite = abs(x).equals(math.inf)
    negative = (x < 0.0) & (x > -math.inf)
    value = zeta((infinite | (x < 0.0)).pick_const(1.0, x), order)
    value = negative.rarely("zeta_of_negative", zeta_of_negative, whole, x, otherwise=value)
    pole = x.equals(x.rint()) & (x <= 0.0)
    value = pole.pick_const(math.inf, x.equals(math.inf).pick_const(0.0, value))
    return known.pick(order.sign * value, math.nan)
