"""Differences, sums over grids, interpolation, convolution and covariances."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.ops.complexes import complex_
from symgrad.ir.types import BOOL, F64, array_type
from symgrad.trace.lifting import (
    as_dtype,
    axis_of,
    dtype_of,
    fit,
    kind_of,
    prepare,
    ramp,
    several,
    strong,
    the_tracer,
    tracer_of,
)
from symgrad.trace.places import caller
from symgrad.trace.promotion import result_dtype
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

# A shorter kernel is convolved as a sum of shifted arrays, a longer one as a matrix of windows.
_SHORT_KERNEL = 32


def _given(value: Any) -> bool:
    return value is not None and value is not np._NoValue


def _cut(x: Any, axis: int, part: slice | int) -> Any:
    """The entries of a slice along an axis."""
    return x[(*(slice(None),) * axis, part)]


def _real(x: Tracer) -> Tracer:
    return strong(x) if x.type.has_derivatives else as_dtype(x, F64)


# ---- differences and sums --------------------------------------------------------------------------------
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, n times over."""
    like = the_tracer((a, prepend, append))
    x = tracer_of(a, like)
    k = axis_of(axis, x.ndim)
    ends = [tracer_of(v, like) if _given(v) else None for v in (prepend, append)]
    one = (*x.shape[:k], 1, *x.shape[k + 1 :])
    first, last = (np.broadcast_to(v, one) if v is not None and v.ndim == 0 else v for v in ends)
    x = np.concatenate([v for v in (first, x, last) if v is not None], axis=k)
    if n < 0:
        raise ShapeError(f"diff: order {n} is negative", loc=caller())
    for _ in range(n):
        after, before = _cut(x, k, slice(1, None)), _cut(x, k, slice(None, -1))
        x = after != before if x.dtype == BOOL else after - before
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbouring elements, with other elements around them."""
    x = np.ravel(ary)
    parts = [to_begin, x[1:] - x[:-1], to_end]
    return np.concatenate([np.ravel(p) for p in parts if p is not None])


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule."""
    like = the_tracer((y, x, dx))
    y = tracer_of(y, like)
    k = axis_of(axis, y.ndim)
    width = dx
    if x is not None and np.ndim(x) == 1:
        width = np.diff(x if isinstance(x, Tracer) else np.asarray(x))
        width = np.reshape(width, tuple(-1 if i == k else 1 for i in range(y.ndim)))
    elif x is not None:
        width = np.diff(x if isinstance(x, Tracer) else np.asarray(x), axis=axis)
    return np.sum(width * (_cut(y, k, slice(1, None)) + _cut(y, k, slice(None, -1))) / 2.0, axis=k)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences along axes, one-sided at the ends, on even or uneven grids."""
    like = the_tracer((f, varargs))
    f = _real(tracer_of(f, like))
    if axis is None:
        axes = tuple(range(f.ndim))
    else:
        axes = tuple(axis_of(a, f.ndim) for a in several(axis))
    spacings = list(varargs) or [1.0]
    spacings = spacings * len(axes) if len(spacings) == 1 and np.ndim(spacings[0]) == 0 else spacings
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        raise ShapeError(
            f"gradient: {len(varargs)} spacings for {len(axes)} axes, edge_order={edge_order}", loc=caller()
        )
    found = [_gradient(f, h, k, edge_order) for k, h in zip(axes, spacings, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _gradient(f: Any, h: Any, k: int, edge_order: int) -> Any:
    """The differences along one axis, for one spacing or for the coordinates of its points."""
    n = f.shape[k]
    if n < edge_order + 1:
        raise ShapeError(f"gradient: {n} entries are too few along axis {k}", loc=caller())
    at: list[Any] = [_cut(f, k, slice(i, i + 1)) for i in (0, 1, -2)] + [_cut(f, k, slice(-1, None))]
    if np.ndim(h) == 0:
        steps = [h, h]
        inner = (_cut(f, k, slice(2, None)) - _cut(f, k, slice(None, -2))) / (2.0 * h)
    else:
        if np.shape(h) != (n,):
            raise ShapeError(
                f"gradient: coordinates of shape {list(np.shape(h))} for {n} entries", loc=caller()
            )
        places = h if isinstance(h, Tracer) else np.asarray(h)
        widths = np.diff(places if places.dtype.kind == "f" else places.astype(np.float64))
        widths = np.reshape(widths, tuple(-1 if i == k else 1 for i in range(f.ndim)))
        d1, d2 = _cut(widths, k, slice(None, -1)), _cut(widths, k, slice(1, None))
        a, b, c = -d2 / (d1 * (d1 + d2)), (d2 - d1) / (d1 * d2), d1 / (d2 * (d1 + d2))
        before, here, after = (_cut(f, k, s) for s in (slice(None, -2), slice(1, -1), slice(2, None)))
        inner = a * before + b * here + c * after
        steps = [_cut(widths, k, slice(0, 1)), _cut(widths, k, slice(-1, None))]
        steps += [_cut(widths, k, slice(1, 2)), _cut(widths, k, slice(-2, -1))] if edge_order == 2 else []
    if edge_order == 1:
        begin, end = (at[1] - at[0]) / steps[0], (at[3] - at[2]) / steps[1]
    else:
        first = [_cut(f, k, slice(i, i + 1)) for i in range(3)]
        last = [_cut(f, k, slice(n - i, n - i + 1)) for i in (1, 2, 3)]
        next_, previous = steps[-2:]
        begin, end = _edge(first, steps[0], next_), -_edge(last, steps[1], previous)
    return np.concatenate([begin, inner, end], axis=k).astype(f.dtype)


def _edge(f: list[Any], d1: Any, d2: Any) -> Any:
    """The derivative at the first of three points, to second order."""
    a = -(2.0 * d1 + d2) / (d1 * (d1 + d2))
    b = (d1 + d2) / (d1 * d2)
    c = -d1 / (d2 * (d1 + d2))
    return a * f[0] + b * f[1] + c * f[2]


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers from start to stop along a new axis."""
    like = the_tracer((start, stop))
    count = operator.index(num)
    start, stop = prepare(start, like), prepare(stop, like)
    joint = result_dtype((kind_of(start), kind_of(stop)))
    inner = joint if joint.kind in "fc" else F64
    shape = np.broadcast_shapes(np.shape(start), np.shape(stop))
    a, b = fit(start, inner, shape, like), fit(stop, inner, shape, like)
    parts = count - 1 if endpoint else count
    step = (b - a) / max(parts, 1)
    places = ramp(0, (count, *shape), like, array_type(inner).part.dtype)
    found = places * step + a
    if endpoint and count > 1:
        found = np.where(places == count - 1, b, found)
    wanted = inner if dtype is None else dtype_of(dtype)
    found = np.floor(found) if wanted.kind in "iu" else found
    found = np.moveaxis(as_dtype(found, wanted), 0, axis)
    return (found, step) if retstep else found


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """The powers of a base with evenly spaced exponents."""
    if np.ndim(base):
        raise UnsupportedError("np.logspace with an array of bases is not supported", loc=caller())
    exponents = np.linspace(start, stop, num, endpoint=endpoint, axis=axis)
    found = np.power(base, exponents)
    return found if dtype is None else found.astype(dtype)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Numbers from start to stop along a new axis, each the same multiple of the one before."""
    like = the_tracer((start, stop))
    first, last = (as_dtype(tracer_of(x, like), F64) for x in (start, stop))
    sign = np.sign(first)
    first, last = first / sign, last / sign
    found = np.power(10.0, np.linspace(np.log10(first), np.log10(last), num, endpoint=endpoint))
    places = ramp(0, found.shape, like)
    found = np.where(places == 0, first, found)
    if endpoint and num > 1:
        found = np.where(places == num - 1, last, found)
    found = np.moveaxis(found * sign, 0, axis)
    return found if dtype is None else found.astype(dtype)


# ---- interpolation and convolution -----------------------------------------------------------------------
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Linear interpolation between the points (xp, fp)."""
    like = the_tracer((x, xp, fp, left, right))
    if period is not None:
        raise UnsupportedError("np.interp: the option period= is not supported", loc=caller())
    x, xp, fp = (fit(v, F64, np.shape(v), like) for v in (prepare(v, like) for v in (x, xp, fp)))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(f"interp: points {xp.type} and values {fp.type}", loc=caller())
    low, high = (fp[0] if left is None else left), (fp[-1] if right is None else right)
    if xp.size == 1:
        inner = np.broadcast_to(fp[0], x.shape)
    else:
        at = np.clip(np.sum(np.expand_dims(x, -1) >= xp, axis=-1) - 1, 0, xp.size - 2)
        here, there = xp[at], xp[at + 1]
        base = fp[at]
        inner = (fp[at + 1] - base) / (there - here) * (x - here) + base
        inner = np.where(x == xp[-1], fp[-1], inner)
    return np.where(x < xp[0], low, np.where(x > xp[-1], high, inner))


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Σ_j a[k - j] v[j]."""
    like = the_tracer((a, v))
    a, v = (np.atleast_1d(tracer_of(x, like)) for x in (a, v))
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ShapeError(f"convolve: {a.type} and {v.type} must be vectors that are not empty", loc=caller())
    a, v = (a, v) if a.size >= v.size else (v, a)
    m = v.size
    before, after = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}[mode]
    joint = np.result_type(a.dtype, v.dtype)
    around = np.pad(as_dtype(a, joint), (before, after))
    n = around.size - m + 1
    kernel = as_dtype(v, joint)[::-1]
    if m <= _SHORT_KERNEL:
        total = around[:n] * kernel[0]
        for j in range(1, m):
            total = total + around[j : j + n] * kernel[j]
        return total
    return around[ramp(0, (n, m), like) + ramp(1, (n, m), like)] @ kernel


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Σ_j a[k + j] v*[j], the second vector conjugated."""
    if np.size(v) > np.size(a):
        return np.conjugate(np.flip(correlate(v, a, mode)))
    return convolve(a, np.conjugate(np.flip(v)), mode)


