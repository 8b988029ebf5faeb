"""Inverse circular and hyperbolic functions: a quotient or a root in two parts, and one last rounding."""

from __future__ import annotations

import math

from symgrad.codegen.vmath_arith import Real, V, fast_two_sum, polynomial, two_product, two_sum
from symgrad.codegen.vmath_exp import Pair, table
from symgrad.codegen.vmath_log import decomposed, log_of_fraction, with_exponent

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh"]


def pair_quotient(numerator: Pair[V], denominator: Pair[V]) -> Pair[V]:
    """The quotient in two parts, the second to a few digits."""
    inverse = 1.0 / denominator[0]
    first = numerator[0] * inverse
    rest = (-first).fma(denominator[0], numerator[0]) + (-first).fma(denominator[1], numerator[1])
    return first, rest * inverse


def angle(above: Real[V], below: Real[V]) -> Pair[V]:
    """The angle in the first quadrant whose tangent is `above / below`, in two parts.

    The tangent is turned by a quarter or an eighth of a circle to lie within tan(pi/8) of 0.
    """
    t = table(above)
    steep = above > (math.sqrt(2) + 1) * below
    middle = above > (math.sqrt(2) - 1) * below
    difference, sum_ = two_sum(above, -below), two_sum(above, below)
    zero = above.like(0.0)
    tangent, tangent_low = pair_quotient(
        (
            steep.pick(-below, middle.pick(difference[0], above)),
            steep.pick(zero, middle.pick(difference[1], zero)),
        ),
        (steep.pick(above, middle.pick(sum_[0], below)), steep.pick(zero, middle.pick(sum_[1], zero))),
    )
    square = tangent * tangent
    correction = (square * tangent).fma(polynomial(square, t.atan), tangent_low)
    base = steep.pick_const(t.half_pi[0], middle.pick_const(0.5 * t.half_pi[0], 0.0))
    base_low = steep.pick_const(t.half_pi[1], middle.pick_const(0.5 * t.half_pi[1], 0.0))
    high, low = fast_two_sum(base, tangent)
    return high, low + (correction + base_low)


def atan(x: Real[V]) -> Real[V]:
    """The arc tangent."""
    high, low = angle(abs(x).clamp(0.0, 2.0 ** (x.format.fraction_bits + 8)), x.like(1.0))
    return (high + low).copysign(x)


