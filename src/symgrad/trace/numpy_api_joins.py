"""NumPy's functions that join, split and repeat arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy

from symgrad.errors import DTypeError, IndexRangeError, ShapeError
from symgrad.ir.ops.shapes import broadcast, concat
from symgrad.ir.types import array_type
from symgrad.trace.lifting import (
    axis_of,
    dtype_in,
    dtype_of,
    fit,
    ints_of,
    is_listed,
    prepare,
    strong,
    the_tracer,
    tracer_of,
)
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

# Beyond so many runs of neighbours, one gather is better than slices.
_MANY_RUNS = 8


def _tracers(arrays: Any) -> list[Tracer]:
    """The arrays as tracers, each in its own dtype."""
    like = the_tracer((arrays,))
    return [tracer_of(x, like) for x in arrays]


def _alike(what: str, arrays: Any, dtype: Any, casting: str) -> list[Tracer]:
    """The arrays as tracers of one dtype."""
    like = the_tracer((arrays,))
    xs = [prepare(x, like) for x in arrays]
    dtypes = [dtype_in(x) for x in xs]
    joint = np.result_type(*dtypes) if dtype is None else dtype_of(dtype)
    if not all(np.can_cast(d, joint, casting) for d in dtypes):  # type: ignore[arg-type]
        raise DTypeError(f"{what}: cannot cast to {joint} with casting={casting!r}", loc=caller())
    return [fit(x, joint, np.shape(x), like) for x in xs]


def _joined(xs: Sequence[Tracer], axis: int) -> Any:
    return xs[0] if len(xs) == 1 else concat(*xs, axis=axis)


def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """The arrays one after another along an axis, or all their elements if it is None."""
    if isinstance(arrays, Tracer) or not len(arrays):
        arrays = list(arrays)
    xs = _alike("concatenate", arrays, dtype, casting)
    if axis is None:
        return _joined([np.ravel(x) for x in xs], 0)
    if any(x.ndim == 0 for x in xs):
        raise ShapeError(
            "concatenate: an array without axes cannot be joined", loc=caller(), cure="use np.stack"
        )
    _same_rank("concatenate", xs)
    return _joined(xs, axis_of(axis, xs[0].ndim))


def _same_rank(what: str, xs: Sequence[Tracer]) -> None:
    if any(x.ndim != xs[0].ndim for x in xs):
        types = ", ".join(str(x.type) for x in xs)
        raise ShapeError(f"{what}: arrays of different numbers of axes: {types}", loc=caller())


def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """The arrays, of one shape, along a new axis."""
    xs = _alike("stack", arrays, dtype, casting)
    if any(x.shape != xs[0].shape for x in xs):
        raise ShapeError(f"stack: shapes differ: {', '.join(str(x.type) for x in xs)}", loc=caller())
    at = axis_of(axis, xs[0].ndim + 1)
    return _joined([np.expand_dims(x, at) for x in xs], at)


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """The arrays one below another."""
    return concatenate([np.atleast_2d(x) for x in _tracers(tup)], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """The arrays one beside another."""
    xs = [np.atleast_1d(x) for x in _tracers(tup)]
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    """The arrays one behind another."""
    return concatenate([np.atleast_3d(x) for x in _tracers(tup)], 2)


def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix, matrices as they are."""
    return concatenate([x if x.ndim > 1 else np.reshape(x, (x.size, 1)) for x in _tracers(tup)], 1)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """The values after the array along an axis."""
    xs = _tracers((arr, values))
    return concatenate([np.ravel(x) for x in xs] if axis is None else xs, 0 if axis is None else axis)


def block(arrays: Any) -> Any:
    """Nested lists of blocks, joined along the last axis within the innermost lists, and so outwards."""
    depth = 0
    probe = arrays
    while is_listed(probe):
        depth, probe = depth + 1, probe[0]
    like = the_tracer((arrays,))

    def leaves(item: Any) -> list[Any]:
        return [leaf for sub in item for leaf in leaves(sub)] if is_listed(item) else [item]

    rank = max(depth, *(np.ndim(leaf) for leaf in leaves(arrays)))

    def joined(item: Any, level: int) -> Any:
        if not is_listed(item):
            x = tracer_of(item, like)
            return np.reshape(x, (1,) * (rank - x.ndim) + x.shape)
        return concatenate([joined(sub, level - 1) for sub in item], -level)

    return joined(arrays, depth)


