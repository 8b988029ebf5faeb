"""NumPy's medians, percentiles and quantiles: elements of sorted lines, and what lies between two.

A method of NumPy says at which place of a sorted line a quantile is; most places lie between two elements.
So a quantile varies with the one or two elements that it is made of, and with q where it interpolates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from symgrad.errors import IndexRangeError, ShapeError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.types import F64, I64
from symgrad.trace.lifting import as_dtype, axes_of, the_tracer, tracer_of
from symgrad.trace.numpy_api_sorting import sorted_last
from symgrad.trace.places import caller
from symgrad.trace.sort_keys import demand_sizes
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


# ---- lines ------------------------------------------------------------------------------------------------
def _given(name: str, a: Any, *others: Any) -> Tracer:
    """The operand, of a size that is known."""
    x = tracer_of(a, the_tracer((a, *others)))
    demand_sizes(name, x)
    return x


def _sorted_lines(name: str, x: Tracer, axis: Any) -> tuple[Tracer, tuple[int, ...]]:
    """The elements of the axes as the first axis, sorted, and which axes these are."""
    axes = axes_of(axis, x.ndim)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    rest = tuple(x.shape[i] for i in kept)
    count = dims.known(dims.product(x.type.shape[i] for i in axes))
    lines = np.reshape(np.transpose(x, (*kept, *axes)), (*rest, count))
    return np.moveaxis(sorted_last(name, lines), -1, 0), axes


def _kept(found: Any, lead: int, axes: Sequence[int], rank: int, keepdims: Any) -> Any:
    """A result whose first axes are those of q, with the reduced axes as axes of size 1, if asked."""
    if keepdims is np._NoValue or not keepdims:
        return found
    rest = iter(found.shape[lead:])
    return np.reshape(found, (*found.shape[:lead], *(1 if i in axes else next(rest) for i in range(rank))))


def _nan_where_nan(lines: Tracer, found: Any) -> Any:
    """A result, or the NaN of a line that has one: it is the last."""
    if lines.dtype.kind != "f":
        return found
    last = np.broadcast_to(as_dtype(lines[-1], found.dtype), found.shape)
    return np.where(np.isnan(last), last, found)


def _refuse(name: str, out: Any, weights: Any = None) -> None:
    if out is not None:
        raise UnsupportedError(
            f"{name} with out= by position is not supported", loc=caller(), cure="name it: out=y"
        )
    if weights is not None:
        raise UnsupportedError(
            f"{name}: the option weights= is not supported on traced arrays",
            loc=caller(),
            cure="repeat the elements as often as they weigh, or sort and use np.cumsum of the weights",
        )


# ---- medians ----------------------------------------------------------------------------------------------
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The middle element of each sorted line, or the mean of the two in the middle; NaN if there is one."""
    _refuse("np.median", out)
    x = _given("np.median", a)
    lines, axes = _sorted_lines("np.median", x, axis)
    n = lines.shape[0]
    found = np.mean(lines[max(0, (n - 1) // 2) : n // 2 + 1], axis=0)
    return _kept(_nan_where_nan(lines, found) if n else found, 0, axes, x.ndim, keepdims)


def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The median of what is not NaN; NaN where there is nothing else."""
    _refuse("np.nanmedian", out)
    x = _given("np.nanmedian", a)
    if x.dtype.kind != "f" or 0 in x.shape:
        return median(x, axis, None, False, keepdims)
    lines, axes = _sorted_lines("np.nanmedian", x, axis)
    count = _known(lines)
    low, high = (_picked(lines, np.maximum(at, 0)) for at in ((count - 1) // 2, count // 2))
    # What is read beyond the last element that is known is NaN where there is none, and not used elsewhere.
    found = np.where(count % 2 == 1, low, np.mean(np.stack([low, high]), axis=0))
    return _kept(np.where(count == 0, np.full_like(found, np.nan), found), 0, axes, x.ndim, keepdims)


def _known(lines: Tracer) -> Any:
    """How many elements of each line are not NaN."""
    return np.sum(~np.isnan(lines), axis=0)


def _picked(lines: Tracer, places: Any) -> Any:
    """The elements at places of sorted lines, which each line has for itself: [q..., rest]."""
    rest = lines.shape[1:]
    places = np.broadcast_to(places, np.broadcast_shapes(places.shape, rest))
    lead = places.shape[: places.ndim - len(rest)]
    flat = np.reshape(places, (int(numpy.prod(lead)), *rest))
    return np.reshape(np.take_along_axis(lines, flat, axis=0), (*lead, *rest))


# ---- where quantiles are ----------------------------------------------------------------------------------
def _between(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    """The place of a quantile among n elements, by the formula of Hyndman and Fan (1996)."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


# The places that methods give, with a fraction that says how far it is to the next element.
_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda n, q: (n - 1) * q,
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _between(3 / 8.0, 3 / 8.0),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}

# What the fraction is as a weight of the next element, where that is not the fraction itself.
_WEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "averaged_inverted_cdf": lambda fraction, at: np.where(fraction == 0, 0.5, 1.0),
    "midpoint": lambda fraction, at: np.where(at % 1 == 0, 0.0, 0.5),
}


def _boundary(at: Any, stays: Any) -> Any:
    """The element after a place, or the one at it; the first one, if that is before it."""
    before = np.floor(at)
    return np.maximum(np.where(stays(at - before, before), before, before + 1), 0)


# The elements that the other methods give.
_ELEMENTS: dict[str, Callable[[Any, Any], Any]] = {
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.round((n - 1) * q),
    "inverted_cdf": lambda n, q: _boundary(n * q - 1, lambda fraction, before: fraction == 0),
    "closest_observation": lambda n, q: _boundary(
        n * q - 1 - 0.5, lambda fraction, before: (fraction == 0) & (before % 2 == 1)
    ),
}


# ---- quantiles --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Asked:
    """What is asked for."""

    q: Any  # in [0, 1]: an array, or traced
    weak: bool  # whether it was a Python number, which leaves the dtype of the elements as it is
    method: str


def _asked(name: str, q: Any, scale: int, method: str) -> _Asked:
    """The quantiles, checked; those that are traced are checked when the program runs."""
    if method not in _PLACES and method not in _ELEMENTS:
        raise UnsupportedError(
            f"{name}: method={method!r} is not supported",
            loc=caller(),
            why="known: " + ", ".join((*_PLACES, *_ELEMENTS)),
        )
    traced = isinstance(q, Tracer)
    weak = q.weak in (int, float) if isinstance(q, Tracer) else type(q) in (int, float)
    found = Tracer(q.value, q.recorder) if isinstance(q, Tracer) else numpy.asarray(q)
    if found.ndim > 2:
        raise ShapeError(f"{name}: q must be a scalar or 1d", loc=caller())
    found = np.true_divide(found, scale) if scale != 1 else found
    if not traced and not numpy.all((found >= 0) & (found <= 1)):
        raise ShapeError(f"{name}: q must be in the range [0, {scale}]", loc=caller())
    return _Asked(found if traced else numpy.asarray(found), weak, method)


@dataclass(frozen=True)
class _Lines:
    """Sorted lines, [n, ...rest], and how many elements of each count: a number, or for each its own."""

    elements: Tracer
    count: Any
    asked: _Asked

    def spread(self, x: Any) -> Any:
        """What has the shape of q, with the axes that places have."""
        rest = 0 if isinstance(self.count, int) else self.elements.ndim - 1
        return np.reshape(x, (*x.shape, *(1,) * rest))

    def at(self, places: Any) -> Any:
        """The elements at some places, [q..., ...rest]; where q is no quantile, reading is refused."""
        places = np.maximum(places, 0).astype(I64)
        if isinstance(self.asked.q, Tracer):
            q = self.spread(self.asked.q)
            places = np.where((q >= 0) & (q <= 1), places, self.elements.shape[0])
        if not isinstance(self.count, int):
            return _picked(self.elements, places)
        if isinstance(places, Tracer) or places.ndim:
            return np.take(self.elements, places, axis=0)
        return self.elements[int(places)]

    def found(self) -> Any:
        """The quantiles by the method that is asked for."""
        q, count, method = self.spread(self.asked.q), self.count, self.asked.method
        if not isinstance(count, int) and q.dtype.kind == "f":
            count = as_dtype(count, q.dtype)
        if method in _ELEMENTS:
            return self.at(_ELEMENTS[method](count, q))
        at = _PLACES[method](count, q)
        if method == "linear" and at.dtype.kind in "iub":
            return self.at(at)
        before, last = np.floor(at), count - 1
        low, high = (np.where(at >= last, last, np.where(at < 0, 0, place)) for place in (before, before + 1))
        fraction = at - before
        weight = _WEIGHTS[method](fraction, at) if method in _WEIGHTS else fraction
        return self.mixed(self.at(low), self.at(high), weight.astype(at.dtype))

    def mixed(self, low: Any, high: Any, weight: Any) -> Any:
        """low + (high - low) · weight, from the nearer end."""
        t, rest = weight, 1 - weight
        if self.asked.weak:
            dtype = low.dtype if low.dtype.kind == "f" else F64
            t, rest = (as_dtype(w, dtype) if isinstance(w, Tracer) else w.astype(dtype) for w in (t, rest))
        shape = (*t.shape, *(1,) * (low.ndim - t.ndim))
        t, rest, near = (np.reshape(w, shape) for w in (t, rest, weight < 0.5))
        apart = high - low
        if not isinstance(near, Tracer) and (near.all() or not near.any()):
            return low + apart * t if near.all() else high - apart * rest
        return np.where(near, low + apart * t, high - apart * rest)


def _quantiles(name: str, scale: int) -> Callable[..., Any]:
    """np.quantile or np.percentile."""

    def quantiles(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Any:
        _refuse(name, out, weights)
        x, asked = _given(name, a, q), _asked(name, q, scale, method)
        elements, axes = _sorted_lines(name, x, axis)
        n = elements.shape[0]
        if n == 0:
            raise IndexRangeError(f"{name} of no elements", loc=caller())
        found = _nan_where_nan(elements, _Lines(elements, n, asked).found())
        return _kept(found, asked.q.ndim, axes, x.ndim, keepdims)

    return quantiles


def _nan_quantiles(plain: Callable[..., Any], name: str, scale: int) -> Callable[..., Any]:
    """np.nanquantile or np.nanpercentile."""

    def quantiles(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Any:
        _refuse(name, out, weights)
        x, asked = _given(name, a, q), _asked(name, q, scale, method)
        if 0 in x.shape:
            return np.nanmean(x, axis, keepdims=keepdims)
        if x.dtype.kind != "f":
            return plain(x, q, axis, None, False, method, keepdims)
        elements, axes = _sorted_lines(name, x, axis)
        count = _known(elements)
        found = _Lines(elements, count, asked).found()
        none = np.broadcast_to(count == 0, found.shape)
        found = np.where(none, np.full_like(found, np.nan), found)
        return _kept(found, asked.q.ndim, axes, x.ndim, keepdims)

    return quantiles


_quantile, _percentile = _quantiles("np.quantile", 1), _quantiles("np.percentile", 100)

TABLE: dict[Any, Callable[..., Any]] = {
    np.median: median,
    np.nanmedian: nanmedian,
    np.quantile: _quantile,
    np.percentile: _percentile,
    np.nanquantile: _nan_quantiles(_quantile, "np.nanquantile", 1),
    np.nanpercentile: _nan_quantiles(_percentile, "np.nanpercentile", 100),
}
