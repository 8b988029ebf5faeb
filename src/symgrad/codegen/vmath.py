"""Elementary functions that vectorise: one table of what there is, how exact it is, and how it is computed.

A function is written once, over the arithmetic of `vmath_arith`, for both formats and for every backend. But
for the huge arguments of sin, cos and tan it has no branch and no table look-up, so a loop around it becomes
vector code. NaN, infinities, signed zeros and subnormals come out as in NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from symgrad.codegen import (
    vmath_erf,
    vmath_exp,
    vmath_gamma,
    vmath_inverse,
    vmath_log,
    vmath_polygamma,
    vmath_pow,
    vmath_remainder,
    vmath_sums,
    vmath_trig,
)
from symgrad.codegen.vmath_arith import Real, V

__all__ = ["VMATH", "VectorFunction"]


class UnaryBody(Protocol):
    """A function of one real, of any arithmetic."""

    def __call__(self, x: Real[V], /) -> Real[V]: ...


class BinaryBody(Protocol):
    """A function of two reals, of any arithmetic."""

    def __call__(self, x: Real[V], y: Real[V], /) -> Real[V]: ...


@dataclass(frozen=True)
class VectorFunction:
    """A function of one or two reals."""

    name: str  # NumPy's name, where it has one
    arity: int  # the number of operands
    ulp: float  # the largest error, in units in the last place of the exact result
    body: UnaryBody | BinaryBody  # the function itself
    method: str  # how it is computed
    floor: float = 0.0  # where an operand is negative, the error near zeros is that of a result of this size


def unary(name: str, ulp: float, body: UnaryBody, method: str, floor: float = 0.0) -> VectorFunction:
    """The record of a function of one operand."""
    return VectorFunction(name, 1, ulp, body, method, floor)


def binary(name: str, ulp: float, body: BinaryBody, method: str, floor: float = 0.0) -> VectorFunction:
    """The record of a function of two operands."""
    return VectorFunction(name, 2, ulp, body, method, floor)


FUNCTIONS = (
    unary("exp", 1.0, vmath_exp.exp, "k ln 2 + r, polynomial in r"),
    unary("exp2", 1.0, vmath_exp.exp2, "k + r, polynomial in r"),
    unary("expm1", 1.25, vmath_exp.expm1, "k ln 2 + r, polynomial in r, sums in two parts"),
    unary("sinh", 1.0, vmath_exp.sinh, "k ln 2 + r, addition theorem"),
    unary("cosh", 1.0, vmath_exp.cosh, "k ln 2 + r, addition theorem"),
    unary("tanh", 1.0, vmath_exp.tanh, "expm1 and one division, in two parts"),
    unary("sigmoid", 1.0, vmath_exp.sigmoid, "exp(-|x|) and one division, in two parts"),
    unary("log", 1.0, vmath_log.log, "2**k m, series in (m - 1)/(m + 1)"),
    unary("log2", 1.0, vmath_log.log2, "log in two parts times 1/ln 2"),
    unary("log10", 1.0, vmath_log.log10, "log in two parts times 1/ln 10"),
    unary("log1p", 1.0, vmath_log.log1p, "log of 1 + x in two parts"),
    unary("sin", 1.0, vmath_trig.sin, "k pi/2 + r in two parts, by 2/pi to 200 bits for huge x"),
    unary("cos", 1.0, vmath_trig.cos, "k pi/2 + r in two parts, by 2/pi to 200 bits for huge x"),
    unary("tan", 1.0, vmath_trig.tan, "sin/cos in two parts, r as for sin"),
    unary("erf", 1.25, vmath_erf.erf, "polynomial; 1 - erfc beyond 1"),
    unary("erfc", 1.5, vmath_erf.erfc, "exp(-x**2) times a polynomial in (x - 3)/(x + 3), in two parts"),
    binary("pow", 1.0, vmath_pow.pow, "2**(y log2 x), the logarithm in two parts"),
    unary("cbrt", 1.0, vmath_pow.cbrt, "Halley's iteration from a polynomial"),
    unary("asin", 1.0, vmath_inverse.asin, "polynomial; the root of (1 - x)/2 beyond 1/2"),
    unary("acos", 1.0, vmath_inverse.acos, "as asin"),
    unary("atan", 1.0, vmath_inverse.atan, "a quotient in two parts, polynomial"),
    binary("atan2", 1.0, vmath_inverse.atan2, "as atan"),
    unary("asinh", 1.0, vmath_inverse.asinh, "log1p of a number in two parts"),
    unary("acosh", 1.0, vmath_inverse.acosh, "log1p of a number in two parts"),
    unary("atanh", 1.0, vmath_inverse.atanh, "log1p of a quotient in two parts"),
    unary("softplus", 1.25, vmath_sums.softplus, "log(1 + exp(-|x|)) in two parts"),
    binary("logaddexp", 1.0, vmath_sums.logaddexp, "the larger, and log(1 + exp(-distance))", 0.5),
    binary("logaddexp2", 1.0, vmath_sums.logaddexp2, "the larger, and log2(1 + 2**-distance)", 0.5),
    binary("hypot", 1.25, vmath_pow.hypot, "the root of a sum of squares, scaled"),
    binary("fmod", 0.0, vmath_remainder.fmod, "x - n y in one fused multiply-add"),
    binary("remainder", 0.5, vmath_remainder.remainder, "fmod, and y where the signs differ"),
    binary("floor_divide", 2.0, vmath_remainder.floor_divide, "(x - fmod)/y, rounded, as in NumPy"),
    unary("gamma", 4.0, vmath_gamma.gamma, "1/gamma by a polynomial; 2**log2(gamma) in two parts beyond 3"),
    unary("gammaln", 3.0, vmath_gamma.gammaln, "zeros times a polynomial; Stirling's series beyond 3", 1.0),
    unary("digamma", 4.0, vmath_gamma.digamma, "its zero times a polynomial; a series beyond 3", 16.0),
    unary("trigamma", 4.0, vmath_gamma.trigamma, "polynomial; a series beyond 3"),
    binary("polygamma", 4.0, vmath_polygamma.polygamma, "a sum of powers, and Euler-Maclaurin's rest"),
)

VMATH: dict[str, VectorFunction] = {function.name: function for function in FUNCTIONS}
