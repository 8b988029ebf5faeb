"""NumPy's functions that read arrays at places: by index, by mask, by triangle and diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.ops.indexing import scatter_add
from symgrad.ir.ops.shapes import broadcast, pad
from symgrad.ir.types import F64, I64, array_type
from symgrad.trace.contractions import diagonal
from symgrad.trace.lifting import axis_of, fit, ramp, strong, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """The entries at indices along an axis."""
    like = the_tracer((a, indices))
    x = tracer_of(a, like)
    x = np.ravel(x) if axis is None or x.ndim == 0 else x
    k = 0 if axis is None else axis_of(axis, x.ndim)
    at = indices if isinstance(indices, Tracer) else np.asarray(indices)
    at = within(at, x.shape[k], mode, "np.take")
    return x[(*(slice(None),) * k, at)]


def within(at: Any, count: Any, mode: str, name: str) -> Any:
    """Indices of so many places, as a mode of NumPy has those beyond them."""
    if mode not in ("raise", "clip", "wrap"):
        raise UnsupportedError(f"{name}: mode={mode!r} is not supported", loc=caller())
    if mode == "raise":
        return at
    if at.dtype.kind in "iu" and at.dtype.itemsize < I64.itemsize:
        at = at.astype(I64)  # the last place may be beyond the numbers of a smaller type
    return np.clip(at, 0, count - 1) if mode == "clip" else at % count


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """The entries at indices along an axis, each line with its own."""
    like = the_tracer((arr, indices))
    x, at = tracer_of(arr, like), indices if isinstance(indices, Tracer) else np.asarray(indices)
    if axis is None:
        return np.ravel(x)[at]
    k = axis_of(axis, x.ndim)
    if np.ndim(at) != x.ndim:
        raise ShapeError(f"take_along_axis: indices of {np.ndim(at)} axes for {x.type}", loc=caller())
    rest = tuple(1 if i == k else n for i, n in enumerate(x.shape))
    shape = np.broadcast_shapes(rest, tuple(1 if i == k else n for i, n in enumerate(np.shape(at))))
    shape = tuple(np.shape(at)[k] if i == k else n for i, n in enumerate(shape))
    x = np.broadcast_to(x, tuple(x.shape[k] if i == k else n for i, n in enumerate(shape)))
    return x[tuple(fit(at, I64, shape, like) if i == k else ramp(i, shape, like) for i in range(x.ndim))]


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The entries along an axis where a constant condition holds."""
    if isinstance(condition, Tracer):
        condition.recorder.demand(
            condition, "np.compress", "its size is not known: use np.where(condition, x, 0)"
        )
    x = np.ravel(a) if axis is None or a.ndim == 0 else strong(a)
    k = 0 if axis is None else axis_of(axis, x.ndim)
    return x[(*(slice(None),) * k, np.flatnonzero(condition))]


def extract(condition: Any, arr: Any) -> Any:
    """The elements where a constant condition holds."""
    if isinstance(condition, Tracer):
        condition.recorder.demand(
            condition, "np.extract", "its size is not known: use np.where(condition, x, 0)"
        )
    return compress(np.ravel(condition), np.ravel(arr))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where each v would be put into sorted numbers: how many are smaller (or equal, for side="right")."""
    if sorter is not None or side not in ("left", "right"):
        raise UnsupportedError(f"np.searchsorted with side={side!r}, sorter={sorter!r}", loc=caller())
    like = the_tracer((a, v))
    row, column = tracer_of(a, like), np.expand_dims(tracer_of(v, like), -1)
    before = row < column if side == "left" else row <= column
    if np.result_type(row.dtype, column.dtype).kind == "f":  # NaN is sorted last
        after_all = np.isnan(column)
        before = before | (after_all & ~np.isnan(row) if side == "left" else after_all)
    return np.sum(before, axis=-1)


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """The sum of the weights of each constant bin number."""
    if isinstance(x, Tracer):
        x.recorder.demand(x, "np.bincount", "its size is not known: give the bins as an untraced array")
    bins = np.asarray(x)
    like = the_tracer((weights,))
    w = fit(weights, F64, np.shape(weights), like)
    if w.shape != bins.shape or bins.ndim != 1 or (bins.size and bins.min() < 0):
        raise ShapeError(f"bincount: bins of shape {list(bins.shape)} and weights {w.type}", loc=caller())
    count = max(int(minlength), int(bins.max()) + 1 if bins.size else 0)
    zeros = np.zeros_like(w, shape=(count,))
    return scatter_add(zeros, w, fit(bins, I64, bins.shape, like), axes=(0,)) if bins.size else zeros


# ---- triangles and diagonals -----------------------------------------------------------------------------
def _below(x: Tracer, k: int) -> Any:
    """Whether an element lies on or below the k-th diagonal of the last two axes."""
    rows = x.shape[-2] if x.ndim > 1 else x.shape[-1]
    shape = (rows, x.shape[-1])
    return ramp(1, shape, x) - ramp(0, shape, x) <= k


def tril(m: Any, k: int = 0) -> Any:
    """The matrix with zeros above the k-th diagonal."""
    return np.where(_below(m, k), strong(m), np.zeros_like(m, shape=()))


def triu(m: Any, k: int = 0) -> Any:
    """The matrix with zeros below the k-th diagonal."""
    return np.where(_below(m, k - 1), np.zeros_like(m, shape=()), strong(m))


def diag(v: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with that diagonal."""
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ShapeError(f"diag: {v.type} has neither one nor two axes", loc=caller())
    n = v.size + abs(k)
    along = pad(strong(v), low=(0,), high=(abs(k),), interior=(0,)) if k else strong(v)
    spread = broadcast(along, axes=(1,) if k >= 0 else (0,), type=array_type(v.dtype, n, n))
    on = ramp(1, (n, n), v) - ramp(0, (n, n), v) == k
    return np.where(on, spread, np.zeros_like(spread))


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """The windows of an array, each a copy: their axes come last."""
    if writeable:
        raise UnsupportedError("sliding_window_view: writeable=True is not supported", loc=caller())
    sizes = tuple(np.atleast_1d(window_shape).tolist())
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    if len(sizes) != len(axes):
        raise ShapeError(f"sliding_window_view: {len(sizes)} sizes for {len(axes)} axes", loc=caller())
    for size, one in zip(sizes, axes, strict=True):
        k = axis_of(one, x.ndim)
        count = x.shape[k] - size + 1
        if size < 0 or count < 1:
            raise ShapeError("window shape cannot be larger than input array shape", loc=caller())
        at = np.arange(count)[:, None] + np.arange(size)
        x = np.moveaxis(take(x, at, axis=k), k + 1, -1)
    return x


TABLE: dict[Any, Callable[..., Any]] = {
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
    np.take: take,
    np.take_along_axis: take_along_axis,
    np.compress: compress,
    np.extract: extract,
    np.searchsorted: searchsorted,
    np.bincount: bincount,
    np.tril: tril,
    np.triu: triu,
    np.diag: diag,
    np.diagflat: lambda v, k=0: diag(np.ravel(v), k),
}
