"""`np.pad`: entries around an array, by constants, by its own entries, or by what is computed of them.

The axes are padded one after another: what is put around one is made of what those before it have got.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.ops.shapes import pad
from symgrad.trace.lifting import axis_of, the_tracer, tracer_of
from symgrad.trace.numpy_api_joins import at_places, concatenate
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def _pairs(values: Any, rank: int) -> list[tuple[Any, Any]]:
    """What goes before and after each axis, from one value, a pair, or a pair an axis."""
    if isinstance(values, dict):
        by_axis = {axis_of(axis, rank): _pairs(v, 1)[0] for axis, v in cast("dict[Any, Any]", values).items()}
        return [by_axis.get(axis, (0, 0)) for axis in range(rank)]
    if np.ndim(values) == 0:
        return [(values, values)] * rank
    rows = [tuple(row) if np.ndim(row) else (row,) for row in values]
    if all(len(row) == 1 for row in rows) and len(rows) <= 2:
        rows = [(rows[0][0], rows[-1][0])]
    if len(rows) == 1:
        return [(rows[0][0], rows[0][-1])] * rank
    if len(rows) != rank:
        raise ShapeError(f"pad: {values} does not fit {rank} axes", loc=caller())
    return [(row[0], row[-1]) for row in rows]


def _mirrored(n: int, low: int, high: int, *, edge: bool) -> Any:
    """The indices of an axis reflected about its ends, with the end itself repeated or not."""
    period = 2 * n if edge else max(1, 2 * (n - 1))
    places = np.arange(-low, n + high) % period
    return np.where(places < n, places, (period - 1 if edge else period) - places)


_PLACES: dict[str, Callable[[int, int, int], Any]] = {
    "edge": lambda n, low, high: np.clip(np.arange(-low, n + high), 0, n - 1),
    "wrap": lambda n, low, high: np.arange(-low, n + high) % n,
    "reflect": lambda n, low, high: _mirrored(n, low, high, edge=False),
    "symmetric": lambda n, low, high: _mirrored(n, low, high, edge=True),
}


def _placed(x: Any, axis: int, low: int, high: int, mode: str, reflect_type: str = "even") -> Any:
    """Padded along an axis by entries at other places of it."""
    n = x.shape[axis]
    padded = at_places(x, _PLACES[mode](n, low, high), axis)
    if reflect_type == "even" or mode not in _PERIODS:
        return padded
    # An odd reflection of x[r] about an end e is 2 e - x[r]; it goes on with the ends that it makes.
    turns, within = np.divmod(np.arange(-low, n + high), _PERIODS[mode](n))
    turned = within >= n
    shape = (-1, *(1,) * (x.ndim - axis - 1))
    first, last = (x[(*(slice(None),) * axis, slice(k, k + 1))] for k in (0, n - 1))
    about = _rows(2 * turned + 2 * turns, shape) * last - _rows(2 * turns, shape) * first
    return (about + _rows(np.where(turned, -1, 1), shape) * padded).astype(x.dtype)


def _rows(numbers: Any, shape: tuple[int, ...]) -> Any:
    """Small integers along an axis."""
    return np.reshape(numbers, shape).astype(np.int8)


# After how many places a reflection begins anew.
_PERIODS: dict[str, Callable[[int], int]] = {
    "reflect": lambda n: max(1, 2 * (n - 1)),
    "symmetric": lambda n: 2 * n,
}
_STATISTICS: dict[str, Any] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def _surrounded(x: Any, axis: int, low: Any, high: Any) -> Any:
    """The array between two others, of which either may have no entries."""
    rows = [rows for rows in (low, x, high) if rows is x or rows.shape[axis]]
    return concatenate(rows, axis) if len(rows) > 1 else x


def _pad_statistic(x: Any, axis: int, widths: tuple[int, int], mode: str, lengths: tuple[Any, Any]) -> Any:
    """Padded along an axis by a statistic of the entries at each end."""
    n = x.shape[axis]
    sides: list[Any] = []
    for width, length, first in zip(widths, lengths, (True, False), strict=True):
        count = n if length is None else min(operator.index(length), n)
        if count < 1 and mode in ("maximum", "minimum"):
            raise ShapeError("stat_length of 0 yields no value for padding", loc=caller())
        part = slice(0, count) if first else slice(n - count, n)
        found = _STATISTICS[mode](x[(*(slice(None),) * axis, part)], axis=axis, keepdims=True)
        found = np.rint(found) if x.dtype.kind in "iu" and mode in ("mean", "median") else found
        shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
        sides.append(np.broadcast_to(found.astype(x.dtype), shape))
    return _surrounded(x, axis, *sides)


def _pad_ramp(x: Any, axis: int, widths: tuple[int, int], ends: tuple[Any, Any]) -> Any:
    """Padded along an axis by entries at equal distances from an end value to the edge."""
    n, lead = x.shape[axis], (slice(None),) * axis
    sides: list[Any] = []
    for width, end, first in zip(widths, ends, (True, False), strict=True):
        edge = x[(*lead, 0 if first else n - 1)]
        ramp = np.linspace(np.full_like(edge, end), edge, width, endpoint=False, axis=axis)
        ramp = np.floor(ramp) if x.dtype.kind in "iu" else ramp
        sides.append((ramp if first else np.flip(ramp, axis)).astype(x.dtype))
    return _surrounded(x, axis, *sides)


# The modes and their options.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",), "edge": (), "wrap": (), "empty": (), "linear_ramp": ("end_values",),
    "reflect": ("reflect_type",), "symmetric": ("reflect_type",),
    **dict.fromkeys(_STATISTICS, ("stat_length",)),
}  # fmt: skip


def pad_(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """The array with more entries around it; those of the mode "empty" are 0."""
    like = the_tracer((array, options))
    x = tracer_of(array, like)
    widths = [(operator.index(a), operator.index(b)) for a, b in _pairs(pad_width, x.ndim)]
    if any(min(w) < 0 for w in widths):
        raise ShapeError(f"pad: negative widths in {pad_width}", loc=caller())
    if not isinstance(mode, str) or not set(options) <= set(_OPTIONS.get(mode, ())):
        raise UnsupportedError(f"np.pad: mode={mode!r} with {options} is not supported", loc=caller())
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, options.get("constant_values", 0))
    lengths = _pairs(options.get("stat_length"), x.ndim)
    ends = _pairs(options.get("end_values", 0), x.ndim)
    for axis, (low, high) in enumerate(widths):
        if not low and not high:
            continue
        if x.shape[axis] == 0:
            raise ShapeError(f"pad: an empty axis cannot be extended in mode {mode!r}", loc=caller())
        if mode == "linear_ramp":
            x = _pad_ramp(x, axis, (low, high), ends[axis])
        elif mode in _STATISTICS:
            x = _pad_statistic(x, axis, (low, high), mode, lengths[axis])
        else:
            x = _placed(x, axis, low, high, mode, **options)
    return x


def _pad_constant(x: Tracer, widths: list[tuple[int, int]], values: Any) -> Any:
    """The array surrounded by constants, or by traced numbers."""
    numbers = _pairs(values, x.ndim)
    if all(not isinstance(v, Tracer) and v == 0 for pair in numbers for v in pair):
        low, high = tuple(w[0] for w in widths), tuple(w[1] for w in widths)
        return pad(x, low=low, high=high, interior=(0,) * x.ndim) if any((*low, *high)) else x
    for axis, ((low, high), (first, last)) in enumerate(zip(widths, numbers, strict=True)):
        rows: list[Any] = [x]
        for count, value, at in ((low, first, 0), (high, last, len(rows) + 1)):
            if count:
                shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
                rows.insert(at, np.full_like(x, value, shape=shape))
        x = concatenate(rows, axis) if len(rows) > 1 else x
    return x


TABLE: dict[Any, Callable[..., Any]] = {np.pad: pad_}
