"""Logarithms of sums of exponentials: the larger, and log(1 + e) with e = exp(-distance) in two parts.

`sigmoid` of the distance, which is the derivative, makes the same e; in one loop it is computed once.
"""

from __future__ import annotations

import math

from symgrad.codegen.vmath_arith import Real, V, two_product, two_sum
from symgrad.codegen.vmath_exp import Pair, exp_pair, table, vanishing
from symgrad.codegen.vmath_log import log_of_fraction, rescaled, with_exponent_in_parts

__all__ = ["logaddexp", "logaddexp2", "softplus"]


def log_one_plus_power(distance: Real[V], low: Real[V]) -> tuple[Real[V], Pair[V]]:
    """k, 0 or 1, and log(m) in two parts, where 1 + exp(-(distance + low)) = 2**k m, for a distance >= 0."""
    power, power_low = exp_pair((-distance).clamp(vanishing(distance.format), 0.0), -low)
    upper = power > math.sqrt(2) - 1
    scale = upper.pick_const(0.5, 1.0)
    f, rest = two_sum(power * scale, upper.pick_const(-0.5, 0.0))
    high, log_low = log_of_fraction(f)
    slope = f.fma(f - 1.0, 1.0)
    return upper.pick_const(1.0, 0.0), (high, power_low.fma(scale, rest).fma(slope, log_low))


def softplus(x: Real[V]) -> Real[V]:
    """log(1 + e**x)."""
    k, log_m = log_one_plus_power(abs(x), x.like(0.0))
    return added((x > 0.0).pick(x, 0.0), with_exponent_in_parts(k, log_m, table(x).ln2))


def separated(x: Real[V], y: Real[V]) -> tuple[Real[V], Pair[V]]:
    """The larger, and how far below it the other is, in two parts; equal infinities are not apart."""
    same = x.equals(y)
    above = x > y
    larger, smaller = above.pick(x, y), above.pick(y, x)
    distance, low = two_sum(larger, -smaller)
    low = (distance < math.inf).pick(low, 0.0)
    return larger, (same.pick_const(0.0, distance), same.pick_const(0.0, low))


def added(larger: Real[V], more: Pair[V]) -> Real[V]:
    """The sum of the larger operand and a logarithm."""
    total, error = two_sum(larger, more[0])
    return (abs(larger) < math.inf).pick(total + (error + more[1]), total)


def logaddexp(x: Real[V], y: Real[V]) -> Real[V]:
    """log(e**x + e**y)."""
    larger, (distance, low) = separated(x, y)
    k, log_m = log_one_plus_power(distance, low)
    return added(larger, with_exponent_in_parts(k, log_m, table(x).ln2))


def logaddexp2(x: Real[V], y: Real[V]) -> Real[V]:
    """log2(2**x + 2**y)."""
    t = table(x)
    larger, (distance, low) = separated(x, y)
    inside = distance.clamp(0.0, 4.0 * x.format.bias)
    scaled, error = two_product(inside, t.ln2_full[0])
    more = inside.fma(t.ln2_full[1], low.fma(t.ln2_full[0], error))
    k, log_m = log_one_plus_power(scaled, more)
    return added(larger, with_exponent_in_parts(k, rescaled(log_m, t.log2_e), (1.0, 0.0)))
