"""Remainders: x - n y in one rounding, which is exact, with n next to the quotient.

A quotient so large that n would not be is rare, and goes to the C library out of line.
"""

from __future__ import annotations

import math

from symgrad.codegen.vmath_arith import Real, Truth, V

__all__ = ["floor_divide", "fmod", "remainder"]


def library_fmod(x: Real[V], y: Real[V]) -> Real[V]:
    """The C library's remainder."""
    return x.fmod(y)


def remainder_of_magnitudes(x: Real[V], y: Real[V]) -> Real[V]:
    """|x| - n |y| with n = floor(|x| / |y|), exactly."""
    above, below = abs(x), abs(y)
    quotient = above / below
    # n is off by at most one, so that the result of the fused multiply-add is a number of the format.
    rest = (-quotient.rint()).fma(below, above)
    rest = (rest < 0.0).pick(rest + below, rest)
    rest = (below.equals(math.inf) & (above < math.inf)).pick(above, rest)
    huge = (quotient >= 2.0 ** (x.format.fraction_bits - 2)) & (above < math.inf) & (below > 0.0)
    return huge.rarely("fmod_of_huge", library_fmod, above, below, otherwise=rest)


def fmod(x: Real[V], y: Real[V]) -> Real[V]:
    """The remainder with the sign of x."""
    return remainder_of_magnitudes(x, y).copysign(x)


def steps(rest: Real[V], y: Real[V]) -> Truth[V]:
    """Whether a remainder with the sign of x lacks that of y."""
    return ((rest < 0.0) & (y > 0.0)) | ((rest > 0.0) & (y < 0.0))


def remainder(x: Real[V], y: Real[V]) -> Real[V]:
    """x - floor(x / y) y, with the sign of y."""
    rest = fmod(x, y)
    return rest.equals(0.0).pick(rest.copysign(y), steps(rest, y).pick(rest + y, rest))


def floor_divide(x: Real[V], y: Real[V]) -> Real[V]:
    """floor(x / y): x less its remainder is divided, as NumPy has it."""
    plain, rest = x / y, fmod(x, y)
    exact = (x - rest) / y - steps(rest, y).pick_const(1.0, 0.0)
    nearest = exact.rint()
    floor = nearest - (nearest > exact).pick_const(1.0, 0.0)
    floor = floor + (exact - floor > 0.5).pick_const(1.0, 0.0)
    whole = exact.equals(0.0).pick(exact.copysign(plain), floor)
    return y.equals(0.0).pick(plain, whole)
