"""Norms and matrix powers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.types import F64
from symgrad.trace.lifting import as_dtype, axis_of, several, strong
from symgrad.trace.numpy_api_reductions import safe_sqrt, squared_modulus
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


_BY_SINGULAR_VALUES: dict[Any, Callable[..., Any]] = {2: np.max, -2: np.min, "nuc": np.sum}


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices; its derivative at 0 is 0."""
    x = _real(x)
    if axis is None:
        if ord is None or (ord == 2 and x.ndim == 1) or (ord in ("f", "fro") and x.ndim == 2):
            found = safe_sqrt(np.sum(squared_modulus(x)))
            return np.reshape(found, (1,) * x.ndim) if keepdims else found
        axis = tuple(range(x.ndim))
    axes = several(axis)
    match len(axes):
        case 1:
            return _vector_norm(x, 2 if ord is None else ord, axes[0], keepdims)
        case 2:
            return _matrix_norm(x, ord, (axis_of(axes[0], x.ndim), axis_of(axes[1], x.ndim)), keepdims)
        case _:
            raise ShapeError(
                f"np.linalg.norm: {len(axes)} axes, where a vector has one and a matrix two", loc=caller()
            )


def _real(x: Tracer) -> Tracer:
    return strong(x) if x.type.has_derivatives else as_dtype(x, F64)


def _vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """(Σ |x|ᵖ)^(1/p) along axes, and its limits."""
    if isinstance(ord, str):
        raise UnsupportedError(f"np.linalg.norm: {ord!r} is no order of a vector norm", loc=caller())
    if ord == 2:
        return safe_sqrt(np.sum(squared_modulus(x), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return (
            np.max(np.abs(x), axis=axis, keepdims=keepdims)
            if x.size
            else np.sum(x, axis=axis, keepdims=keepdims)
        )
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    zero = x == 0
    if ord == 0:
        return np.sum((~zero).astype(x.type.part.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    size = np.abs(x)
    # Zeros stay out of the powers, whose derivatives there may be infinite.
    power = np.where(
        zero, np.full_like(size, 0.0 if ord > 0 else np.inf), np.where(zero, 1.0, size) ** float(ord)
    )
    total = np.sum(power, axis=axis, keepdims=keepdims)
    nothing = total == 0
    root = np.where(nothing, np.ones_like(total), total) ** (1 / ord)
    return np.where(nothing, np.full_like(total, 0.0 if ord > 0 else np.inf), root)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    """The Frobenius norm, extremes of sums over rows or columns, and those by singular values."""
    row, column = axes
    if row == column:
        raise ShapeError("np.linalg.norm: an axis is named twice", loc=caller())
    if ord is None or ord in ("f", "fro"):
        return safe_sqrt(np.sum(squared_modulus(x), axis=axes, keepdims=keepdims))
    if ord in _BY_SINGULAR_VALUES:
        s = np.linalg.svdvals(np.moveaxis(x, axes, (-2, -1)))
        found = _BY_SINGULAR_VALUES[ord](s, axis=-1)
        return np.expand_dims(found, axes) if keepdims else found
    if isinstance(ord, str) or ord not in (1, -1, np.inf, -np.inf):
        why = "NumPy has no such norm"
        raise UnsupportedError(
            f"np.linalg.norm: the matrix norm {ord!r} is not supported", loc=caller(), why=why
        )
    summed, ranged = (row, column) if abs(ord) == 1 else (column, row)
    sums = np.sum(np.abs(x), axis=summed, keepdims=True)
    # The largest of no sums is 0, as in NumPy.
    extreme = np.min if ord < 0 else np.max if x.shape[ranged] else np.sum
    found = extreme(sums, axis=ranged, keepdims=True)
    return found if keepdims else np.squeeze(found, axis=axes)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of all elements, or along axes, as of one vector."""
    x = _real(x)
    return _vector_norm(x, ord, tuple(range(x.ndim)) if axis is None else axis, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices in the last two axes."""
    if x.ndim < 2:
        raise ShapeError(f"np.linalg.matrix_norm: {x.type} has fewer than 2 axes", loc=caller())
    return _matrix_norm(_real(x), ord, (x.ndim - 2, x.ndim - 1), keepdims)


def matrix_power(a: Any, n: Any) -> Any:
    """The matrix, or for n < 0 its inverse, multiplied by itself |n| times, by repeated squaring."""
    count = operator.index(n)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"np.linalg.matrix_power: {a.type} is not of square matrices", loc=caller())
    if count < 0:
        return matrix_power(np.linalg.inv(a), -count)
    if count == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape) + np.zeros_like(a)
    found, square = None, strong(a)
    while count:
        if count % 2:
            found = square if found is None else found @ square
        count //= 2
        square = square @ square if count else square
    return found


TABLE: dict[Any, Callable[..., Any]] = {
    np.linalg.norm: norm,
    np.linalg.vector_norm: vector_norm,
    np.linalg.matrix_norm: matrix_norm,
    np.linalg.matrix_power: matrix_power,
}
