"""x[index]: NumPy's basic and advanced indexing as slices, reshapes and gathers.

Everything basic (integers, slices) becomes one slice, one flip and one reshape; what is left, integer arrays
over some of the axes, one gather; then the axes of the indices are moved to their place and new axes put in.
"""

from __future__ import annotations

import operator
from typing import Any, TypeAlias, cast

import numpy as np

from symgrad.errors import IndexRangeError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.affine import Affine
from symgrad.ir.dims import Dim, Shape
from symgrad.ir.ops.indexing import gather
from symgrad.ir.ops.shapes import flip, reshape, slice_, transpose
from symgrad.ir.types import BOOL, I64
from symgrad.trace.iteration import place_of
from symgrad.trace.lifting import fit, is_listed, joint_shape, prepare, ramp, strong
from symgrad.trace.measures import span
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# One axis of x, or a new one (None). An integer counts from the front; an integer array may be traced.
Part: TypeAlias = "slice | int | Affine | np.ndarray[Any, Any] | Tracer | None"


def index(x: Tracer, key: Any) -> Any:
    """x[key]."""
    keys = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
    parts = _parts(x, keys)
    x = _spanned(x, parts)
    has_array = any(isinstance(p, Tracer | np.ndarray) for p in parts)
    found = _advanced(strong(x), parts) if has_array else _basic(strong(x), parts, keep_new=True)
    # NumPy gives a scalar for x[0], but an array, which changes with x, for x[..., 0].
    return Tracer(found.value, x.recorder, array=any(k is Ellipsis for k in keys))


def _spanned(x: Tracer, parts: list[Part]) -> Tracer:
    """x taken along each axis that has a slice with ends from data, which then is whole."""
    axis = 0
    for k, part in enumerate(parts):
        if isinstance(part, slice) and _from_data(part):
            if part.step not in (None, 1):
                raise UnsupportedError(
                    "a slice with a step and ends from data is not supported", loc=caller()
                )
            places = span(x, x.type.shape[axis], part)
            x = gather(strong(x), places, axes=(axis,))
            order = (*range(1, axis + 1), 0, *range(axis + 1, x.ndim))
            x = transpose(x, perm=order) if axis else x
            parts[k] = slice(None)
        axis += part is not None
    return x


def _from_data(part: slice) -> bool:
    """Whether an end of a slice is a traced integer that does not follow the indices of loops."""
    found = False
    for end in (part.start, part.stop):
        if isinstance(end, Tracer) and place_of(end) is None:
            end.recorder.settle([end])
            found = True
    return found


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
    if part is None or isinstance(part, slice):
        return cast(Part, part)
    n = x.type.shape[axis]
    place = None if isinstance(part, np.ndarray) else place_of(part)
    if place is not None and not (isinstance(place, int) and isinstance(n, int)):
        return cast(Part, _placed(x, place, n, part))
    if isinstance(part, Tracer):
        return part
    n = dims.known(n)
    outside: np.ndarray[Any, Any] = np.extract((np.asarray(part) < -n) | (np.asarray(part) >= n), part)
    if outside.size:
        raise IndexRangeError(
            f"index {outside[0]} is out of bounds for axis {axis} with size {n}",
            loc=caller(),
            why=f"the array is {x.type}",
        )
    return part % n if isinstance(part, int) else np.where(part < 0, part + n, part)


def _placed(x: Tracer, place: Dim, n: Dim, part: Any) -> Any:
    """An integer that follows the indices of loops, from the front; as it is if it may lie outside."""
    holds = x.recorder.holds
    if holds(0, place) and holds(dims.add(place, 1), n):
        return place
    if holds(place, -1) and holds(dims.mul(-1, n), place):
        return dims.add(place, n)
    if isinstance(part, Tracer) and dims.is_known(n):
        return part
    raise IndexRangeError(
        f"index {dims.format_dim(place)} may be out of bounds for an axis with size {dims.format_dim(n)}",
        loc=caller(),
        why=f"the array is {x.type}",
    )


# ---- applying it -----------------------------------------------------------------------------------------
def _basic(x: Tracer, parts: list[Part], *, keep_new: bool) -> Tracer:
    """x sliced, and without the axes that have an integer; integer arrays leave their axis whole."""
    of_axes = [p for p in parts if p is not None]
    bounds = [_bounds(x, n, p) for n, p in zip(x.type.shape, of_axes, strict=True)]
    start, stop, step = (tuple(b[k] for b in bounds) for k in range(3))
    if (start, stop, step) != ((0,) * x.ndim, x.type.shape, (1,) * x.ndim):
        x = slice_(x, start=start, stop=stop, step=step)
    backwards = tuple(axis for axis, b in enumerate(bounds) if b[3])
    x = flip(x, axes=backwards) if backwards else x
    sizes = iter(x.type.shape)
    shape: list[Dim] = []
    for part in parts:
        n = dims.ONE if part is None else next(sizes)
        if keep_new if part is None else not isinstance(part, int | Affine):
            shape.append(n)
    found = tuple(shape)
    return x if dims.same(found, x.type.shape) else reshape(x, type=x.type.with_shape(found))