# ---- covariances -----------------------------------------------------------------------------------------
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *, dtype: Any = None
) -> Any:
    """The covariances of the rows (or columns) of a matrix."""
    like = the_tracer((m, y))
    given = [tracer_of(v, like) for v in (m, y) if v is not None]
    joint = np.result_type(*(v.dtype for v in given), np.float64) if dtype is None else dtype_of(dtype)
    rows: list[Any] = []
    for k, v in enumerate(given):
        x = np.atleast_2d(as_dtype(v, joint))
        turned = not rowvar and (v.ndim != 1 if k == 0 else x.shape[0] != 1)
        rows.append(x.T if turned else x)
    x = np.concatenate(rows, axis=0)
    freed = (0 if bias else 1) if ddof is None else ddof
    apart = x - np.mean(x, axis=1, keepdims=True)
    count = x.shape[1] - freed
    return np.squeeze(apart @ np.conjugate(apart.T) * (1 / count if count > 0 else np.inf))


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlations of the rows (or columns) of a matrix."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = np.sqrt(np.real(np.diagonal(c)))
    found = c / spread[:, None] / spread[None, :]
    if found.type.is_complex:
        return complex_(*(np.clip(part(found), -1, 1) for part in (np.real, np.imag)))
    return np.clip(found, -1, 1)


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **options: Any) -> Any:
    """A function of vectors applied along an axis, once for each position of the others."""
    k = axis_of(axis, arr.ndim)
    lines = np.moveaxis(arr, k, -1)
    lead = lines.shape[:-1]
    found = np.stack([func1d(lines[at], *args, **options) for at in np.ndindex(lead)])
    inner = found.shape[1:]
    spread = np.reshape(found, (*lead, *inner))
    # The axes of the results stand where the axis was.
    return np.moveaxis(spread, range(len(lead), spread.ndim), range(k, k + len(inner)))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """A function of an array and an axis, applied over axes one after another, none of which goes away."""
    found = a
    for axis in several(axes):
        k = axis_of(axis, a.ndim)
        reduced = func(found, k)
        if np.ndim(reduced) == found.ndim - 1:
            reduced = np.expand_dims(reduced, k)
        if np.ndim(reduced) != found.ndim:
            raise ShapeError("apply_over_axes: the function gives another number of axes", loc=caller())
        found = reduced
    return found


TABLE: dict[Any, Callable[..., Any]] = {
    np.apply_over_axes: apply_over_axes,
    np.diff: diff,
    np.ediff1d: ediff1d,
    np.trapezoid: trapezoid,
    np.gradient: gradient,
    np.linspace: linspace,
    np.logspace: logspace,
    np.geomspace: geomspace,
    np.interp: interp,
    np.convolve: convolve,
    np.correlate: correlate,
    np.cov: cov,
    np.corrcoef: corrcoef,
    np.apply_along_axis: apply_along_axis,
}
