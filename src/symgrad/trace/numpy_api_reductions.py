"""NumPy's reductions: sums, products, extremes, truths, means and spreads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.dims import Shape
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import reductions
from symgrad.ir.types import BOOL, DType, array_type
from symgrad.trace.lifting import as_dtype, axes_of, dtype_of, is_listed, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_F16, _F32, _F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


def widened(dtype: DType) -> DType:
    """The dtype in which NumPy sums elements of a dtype: small integers widen."""
    if dtype.kind in "bi":
        return np.promote_types(dtype, np.int64)
    return np.promote_types(dtype, np.uint64) if dtype.kind == "u" else dtype


def _given(value: Any) -> bool:
    """Whether an optional argument was given."""
    return value is not None and value is not np._NoValue


def _truth(value: Any) -> bool:
    return _given(value) and bool(value)


def _kept(x: Tracer, axes: tuple[int, ...], shape: Shape, keepdims: Any) -> Any:
    """A reduced array with its axes back as axes of size 1, if asked."""
    if not _truth(keepdims):
        return x
    return np.reshape(x, tuple(1 if i in axes else n for i, n in enumerate(shape)))


def _start(initial: Any, like: Tracer) -> Any:
    """The first value of a reduction, converted to the dtype in which it goes on."""
    return np.full_like(like, initial, shape=np.shape(initial))


def _reduced(op: OpDef, x: Tracer, axis: Any, keepdims: Any) -> Any:
    axes = axes_of(axis, x.ndim)
    return _kept(op(x, axes=axes) if axes else x, axes, x.type.shape, keepdims)


def _fold(op: OpDef, join: numpy.ufunc, neutral: int) -> Callable[..., Any]:
    """np.sum or np.prod, whose neutral element stands in for what `where` leaves out."""

    def fold(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        like = the_tracer((a, initial, where))
        x = tracer_of(a, like)
        x = as_dtype(x, widened(x.dtype) if dtype is None else dtype_of(dtype))
        if x.dtype == BOOL:
            raise UnsupportedError(
                f"np.{op.name} with dtype=bool is not supported", loc=caller(), cure="use np.any"
            )
        if _given(where) and where is not True:
            x = np.where(where, x, np.full_like(x, neutral))
        found = _reduced(op, x, axis, keepdims)
        return join(found, _start(initial, found)) if _given(initial) else found

    return fold


sum_ = _fold(reductions.sum_, np.add, 0)
prod = _fold(reductions.prod, np.multiply, 1)


def _extreme(op: OpDef, truths: OpDef, join: numpy.ufunc) -> Callable[..., Any]:
    """np.max or np.min."""

    def extreme(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        like = the_tracer((a, initial, where))
        x = tracer_of(a, like)
        if _given(where) and where is not True:
            if not _given(initial):
                raise ShapeError(
                    f"np.{op.name} with where= needs initial=, the value of nothing", loc=caller()
                )
            x = np.where(where, x, _start(initial, x))
        axes = axes_of(axis, x.ndim)
        if _given(initial) and any(x.shape[i] == 0 for i in axes):
            rest = tuple(n for i, n in enumerate(x.shape) if i not in axes)
            return _kept(np.full_like(x, initial, shape=rest), axes, x.shape, keepdims)
        found = _reduced(truths if x.dtype == BOOL else op, x, axes, keepdims)
        return join(found, _start(initial, found)) if _given(initial) else found

    return extreme


max_ = _extreme(reductions.max_, reductions.any_, np.maximum)
min_ = _extreme(reductions.min_, reductions.all_, np.minimum)


def _quantified(op: OpDef, neutral: bool) -> Callable[..., Any]:
    """np.any or np.all."""

    def quantified(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
    ) -> Any:
        like = the_tracer((a, where))
        x = tracer_of(a, like)
        x = x if x.dtype == BOOL else x != 0
        if _given(where) and where is not True:
            x = np.where(where, x, np.full_like(x, neutral))
        return _reduced(op, x, axis, keepdims)

    return quantified


any_ = _quantified(reductions.any_, False)
all_ = _quantified(reductions.all_, True)


def _position(op: OpDef) -> Callable[..., Any]:
    """np.argmax or np.argmin."""

    def position(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        x = as_dtype(a, np.dtype(np.uint8)) if a.dtype == BOOL else a
        if axis is None:
            return _kept(op(np.ravel(x), axis=0), tuple(range(a.ndim)), a.shape, keepdims)
        (k,) = axes_of(axis, a.ndim)
        return _kept(op(x, axis=k), (k,), a.shape, keepdims)

    return position


# ---- means and spreads -----------------------------------------------------------------------------------
def _computed(x: Tracer, dtype: Any) -> tuple[DType, DType]:
    """The dtype in which NumPy takes means, and that of the result."""
    if _given(dtype):
        return dtype_of(dtype), dtype_of(dtype)
    if not x.type.has_derivatives:
        return _F64, _F64
    return (_F32, _F16) if x.dtype == _F16 else (x.dtype, x.dtype)


def _count(x: Tracer, axes: tuple[int, ...], where: Any, keepdims: Any) -> Any:
    """How many elements are averaged: a number, or an array where a mask leaves some out."""
    if _given(where) and where is not True:
        return np.sum(np.broadcast_to(where, x.shape), axis=axes, keepdims=_truth(keepdims))
    return x.recorder.number(dims.product(x.type.shape[i] for i in axes))


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
) -> Any:
    """Σ x / n over axes."""
    like = the_tracer((a, where))
    x = tracer_of(a, like)
    inner, result = _computed(x, dtype)
    axes = axes_of(axis, x.ndim)
    total = sum_(as_dtype(x, inner), axes, keepdims=keepdims, where=where)
    return as_dtype(total / _count(x, axes, where, keepdims), result)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """Σ (x - mean)² / (n - ddof) over axes, in two passes."""
    like = the_tracer((a, where, mean))
    x = tracer_of(a, like)
    inner, result = _computed(x, dtype)
    axes = axes_of(axis, x.ndim)
    x = as_dtype(x, inner)
    middle = mean
    if not _given(mean):
        middle = sum_(x, axes, keepdims=True, where=where) / _count(x, axes, where, True)
    total = sum_(squared_modulus(x - middle), axes, keepdims=keepdims, where=where)
    freed = correction if _given(correction) else ddof
    left = np.maximum(_count(x, axes, where, keepdims) - freed, 0)
    return as_dtype(total / _like_number(left), array_type(result).part.dtype)


def squared_modulus(x: Any) -> Any:
    """|x|²"""
    if not x.type.is_complex:
        return x * x
    real, imag = np.real(x), np.imag(x)
    return real * real + imag * imag


def _like_number(x: Any) -> Any:
    """A NumPy scalar as a Python number, so that it does not widen what it divides."""
    return x.item() if isinstance(x, np.generic) else x


def safe_sqrt(x: Any) -> Any:
    """The square root with derivative 0 at 0, where the root of a sum of squares has a kink."""
    zero = x == 0
    return np.where(zero, np.zeros_like(x), np.sqrt(np.where(zero, np.ones_like(x), x)))


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The square root of the variance; its derivative at constant data is 0."""
    like = the_tracer((a, where, mean))
    x = tracer_of(a, like)
    inner, result = _computed(x, dtype)
    spread = var(
        as_dtype(x, inner), axis, None, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    return as_dtype(safe_sqrt(spread), array_type(result).part.dtype)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """Σ w x / Σ w over axes."""
    like = the_tracer((a, weights))
    x = tracer_of(a, like)
    axes = axes_of(axis, x.ndim)
    if weights is None:
        found = mean(x, axes, keepdims=keepdims)
        total = np.full_like(found, _count(x, axes, None, False))
        return (found, total) if returned else found
    w = tracer_of(weights, like)
    if w.shape != x.shape:
        given = axes if axis is None or is_listed(axis) else (axis,)
        if axis is None or w.shape != tuple(x.shape[i] for i in given):
            raise ShapeError(
                f"np.average: weights {w.type} do not fit {x.type} along axis {axis}", loc=caller()
            )
        w = np.reshape(w, tuple(n if i in axes else 1 for i, n in enumerate(x.shape)))
    result = np.result_type(x.dtype, w.dtype, *((_F64,) if x.dtype.kind in "iub" else ()))
    w = np.broadcast_to(as_dtype(w, result), x.shape)
    total = sum_(w, axes, keepdims=keepdims)
    found = sum_(as_dtype(x, result) * w, axes, keepdims=keepdims) / total
    return (found, total) if returned else found


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """The largest element less the smallest."""
    return max_(a, axis, keepdims=keepdims) - min_(a, axis, keepdims=keepdims)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """How many elements are not zero."""
    return sum_(a if a.dtype == BOOL else a != 0, axis, keepdims=keepdims)


# ---- without NaN -----------------------------------------------------------------------------------------
def _skipping(fold: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    """np.nansum or np.nanprod."""

    def skipping(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        x = a
        if x.type.has_derivatives:
            x = np.where(np.isnan(x), np.full_like(x, neutral), x)
        return fold(x, axis, dtype, None, keepdims, initial, where)

    return skipping


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
) -> Any:
    """The mean of what is not NaN."""
    known = ~np.isnan(a)
    return mean(
        a, axis, dtype, None, keepdims, where=known if not _given(where) or where is True else known & where
    )


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False
) -> Any:
    """The variance of what is not NaN; NaN where fewer than ddof + 1 are left."""
    known = ~np.isnan(a)
    axes = axes_of(axis, a.ndim)
    count = sum_(known, axes, keepdims=keepdims)
    clean = np.where(known, a, np.zeros_like(a))
    found = var(clean, axes, dtype, None, ddof, keepdims, where=known)
    return np.where(count - ddof <= 0, np.full_like(found, np.nan), found)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False
) -> Any:
    """The square root of the variance of what is not NaN."""
    return safe_sqrt(nanvar(a, axis, dtype, None, ddof, keepdims))


