"""x[index]: NumPy's basic and advanced indexing as slices, reshapes and gathers.

Everything basic (integers, slices) becomes one slice, one flip and one reshape; what is left, integer arrays
over some of the axes, one gather; then the axes of the indices are moved to their place and new axes put in.
"""

from __future__ import annotations

import math
import operator
from typing import Any, TypeAlias, cast

import numpy as np

from symgrad.errors import IndexRangeError, UnsupportedError
from symgrad.ir.ops.indexing import gather
from symgrad.ir.ops.shapes import flip, reshape, slice_, transpose
from symgrad.ir.types import BOOL, I64, array_type
from symgrad.trace.lifting import fit, is_listed, joint_shape, prepare, ramp, strong
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# One axis of x, or a new one (None); an integer array is concrete or traced.
Part: TypeAlias = "slice | int | np.ndarray[Any, Any] | Tracer | None"


def index(x: Tracer, key: Any) -> Any:
    """x[key]."""
    keys = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
    parts = _parts(x, keys)
    has_array = any(isinstance(p, Tracer | np.ndarray) for p in parts)
    found = _advanced(strong(x), parts) if has_array else _basic(strong(x), parts, keep_new=True)
    # NumPy gives a scalar for x[0], but an array, which changes with x, for x[..., 0].
    return Tracer(found.value, x.recorder, array=any(k is Ellipsis for k in keys))


# ---- reading the index -----------------------------------------------------------------------------------
def _parts(x: Tracer, keys: tuple[Any, ...]) -> list[Part]:
    """The index, one entry an axis of x or of new ones, with ellipsis and masks written out."""
    given = [_entry(x, k) for k in keys]
    if sum(k is Ellipsis for k in given) > 1:
        raise IndexRangeError("an index can only have a single ellipsis ('...')", loc=caller())
    used = sum(_width(k) for k in given)
    if used > x.ndim:
        raise IndexRangeError(
            f"too many indices: {x.type} has {x.ndim} axes, but {used} were indexed", loc=caller()
        )
    found: list[Part] = []
    for k in given if any(k is Ellipsis for k in given) else [*given, Ellipsis]:
        axis = sum(p is not None for p in found)
        if k is Ellipsis:
            found += [slice(None)] * (x.ndim - used)
        elif _is_mask(k):
            found += _positions(x, axis, cast(Any, k))
        else:
            found.append(_in_range(x, axis, k))
    return found


def _width(key: Any) -> int:
    """How many axes of x an entry of the index takes."""
    if key is None or key is Ellipsis:
        return 0
    return key.ndim if _is_mask(key) else 1


def _is_mask(key: Any) -> bool:
    return isinstance(key, np.ndarray) and cast(Any, key).dtype == BOOL


def _entry(x: Tracer, key: Any) -> Any:
    """None, Ellipsis, a slice, an integer, an integer array or a concrete mask."""
    if key is None or key is Ellipsis or isinstance(key, slice):
        return cast(Any, key)
    listed = is_listed(key)
    key = prepare(key, x)
    if isinstance(key, Tracer):
        if key.dtype == BOOL:
            key.recorder.demand(
                key, "indexing with a traced mask", "its size is not known: use np.where(mask, x, 0) instead"
            )
        if key.dtype.kind in "iu":
            return key
        raise IndexRangeError(f"an index must be of integers, not a traced {key.type}", loc=caller())
    array = np.asarray(key)
    if array.dtype == BOOL:
        if array.ndim == 0:
            raise UnsupportedError("indexing with a single True or False is not supported", loc=caller())
        return array
    if array.size == 0 and listed:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise IndexRangeError(f"an index must be of integers, not {array.dtype}", loc=caller())
    return operator.index(array.item()) if array.ndim == 0 else array.astype(np.int64)


def _positions(x: Tracer, axis: int, mask: np.ndarray[Any, Any]) -> list[Part]:
    """The places where a mask holds, one integer array an axis."""
    covered = x.shape[axis : axis + mask.ndim]
    if mask.shape != covered:
        raise IndexRangeError(
            f"a mask of shape {list(mask.shape)} does not fit axes of sizes {list(covered)}", loc=caller()
        )
    return list(np.nonzero(mask))


def _in_range(x: Tracer, axis: int, part: Any) -> Part:
    """The entry with integers counted from the front; raises where one lies beyond the axis."""
    if not isinstance(part, int | np.ndarray):
        return part
    n = x.shape[axis]
    outside = np.extract((np.asarray(part) < -n) | (np.asarray(part) >= n), part)
    if outside.size:
        raise IndexRangeError(
            f"index {outside[0]} is out of bounds for axis {axis} with size {n}",
            loc=caller(),
            why=f"the array is {x.type}",
        )
    return part % n if isinstance(part, int) else np.where(part < 0, part + n, part)


