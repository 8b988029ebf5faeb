"""The gamma function, its logarithm, and the first two derivatives of that.

All are computed for y = |x|, or |x| + 1 below 1: by a polynomial for y < 3, by Stirling's series beyond. The
recurrence takes 1 to x, and the reflection by sin(pi x) to negative x; f = |x| less the nearest integer makes
the sine exact in its zeros. Zeros of the functions for positive x are factors of the polynomials.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic

from symgrad.codegen.vmath_arith import FLOAT64, Real, Truth, V, polynomial, two_product, two_sum
from symgrad.codegen.vmath_exp import Pair, exp2_of_sum, table
from symgrad.codegen.vmath_gamma_tables import GAMMA_TABLES, GammaTable
from symgrad.codegen.vmath_log import decomposed, log, log_of_fraction, rescaled, with_exponent_in_parts
from symgrad.codegen.vmath_pow import precise_log

__all__ = ["digamma", "gamma", "gammaln", "trigamma"]


@dataclass(frozen=True)
class Places(Generic[V]):
    """Where the functions of x are computed."""

    size: Real[V]  # |x|
    below: Truth[V]  # whether that is less than 1
    negative: Truth[V]  # whether x is
    y: Real[V]  # |x|, or |x| + 1 below 1
    from_1: Real[V]  # y - 1, exactly
    from_2: Real[V]  # y - 2
    inside: Real[V]  # y, or 3 beyond
    f: Real[V]  # |x| less the nearest integer

    def mapped(self, zero: float, pole: float) -> Real[V]:
        """(y - zero)/(y + pole), for y below 3."""
        return (self.inside - zero) / (self.inside + pole)

    def by_place(self, near: Real[V], far: Real[V]) -> Real[V]:
        """`near` where y < 3."""
        return (self.y < 3.0).pick(near, far)

    def sine(self, f: Real[V]) -> Real[V]:
        """sin(pi f)/pi for |f| <= 1/2."""
        square = f * f
        return f.fma(square * polynomial(square, numbers(f).sinpi), f)


def numbers(x: Real[V]) -> GammaTable:
    """The numbers for the format of `x`."""
    return GAMMA_TABLES[x.format.name]


def places(x: Real[V]) -> Places[V]:
    """Where the functions of `x` are computed."""
    size = abs(x)
    below = size < 1.0
    y = below.pick(size + 1.0, size)
    return Places(
        size,
        below,
        x < 0.0,
        y,
        below.pick(size, size - 1.0),
        below.pick(size - 1.0, size - 2.0),
        (y < 3.0).pick(y, 3.0),
        size - size.rint(),
    )


def stirling(size: Real[V], log_size: Pair[V]) -> Pair[V]:
    """log(gamma) in two parts, from the logarithm in two parts, for 3 <= size < 2**60.

    (size - 1/2)(log(size) - 1) + (log(2 pi) - 1)/2, and a series in 1/size.
    """
    t = numbers(size)
    inverse = 1.0 / size
    high, low = two_sum(log_size[0], log_size[0].like(-1.0))
    factor = size - 0.5
    product, product_low = two_product(factor, high)
    total, error = two_sum(product, product.like(t.half_log_2pi_e[0]))
    series = inverse.fma(polynomial(inverse * inverse, t.stirling), t.half_log_2pi_e[1])
    return two_sum(total, factor.fma(low + log_size[1], product_low) + (error + series))


def log_pair(x: Real[V]) -> Pair[V]:
    """The logarithm of a positive finite number with some 10 bits more than the format has."""
    k, m = decomposed(x)
    high, low = precise_log(m - 1.0)
    part, part_low = two_sum(k * table(x).ln2[0], high)
    return two_sum(part, part_low + k.fma(table(x).ln2[1], low))


def gammaln(x: Real[V]) -> Real[V]:
    """The logarithm of the magnitude of gamma(x)."""
    place = places(x)
    size, large = place.size, 2.0**60 if x.format is FLOAT64 else 2.0**30
    log_size = log_pair(size)
    near = 0.453125 + polynomial(place.mapped(1.75, 1.75), numbers(x).gammaln)
    near = place.from_1 * place.from_2 * near
    high, low = stirling(size.clamp(3.0, large), log_size)
    value = place.by_place(near, high)
    value_low = place.by_place(near.like(0.0), low)
    recurred, error = two_sum(-log_size[0], near)
    above = place.below.pick(recurred + (error - log_size[1]), value + value_low)
    above = (size > large).pick(size * (log_size[0] - 1.0), above)
    # gamma(x) gamma(-x) = -pi / (x sin(pi x))
    sine = abs(place.sine(place.f))
    k, m = decomposed(place.below.pick(sine, size * sine))
    log_sine, log_sine_low = with_exponent_in_parts(k, log_of_fraction(m - 1.0), table(x).ln2)
    total, error = two_sum(log_sine, value)
    result = place.negative.pick(-(total + (error + (log_sine_low + value_low))), above)
    pole = size.equals(0.0) | (place.negative & place.f.equals(0.0))
    result = pole.pick_const(math.inf, result)
    return size.equals(math.inf).pick(x, result)


def gamma(x: Real[V]) -> Real[V]:
    """The gamma function."""
    form, t = x.format, table(x)
    place = places(x)
    size = place.size
    # Beyond 200, or 50, the result is infinite or 0.
    inside = size.clamp(3.0, 200.0 if form is FLOAT64 else 50.0)
    exponent, exponent_low = rescaled(stirling(inside, log_pair(inside)), t.log2_e)
    # For negative x the power is that of -exponent, scaled so as not to be subnormal before it is divided.
    spare = form.bits
    high, low = two_sum(place.negative.pick(-exponent, exponent), place.negative.pick_const(spare, 0.0))
    power = exp2_of_sum(high, low + place.negative.pick(-exponent_low, exponent_low))
    # 1/gamma(z + 2) for z between -1 and 0, one step of the recurrence below x if that is 2 or more
    beyond_2 = (size >= 2.0) & (size < 3.0)
    step = beyond_2.pick(size - 1.0, 1.0)
    z = beyond_2.pick(size - 3.0, place.from_2)
    inverse = (z * (z + 1.0)).fma(polynomial(z, numbers(x).rgamma), 1.0)
    turned = size.rint() * 0.5
    sine = place.sine(place.f)
    sine = turned.equals(turned.rint()).pick(sine, -sine)
    signed = size.copysign(x)
    numerator = place.by_place(place.negative.pick(-inverse, step), place.negative.pick(-power, power))
    divisor = place.negative.pick(
        place.below.pick(sine, size * step * sine),
        place.by_place(place.below.pick(signed * inverse, inverse), x.like(1.0)),
    )
    value = numerator / divisor
    value = (place.negative & (place.y >= 3.0)).pick(value * 2.0**-spare, value)
    pole = place.negative & (place.f.equals(0.0) | size.equals(math.inf))
    value = pole.pick_const(math.nan, value)
    return x.equals(math.inf).pick(x, value)


def digamma(x: Real[V]) -> Real[V]:
    """The derivative of log(gamma(x))."""
    t = numbers(x)
    place = places(x)
    y = place.y
    near = 0.875 + polynomial(place.mapped(1.75, 1.75), t.digamma)
    near = ((y - t.psi_root[0]) - t.psi_root[1]) * near
    far_y = (y < 3.0).pick_const(3.0, y)
    inverse = 1.0 / far_y
    square = inverse * inverse
    far = log(far_y) - inverse.fma(0.5, square * polynomial(square, t.digamma_tail))
    value = place.by_place(near, far)
    # The polynomial's y is x + 1 for 0 < x < 1; that of a negative x is -x, where 1 - x is wanted, or 1 - x.
    recurrence = 1.0 / x
    recurrence = (place.below & (x < 0.0)).pick_const(0.0, recurrence)
    recurrence = (place.below | place.negative).pick(recurrence, 0.0)
    quarter = place.sine(0.5 - abs(place.f))
    cotangent = quarter / place.sine(place.f) * math.pi
    value = value - recurrence
    value = place.negative.pick(value + cotangent, value)
    pole = place.negative & (place.f.equals(0.0) | place.size.equals(math.inf))
    return pole.pick_const(math.nan, value)


def trigamma(x: Real[V]) -> Real[V]:
    """The second derivative of log(gamma(x))."""
    t = numbers(x)
    place = places(x)
    near = 2.375 + polynomial(place.mapped(1.8125, 3.8125), t.trigamma)
    near = near / (place.inside * place.inside)
    far_y = (place.y < 3.0).pick_const(3.0, place.y)
    inverse = 1.0 / far_y
    square = inverse * inverse
    far = inverse + square.fma(inverse * polynomial(square, t.trigamma_tail), 0.5 * square)
    value = place.by_place(near, far)
    reciprocal = 1.0 / place.size
    recurrence = reciprocal * reciprocal
    positive = place.below.pick(value + recurrence, value)
    cosecant = 1.0 / place.sine(place.f)
    # trigamma(x) + trigamma(1 - x) = pi**2 / sin(pi x)**2
    negative = cosecant * cosecant - place.below.pick(value, value - recurrence)
    value = place.negative.pick(negative, positive)
    return (place.negative & place.size.equals(math.inf)).pick_const(math.inf, value)
