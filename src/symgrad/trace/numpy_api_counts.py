"""Histograms: how many elements, or what weights, fall between edges."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.types import F64
from symgrad.trace.lifting import as_dtype, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of equal bins between the extremes, or a range; edges that are given stay what they are."""
    if isinstance(bins, str):
        cure = "give their number, or the edges"
        raise UnsupportedError(f"np.histogram with bins={bins!r} is not supported", loc=caller(), cure=cure)
    if np.ndim(bins) > 0:
        return bins if isinstance(bins, Tracer) else np.asarray(bins)
    count = operator.index(bins)
    if count < 1:
        raise ShapeError("`bins` must be positive, when an integer", loc=caller())
    if range is None and np.size(a) == 0:
        low, high = 0.0, 1.0
    else:
        low, high = (np.min(a), np.max(a)) if range is None else range
    alone = low == high  # of one number, bins around it
    low, high = np.where(alone, low - 0.5, low), np.where(alone, high + 0.5, high)
    kind = np.result_type(low, high, a)
    edges = np.linspace(low, high, count + 1)
    return edges.astype(kind) if kind.kind == "f" else edges


def _within(x: Any, edges: Any) -> Any:
    """Which bin each element of a vector is in, one column a bin; the last one has both its edges."""
    x, (low, high) = x[:, None], (edges[:-1], edges[1:])
    last = np.arange(edges.shape[0] - 1) == edges.shape[0] - 2
    return (x >= low) & ((x < high) | (last & (x == high)))


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """How many elements, or what weights, are in each bin; and the edges."""
    like = the_tracer((a, bins, range, weights))
    x = np.ravel(tracer_of(a, like))
    edges = histogram_bin_edges(x, bins, range)
    inside = _within(x, edges)
    if weights is None:
        found = np.sum(inside, axis=0)
    else:
        w = np.ravel(tracer_of(weights, like))
        if w.shape != x.shape:
            raise ShapeError("weights should have the same shape as a.", loc=caller())
        found = np.sum(np.where(inside, w[:, None], np.zeros_like(w, shape=())), axis=0)
    if density:
        widths = np.diff(edges)
        found = found / as_dtype(tracer_of(widths, like), F64) / np.sum(found)
    return found, edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many points, or what weights, are in each cell of a grid; and its edges along each axis."""
    like = the_tracer((sample, bins, range, weights))
    points = (
        sample
        if isinstance(sample, Tracer) or hasattr(sample, "shape")
        else np.transpose(np.stack([tracer_of(row, like) for row in sample]))
    )
    points = np.atleast_2d(points) if np.ndim(points) != 1 else points[:, None]
    axes = [tracer_of(points[:, k], like) for k in _counted(points.shape[1])]
    each = list(bins) if hasattr(bins, "__len__") else [bins] * len(axes)
    ranges = [None] * len(axes) if range is None else list(range)
    if not len(axes) == len(each) == len(ranges):
        raise ShapeError("histogramdd: as many bins and ranges as axes are needed", loc=caller())
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(axes, each, ranges, strict=True)]
    inside = [_within(x, e).astype(np.float64) for x, e in zip(axes, edges, strict=True)]
    if weights is not None:
        inside[0] = inside[0] * tracer_of(weights, like)[:, None]
    letters = "abcdefghijklmnopqrstuvwxy"[: len(axes)]
    spec = ",".join(f"z{letter}" for letter in letters) + "->" + letters
    found = np.einsum(spec, *inside)
    if density:
        found = found / np.sum(found)
        for k, e in enumerate(edges):
            found = found / np.reshape(np.diff(e), tuple(-1 if i == k else 1 for i in _counted(len(axes))))
    return found, tuple(edges)


def _counted(count: int) -> list[int]:
    return list(np.arange(count).tolist())


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many points, or what weights, are in each rectangle of a grid; and its edges along both axes."""
    like = the_tracer((x, y, bins, range, weights))
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):
        bins = [bins, bins]
    points = np.stack([tracer_of(x, like), tracer_of(y, like)], axis=1)
    found, edges = histogramdd(points, bins, range, density, weights)
    return found, edges[0], edges[1]


TABLE: dict[Any, Callable[..., Any]] = {
    np.histogram: histogram,
    np.histogram_bin_edges: histogram_bin_edges,
    np.histogram2d: histogram2d,
    np.histogramdd: histogramdd,
}
