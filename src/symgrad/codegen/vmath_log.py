"""Logarithms: x = 2**k m with m near 1, and an odd series in s = (m - 1)/(m + 1).

log(m) = f - f**2/2 + s (f**2/2 + R(s**2)) with f = m - 1 is Ng's arrangement; f - f**2/2 is kept in two
parts, so that the last addition is the only one that rounds a large number.
"""

from __future__ import annotations

import math

from symgrad.codegen.vmath_arith import Format, Real, V, fast_two_sum, polynomial, two_sum
from symgrad.codegen.vmath_exp import Pair, table

__all__ = [
    "decomposed",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_of_fraction",
    "rescaled",
    "with_exponent",
    "with_exponent_in_parts",
]


def root_half_bits(form: Format) -> int:
    """The bits of the square root of 1/2, rounded down."""
    fraction = math.isqrt(1 << (2 * form.fraction_bits + 1)) - (1 << form.fraction_bits)
    return ((form.bias - 1) << form.fraction_bits) + fraction


def decomposed(x: Real[V]) -> Pair[V]:
    """k and m with x = 2**k m and m between the roots of 1/2 and 2, for positive finite x."""
    form = x.format
    lift = form.fraction_bits + 2
    tiny = x < form.smallest_normal
    word = tiny.pick(x * 2.0**lift, x).bits() + (form.one_bits - root_half_bits(form))
    anchor = 2.0**form.fraction_bits
    anchor_bits = (form.bias + form.fraction_bits) << form.fraction_bits
    k = ((word >> form.fraction_bits) + anchor_bits).as_real() - (anchor + form.bias)
    m = ((word & form.fraction_mask) + root_half_bits(form)).as_real()
    return tiny.pick(k - float(lift), k), m


def log_of_fraction(f: Real[V]) -> Pair[V]:
    """log(1 + f) in two parts, for 1 + f between the roots of 1/2 and 2."""
    half = 0.5 * f
    s = f / (2.0 + f)
    square = s * s
    high = (-half).fma(f, f)
    low = (-half).fma(f, f - high)
    return high, s.fma(half.fma(f, square * polynomial(square, table(f).log)), low)


def with_exponent_in_parts(k: Real[V], log_m: Pair[V], log_2: tuple[float, ...]) -> Pair[V]:
    """k times the logarithm of 2, plus the logarithm of m; the first part of `log_2` times k is exact."""
    total, error = fast_two_sum(k * log_2[0], log_m[0])
    return total, error + k.fma(log_2[1], log_m[1])


def with_exponent(k: Real[V], log_m: Pair[V], log_2: tuple[float, ...]) -> Real[V]:
    """`with_exponent_in_parts`, rounded."""
    high, low = with_exponent_in_parts(k, log_m, log_2)
    return high + low


def rescaled(log_m: Pair[V], factor: tuple[float, ...]) -> Pair[V]:
    """The product of two numbers in two parts."""
    high, low = log_m
    product = high * factor[0]
    return product, high.fma(factor[0], -product) + high.fma(factor[1], low * factor[0])


def on_domain(x: Real[V], pole: float, value: Real[V]) -> Real[V]:
    """`value` above the pole, -inf at it, NaN below it and for NaN, and inf at inf."""
    outside = x.equals(pole).pick_const(-math.inf, math.nan)
    return x.equals(math.inf).pick(x, (x > pole).pick(value, outside))


def log(x: Real[V]) -> Real[V]:
    """The natural logarithm."""
    k, m = decomposed(x)
    return on_domain(x, 0.0, with_exponent(k, log_of_fraction(m - 1.0), table(x).ln2))


def log2(x: Real[V]) -> Real[V]:
    """The logarithm to base 2."""
    k, m = decomposed(x)
    value = with_exponent(k, rescaled(log_of_fraction(m - 1.0), table(x).log2_e), (1.0, 0.0))
    return on_domain(x, 0.0, value)


def log10(x: Real[V]) -> Real[V]:
    """The logarithm to base 10."""
    k, m = decomposed(x)
    value = with_exponent(k, rescaled(log_of_fraction(m - 1.0), table(x).log10_e), table(x).log10_2)
    return on_domain(x, 0.0, value)


def log1p(x: Real[V]) -> Real[V]:
    """log(1 + x), to full precision near 0: what rounding 1 + x loses is put back into f."""
    form = x.format
    total, lost = two_sum(x.like(1.0), x)
    k, m = decomposed(total)
    word = (m.bits() - total.bits()) + form.one_bits
    shrink = (total < 2.0 ** (2 * form.fraction_bits)).pick(word.as_real(), 0.0)
    f, rest = fast_two_sum(m - 1.0, lost * shrink)
    high, low = log_of_fraction(f)
    slope = f.fma(f - 1.0, 1.0)
    value = with_exponent(k, (high, rest.fma(slope, low)), table(x).ln2)
    return (abs(x) < 2.0 ** -(form.fraction_bits + 2)).pick(x, on_domain(x, -1.0, value))
