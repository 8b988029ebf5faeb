"""Ufuncs without an op of their own, as NumPy code over those that have one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError
from symgrad.ir.ops.complexes import conj, reciprocal
from symgrad.ir.ops.elementwise import pow_
from symgrad.ir.types import BOOL, DType
from symgrad.trace.contractions import matmul, matvec, vecdot, vecmat
from symgrad.trace.float_parts import frexp, ldexp, nextafter, spacing
from symgrad.trace.lifting import align, as_dtype, kind_of, strong, the_tracer
from symgrad.trace.places import caller
from symgrad.trace.promotion import loop_dtypes
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

Composition = Callable[..., Any]

_MULTIPLIED = 100  # smaller integer powers of complex numbers are products


def joined(ufunc: numpy.ufunc, *xs: Any) -> list[Any]:
    """The operands in the dtype in which NumPy computes the ufunc, broadcast together."""
    like = the_tracer(xs)
    return align(ufunc.__name__, loop_dtypes(ufunc, tuple(map(kind_of, xs)))[0], xs, like)


def _power(x: Any, y: Any) -> Any:
    """x ** y; a small constant exponent is written out, so that derivatives of every order are right at 0."""
    like = the_tracer((x, y))
    kinds = (kind_of(x), kind_of(y))
    dtype = loop_dtypes(np.power, kinds)[0]
    if dtype.kind in "iu":
        _check_integer_exponent(y)
    constant = not isinstance(y, Tracer) and np.ndim(y) == 0
    if constant and (np.imag(y) == 0 or dtype.kind != "c"):
        found = _static_power(as_dtype(like.lift(x), dtype), float(np.real(y)))
        if found is not None:
            return found
    return pow_(*align("power", dtype, (x, y), like))


def _check_integer_exponent(y: Any) -> None:
    """Raise for a negative exponent of an integer that is known now; `pow` raises for others at run time."""
    if not isinstance(y, Tracer) and np.any(np.asarray(y) < 0):
        raise DTypeError(
            "power: integers to negative integer powers are not allowed",
            loc=caller(),
            cure="make the base a float, as in 2.0 ** n",
        )


def _static_power(x: Tracer, exponent: float) -> Any:
    """x to a constant exponent by multiplication or a root; None where `pow` does it."""
    if exponent == 0:
        return np.ones_like(x)
    if exponent == 1:
        return x
    if exponent in (2, 3, 4):
        square = x * x
        return square if exponent == 2 else square * x if exponent == 3 else square * square
    if x.type.is_complex and exponent.is_integer() and abs(exponent) < _MULTIPLIED:
        found = _multiplied(x, int(abs(exponent)))
        return found if exponent > 0 else reciprocal(found)
    if x.dtype.kind not in "fc":
        return None
    if exponent == 0.5:
        return np.sqrt(x)
    return 1 / x if exponent == -1 else None


def _multiplied(x: Any, count: int) -> Any:
    """x to a positive power by repeated squaring, as NumPy does for complex numbers."""
    found, square = None, x
    while count:
        if count % 2:
            found = square if found is None else found * square
        count //= 2
        square = square * square if count else square
    return found


def _float_power(x: Any, y: Any) -> Any:
    wide = loop_dtypes(np.float_power, (kind_of(x), kind_of(y)))[0]
    exponent = y if not isinstance(y, Tracer) and np.ndim(y) == 0 else _as_float(y, wide)
    return np.power(_as_float(x, wide), exponent)


def _as_float(x: Any, dtype: DType) -> Any:
    return as_dtype(x, dtype) if isinstance(x, Tracer) else np.asarray(x, dtype)


def _square(x: Any) -> Any:
    (x,) = joined(np.square, x)
    return x * x


def _reciprocal(x: Any) -> Any:
    (x,) = joined(np.reciprocal, x)
    if not x.type.has_derivatives:
        raise DTypeError(
            f"np.reciprocal of {x.type} is not supported", loc=caller(), cure="write 1 / x, which gives reals"
        )
    return reciprocal(x) if x.type.is_complex else 1 / x


def _positive(x: Any) -> Any:
    return joined(np.positive, x)[0]


def _conjugate(x: Any) -> Any:
    (x,) = joined(np.conjugate, x)
    return conj(x) if x.type.is_complex else x


def _fabs(x: Any) -> Any:
    return np.absolute(joined(np.fabs, x)[0])


def _fmax(x: Any, y: Any) -> Any:
    x, y = joined(np.fmax, x, y)
    if x.dtype.kind != "f":
        return np.maximum(x, y)
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.maximum(x, y)))


def _fmin(x: Any, y: Any) -> Any:
    x, y = joined(np.fmin, x, y)
    if x.dtype.kind != "f":
        return np.minimum(x, y)
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.minimum(x, y)))


def _degrees(x: Any) -> Any:
    return joined(np.degrees, x)[0] * (180 / math.pi)


def _radians(x: Any) -> Any:
    return joined(np.radians, x)[0] * (math.pi / 180)


def _truth(x: Any) -> Any:
    """Whether x is not zero."""
    if isinstance(x, Tracer):
        return strong(x) if x.dtype == BOOL else x != 0
    return np.asarray(x, np.bool_)


def _heaviside(x: Any, at_zero: Any) -> Any:
    x, at_zero = joined(np.heaviside, x, at_zero)
    step = np.where(x < 0, np.zeros_like(x), np.where(x > 0, np.ones_like(x), at_zero))
    return np.where(np.isnan(x), np.full_like(x, np.nan), step)


def _modf(x: Any) -> Any:
    (x,) = joined(np.modf, x)
    endless = np.isinf(x)
    fraction = np.fmod(np.where(endless, np.zeros_like(x), x), 1.0)
    return np.where(endless, np.copysign(np.zeros_like(x), x), fraction), np.trunc(x)


COMPOSITIONS: dict[numpy.ufunc, Composition] = {
    np.power: _power,
    np.float_power: _float_power,
    np.square: _square,
    np.reciprocal: _reciprocal,
    np.positive: _positive,
    np.conjugate: _conjugate,
    np.fabs: _fabs,
    np.fmax: _fmax,
    np.fmin: _fmin,
    np.degrees: _degrees,
    np.rad2deg: _degrees,
    np.radians: _radians,
    np.deg2rad: _radians,
    np.logical_and: lambda x, y: np.bitwise_and(_truth(x), _truth(y)),
    np.logical_or: lambda x, y: np.bitwise_or(_truth(x), _truth(y)),
    np.logical_xor: lambda x, y: np.bitwise_xor(_truth(x), _truth(y)),
    np.logical_not: lambda x: np.invert(_truth(x)),
    np.heaviside: _heaviside,
    np.divmod: lambda x, y: (np.floor_divide(x, y), np.remainder(x, y)),
    np.modf: _modf,
    np.ldexp: ldexp,
    np.frexp: frexp,
    np.spacing: spacing,
    np.nextafter: nextafter,
    np.matmul: matmul,
    np.vecdot: vecdot,
    np.matvec: matvec,
    np.vecmat: vecmat,
}