# ---- applying it -----------------------------------------------------------------------------------------
def _basic(x: Tracer, parts: list[Part], *, keep_new: bool) -> Tracer:
    """x sliced, and without the axes that have an integer; integer arrays leave their axis whole."""
    of_axes = [p for p in parts if p is not None]
    bounds = [_bounds(n, p) for n, p in zip(x.shape, of_axes, strict=True)]
    start, stop, step = (tuple(b[k] for b in bounds) for k in range(3))
    if (start, stop, step) != ((0,) * x.ndim, x.shape, (1,) * x.ndim):
        x = slice_(x, start=start, stop=stop, step=step)
    backwards = tuple(axis for axis, b in enumerate(bounds) if b[3])
    x = flip(x, axes=backwards) if backwards else x
    sizes = iter(x.shape)
    shape: list[int] = []
    for part in parts:
        n = 1 if part is None else next(sizes)
        if keep_new if part is None else not isinstance(part, int):
            shape.append(n)
    return x if tuple(shape) == x.shape else reshape(x, type=array_type(x.dtype, *shape))


def _bounds(n: int, part: Part) -> tuple[int, int, int, bool]:
    """Start, stop and step of a slice in increasing order, and whether it ran backwards."""
    if isinstance(part, int):
        return part, part + 1, 1, False
    if not isinstance(part, slice):
        return 0, n, 1, False
    places = range(n)[part]
    if not places:
        return 0, 0, 1, False
    ordered = places if places.step > 0 else places[::-1]
    step = ordered.step if len(ordered) > 1 else 1
    return ordered.start, ordered[-1] + 1, step, places.step < 0


def _advanced(x: Tracer, parts: list[Part]) -> Tracer:
    """x read at integer arrays, which are broadcast together."""
    arrays = [p for p in parts if isinstance(p, Tracer | np.ndarray)]
    shape = joint_shape("indexing", arrays)
    x = _basic(x, parts, keep_new=False)
    left = [p for p in parts if p is not None and not isinstance(p, int)]
    axes = tuple(axis for axis, p in enumerate(left) if not isinstance(p, slice))
    indices = [_laid_out(p, shape, x) for p in arrays]
    found = gather(x, *indices, axes=axes)
    at = _place(parts)
    before = sum(isinstance(p, slice) for p in parts[:at])
    rank = len(shape)
    if before and rank:
        front, rest = range(rank, rank + before), range(rank + before, found.ndim)
        found = transpose(found, perm=(*front, *range(rank), *rest))
    return _with_new_axes(found, parts, at, shape)


def _laid_out(places: Any, shape: tuple[int, ...], like: Tracer) -> Tracer:
    """Index values of the joint shape; 0, 1, 2, ... along an axis needs no array."""
    if not isinstance(places, Tracer):
        long = [i for i, n in enumerate(places.shape) if n != 1]
        if len(long) == 1 and np.array_equal(places.ravel(), np.arange(places.size)):
            return ramp(long[0] + len(shape) - places.ndim, shape, like)
    return fit(places, I64, shape, like)


def _place(parts: list[Part]) -> int:
    """Before which entry the axes of the indices go: where they stand, or in front if they stand apart."""
    places = [i for i, p in enumerate(parts) if p is not None and not isinstance(p, slice)]
    return places[0] if places[-1] - places[0] == len(places) - 1 else 0


def _with_new_axes(found: Tracer, parts: list[Part], at: int, shape: tuple[int, ...]) -> Tracer:
    """The array with an axis of size 1 for each None of the index."""
    sizes = iter(n for i, n in enumerate(found.shape) if not _index_axis(i, parts, at, len(shape)))
    wanted: list[int] = []
    for i, part in enumerate(parts):
        wanted += shape if i == at else ()
        if part is None:
            wanted.append(1)
        elif isinstance(part, slice):
            wanted.append(next(sizes))
    assert math.prod(wanted) == found.size
    return found if tuple(wanted) == found.shape else reshape(found, type=array_type(found.dtype, *wanted))


def _index_axis(axis: int, parts: list[Part], at: int, rank: int) -> bool:
    """Whether an axis of the read array comes from the indices."""
    before = sum(isinstance(p, slice) for p in parts[:at])
    return before <= axis < before + rank