def _nan_extreme(extreme: Callable[..., Any], least: float) -> Callable[..., Any]:
    """np.nanmax or np.nanmin: NaN only where there is nothing else."""

    def skipping(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        if a.dtype.kind != "f":
            return extreme(a, axis, None, keepdims)
        lost = np.isnan(a)
        found = extreme(np.where(lost, np.full_like(a, least), a), axis, None, keepdims)
        return np.where(
            np.all(lost, axis=axis, keepdims=_truth(keepdims)), np.full_like(found, np.nan), found
        )

    return skipping


TABLE: dict[Any, Callable[..., Any]] = {
    np.sum: sum_,
    np.prod: prod,
    np.max: max_,
    np.amax: max_,
    np.min: min_,
    np.amin: min_,
    np.any: any_,
    np.all: all_,
    np.argmax: _position(reductions.argmax),
    np.argmin: _position(reductions.argmin),
    np.mean: mean,
    np.var: var,
    np.std: std,
    np.average: average,
    np.ptp: ptp,
    np.count_nonzero: count_nonzero,
    np.nansum: _skipping(sum_, 0),
    np.nanprod: _skipping(prod, 1),
    np.nanmean: nanmean,
    np.nanvar: nanvar,
    np.nanstd: nanstd,
    np.nanmax: _nan_extreme(max_, -np.inf),
    np.nanmin: _nan_extreme(min_, np.inf),
}
