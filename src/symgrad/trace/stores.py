"""x[index] = value: the places that an index names, as a view, and the value in their shape."""

from __future__ import annotations

from typing import Any, cast

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.core import Value
from symgrad.ir.dims import Shape
from symgrad.ir.types import BOOL
from symgrad.trace.lifting import as_dtype, fit, prepare, shape_of
from symgrad.trace.meaning import Dispatch
from symgrad.trace.places import caller
from symgrad.trace.selected import Selected, same_mask
from symgrad.trace.storage import View, steps_between
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def is_basic(key: Any) -> bool:
    """Whether an index gives a view: it has slices, integers and new axes, and no arrays."""
    entries = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
    return all(map(_is_basic_entry, entries))


def _is_basic_entry(entry: Any) -> bool:
    if isinstance(entry, Tracer):
        return not entry.array and entry.dtype != BOOL
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return True
    return isinstance(entry, int | np.integer) and not isinstance(entry, bool)


def numbered(key: Any) -> Any:
    """An index without traced values, for arrays of which only the layout counts."""
    if isinstance(key, tuple):
        return tuple(map(numbered, cast("tuple[Any, ...]", key)))
    if isinstance(key, slice):
        ends = cast(Any, key)
        traced = any(isinstance(end, Tracer) for end in (ends.start, ends.stop, ends.step))
        return slice(None) if traced else ends
    return 0 if isinstance(key, Tracer) else key


def whole(x: Tracer, new: Tracer) -> None:
    """Put elements of the same type into all of x."""
    x.assign(new.value)


def stored(pure: Dispatch, x: Tracer, key: Any, value: Any) -> None:
    """Put a value where an index says."""
    entries = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
    value = value if isinstance(value, Selected) else prepare(value, x)
    masks = [k for k in entries if isinstance(k, Tracer) and k.dtype == BOOL]
    if masks:
        if len(entries) > 1:
            what = "a write at a traced mask together with other indices is not supported"
            raise UnsupportedError(what, loc=caller(), cure="write into a view: x[:, 0][mask] = value")
        _stored_where(x, masks[0], value)
        return
    if isinstance(value, Selected):
        raise UnsupportedError(
            "elements at a traced mask are written to other places",
            loc=caller(),
            why="how many there are is not known here",
            cure="write them at the same mask: y[mask] = x[mask]",
        )
    at = place(pure, x, key)
    new = _element(x, value) if not at.ndim and _counts(entries, x.ndim) else _fitted(x, value, at.type.shape)
    if (
        isinstance(value, Tracer)
        and value.source is not None
        and at.source is not None
        and _is_there(value, at)
    ):
        return  # the end of x[key] += ..., which has changed the view
    whole(at, new)


def place(pure: Dispatch, x: Tracer, key: Any) -> Tracer:
    """The elements of x at an index, to be written into: a view, whatever the index."""
    recorder, root = x.recorder, Value(x.type)
    with recorder.aside() as ops:
        found = pure.index(Tracer(root, recorder, array=True), key).value
    steps = steps_between(ops, root, found)
    if steps is None:
        raise UnsupportedError("a write at this index is not supported", loc=caller())
    kept = set(steps)
    for op in ops:
        if op not in kept:
            recorder.append(op)
    return Tracer.viewing(View(x, lambda y: y[numbered(key)], steps, root), found.type)


def flat_place(x: Tracer) -> Tracer:
    """All elements of x in row-major order, to be written into, whatever the layout of x."""
    recorder, root = x.recorder, Value(x.type)
    with recorder.aside() as ops:
        found = recorder.dispatch.function(np.reshape, (Tracer(root, recorder, array=True), -1), {}).value
    steps = steps_between(ops, root, found)
    return Tracer.viewing(View(x, lambda y: y.reshape(-1), steps, root), found.type)


def _counts(entries: tuple[Any, ...], rank: int) -> bool:
    """Whether an index is one integer an axis, which names an element and no array."""
    return len(entries) == rank and not any(
        k is None or k is Ellipsis or isinstance(k, slice) for k in entries
    )


def _element(x: Tracer, value: Any) -> Tracer:
    if shape_of(value) != ():
        raise ShapeError("setting an array element with a sequence.", loc=caller())
    return fit(value, x.dtype, (), x)


def _fitted(x: Tracer, value: Any, shape: Shape) -> Tracer:
    """A value as NumPy puts it into elements of this shape."""
    given = value.type.shape if isinstance(value, Tracer) else shape_of(value)
    rank = len(given)
    while rank > len(shape) and dims.is_one(given[len(given) - rank]):
        rank -= 1
    kept = given[len(given) - rank :]
    if not spreads(kept, shape):
        what = f"could not broadcast input array from shape {_text(given)} into shape {_text(shape)}"
        raise ShapeError(what, loc=caller())
    return fit(value if rank == len(given) else np.reshape(value, kept), x.dtype, cast(Any, shape), x)


def spreads(given: Shape, wanted: Shape) -> bool:
    """Whether elements of a shape can be repeated to another."""
    pairs = zip(reversed(given), reversed(wanted), strict=False)
    return len(given) <= len(wanted) and all(dims.is_one(m) or dims.equal(m, n) for m, n in pairs)


def _text(shape: Shape) -> str:
    """A shape as NumPy's errors have it."""
    return f"({','.join(map(dims.format_dim, shape))}{',' if len(shape) == 1 else ''})"


def _is_there(value: Tracer, at: Tracer) -> bool:
    """Whether a value is a view of these very places."""
    return value.source is not None and at.source is not None and value.source.same_place(at.source)


def _stored_where(x: Tracer, mask: Tracer, value: Any) -> None:
    """Put a value where a traced mask holds: one value for all places."""
    if mask.shape != x.shape[: mask.ndim]:
        what = f"a mask of shape {list(mask.shape)} does not fit axes of sizes {list(x.shape[: mask.ndim])}"
        raise ShapeError(what, loc=caller())
    if isinstance(value, Selected):
        if not same_mask(mask, value.mask):
            what = "elements at one traced mask are written at another"
            raise UnsupportedError(what, loc=caller(), cure="use the same mask: y[mask] = x[mask]")
        whole(x, as_dtype(value.where_else(x), x.dtype))
        return
    rest = x.shape[mask.ndim :]
    given = shape_of(value)
    if len(given) > len(rest) and given[: len(given) - len(rest)] != (1,) * (len(given) - len(rest)):
        raise UnsupportedError(
            "a write of several values at a traced mask is not supported",
            loc=caller(),
            why="how many places the mask has is not known here",
            cure="write x[...] = np.where(mask, values, x), with as many values as x has",
        )
    new = fit(_fitted(x, value, rest), x.dtype, x.shape, x)
    spread = np.reshape(mask, (*mask.shape, *(1,) * len(rest)))
    whole(x, np.where(spread, new, x))
