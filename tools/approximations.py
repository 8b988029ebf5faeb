"""What `tools/minimax.py` approximates: smooth functions on intervals, and degrees of polynomials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 160

Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Approximation:
    """A function to approximate by a polynomial."""

    name: str  # the field of the table
    meaning: str  # what the polynomial stands for
    g: Function  # the function, smooth on the interval
    weight: Function  # relative error of the result for an error of 1 in the polynomial
    low: mpf  # the interval
    high: mpf
    degrees: tuple[int, int]  # for float64, float32


def at(z: mpf) -> mpf:
    """The square root of z, away from 0 where the quotients below are 0/0."""
    return mp.sqrt(max(z, mpf(10) ** -40))


def away(r: mpf) -> mpf:
    """`r`, away from 0."""
    return r if abs(r) > mpf(10) ** -25 else mpf(10) ** -25


HALF_LN2 = mp.log(2) / 2 * mpf("1.0001")
QUARTER_PI = mp.pi / 4 * mpf("1.0001")
S_MAX = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.0001")
TAN_PI_8 = (mp.sqrt(2) - 1) * mpf("1.0001")


def scaled_erfc(x: mpf) -> mpf:
    """exp(x**2) erfc(x) (1 + 2 x), which lies between 1 and 1.3."""
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def on_squares(
    name: str, meaning: str, g: Function, weight: Function, high: mpf, degrees: tuple[int, int]
) -> Approximation:
    """An approximation in z = r**2, given by functions of r."""
    return Approximation(name, meaning, lambda z: g(at(z)), lambda z: weight(at(z)), mpf(0), high**2, degrees)


APPROXIMATIONS = (
    Approximation(
        "exp", "(exp(r) - 1 - r - r**2/2) / r**3 for |r| <= ln(2)/2",
        lambda r: (mp.expm1(away(r)) - away(r) - away(r) ** 2 / 2) / away(r) ** 3,
        lambda r: HALF_LN2**2 * away(r) / mp.expm1(away(r)),  # an upper bound: no weight may be 0 inside
        -HALF_LN2, HALF_LN2, (9, 4),
    ),
    Approximation(
        "exp2", "(2**r - 1) / r for |r| <= 1/2",
        lambda r: mp.expm1(away(r) * mp.log(2)) / away(r),
        lambda r: away(r) / mp.power(2, r),
        mpf("-0.5001"), mpf("0.5001"), (11, 6),
    ),
    on_squares(
        "sinh", "(sinh(r) - r) / r**3 for |r| <= ln(2)/2, in r**2",
        lambda r: (mp.sinh(r) - r) / r**3, lambda r: r**3 / mp.sinh(r), HALF_LN2, (4, 2),
    ),
    on_squares(
        "cosh", "(cosh(r) - 1) / r**2 for |r| <= ln(2)/2, in r**2",
        lambda r: (mp.cosh(r) - 1) / r**2, lambda r: r**2 / mp.cosh(r), HALF_LN2, (5, 2),
    ),
    on_squares(
        "log", "(log((1 + s)/(1 - s))/s - 2) / s**2 for |s| <= 0.1716, in s**2",
        lambda s: (2 * mp.atanh(s) / s - 2) / s**2, lambda s: s**3 / (2 * mp.atanh(s)), S_MAX, (6, 2),
    ),
    on_squares(
        "log_tail", "(log((1 + s)/(1 - s))/s - 2 - 2*s**2/3) / s**4, in s**2, to more digits",
        lambda s: (2 * mp.atanh(s) / s - 2 - 2 * s**2 / 3) / s**4, lambda s: s**5 / (2 * mp.atanh(s)),
        S_MAX, (8, 4),
    ),
    on_squares(
        "sin", "(sin(r) - r) / r**3 for |r| <= pi/4, in r**2",
        lambda r: (mp.sin(r) - r) / r**3, lambda r: r**3 / mp.sin(r), QUARTER_PI, (5, 2),
    ),
    on_squares(
        "cos", "(cos(r) - 1 + r**2/2) / r**4 for |r| <= pi/4, in r**2",
        lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4, lambda r: r**4 / mp.cos(r), QUARTER_PI, (5, 2),
    ),
    on_squares(
        "atan", "(atan(t) - t) / t**3 for |t| <= tan(pi/8), in t**2",
        lambda t: (mp.atan(t) - t) / t**3, lambda t: t**3 / mp.atan(t), TAN_PI_8, (10, 4),
    ),
    on_squares(
        "asin", "(asin(t) - t) / t**3 for |t| <= 1/2, in t**2",
        lambda t: (mp.asin(t) - t) / t**3, lambda t: t**3 / mp.asin(t), mpf("0.5001"), (12, 5),
    ),
    on_squares(
        "erf", "erf(x) / x - 1 for |x| <= 1, in x**2",
        lambda x: mp.erf(x) / x - 1, lambda x: x / mp.erf(x), mpf("1.0001"), (11, 6),
    ),
    Approximation(
        "erfcx", "exp(x**2) erfc(x) (1 + 2 x) - 1.25 for 1/2 <= x <= 28, in (x - 3) / (x + 3)",
        lambda t: scaled_erfc(3 * (1 + t) / (1 - t)) - mpf("1.25"),
        lambda t: 1 / scaled_erfc(3 * (1 + t) / (1 - t)),
        mpf("-2.501") / mpf("3.499"), mpf("25.01") / mpf("31.01"), (22, 11),
    ),
    Approximation(
        "cbrt", "the cube root on [0.35, 2.83]",
        mp.cbrt, lambda w: 1 / mp.cbrt(w), mpf("0.35"), mpf("2.83"), (4, 4),
    ),
)  # fmt: skip

HALF = mpf("0.5")
THIRD = mpf("0.33334")
PSI_ROOT = mp.findroot(mp.digamma, mpf("1.4616"))


def middle(t: mpf) -> mpf:
    """The y with (y - 1.75)/(y + 1.75) = t, away from the zeros of what divides below."""
    y = mpf("1.75") * (1 + t) / (1 - t)
    return y + mpf(10) ** -40 if min(abs(y - 1), abs(y - 2), abs(y - PSI_ROOT)) < mpf(10) ** -40 else y


def upper(t: mpf) -> mpf:
    """The y with (y - 1.8125)/(y + 3.8125) = t."""
    return (mpf("1.8125") + mpf("3.8125") * t) / (1 - t)


def over_zeros(y: mpf) -> mpf:
    """log(gamma(y)) over its zeros."""
    return mp.loggamma(y) / ((y - 1) * (y - 2))


def over_root(y: mpf) -> mpf:
    """digamma(y) over its zero."""
    return mp.digamma(y) / (y - PSI_ROOT)


def squared(y: mpf) -> mpf:
    """trigamma(y) y**2."""
    return mp.psi(1, y) * y**2


def stirling(x: mpf) -> mpf:
    """What Stirling's formula for log(gamma(x)) leaves, times x."""
    return x * (mp.loggamma(x) - (x - HALF) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def on_inverses(
    name: str, meaning: str, g: Function, weight: Function, degrees: tuple[int, int]
) -> Approximation:
    """An approximation in z = 1/x**2 for x >= 3, given by functions of x."""
    return on_squares(name, meaning, lambda r: g(1 / r), lambda r: weight(1 / r), THIRD, degrees)


GAMMA_APPROXIMATIONS = (
    Approximation(
        "gammaln", "gammaln(y) / ((y - 1)(y - 2)) - 0.453125 for 1 <= y <= 3, in (y - 1.75)/(y + 1.75)",
        lambda t: over_zeros(middle(t)) - mpf("0.453125"), lambda t: 1 / over_zeros(middle(t)),
        mpf("-0.2728"), mpf("0.2632"), (18, 9),
    ),
    Approximation(
        "digamma", "digamma(y) / (y - its root) - 0.875 for 1 <= y <= 3, in (y - 1.75)/(y + 1.75)",
        lambda t: over_root(middle(t)) - mpf("0.875"), lambda t: 1 / over_root(middle(t)),
        mpf("-0.2728"), mpf("0.2632"), (19, 9),
    ),
    Approximation(
        "trigamma", "trigamma(y) y**2 - 2.375 for 1 <= y <= 3, in (y - 1.8125)/(y + 3.8125)",
        lambda t: squared(upper(t)) - mpf("2.375"), lambda t: 1 / squared(upper(t)),
        mpf("-0.1690"), mpf("0.1744"), (15, 7),
    ),
    Approximation(
        "rgamma", "(1/gamma(2 + z) - 1) / (z (z + 1)) for -1 <= z <= 0",
        lambda z: (mp.rgamma(2 + away(z)) - 1) / (away(z) * (away(z) + 1)),
        lambda z: mpf("0.28"),  # an upper bound
        mpf("-1.0001"), mpf("0.0001"), (12, 5),
    ),
    on_inverses(
        "stirling", "what Stirling's formula for gammaln(x) leaves, times x, for x >= 3, in 1/x**2",
        stirling, lambda x: 1 / mp.loggamma(x) / x, (11, 5),
    ),
    on_inverses(
        "digamma_tail", "(log(x) - 1/(2 x) - digamma(x)) x**2 for x >= 3, in 1/x**2",
        lambda x: x**2 * (mp.log(x) - 1 / (2 * x) - mp.digamma(x)), lambda x: x**-2 / mp.digamma(x), (10, 4),
    ),
    on_inverses(
        "trigamma_tail", "(trigamma(x) - 1/x - 1/(2 x**2)) x**3 for x >= 3, in 1/x**2",
        lambda x: x**3 * (mp.psi(1, x) - 1 / x - 1 / (2 * x**2)), lambda x: x**-3 / mp.psi(1, x), (11, 5),
    ),
    on_squares(
        "sinpi", "(sin(pi f)/(pi f) - 1) / f**2 for |f| <= 1/2, in f**2",
        lambda f: (mp.sinpi(f) / (mp.pi * f) - 1) / f**2, lambda f: mp.pi * f**3 / mp.sinpi(f),
        mpf("0.5001"), (7, 4),
    ),
)  # fmt: skip