# ---- splitting -------------------------------------------------------------------------------------------
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut along an axis, at indices or into parts of nearly equal size."""
    k = axis_of(axis, ary.ndim)
    n = ary.shape[k]
    if np.ndim(indices_or_sections) == 0:
        count = operator.index(indices_or_sections)
        if count <= 0:
            raise ShapeError("array_split: the number of parts must be positive", loc=caller())
        each, more = divmod(n, count)
        cuts = [i * each + min(i, more) for i in range(count + 1)]
    else:
        cuts = [0, *ints_of(indices_or_sections), n]
    lead = (slice(None),) * k
    return [ary[(*lead, slice(a, b))] for a, b in pairwise(cuts)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut along an axis, at indices or into parts of equal size."""
    n = ary.shape[axis_of(axis, ary.ndim)]
    if np.ndim(indices_or_sections) == 0 and n % operator.index(indices_or_sections):
        raise ShapeError(
            f"split: {n} entries cannot be cut into {indices_or_sections} equal parts", loc=caller()
        )
    return array_split(ary, indices_or_sections, axis)


def _split_along(what: str, least: int, axis: int) -> Callable[..., Any]:
    def cut(ary: Any, indices_or_sections: Any) -> Any:
        if ary.ndim < least:
            raise ShapeError(f"{what}: {ary.type} has fewer than {least} axes", loc=caller())
        return split(ary, indices_or_sections, axis if ary.ndim > 1 else 0)

    return cut


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """The entries along an axis, as a tuple."""
    if x.ndim == 0:
        raise ShapeError("unstack: the array has no axes", loc=caller())
    return tuple(np.moveaxis(x, axis, 0))


