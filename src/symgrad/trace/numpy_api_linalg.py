"""Systems of equations, factorisations and determinants of `numpy.linalg`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError, UnsupportedError
from symgrad.ir.ops import complex_lu, determinants, linalg
from symgrad.ir.ops.complexes import complex_
from symgrad.ir.types import F64
from symgrad.trace.lifting import as_dtype, axes_of, fit, strong, the_tracer, to_shape, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def float_matrix(what: str, a: Tracer, *, by_pairs: bool = False) -> Tracer:
    """Matrices of float64 or float32, or of complex numbers: of others NumPy makes float64."""
    if a.ndim < 2:
        raise ShapeError(f"{what}: {a.type} has fewer than 2 axes", loc=caller())
    if a.dtype.kind in "iub":
        return as_dtype(strong(a), F64)
    if (a.type.part if by_pairs else a.type).dtype.name not in ("float64", "float32"):
        cure = "take real numbers" if a.type.is_complex else "convert it to float64"
        raise DTypeError(f"{what} does not take {a.type}", loc=caller(), cure=cure)
    return strong(a)


def square(what: str, a: Tracer, *, by_pairs: bool = False) -> Tracer:
    """Square matrices of float64 or float32, or complex ones."""
    a = float_matrix(what, a, by_pairs=by_pairs)
    if a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{what}: {a.type} is not of square matrices", loc=caller())
    return a


def one_matrix(what: str, a: Any, *, by_pairs: bool = False) -> Tracer:
    """One matrix of float64 or float32, or a complex one."""
    found = float_matrix(what, tracer_of(a, the_tracer((a,))), by_pairs=by_pairs)
    if found.ndim != 2:
        raise UnsupportedError(f"{what} of {found.type}: it takes one matrix", loc=caller())
    return found


def one_square(what: str, a: Any, *, by_pairs: bool = False) -> Tracer:
    """One square matrix of float64 or float32, or a complex one."""
    return square(what, one_matrix(what, a, by_pairs=by_pairs), by_pairs=by_pairs)


def right_hand_sides(
    what: str, a: Any, b: Any, *, vector: bool, by_pairs: bool = False
) -> tuple[Tracer, Tracer]:
    """Square matrices, and as many matrices of right-hand sides of the same dtype; a vector is a column."""
    like = the_tracer((a, b))
    a, b = square(what, tracer_of(a, like), by_pairs=by_pairs), tracer_of(b, like)
    b = np.reshape(b, (*b.shape, 1)) if vector else b
    b = float_matrix(what, b, by_pairs=by_pairs)
    dtype = np.result_type(a.dtype, b.dtype)
    if b.shape[-2] != a.shape[-1]:
        raise ShapeError(f"{what}: {b.shape[-2]} rows on the right for {a.type}", loc=caller())
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(f"{what}: {a.type} and {b.type} do not broadcast", loc=caller()) from None
    a, b = as_dtype(a, dtype), as_dtype(b, dtype)
    return to_shape(a, (*lead, *a.shape[-2:])), to_shape(b, (*lead, *b.shape[-2:]))


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """L with L Lᴴ = a, or U with Uᴴ U = a: only that triangle of a is read."""
    a = square("np.linalg.cholesky", a, by_pairs=True)
    return _turned(linalg.cholesky(_turned(a))) if upper else linalg.cholesky(a)


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def solve(a: Any, b: Any) -> Any:
    """a⁻¹ b; b is one vector if it has one axis, else matrices."""
    vector = np.ndim(b) == 1
    if isinstance(b, Tracer) and b.type.is_complex and not np.iscomplexobj(a):
        # Two real systems with one matrix.
        return complex_(solve(a, np.real(b)), solve(a, np.imag(b)))
    a, b = right_hand_sides("np.linalg.solve", a, b, vector=vector, by_pairs=True)
    found = linalg.solve(a, b, transposed=0)
    return np.reshape(found, found.shape[:-1]) if vector else found


def inv(a: Any) -> Any:
    """a⁻¹: the solution whose right-hand side is the identity, as NumPy has it."""
    a = square("np.linalg.inv", a, by_pairs=True)
    one = fit(np.eye(a.shape[-1], dtype=a.dtype), a.dtype, a.shape, a)
    return linalg.solve(a, one, transposed=0)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a as a map from its last axes to its first `ind`."""
    ind = operator.index(ind)
    if ind <= 0:
        raise ShapeError(f"np.linalg.tensorinv: ind={ind} is not positive", loc=caller())
    after = (*a.shape[ind:], *a.shape[:ind])
    return np.reshape(inv(np.reshape(a, (prod(a.shape[ind:]), -1))), after)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """x for which the sum of a x over the axes of x is b."""
    like = the_tracer((a, b))
    a, b = tracer_of(a, like), tracer_of(b, like)
    if axes is not None:
        last = axes_of(axes, a.ndim)
        a = np.transpose(a, (*(k for k in range(a.ndim) if k not in last), *last))
    shape = a.shape[b.ndim :]
    size = prod(shape)
    if a.size != size**2 or b.size != size:
        raise ShapeError(f"np.linalg.tensorsolve: {a.type} is no square map to {b.type}", loc=caller())
    return np.reshape(solve(np.reshape(a, (size, size)), np.reshape(b, size)), shape)


_SignAndLog = type(numpy.linalg.slogdet(numpy.eye(1)))  # NumPy's named tuple


def det(a: Any) -> Any:
    """The determinant."""
    a = square("np.linalg.det", a, by_pairs=True)
    return (complex_lu.complex_det if a.type.is_complex else determinants.det)(a)


def slogdet(a: Any) -> Any:
    """The sign of the determinant, and the logarithm of its magnitude."""
    a = square("np.linalg.slogdet", a, by_pairs=True)
    if a.type.is_complex:
        return _SignAndLog(complex_lu.complex_det_sign(a), complex_lu.complex_logabsdet(a))
    return _SignAndLog(determinants.det_sign(a), determinants.logabsdet(a))


TABLE: dict[Any, Callable[..., Any]] = {
    np.linalg.cholesky: cholesky,
    np.linalg.solve: solve,
    np.linalg.inv: inv,
    np.linalg.det: det,
    np.linalg.slogdet: slogdet,
    np.linalg.tensorinv: tensorinv,
    np.linalg.tensorsolve: tensorsolve,
}