def in_range(above: Real[V], below: Real[V]) -> Pair[V]:
    """Two magnitudes with the same quotient, or its limit, the larger far from overflow and underflow."""
    largest = (above > below).pick(above, below)
    infinite = largest.equals(math.inf)
    half_range = 2.0 ** (above.format.bias // 2 + 1)
    scale = (largest > half_range).pick_const(1 / half_range, (largest < 1.0).pick_const(half_range, 1.0))

    def scaled(side: Real[V]) -> Real[V]:
        return infinite.pick(side.equals(math.inf).pick_const(1.0, 0.0), side * scale)

    # 0/0 is taken as 0/1
    return scaled(above), largest.equals(0.0).pick_const(1.0, scaled(below))


def atan2(y: Real[V], x: Real[V]) -> Real[V]:
    """The angle of the point (x, y)."""
    first, second, _ = table(x).half_pi
    high, low = angle(*in_range(abs(y), abs(x)))
    turned, turned_low = fast_two_sum(x.like(2 * first), -high)
    left = x.like(1.0).copysign(x) < 0.0
    value = left.pick(turned + (turned_low + (2 * second - low)), high + low).copysign(y)
    return (x.equals(x) & y.equals(y)).pick(value, math.nan)


def asin_parts(x: Real[V]) -> tuple[Real[V], Real[V], Real[V]]:
    """a, a's second part and asin(a) - a, where a is `x` below 1/2 and the root of (1 - x)/2 above."""
    large = x > 0.5
    half = 0.5 * (1.0 - x)
    root = half.sqrt()
    rest = (-root).fma(root, half) / (2.0 * root)
    # at 1 the root is 0 and the rest 0/0
    root_low = (root > 0.0).pick(rest, 0.0)
    square = large.pick(half, x * x)
    start = large.pick(root, x)
    return start, large.pick(root_low, 0.0), square * start * polynomial(square, table(x).asin)


def asin(x: Real[V]) -> Real[V]:
    """The arc sine."""
    first, second, _ = table(x).half_pi
    magnitude = abs(x)
    start, low, more = asin_parts(magnitude)
    high, error = fast_two_sum(x.like(first), -2.0 * start)
    value = (magnitude > 0.5).pick(high + (error + (second - 2.0 * (low + more))), start + more)
    return (magnitude <= 1.0).pick(value.copysign(x), math.nan)


def acos(x: Real[V]) -> Real[V]:
    """The arc cosine."""
    first, second, _ = table(x).half_pi
    magnitude = abs(x)
    start, low, more = asin_parts(magnitude)
    right, tail = 2.0 * start, 2.0 * (low + more)
    left, left_error = fast_two_sum(x.like(2 * first), -right)
    outer = (x < 0.0).pick(left + (left_error + (2 * second - tail)), right + tail)
    inner, inner_error = fast_two_sum(x.like(first), -x)
    central = inner + (inner_error + (second - more.copysign(x)))
    return (magnitude <= 1.0).pick((magnitude > 0.5).pick(outer, central), math.nan)


def log_one_plus(x: Pair[V]) -> Real[V]:
    """log(1 + x) for x >= 0 in two parts, below about 2**(2 fraction bits)."""
    total, lost = two_sum(x[0].like(1.0), x[0])
    k, m = decomposed(total)
    shrink = ((m.bits() - total.bits()) + x[0].format.one_bits).as_real()
    f, rest = fast_two_sum(m - 1.0, (lost + x[1]) * shrink)
    high, low = log_of_fraction(f)
    slope = f.fma(f - 1.0, 1.0)
    return with_exponent(k, (high, rest.fma(slope, low)), table(x[0]).ln2)


def atanh(x: Real[V]) -> Real[V]:
    """The inverse of tanh: half of log(1 + 2x/(1 - x))."""
    magnitude = abs(x)
    below = fast_two_sum(x.like(1.0), -magnitude)
    value = 0.5 * log_one_plus(pair_quotient((2.0 * magnitude, x.like(0.0)), below))
    value = (magnitude < 2.0 ** -(x.format.fraction_bits // 2 + 2)).pick(magnitude, value)
    outside = magnitude.equals(1.0).pick_const(math.inf, math.nan)
    return (magnitude < 1.0).pick(value, outside).copysign(x)


def root_pair(square: Pair[V]) -> Pair[V]:
    """The square root of a positive number in two parts."""
    root = square[0].sqrt()
    return root, ((-root).fma(root, square[0]) + square[1]) / (2.0 * root)


def asinh(x: Real[V]) -> Real[V]:
    """The inverse of sinh: log(1 + a), a = x + x**2 / (1 + root(1 + x**2)); log(2x) for large x."""
    form, t = x.format, table(x)
    magnitude = abs(x)
    large = magnitude > 2.0 ** (form.fraction_bits // 2 + 4)
    inside = large.pick(x.like(1.0), magnitude)
    square, square_error = two_product(inside, inside)
    total, error = two_sum(square, x.like(1.0))
    root, root_low = root_pair((total, error + square_error))
    below, below_error = two_sum(root, x.like(1.0))
    more, more_low = pair_quotient((square, square_error), (below, below_error + root_low))
    high, low = two_sum(inside, more)
    near = log_one_plus((high, low + more_low))
    k, m = decomposed(magnitude)
    far = with_exponent(k + 1.0, log_of_fraction(m - 1.0), t.ln2)
    value = large.pick(far, near)
    value = (magnitude < 2.0 ** -(form.fraction_bits // 2 + 2)).pick(magnitude, value)
    return (magnitude < math.inf).pick(value, magnitude).copysign(x)


def acosh(x: Real[V]) -> Real[V]:
    """The inverse of cosh: log(1 + a), a = d + root(2d + d**2) with d = x - 1; log(2x) for large x."""
    form, t = x.format, table(x)
    large = x > 2.0 ** (form.fraction_bits // 2 + 4)
    d = large.pick(x.like(2.0), x) - 1.0
    square, square_error = two_product(d, d)
    total, error = two_sum(2.0 * d, square)
    root, root_low = root_pair((total, error + square_error))
    root_low = (root > 0.0).pick(root_low, 0.0)
    high, low = two_sum(d, root)
    near = log_one_plus((high, low + root_low))
    k, m = decomposed(x)
    far = with_exponent(k + 1.0, log_of_fraction(m - 1.0), t.ln2)
    value = (x < math.inf).pick(large.pick(far, near), x)
    return (x >= 1.0).pick(value, math.nan)
