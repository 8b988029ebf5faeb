"""Powers: x**y = 2**(y log2(x)), with the logarithm in two parts and IEEE 754's special cases; roots."""

from __future__ import annotations

import math

from symgrad.codegen.vmath_arith import (
    FLOAT64,
    Real,
    Truth,
    V,
    fast_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from symgrad.codegen.vmath_exp import Pair, exp2_of_sum, power_of_two, table, to_integer
from symgrad.codegen.vmath_log import decomposed, rescaled

__all__ = ["cbrt", "hypot", "positive_power", "pow", "precise_log"]


def precise_log(f: Real[V]) -> Pair[V]:
    """log(1 + f) with some 10 bits more than the format has, for 1 + f between the roots of 1/2 and 2.

    2 s + s**3 (2/3 + s**2 T(s**2)) with s = f/(2 + f); all but T is computed in two parts.
    """
    t = table(f)
    below, below_error = fast_two_sum(f.like(2.0), f)
    inverse = 1.0 / below
    s = f * inverse
    s_low = inverse * (-s).fma(below_error, (-s).fma(below, f))
    square, square_low = two_product(s, s)
    square_low = (2.0 * s).fma(s_low, square_low)
    series = polynomial(square, t.log_tail)
    factor, factor_low = fast_two_sum(f.like(t.third[0]), square * series)
    factor_low = factor_low + square_low.fma(series, t.third[1])
    cube, cube_low = two_product(s, square)
    cube_low = cube_low + s.fma(square_low, s_low * square)
    product, product_low = two_product(cube, factor)
    product_low = product_low + cube.fma(factor_low, cube_low * factor)
    high, low = fast_two_sum(2.0 * s, product)
    return fast_two_sum(high, low + s_low.fma(2.0, product_low))


def positive_power(x: Real[V], y: Real[V], offset: Pair[V] | None = None) -> Real[V]:
    """x**y 2**offset for positive finite x; no `offset` is 0."""
    form = x.format
    bound = 2.0 ** (form.fraction_bits + 20)
    exponent = y.clamp(-bound, bound)
    k, m = decomposed(x)
    part, part_low = rescaled(precise_log(m - 1.0), table(x).log2_e)
    high, low = fast_two_sum(k, part)
    low = low + part_low
    product, product_low = two_product(exponent, high)
    product_low = exponent.fma(low, product_low)
    if offset is not None:
        product, error = two_sum(product, offset[0])
        product_low = product_low + (error + offset[1])
    limit = form.bias + form.fraction_bits + 3.0
    inside = abs(product) < limit
    return exp2_of_sum(product.clamp(-limit, limit), inside.pick(product_low, 0.0))


def is_integer(x: Real[V]) -> Truth[V]:
    """Whether `x` is an integer or infinite."""
    return x.equals(x.rint())


def pow(x: Real[V], y: Real[V]) -> Real[V]:
    """x to the power y."""
    magnitude = abs(x)
    zero, infinite = magnitude.equals(0.0), magnitude.equals(math.inf)
    value = positive_power(magnitude, y)
    grows = (zero & (y < 0.0)) | (infinite & (y > 0.0))
    value = (zero | infinite).pick(grows.pick_const(math.inf, 0.0), value)
    # y is an odd integer if it is one and half of it is not
    odd = is_integer(y).pick(is_integer(0.5 * y).pick_const(1.0, x), 1.0)
    value = value.copysign(odd)
    value = ((x < 0.0) & (magnitude < math.inf)).pick(is_integer(y).pick(value, math.nan), value)
    value = (x.equals(x) & y.equals(y)).pick(value, math.nan)
    return (x.equals(1.0) | y.equals(0.0)).pick_const(1.0, value)


def cbrt(x: Real[V]) -> Real[V]:
    """The cube root: 2**j times that of a number between 0.35 and 2.83, by Halley's iteration."""
    magnitude = abs(x)
    k, m = decomposed(magnitude)
    third_real, third = to_integer(k * (1.0 / 3.0))
    _, rest = to_integer(k - 3.0 * third_real)
    w = m * power_of_two(rest, x.format)
    root = polynomial(w, table(x).cbrt)
    for _ in range(2 if x.format is FLOAT64 else 1):
        cube = root * root * root
        root = root * (cube + 2.0 * w) / (2.0 * cube + w)
    square, square_error = two_product(root, root)
    cube, cube_error = two_product(square, root)
    residual = (w - cube) - square_error.fma(root, cube_error)
    root = root + residual / (3.0 * square)
    value = (root * power_of_two(third, x.format)).copysign(x)
    ordinary = (magnitude > 0.0) & (magnitude < math.inf)
    return ordinary.pick(value, x)


def hypot(x: Real[V], y: Real[V]) -> Real[V]:
    """The root of x**2 + y**2, the larger scaled so that its square neither overflows nor underflows."""
    bias = x.format.bias
    above, below = abs(x), abs(y)
    swapped = above < below
    larger, smaller = swapped.pick(below, above), swapped.pick(above, below)
    big, small = larger > 2.0 ** (bias // 2 - 1), larger < 2.0 ** (-bias // 2 + x.format.fraction_bits)
    down, up = 2.0 ** -(bias // 2 + 2), 2.0 ** (bias // 2 + x.format.fraction_bits + 8)
    scale = big.pick_const(down, small.pick_const(up, 1.0))
    back = big.pick_const(1 / down, small.pick_const(1 / up, 1.0))
    larger, smaller = larger * scale, smaller * scale
    root = larger.fma(larger, smaller * smaller).sqrt() * back
    return (above.equals(math.inf) | below.equals(math.inf)).pick_const(math.inf, root)