# ---- repeating -------------------------------------------------------------------------------------------
def tile(A: Any, reps: Any) -> Any:
    """The array repeated as a whole along each axis."""
    counts = ints_of(reps)
    rank = max(A.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - A.ndim) + A.shape
    between = np.reshape(A, tuple(m for n in shape for m in (1, n)))
    spread = np.broadcast_to(between, tuple(m for c, n in zip(counts, shape, strict=True) for m in (c, n)))
    return np.reshape(spread, tuple(c * n for c, n in zip(counts, shape, strict=True)))


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each entry repeated along an axis, all alike or each by its own constant number."""
    x = np.ravel(a) if axis is None or a.ndim == 0 else strong(a)
    k = 0 if axis is None else axis_of(axis, x.ndim)
    counts = np.asarray(ints_of(repeats))
    if counts.size == 1:
        new = (*x.shape[: k + 1], int(counts[0]), *x.shape[k + 1 :])
        spread = broadcast(x, axes=(k + 1,), type=array_type(x.dtype, *new))
        return np.reshape(spread, (*x.shape[:k], x.shape[k] * int(counts[0]), *x.shape[k + 1 :]))
    if counts.shape != (x.shape[k],):
        raise ShapeError(f"repeat: {counts.size} numbers of repeats for {x.shape[k]} entries", loc=caller())
    return at_places(x, np.repeat(np.arange(x.shape[k]), counts), k)


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """The array without the entries at constant places of an axis."""
    x = np.ravel(arr) if axis is None else strong(arr)
    k = 0 if axis is None else axis_of(axis, x.ndim)
    gone = np.arange(x.shape[k])[obj] if isinstance(obj, slice) else np.asarray(obj)
    if gone.size and gone.dtype.kind not in "iub":
        raise IndexRangeError(f"np.delete: an index must be of integers, not {gone.dtype}", loc=caller())
    return at_places(x, np.delete(np.arange(x.shape[k]), gone), k)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """The array with values put in before constant places of an axis."""
    like = the_tracer((arr, values))
    x = tracer_of(arr, like)
    x = np.ravel(x) if axis is None else x
    k = 0 if axis is None else axis_of(axis, x.ndim)
    places = _insertions(obj, x.shape[k])
    if np.any((places < -x.shape[k]) | (places > x.shape[k])):
        raise IndexRangeError(
            f"index {obj} is out of bounds for axis {k} with size {x.shape[k]}", loc=caller()
        )
    v = tracer_of(values, like)
    v = np.reshape(v, (1,) * (x.ndim - v.ndim) + v.shape)
    v = np.moveaxis(v, 0, k) if np.ndim(obj) == 0 and not isinstance(obj, slice) else v
    count = v.shape[k] if places.size == 1 else places.size
    v = fit(v, x.dtype, (*x.shape[:k], count, *x.shape[k + 1 :]), like)
    # Where in the result each entry comes from: of equal places, in the order in which they are given.
    places = np.repeat(places, count) if places.size == 1 else places
    before = np.where(places < 0, places + x.shape[k], places)
    order = np.argsort(np.concatenate([before, np.arange(x.shape[k])]), kind="stable")
    sources = np.concatenate([x.shape[k] + np.arange(count), np.arange(x.shape[k])])[order]
    return at_places(concatenate([x, v], k), sources, k)


def _insertions(obj: Any, count: int) -> Any:
    """The places named by an integer, a list of them, a slice, or a mask."""
    if isinstance(obj, slice):
        return np.arange(count)[obj]
    places = np.atleast_1d(np.asarray(obj))
    if places.dtype == bool:
        return np.flatnonzero(places)
    if places.size and places.dtype.kind not in "iu":
        raise IndexRangeError(f"np.insert: an index must be of integers, not {places.dtype}", loc=caller())
    return places.astype(np.int64)


# ---- places and shapes ------------------------------------------------------------------------------------
def _runs(places: numpy.ndarray[Any, Any]) -> list[slice]:
    """Indices as slices: rising or falling runs of neighbours, and single places."""
    steps = np.diff(places)
    found: list[slice] = []
    i = 0
    while i < places.size:
        step = int(steps[i]) if i < steps.size and abs(steps[i]) == 1 else 1
        j = i
        while j < steps.size and steps[j] == step:
            j += 1
        stop = int(places[j]) + step
        found.append(slice(int(places[i]), stop if stop >= 0 else None, step))
        i = j + 1
    return found


def at_places(x: Any, places: Any, axis: int) -> Any:
    """The entries at constant places of an axis: a few slices joined, or a gather."""
    lead = (slice(None),) * axis
    runs = _runs(np.asarray(places, np.int64))
    if not 0 < len(runs) <= _MANY_RUNS:
        return x[(*lead, np.asarray(places, np.int64))]
    return _joined([x[(*lead, run)] for run in runs], axis)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements repeated as often as the new shape needs."""
    shape = ints_of(new_shape)
    count = int(np.prod(shape, dtype=np.int64))
    flat = np.ravel(a)
    if not flat.size or not count:
        return np.zeros_like(flat, shape=shape)
    return np.reshape(tile(flat, -(-count // flat.size))[:count], shape)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """The coordinates of the points of a grid, one array an axis."""
    vectors = [np.ravel(x) for x in _tracers(xi)]
    rank = len(vectors)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[:2] = [1, 0]
    shape = [0] * rank
    for k, x in zip(order, vectors, strict=True):
        shape[k] = x.size
    laid = [
        np.reshape(x, tuple(x.size if i == k else 1 for i in range(rank)))
        for k, x in zip(order, vectors, strict=True)
    ]
    return tuple(laid if sparse else (np.broadcast_to(x, tuple(shape)) for x in laid))


TABLE: dict[Any, Callable[..., Any]] = {
    np.concatenate: concatenate,
    np.concat: concatenate,
    np.stack: stack,
    np.vstack: vstack,
    np.hstack: hstack,
    np.dstack: dstack,
    np.column_stack: column_stack,
    np.append: append,
    np.block: block,
    np.array_split: array_split,
    np.split: split,
    np.hsplit: _split_along("hsplit", 1, 1),
    np.vsplit: _split_along("vsplit", 2, 0),
    np.dsplit: _split_along("dsplit", 3, 2),
    np.unstack: unstack,
    np.tile: tile,
    np.repeat: repeat,
    np.delete: delete,
    np.insert: insert,
    np.resize: resize,
    np.meshgrid: meshgrid,
}
