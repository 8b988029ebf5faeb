"""The error function: a polynomial near 0, and beyond it exp(-x**2) times a function that hardly varies.

erfc(x) = exp(-x**2) G(t) / (1 + 2x) with t = (x - 3)/(x + 3), where G lies between 1 and 1.3 for all x >= 0
(Shepherd and Laframboise, Chebyshev approximation of (1 + 2x) exp(x**2) erfc x). The exponent, G and the
quotient are kept in two parts.
"""

from __future__ import annotations

from symgrad.codegen.vmath_arith import FLOAT64, Real, V, fast_two_sum, polynomial, two_product, two_sum
from symgrad.codegen.vmath_exp import Pair, quotient, reduced, scales, table, tail

__all__ = ["erf", "erfc"]


def exp_of_negative_square(x: Real[V]) -> Pair[V]:
    """exp(-x**2) in two parts."""
    square, square_error = two_product(x, x)
    k, _, (r, low) = reduced(-square)
    r = two_sum(r, low - square_error)
    high, low = fast_two_sum(x.like(1.0), r[0] + tail(r))
    first, second = scales(k, x.format)
    return high * first * second, low * first * second


def erfc_beyond_half(x: Real[V]) -> Real[V]:
    """erfc(x) for x >= 1/2."""
    inside = x.clamp(0.5, 28.0 if x.format is FLOAT64 else 10.3)
    t = (inside - 3.0) / (inside + 3.0)
    g, g_low = fast_two_sum(x.like(1.25), polynomial(t, table(x).erfcx))
    power, power_low = exp_of_negative_square(inside)
    product, product_low = two_product(power, g)
    rest = product_low + power.fma(g_low, power_low * g)
    return quotient((product, rest), fast_two_sum(2.0 * inside, x.like(1.0)))


def erf(x: Real[V]) -> Real[V]:
    """The error function."""
    magnitude = abs(x)
    near = x.fma(polynomial(x * x, table(x).erf), x)
    far = (1.0 - erfc_beyond_half(magnitude)).copysign(x)
    return (magnitude > 1.0).pick(far, near).copysign(x)


def erfc(x: Real[V]) -> Real[V]:
    """1 - erf(x), to full precision where it is small."""
    magnitude = abs(x)
    total, error = fast_two_sum(x.like(1.0), -x)
    near = total + (-x).fma(polynomial(x * x, table(x).erf), error)
    beyond = erfc_beyond_half(magnitude)
    far = (x < 0.0).pick(2.0 - beyond, beyond)
    return (magnitude < 0.5).pick(near, far)
