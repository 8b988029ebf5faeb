"""NumPy's sorting: one order of each line, and elements put in it.

A partition is a sort: it has the k-th element in its place, and what NumPy leaves in any order is in order.
Every sort is stable, whatever `kind` says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir.ops.sorting import permuted, ranking
from symgrad.trace.lifting import axis_of, is_listed, the_tracer, tracer_of
from symgrad.trace.places import caller
from symgrad.trace.sort_keys import as_key, demand_sizes
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_KINDS = ("q", "h", "m", "s")  # NumPy looks at the first letter


# ---- lines ------------------------------------------------------------------------------------------------
def sorted_last(name: str, x: Tracer) -> Tracer:
    """x with each line of its last axis sorted."""
    demand_sizes(name, x)
    return permuted(x, ranking(as_key(x)), inverse=0)


def _order(name: str, x: Tracer) -> Tracer:
    """Where the elements of each sorted line of the last axis come from."""
    demand_sizes(name, x)
    found: Tracer = ranking(as_key(x))[..., 0, :]
    return found


def _along(name: str, of: Callable[[str, Tracer], Tracer], x: Tracer, axis: Any) -> Tracer:
    """What is made of each line along an axis, or of all elements in one line."""
    demand_sizes(name, x)
    if axis is None:
        return of(name, np.ravel(x))
    k = axis_of(axis, x.ndim)
    found: Tracer = np.moveaxis(of(name, np.moveaxis(x, k, -1)), -1, k)
    return found


def _check_options(name: str, kind: Any, order: Any, stable: Any) -> None:
    """Raise for options that NumPy does not take; which algorithm sorts is not up to them."""
    if order is not None:
        raise ShapeError(f"{name}: an order needs an array with fields", loc=caller())
    if kind is not None and stable is not None:
        raise ShapeError(f"{name}: kind and stable are not given together", loc=caller())
    if kind is not None and not (isinstance(kind, str) and kind.lower().startswith(_KINDS)):
        raise ShapeError(
            f"{name}: kind={kind!r} is none of 'quicksort', 'heapsort', 'mergesort' and 'stable'",
            loc=caller(),
        )


def _check_places(name: str, kth: Any, x: Tracer, axis: Any) -> None:
    """Raise unless there are such places in the lines that are partitioned."""
    if isinstance(kth, Tracer):
        kth.recorder.demand(kth, f"{name} at a traced place", "use np.sort, and take the place of that")
    demand_sizes(name, x)
    n = x.size if axis is None else x.shape[axis_of(axis, x.ndim)]
    if x.size == 0:  # NumPy looks at no places then
        return
    for place in kth if is_listed(kth) or np.ndim(kth) else (kth,):
        if not -n <= operator.index(place) < n:
            raise ShapeError(f"{name}: kth(={place}) out of bounds ({n})", loc=caller())


# ---- functions --------------------------------------------------------------------------------------------
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Each line sorted, NaN last; equals in the order that they were in."""
    _check_options("np.sort", kind, order, stable)
    return _along("np.sort", sorted_last, tracer_of(a, the_tracer((a,))), axis)


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Where the elements of each sorted line come from."""
    _check_options("np.argsort", kind, order, stable)
    return _along("np.argsort", _order, _at_least_a_line(a), axis)


def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    """Each line with its k-th element in its place, and all others on the right side of it."""
    _check_partition("np.partition", kind, order)
    x = tracer_of(a, the_tracer((a,)))
    _check_places("np.partition", kth, x, axis)
    return _along("np.partition", sorted_last, x, axis)


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    """Where the elements of each partitioned line come from."""
    _check_partition("np.argpartition", kind, order)
    x = _at_least_a_line(a)
    _check_places("np.argpartition", kth, x, axis)
    return _along("np.argpartition", _order, x, axis)


def _check_partition(name: str, kind: Any, order: Any) -> None:
    if kind != "introselect":
        raise ShapeError(f"{name}: kind={kind!r} is not 'introselect'", loc=caller())
    _check_options(name, None, order, None)


def _at_least_a_line(a: Any) -> Tracer:
    """The operand; a number as the line of one element that NumPy takes it for."""
    x = tracer_of(a, the_tracer((a,)))
    return np.ravel(x) if x.ndim == 0 else x


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The order by the last key, among equals by the one before it, and so on."""
    like = the_tracer((keys,))
    rows = [tracer_of(key, like) for key in keys]
    if not rows:
        raise DTypeError("np.lexsort: need a sequence of keys with len > 0", loc=caller())
    if any(row.shape != rows[0].shape for row in rows):
        raise ShapeError("np.lexsort: all keys need to be of one shape", loc=caller())
    if rows[0].ndim == 0:
        return np.zeros_like(rows[0], dtype=np.int64)
    k = axis_of(axis, rows[0].ndim)
    first, *others = (np.moveaxis(row, k, -1) for row in rows)
    order = _order("np.lexsort", first)
    for row in others:
        then = _order("np.lexsort", np.take_along_axis(row, order, axis=-1))
        order = np.take_along_axis(order, then, axis=-1)
    return np.moveaxis(order, -1, k)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin that each x is in, of bins between known edges that rise or fall."""
    if isinstance(bins, Tracer):
        bins.recorder.demand(
            bins,
            "np.digitize with traced bins",
            "use np.searchsorted(bins, x, side='right') of bins that rise",
        )
    edges = numpy.asarray(bins)
    steps: Any = numpy.diff(edges) if edges.ndim == 1 else None
    side = "left" if right else "right"
    if steps is None:
        raise ShapeError(f"np.digitize: bins have {edges.ndim} axes", loc=caller())
    if bool(numpy.all(steps >= 0)):
        return np.searchsorted(edges, x, side=side)
    if bool(numpy.all(steps <= 0)):
        return len(edges) - np.searchsorted(edges[::-1], x, side=side)
    raise ShapeError("np.digitize: bins must be monotonically increasing or decreasing", loc=caller())


TABLE: dict[Any, Callable[..., Any]] = {
    np.sort: sort,
    np.argsort: argsort,
    np.partition: partition,
    np.argpartition: argpartition,
    np.lexsort: lexsort,
    np.digitize: digitize,
}
