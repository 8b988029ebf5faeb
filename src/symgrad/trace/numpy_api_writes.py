"""NumPy's functions that write into their first argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import DTypeError, IndexRangeError, ShapeError, UnsupportedError
from symgrad.ir.ops.indexing import scatter_add
from symgrad.ir.types import BOOL, I64
from symgrad.trace.known_arrays import plain
from symgrad.trace.lifting import as_dtype, axis_of, dtype_in, find_tracer, fit, kind_of, prepare, strong
from symgrad.trace.numpy_api_places import within
from symgrad.trace.places import caller
from symgrad.trace.promotion import loop_dtypes, weak_kind
from symgrad.trace.stores import flat_place, whole
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_ROUNDS = 64  # how often one place may come where a ufunc is applied to it again and again


def copyto(dst: Tracer, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Put the elements of src into dst, where the mask holds."""
    src = prepare(src, dst)
    kind = dtype_in(src)
    if not np.can_cast(kind, dst.dtype, casting) and not (weak_kind(src) is int and dst.dtype.kind != "b"):
        raise DTypeError(
            f"Cannot cast array data from dtype('{kind}') to dtype('{dst.dtype}') according to the rule "
            f"'{casting}'",
            loc=caller(),
        )
    if where is True:
        dst[...] = src
        return
    new = np.broadcast_to(strong(dst.lift(src)), dst.shape)
    dst[...] = np.where(where, as_dtype(new, dst.dtype), dst)


def put(a: Tracer, ind: Any, v: Any, mode: str = "raise") -> None:
    """Put values at places of the flattened array; values come again from the first if there are too few.

    No values change nothing, as in NumPy; so they do in `putmask`.
    """
    at = within(np.ravel(_places(ind)), a.size, mode, "np.put")
    if np.size(v):
        flat_place(a)[at] = _cycled(v, at.size, a)


def place(arr: Tracer, mask: Any, vals: Any) -> None:
    """Put values, one after another, where the mask holds."""
    if not isinstance(mask, Tracer):
        at = np.flatnonzero(np.broadcast_to(np.asarray(mask, bool), arr.shape))
        if at.size:
            flat_place(arr)[at] = _cycled(vals, at.size, arr)
        return
    values = np.ravel(prepare(vals, arr))
    held = np.reshape(mask if mask.dtype == BOOL else mask != 0, arr.shape)
    if values.size == 1:
        arr[held] = values[0]
        return
    if not values.size:
        raise ShapeError("there are no values to write", loc=caller())
    turn = np.reshape(np.cumsum(held) - 1, arr.shape) % values.size
    arr[...] = np.where(held, as_dtype(strong(arr.lift(values))[turn], arr.dtype), arr)


def putmask(a: Tracer, mask: Any, values: Any) -> None:
    """Put each value that stands at a place where the mask holds, if there are as many as in a."""
    if np.size(mask) != a.size:
        raise ShapeError("putmask: mask and data must be the same size", loc=caller())
    if not np.size(values):
        return
    new = np.reshape(_cycled(values, a.size, a), a.shape)
    held = np.reshape(mask if isinstance(mask, Tracer) else np.asarray(mask), a.shape)
    a[...] = np.where(held if dtype_in(held) == BOOL else held != 0, as_dtype(a.lift(new), a.dtype), a)


def fill_diagonal(a: Tracer, val: Any, wrap: bool = False) -> None:
    """Put a value on the main diagonal."""
    if a.ndim < 2:
        raise ShapeError("array must be at least 2-d", loc=caller())
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ShapeError("All dimensions of input must be of equal length", loc=caller())
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + sum(np.cumprod(a.shape[:-1]).tolist())
    end = a.size if wrap or a.ndim > 2 else a.shape[1] * a.shape[1]
    count = len(range(0, min(end, a.size), step))
    flat_place(a)[0:end:step] = _cycled(val, count, a)


