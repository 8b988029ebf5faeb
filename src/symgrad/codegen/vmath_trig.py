"""Sine, cosine and tangent: x = k pi/2 + r with |r| <= pi/4, and a polynomial for each of sin(r) and cos(r).

pi/2 in three parts gives r in two parts, accurate even where x is as near to a multiple of pi/2 as a number
can be (Boldo, Daumas and Li, Formally verified argument reduction with a fused multiply-add). Beyond its
reach, which is rare, a function out of line multiplies by the right bits of 2/pi (Payne and Hanek).
"""

from __future__ import annotations

import math

from symgrad.codegen.vmath_arith import (
    FLOAT32,
    FLOAT64,
    Format,
    Real,
    V,
    Word,
    fast_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from symgrad.codegen.vmath_exp import Pair, power_of_two, quotient, table, to_integer

__all__ = ["cos", "sin", "tan"]

# The exponents between entries of the table of 2/pi; `tools/minimax.py` knows it too.
HUGE_STRIDE = {FLOAT64: 32, FLOAT32: 8}


def reach(form: Format) -> float:
    """The largest magnitude that the reduction is accurate for."""
    return 2.0**31 if form is FLOAT64 else 2.0**16


def small(form: Format) -> float:
    """A magnitude below which sin(x) and tan(x) round to x."""
    return 2.0 ** -(form.fraction_bits // 2 + 2)


def quadrant(x: Real[V]) -> tuple[Word[V], Pair[V]]:
    """k and r in two parts, where x = k pi/2 + r."""
    first, second, third = table(x).half_pi
    k_real, k = to_integer(x * (2 / math.pi))
    exact = (-k_real).fma(first, x)
    product, product_error = two_product(k_real, second)
    r, error = two_sum(exact, -product)
    return k, (r, (-k_real).fma(third, error - product_error))


def modulo_four(x: Real[V]) -> Real[V]:
    """`x` less the nearest multiple of 4, exactly."""
    return x - 4.0 * (0.25 * x).rint()


def quadrant_of_huge(x: Real[V]) -> tuple[Word[V], Pair[V]]:
    """k modulo 4 and r in two parts, where x = k pi/2 + r, for |x| beyond reach.

    With x = y 2**n and y an integer, multiples of 4 can be left out of 2**n 2/pi; a table has the rest for
    n = 0, stride, 2 stride and so on.
    """
    form, t = x.format, table(x)
    magnitude = abs(x)
    least = 2.0**form.fraction_bits
    word = (magnitude < least).pick_const(least, magnitude).bits()
    stride_bits = HUGE_STRIDE[form].bit_length() - 1
    index = ((word >> form.fraction_bits) - (form.bias + form.fraction_bits)) >> stride_bits
    y = x * power_of_two(-(index << stride_bits), form)
    (a, a_low), (b, b_low), (c, c_low) = (two_product(y, index.entry_of(part)) for part in t.two_over_pi[:3])
    rest = y.fma(index.entry_of(t.two_over_pi[3]), c_low)
    total, error = two_sum(modulo_four(a), modulo_four(a_low))
    total, error_b = two_sum(total, modulo_four(b))
    k_real, k = to_integer(total)
    middle, middle_low = two_sum(b_low, c)
    fraction, first_low = two_sum(total - k_real, middle)
    errors, errors_low = two_sum(error, error_b)
    fraction, second_low = two_sum(fraction, errors)
    low = (first_low + second_low) + ((middle_low + errors_low) + rest)
    fraction, low = fast_two_sum(fraction, low)
    r, r_low = two_product(fraction, t.half_pi[0])
    return k, (r, r_low + fraction.fma(t.half_pi[1], low * t.half_pi[0]))


def sin_pair(r: Pair[V]) -> Pair[V]:
    """sin(r) in two parts."""
    high, low = r
    square = high * high
    return high, (square * high).fma(polynomial(square, table(high).sin), square.fma(-0.5 * low, low))


def cos_pair(r: Pair[V]) -> Pair[V]:
    """cos(r) in two parts."""
    high, low = r
    square = high * high
    total = square.fma(-0.5, 1.0)
    error = square.fma(-0.5, 1.0 - total)
    return total, error + (square * square).fma(polynomial(square, table(high).cos), -high * low)


def signed(x: Real[V], turn: Word[V]) -> Real[V]:
    """`x` negated where bit 1 of `turn` is set."""
    return (((turn & 2) << (x.format.bits - 2)) ^ x.bits()).as_real()


def circular(reduced: tuple[Word[V], Pair[V]], quarter_turns: int) -> Real[V]:
    """sin(k pi/2 + r + quarter_turns pi/2)."""
    k, r = reduced
    turn = k + quarter_turns
    sin_r, cos_r = sin_pair(r), cos_pair(r)
    return signed((turn & 1).equals(0).pick(sin_r[0] + sin_r[1], cos_r[0] + cos_r[1]), turn)


def tangent(reduced: tuple[Word[V], Pair[V]]) -> Real[V]:
    """tan(k pi/2 + r): sin(r)/cos(r) or -cos(r)/sin(r)."""
    k, r = reduced
    r = fast_two_sum(*r)
    above, below = fast_two_sum(*sin_pair(r)), fast_two_sum(*cos_pair(r))
    even = (k & 1).equals(0)
    numerator = even.pick(above[0], below[0]), even.pick(above[1], below[1])
    denominator = even.pick(below[0], above[0]), even.pick(below[1], above[1])
    return signed(quotient(numerator, denominator), k << 1)


def sin(x: Real[V]) -> Real[V]:
    """The sine."""
    value = (abs(x) < small(x.format)).pick(x, circular(quadrant(x), 0))
    huge = abs(x) > reach(x.format)
    return huge.rarely("sin_of_huge", lambda y: circular(quadrant_of_huge(y), 0), x, otherwise=value)


def cos(x: Real[V]) -> Real[V]:
    """The cosine."""
    huge = abs(x) > reach(x.format)
    value = circular(quadrant(x), 1)
    return huge.rarely("cos_of_huge", lambda y: circular(quadrant_of_huge(y), 1), x, otherwise=value)


def tan(x: Real[V]) -> Real[V]:
    """The tangent."""
    value = (abs(x) < small(x.format)).pick(x, tangent(quadrant(x)))
    huge = abs(x) > reach(x.format)
    return huge.rarely("tan_of_huge", lambda y: tangent(quadrant_of_huge(y)), x, otherwise=value)
