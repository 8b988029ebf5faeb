"""NumPy's functions that compute indices, and those that choose by them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, IndexRangeError, ShapeError, UnsupportedError
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops.checks import known_choice, known_coordinate, known_place, some_number
from symgrad.ir.types import I64
from symgrad.trace.lifting import fit, joint_shape, kind_of, prepare, ramp, several, the_tracer, tracer_of
from symgrad.trace.numpy_api_places import within
from symgrad.trace.places import caller
from symgrad.trace.promotion import result_dtype
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def checked(at: Any, count: int, check: OpDef) -> Any:
    """Places, of which one that is none of so many, as -1 is not either, raises when the program runs."""
    return check(np.where((at < 0) | (at >= count), -1, at))


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """At each place the element of the choice that an index there names."""
    like = the_tracer((a, choices))
    index = a if isinstance(a, Tracer) else np.asarray(a)
    if index.dtype.kind not in "iub":
        raise DTypeError(f"np.choose takes integers as indices, not {index.dtype}", loc=caller())
    options = [prepare(choice, like) for choice in choices]
    count = len(options)
    if mode == "raise" and not isinstance(index, Tracer) and np.any((index < 0) | (index >= count)):
        raise IndexRangeError(f"np.choose: an index is none of {count} choices", loc=caller())
    shape = joint_shape("choose", (index, *options))
    dtype = result_dtype(tuple(map(kind_of, options)))
    rows = np.stack([fit(option, dtype, shape, like) for option in options])
    at = within(fit(index, I64, shape, like), count, mode, "np.choose")
    if mode == "raise":
        at = checked(at, count, known_choice)
    return rows[(at, *(ramp(i, shape, like) for i in range(len(shape))))]


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, several(shape)))


def _strides(sizes: tuple[int, ...], order: str) -> list[int]:
    """How far apart neighbours along each axis are in the flattened array."""
    if order not in ("C", "F"):
        raise UnsupportedError(f"order={order!r} is not supported", loc=caller())
    axes = range(len(sizes))
    return [math.prod(sizes[i + 1 :] if order == "C" else sizes[:i]) for i in axes]


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """The index along each axis of places in the flattened array."""
    sizes = _sizes(shape)
    at = checked(fit(indices, I64, np.shape(indices), the_tracer((indices,))), math.prod(sizes), known_place)
    return tuple(at // stride % n for stride, n in zip(_strides(sizes, order), sizes, strict=True))


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """The places in the flattened array of an index along each axis."""
    like = the_tracer((multi_index,))
    sizes, parts = _sizes(dims), list(multi_index)
    modes: list[Any] = [*mode] if isinstance(mode, tuple) else [mode] * len(sizes)
    if not len(parts) == len(sizes) == len(modes):
        raise ShapeError(f"ravel_multi_index: {len(parts)} indices for {len(sizes)} axes", loc=caller())
    total: Any = 0
    for part, n, how, stride in zip(parts, sizes, modes, _strides(sizes, order), strict=True):
        at = fit(prepare(part, like), I64, np.shape(part), like)
        raises = how == "raise"
        place = checked(at, n, known_coordinate) if raises else within(at, n, how, "ravel_multi_index")
        total = total + place * stride
    return total


def ix_(*args: Any) -> Any:
    """Vectors of indices as an open mesh."""
    if any(np.ndim(x) != 1 for x in args):
        raise ShapeError("np.ix_: cross index must be 1 dimensional", loc=caller())
    if any(isinstance(x, Tracer) and x.dtype.kind == "b" for x in args):
        cure = "use np.where(mask[:, None], x, 0), or an untraced mask"
        raise UnsupportedError("np.ix_ of a traced mask: its size is not known", loc=caller(), cure=cure)
    vectors = [x if isinstance(x, Tracer) else np.ix_(x)[0] for x in args]
    return tuple(
        np.reshape(x, tuple(-1 if i == k else 1 for i in range(len(args)))) for k, x in enumerate(vectors)
    )


def _from_shape(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that looks at the shape of a matrix alone."""

    def indices(arr: Any, k: int = 0) -> Any:
        if arr.ndim != 2:
            raise ShapeError("input array must be 2-d", loc=caller())
        rows, columns = _sizes(arr.shape)
        return function(rows, k=k, m=columns)

    return indices


def diag_indices_from(arr: Any) -> Any:
    """The indices of the main diagonal."""
    sizes = _sizes(arr.shape)
    if len(sizes) < 2 or len(set(sizes)) > 1:
        raise ShapeError("All dimensions of input must be of equal length, and two at least", loc=caller())
    return np.diag_indices(sizes[0], len(sizes))


def _extreme_of_numbers(extreme: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    """np.nanargmax or np.nanargmin; where all are NaN, the program raises, as NumPy does."""

    def found(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        x = tracer_of(a, the_tracer((a,)))
        keep = bool(keepdims) and keepdims is not np._NoValue
        if x.dtype.kind != "f":
            return extreme(x, axis=axis, keepdims=keep)
        number = ~np.isnan(x)
        at = extreme(np.where(number, x, np.full_like(x, neutral)), axis=axis, keepdims=keep)
        return some_number(np.where(np.any(number, axis=axis, keepdims=keep), at, -1))

    return found


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Whether each element is among others."""
    like = the_tracer((element, test_elements))
    x, among = tracer_of(element, like), np.ravel(tracer_of(test_elements, like))
    found = np.any(np.expand_dims(x, -1) == among, axis=-1)
    return ~found if invert else found


TABLE: dict[Any, Callable[..., Any]] = {
    np.choose: choose,
    np.unravel_index: unravel_index,
    np.ravel_multi_index: ravel_multi_index,
    np.ix_: ix_,
    np.tril_indices_from: _from_shape(np.tril_indices),
    np.triu_indices_from: _from_shape(np.triu_indices),
    np.diag_indices_from: diag_indices_from,
    np.nanargmax: _extreme_of_numbers(np.argmax, -math.inf),
    np.nanargmin: _extreme_of_numbers(np.argmin, math.inf),
    np.isin: isin,
}