def put_along_axis(arr: Tracer, indices: Any, values: Any, axis: Any) -> None:
    """Put values at indices along an axis, each line with its own."""
    at = _places(indices)
    if axis is None:
        flat_place(arr)[np.ravel(at)] = values
        return
    k = axis_of(axis, arr.ndim)
    if np.ndim(at) != arr.ndim:
        raise ShapeError(f"put_along_axis: indices of {np.ndim(at)} axes for {arr.type}", loc=caller())
    grid = np.ogrid[tuple(slice(n) for n in arr.shape)]
    arr[tuple(at if i == k else grid[i] for i in range(arr.ndim))] = values


def ufunc_at(ufunc: Any, a: Tracer, indices: Any, *operands: Any) -> None:
    """Apply a ufunc to the elements at indices, one after another: to a place that comes twice, twice."""
    key = plain(indices)
    places = np.arange(a.size).reshape(a.shape)
    traced = find_tracer((key,)) is not None
    places = (strong(a.lift(places)) if traced else places)[key]
    flat, view = np.ravel(places), flat_place(a)
    updates = [np.ravel(np.broadcast_to(prepare(x, a), places.shape)) for x in operands]
    if ufunc in (np.add, np.subtract) and a.dtype.kind in "fiu":
        change = updates[0] if ufunc is np.add else -updates[0]
        _check_result(ufunc, a, (a, change))
        at = fit(flat, I64, flat.shape, a)
        whole(view, scatter_add(view, fit(change, a.dtype, flat.shape, a), at, axes=(0,)))
        return
    if traced:
        raise UnsupportedError(
            f"np.{ufunc.__name__}.at with traced indices is not supported",
            loc=caller(),
            why="the same place may come twice",
            cure="add or subtract, or apply it at one index at a time",
        )
    _check_result(ufunc, a, (a, *updates))
    for chosen in _rounds(flat):
        where = flat[chosen]
        view[where] = ufunc(view[where], *(u[chosen] for u in updates))


def _check_result(ufunc: Any, a: Tracer, operands: tuple[Any, ...]) -> None:
    """Raise where the results of a ufunc cannot be put into a."""
    *_, dtype = loop_dtypes(ufunc, tuple(kind_of(prepare(x, a)) for x in operands))
    if not np.can_cast(dtype, a.dtype, "same_kind"):
        raise DTypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from dtype('{dtype}') to dtype('{a.dtype}') "
            "with casting rule 'same_kind'",
            loc=caller(),
        )


def _rounds(flat: Any) -> list[Any]:
    """The positions of the first, second, ... coming of each place."""
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1)) if ordered.size else ordered
    lengths = np.diff(np.append(starts, ordered.size))
    if lengths.size and lengths.max() > _ROUNDS:
        raise UnsupportedError(
            f"a place comes {lengths.max()} times among the indices of ufunc.at",
            loc=caller(),
            why=f"for ufuncs other than add and subtract, {_ROUNDS} times is the most",
            cure="reduce the values of each place first",
        )
    turn = np.arange(ordered.size) - np.repeat(starts, lengths)
    return [np.sort(order[turn == k]) for k in range(int(turn.max()) + 1 if turn.size else 0)]


def _places(indices: Any) -> Any:
    """Indices as an array of integers, traced or not."""
    found = indices if isinstance(indices, Tracer) else np.asarray(indices)
    if found.dtype.kind not in "iu" and found.size:
        raise IndexRangeError(f"an index must be of integers, not {found.dtype}", loc=caller())
    return found


def _cycled(values: Any, count: int, like: Tracer) -> Any:
    """As many values as are needed, from the first again where they end."""
    flat = np.ravel(prepare(values, like))
    if not flat.size:
        raise ShapeError("there are no values to write", loc=caller())
    return flat if flat.size == count else flat[np.arange(count) % flat.size]


TABLE: dict[Any, Callable[..., Any]] = {
    np.copyto: copyto,
    np.put: put,
    np.place: place,
    np.putmask: putmask,
    np.fill_diagonal: fill_diagonal,
    np.put_along_axis: put_along_axis,
}
