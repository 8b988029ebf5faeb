"""What the methods `reduce` and `reduceat` of ufuncs are on tracers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, IndexRangeError, UnsupportedError
from symgrad.trace.lifting import reduced_axes, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.refusals import OTHERWISE
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

# Ufuncs whose reduction is a function of NumPy.
REDUCERS: dict[numpy.ufunc, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
# Ufuncs that are associative, by the number that changes nothing: halves are joined until one is left.
JOINED: dict[numpy.ufunc, Any] = {
    np.logaddexp: -np.inf,
    np.logaddexp2: -np.inf,
    np.hypot: 0,
    np.fmax: None,
    np.fmin: None,
    np.bitwise_and: -1,
    np.bitwise_or: 0,
    np.bitwise_xor: 0,
    np.logical_xor: False,
}
# Ufuncs of which only the first operand is special: that and the reduction of the others by another ufunc.
_OTHERS: dict[numpy.ufunc, numpy.ufunc] = {np.subtract: np.add, np.divide: np.multiply}


def can_reduce(ufunc: numpy.ufunc) -> bool:
    """Whether `ufunc.reduce` is there."""
    return ufunc in REDUCERS or ufunc in JOINED or ufunc in _OTHERS


def reduce(
    function: Callable[[Any], Callable[..., Any]],
    ufunc: numpy.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """ufunc.reduce, over the first axis unless told otherwise; `function` finds what NumPy's is here."""
    if dtype is not None:
        if ufunc not in (np.add, np.multiply):
            raise UnsupportedError(f"np.{ufunc.__name__}.reduce: the option dtype= is not supported")
        options["dtype"] = dtype
    if ufunc in REDUCERS:
        return function(REDUCERS[ufunc])(array, axis=axis, keepdims=keepdims, **options)
    given = {name for name, value in options.items() if value is not None and value is not np._NoValue}
    initial = options.get("initial") if "initial" in given else None
    if given - {"initial"} and options.get("where") is not True:
        raise UnsupportedError(f"np.{ufunc.__name__}.reduce: the option where= is not supported")
    x = tracer_of(array, the_tracer((array, initial)))
    axes = reduced_axes(axis, x.ndim)
    found = _in_order(ufunc, x, axes, initial) if ufunc in _OTHERS else _joined(ufunc, x, axes, initial)
    return (
        np.reshape(found, tuple(1 if i in axes else n for i, n in enumerate(x.shape))) if keepdims else found
    )


def _in_order(ufunc: numpy.ufunc, x: Any, axes: tuple[int, ...], initial: Any) -> Any:
    """The first along an axis, without the others."""
    if len(axes) > 1:
        raise DTypeError(
            f"reduction operation '{ufunc.__name__}' is not reorderable: at most one axis may be specified",
            loc=caller(),
        )
    if not axes:
        return x
    lines = np.moveaxis(x, axes[0], 0)
    if initial is not None:
        return ufunc(initial, _OTHERS[ufunc].reduce(lines))
    if lines.shape[0] == 0:
        raise _nothing(ufunc)
    return ufunc(lines[0], _OTHERS[ufunc].reduce(lines[1:])) if lines.shape[0] > 1 else lines[0]


def _joined(ufunc: numpy.ufunc, x: Any, axes: tuple[int, ...], initial: Any) -> Any:
    """The elements along axes in pairs, the pairs in pairs, and so on."""
    for k in reversed(axes):
        lines = np.moveaxis(x, k, 0)
        count = lines.shape[0]
        if count == 0:
            neutral = JOINED[ufunc] if initial is None else initial
            if neutral is None:
                raise _nothing(ufunc)
            lines, count = np.full_like(lines, neutral, shape=(1, *lines.shape[1:])), 1
        if count == 1 and ufunc is np.logical_xor:
            lines = lines != 0
        while count > 1:
            half = count // 2
            pairs = ufunc(lines[:half], lines[half : 2 * half])
            lines = np.concatenate([pairs, lines[2 * half :]]) if count % 2 else pairs
            count = half + count % 2
        x = lines[0]
    return x if initial is None else ufunc(initial, x)


def _nothing(ufunc: numpy.ufunc) -> UnsupportedError:
    return UnsupportedError(
        f"zero-size array to reduction operation {ufunc.__name__} which has no identity", loc=caller()
    )


def reduceat(
    ufunc: numpy.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """ufunc.reduceat: the reductions of the parts that begin at known places."""
    name = f"np.{ufunc.__name__}.reduceat"
    if not can_reduce(ufunc) or dtype is not None:
        raise UnsupportedError(
            f"{name} with this ufunc or dtype= is not supported", loc=caller(), cure=OTHERWISE
        )
    if isinstance(indices, Tracer):
        indices.recorder.demand(indices, name, "give the places as an untraced array")
    x = tracer_of(array, the_tracer((array,)))
    lines = np.moveaxis(x, axis, 0)
    places, count = [operator.index(i) for i in np.asarray(indices)], lines.shape[0]
    for i in places:
        if not 0 <= i < count:
            raise IndexRangeError(f"{name}: place {i} is out of bounds for {count} entries", loc=caller())
    ends = [*places[1:], count]
    parts = [
        ufunc.reduce(lines[i:end], axis=0) if i < end else lines[i]
        for i, end in zip(places, ends, strict=True)
    ]
    return np.moveaxis(np.stack(parts), 0, axis)
