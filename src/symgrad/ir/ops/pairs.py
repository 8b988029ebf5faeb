"""Functions of complex numbers on pairs of reals: what op records say in `on_pairs`.

A complex number is (x, y), its real and its imaginary part. Signs of zeros decide on which side of a branch
cut a number lies, as in C and NumPy, so formulas keep them: 1 - z is (1 - x, -y). Nothing is formed by |x|,
whose derivatives at 0 are those of a kink, where the function has none: x · copysign(1, x) stands for it.

Sources: W. Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit"
(1987), for the roots and the inverse functions; R. L. Smith, "Algorithm 116: complex division" (1962).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

Pair: TypeAlias = "tuple[Any, Any]"
OnPairs: TypeAlias = Callable[..., Any]


def each(fn: Callable[..., Any]) -> OnPairs:
    """A function that acts on the real and the imaginary parts alike."""

    def on_pairs(*zs: Pair) -> Pair:
        return fn(*(x for x, _ in zs)), fn(*(y for _, y in zs))

    return on_pairs


def joined(fn: Callable[..., Any], join: Callable[[Any, Any], Any]) -> OnPairs:
    """A question about numbers that is asked of the parts."""

    def on_pairs(*zs: Pair) -> Any:
        return join(fn(*(x for x, _ in zs)), fn(*(y for _, y in zs)))

    return on_pairs


def _signed_one(x: Any) -> Any:
    return np.copysign(np.ones_like(x), x)


def _times_i(z: Pair) -> Pair:
    return -z[1], z[0]


def _over_i(z: Pair) -> Pair:
    return z[1], -z[0]


# ---- arithmetic ------------------------------------------------------------------------------------------
def mul(z: Pair, w: Pair) -> Pair:
    """z · w"""
    (a, b), (c, d) = z, w
    return a * c - b * d, a * d + b * c


def div(z: Pair, w: Pair) -> Pair:
    """z / w, scaled by the larger part of w (Smith 1962)."""
    (a, b), (c, d) = z, w
    wide = np.abs(c) >= np.abs(d)
    large, small = np.where(wide, c, d), np.where(wide, d, c)
    nothing = large == 0
    ratio = small / np.where(nothing, np.ones_like(large), large)
    scale = 1 / np.where(nothing, large * _signed_one(large), large + small * ratio)
    x = np.where(wide, a + b * ratio, a * ratio + b) * scale
    return x, np.where(wide, b - a * ratio, b * ratio - a) * scale


def reciprocal(z: Pair) -> Pair:
    """1 / z, scaled by the larger part; the sign of a zero is that of -y."""
    x, y = z
    wide = np.abs(x) >= np.abs(y)
    large, small = np.where(wide, x, y), np.where(wide, y, x)
    ratio = small / large
    one, rest = 1 / (large + small * ratio), ratio / (large + small * ratio)
    return np.where(wide, one, rest), -np.where(wide, rest, one)


def conj(z: Pair) -> Pair:
    """x - iy"""
    return z[0], -z[1]


def modulus(z: Pair) -> Any:
    """|z|, without overflow"""
    return np.hypot(*z)


def sign(z: Pair) -> Pair:
    """z / |z|, and 0 at 0"""
    r = np.hypot(*z)
    r = np.where(r == 0, np.full_like(r, math.inf), r)  # so that the derivative is 0, too
    return z[0] / r, z[1] / r


def angle(z: Pair) -> Any:
    """The angle, with derivative 0 at 0."""
    x, y = z
    origin = (x == 0) & (y == 0)
    one = np.ones_like(x)
    away = np.arctan2(np.where(origin, one, y), np.where(origin, one, x))
    behind = np.where(np.signbit(x), np.full_like(x, math.pi), np.zeros_like(x))
    return np.where(origin, np.copysign(behind, y), away)


def power(z: Pair, w: Pair) -> Pair:
    """exp(w log z); 0**w is 0 if Re w > 0, 1 if w = 0, else NaN, with derivative 0."""
    (x, y), (c, d) = z, w
    origin, one, zero = (x == 0) & (y == 0), np.ones_like(x), np.zeros_like(x)
    logarithm = log((np.where(origin, one, x), y))
    a, b = exp(mul(w, logarithm))
    nothing = (c == 0) & (d == 0)
    at_origin = np.where(nothing, one, np.where(c > 0, zero, np.full_like(x, math.nan)))
    at_zero = np.where((c > 0) | nothing, zero, np.full_like(x, math.nan))
    return np.where(origin, at_origin, a), np.where(origin, at_zero, b)


# ---- roots, exponentials, logarithms ---------------------------------------------------------------------
def sqrt(z: Pair) -> Pair:
    """The root with Re ≥ 0, and the sign of y (Kahan 1987)."""
    x, y = z
    right = x * _signed_one(x)
    # An eighth, so that nothing overflows.
    t = 2 * np.sqrt(np.hypot(0.125 * x, 0.125 * y) + 0.125 * right)
    halved = 0.5 * y / np.where(t == 0, np.ones_like(t), t)
    side = _signed_one(y)
    ahead = ~np.signbit(x)
    return np.where(ahead, t, halved * side), np.where(ahead, halved, t * side)


def exp(z: Pair) -> Pair:
    """eˣ (cos y + i sin y)"""
    x, y = z
    r = np.exp(x)
    real = np.isinf(r) & (y == 0)  # ∞ · 0 is no part of it
    return r * np.cos(y), np.where(real, y, r * np.sin(np.where(real, np.ones_like(y), y)))


def exp2(z: Pair) -> Pair:
    """exp(z log 2)"""
    return exp((math.log(2) * z[0], math.log(2) * z[1]))


def expm1(z: Pair) -> Pair:
    """eᶻ - 1, without cancellation near 0."""
    x, y = z
    half = np.sin(0.5 * y)
    return np.expm1(x) * np.cos(y) - 2 * half * half, np.exp(x) * np.sin(y)


def _log_modulus(x: Any, y: Any, more: Any) -> Any:
    """log |z|: log1p(|z|² - 1) / 2 where |z|² - 1, which is `more`, is small."""
    near = (more > -0.5) & (more < 1)
    one = np.ones_like(x)
    away = np.log(np.hypot(np.where(near, one, x), np.where(near, one, y)))
    return np.where(near, 0.5 * np.log1p(np.where(near, more, np.zeros_like(x))), away)


def log(z: Pair) -> Pair:
    """log |z| + i angle(z)"""
    x, y = z
    wide = np.abs(x) >= np.abs(y)
    large, small = np.where(wide, x, y), np.where(wide, y, x)
    large = large * _signed_one(large)
    return _log_modulus(x, y, (large - 1) * (large + 1) + small * small), angle(z)


def log1p(z: Pair) -> Pair:
    """log(1 + z), without cancellation near 0."""
    x, y = z
    return _log_modulus(1 + x, y, x * (2 + x) + y * y), np.arctan2(y, 1 + x)


def scaled_log(base: float) -> OnPairs:
    """log z / log base"""

    def on_pairs(z: Pair) -> Pair:
        x, y = log(z)
        return x * (1 / math.log(base)), y * (1 / math.log(base))

    return on_pairs


# ---- trigonometric and hyperbolic ------------------------------------------------------------------------
def sin(z: Pair) -> Pair:
    """sin x cosh y + i cos x sinh y"""
    x, y = z
    return np.sin(x) * np.cosh(y), np.cos(x) * np.sinh(y)


def cos(z: Pair) -> Pair:
    """cos x cosh y - i sin x sinh y"""
    x, y = z
    return np.cos(x) * np.cosh(y), -(np.sin(x) * np.sinh(y))


def sinh(z: Pair) -> Pair:
    """-i sin(iz)"""
    return _over_i(sin(_times_i(z)))


def cosh(z: Pair) -> Pair:
    """cosh x cos y + i sinh x sin y"""
    x, y = z
    return np.cosh(x) * np.cos(y), np.sinh(x) * np.sin(y)


def tan(z: Pair) -> Pair:
    """(t (1 - u²) + i u (1 + t²)) / (1 + t² u²) with t = tan x, u = tanh y"""
    x, y = z
    t, u = np.tan(x), np.tanh(y)
    small = np.abs(y) < 300
    c = np.cosh(np.where(small, y, np.zeros_like(y)))
    rest = np.where(small, 1 / (c * c), np.zeros_like(y))
    scale = 1 / (1 + t * u * (t * u))
    return t * rest * scale, u * (1 + t * t) * scale


def tanh(z: Pair) -> Pair:
    """-i tan(iz)"""
    return _over_i(tan(_times_i(z)))


def _roots(z: Pair) -> tuple[Pair, Pair]:
    """The roots of 1 - z and of 1 + z."""
    x, y = z
    return sqrt((1 - x, -y)), sqrt((1 + x, y))


def asin(z: Pair) -> Pair:
    """The inverse sine (Kahan 1987)."""
    (a, b), (c, d) = _roots(z)
    return np.arctan2(z[0], a * c - b * d), np.arcsinh(a * d - b * c)


def acos(z: Pair) -> Pair:
    """The inverse cosine (Kahan 1987)."""
    (a, b), (c, d) = _roots(z)
    return 2 * np.arctan2(a, c), np.arcsinh(c * b - d * a)


def asinh(z: Pair) -> Pair:
    """-i asin(iz)"""
    return _over_i(asin(_times_i(z)))


def acosh(z: Pair) -> Pair:
    """The inverse hyperbolic cosine (Kahan 1987)."""
    x, y = z
    (a, b), (c, d) = sqrt((x - 1, y)), sqrt((x + 1, y))
    return np.arcsinh(a * c + b * d), 2 * np.arctan2(b, c)


def atanh(z: Pair) -> Pair:
    """The inverse hyperbolic tangent (Kahan 1987)."""
    x, y = z
    side = _signed_one(x)
    right = x * side
    apart = (1 - right) * (1 - right) + y * y
    turned = np.arctan2(2 * y, (1 - right) * (1 + right) - y * y)
    return 0.25 * side * np.log1p(4 * right / apart), 0.5 * turned


def atan(z: Pair) -> Pair:
    """-i atanh(iz)"""
    return _over_i(atanh(_times_i(z)))


FORMULAS: dict[str, OnPairs] = {
    "add": each(np.add), "sub": each(np.subtract), "neg": each(np.negative), "rint": each(np.rint),
    "mul": mul, "div": div, "pow": power, "sign": sign,
    "eq": joined(np.equal, np.bitwise_and), "ne": joined(np.not_equal, np.bitwise_or),
    "isnan": joined(np.isnan, np.bitwise_or), "isinf": joined(np.isinf, np.bitwise_or),
    "isfinite": joined(np.isfinite, np.bitwise_and),
    "sqrt": sqrt, "exp": exp, "exp2": exp2, "expm1": expm1, "log": log, "log1p": log1p,
    "log2": scaled_log(2.0), "log10": scaled_log(10.0),
    "sin": sin, "cos": cos, "tan": tan, "asin": asin, "acos": acos, "atan": atan,
    "sinh": sinh, "cosh": cosh, "tanh": tanh, "asinh": asinh, "acosh": acosh, "atanh": atanh,
}  # fmt: skip