def _bounds(x: Tracer, n: Dim, part: Part) -> tuple[Dim, Dim, int, bool]:
    """Start, stop and step of a slice in increasing order, and whether it ran backwards."""
    if isinstance(part, int | Affine):
        return part, dims.add(part, 1), 1, False
    if not isinstance(part, slice):
        return 0, n, 1, False
    ends = [place_of(end) for end in (part.start, part.stop) if end is not None]
    if not all(isinstance(place, int) for place in (n, *ends) if place is not None):
        return _moving_bounds(x, n, part)
    places = range(dims.known(n))[part]
    if not places:
        return 0, 0, 1, False
    ordered = places if places.step > 0 else places[::-1]
    step = ordered.step if len(ordered) > 1 else 1
    return ordered.start, ordered[-1] + 1, step, places.step < 0


def _moving_bounds(x: Tracer, n: Dim, part: slice) -> tuple[Dim, Dim, int, bool]:
    """The same where the ends, or the size of the axis, follow the indices of loops."""
    step = 1 if part.step is None else operator.index(part.step)
    if step < -1 or step == 0:
        raise UnsupportedError(f"a slice with step {step} and ends that follow a loop", loc=caller())
    backwards = step < 0
    first = dims.shift(n, 1) if backwards else dims.ZERO
    start = first if part.start is None else _end(x, n, part.start, backwards)
    if part.stop is None:
        stop = -1 if backwards else n
    else:
        stop = _end(x, n, part.stop, backwards)
    low, high = (dims.add(stop, 1), dims.add(start, 1)) if backwards else (start, stop)
    if x.recorder.holds(high, low):
        return 0, 0, 1, False
    if not x.recorder.holds(low, high):
        raise _undecided(x, part, n)
    return low, high, abs(step), backwards


def _end(x: Tracer, n: Dim, end: Any, backwards: bool) -> Dim:
    """An end of a slice, counted from the front and cut to the axis as Python does."""
    holds, place = x.recorder.holds, place_of(end)
    if place is None:
        x.recorder.demand(end, "an end of a slice", "its size is not known: use np.where(mask, x, 0) instead")
    if not holds(0, place):
        if not holds(place, -1):
            raise _undecided(x, end, n)
        place = dims.add(place, n)
    last = dims.shift(n, 1) if backwards else n
    least = -1 if backwards else 0
    if holds(place, last) and holds(least, place):
        return place
    if holds(last, place):
        return last
    if holds(place, least):
        return least
    raise _undecided(x, end, n)


def _undecided(x: Tracer, part: object, n: Dim) -> UnsupportedError:
    return UnsupportedError(
        f"a slice may, or may not, reach beyond an axis of size {dims.format_dim(n)}",
        loc=caller(),
        why=f"the array is {x.type}, and the ends of the slice follow the index of a loop",
    )


def _advanced(x: Tracer, parts: list[Part]) -> Tracer:
    """x read at integer arrays, which are broadcast together."""
    arrays = [p for p in parts if isinstance(p, Tracer | np.ndarray)]
    shape = joint_shape("indexing", arrays)
    x = _basic(x, parts, keep_new=False)
    left = [p for p in parts if p is not None and not isinstance(p, int | Affine)]
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


def _laid_out(places: Any, shape: Shape, like: Tracer) -> Tracer:
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


def _with_new_axes(found: Tracer, parts: list[Part], at: int, shape: Shape) -> Tracer:
    """The array with an axis of size 1 for each None of the index."""
    sizes = iter(n for i, n in enumerate(found.type.shape) if not _index_axis(i, parts, at, len(shape)))
    wanted: list[Dim] = []
    for i, part in enumerate(parts):
        wanted += shape if i == at else ()
        if part is None:
            wanted.append(1)
        elif isinstance(part, slice):
            wanted.append(next(sizes))
    type = found.type.with_shape(tuple(wanted))
    return found if type == found.type else reshape(found, type=type)


def _index_axis(axis: int, parts: list[Part], at: int, rank: int) -> bool:
    """Whether an axis of the read array comes from the indices."""
    before = sum(isinstance(p, slice) for p in parts[:at])
    return before <= axis < before + rank
