"""NumPy's functions that rearrange axes and elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from symgrad.errors import ShapeError, UnsupportedError
from symgrad.ir.ops import shapes
from symgrad.ir.types import array_type
from symgrad.trace.lifting import (
    axes_of,
    axis_of,
    ints_of,
    is_listed,
    joint_shape,
    strong,
    the_tracer,
    to_shape,
    tracer_of,
)
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def _array(x: Tracer) -> Tracer:
    """x, known to be an array though it may have no axes, so that changing it in place is refused."""
    return Tracer(x.value, x.recorder, array=True)


def _reshaped(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    return _array(x if x.shape == shape else shapes.reshape(x, type=array_type(x.dtype, *shape)))


def reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: bool | None = None
) -> Any:
    """The elements under another shape; one size of -1 is found from the others."""
    sizes = ints_of(newshape if shape is None else shape)
    known = math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) > 1 or min((*sizes, 0)) < -1:
        raise ShapeError(f"reshape: {sizes} is not a shape", loc=caller())
    if -1 in sizes and known > 0 and a.size % known == 0:
        sizes = tuple(a.size // known if n == -1 else n for n in sizes)
    if -1 in sizes or math.prod(sizes) != a.size:
        raise ShapeError(
            f"reshape: {a.type} has {a.size} elements, which do not fit shape {sizes}", loc=caller()
        )
    match order:
        case "C":
            return _reshaped(strong(a), sizes)
        case "F" | "A":
            # A traced array has no layout of its own, so "A" is as for a C-ordered array.
            if order == "A":
                return _reshaped(strong(a), sizes)
            return np.transpose(_reshaped(np.transpose(a), sizes[::-1]))
        case _:
            raise UnsupportedError(f"reshape: order={order!r} is not supported", loc=caller())


def ravel(a: Any, order: str = "C") -> Any:
    """The elements along one axis."""
    return reshape(a, -1 if a.size else 0, order="C" if order == "K" else order)


def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order, reversed by default."""
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(axis_of(x, a.ndim) for x in ints_of(axes))
    if sorted(order) != list(range(a.ndim)):
        raise ShapeError(f"transpose: axes {axes} are not an order of the axes of {a.type}", loc=caller())
    x = strong(a)
    return _array(x if order == tuple(range(a.ndim)) else shapes.transpose(x, perm=order))


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: {x.type} has fewer than 2 axes", loc=caller())
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    order = list(range(a.ndim))
    i, j = axis_of(axis1, a.ndim), axis_of(axis2, a.ndim)
    order[i], order[j] = j, i
    return transpose(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other positions; the others keep their order."""
    sources = [axis_of(x, a.ndim) for x in ints_of(source)]
    targets = [axis_of(x, a.ndim) for x in ints_of(destination)]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ShapeError(f"moveaxis: {source} and {destination} do not pair axes", loc=caller())
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target, moved)
    return transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """An axis moved back to before another."""
    rank, moved = a.ndim, axis_of(axis, a.ndim)
    before = start + rank if start < 0 else start
    if not 0 <= before <= rank:
        raise ShapeError(f"rollaxis: start {start} is out of bounds for {a.type}", loc=caller())
    return moveaxis(a, moved, before - 1 if moved < before else before)


def squeeze(a: Any, axis: Any = None) -> Any:
    """The array without axes of size 1."""
    gone = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else axes_of(axis, a.ndim)
    if any(a.shape[i] != 1 for i in gone):
        raise ShapeError(f"squeeze: axis {axis} of {a.type} has a size other than 1", loc=caller())
    return _reshaped(strong(a), tuple(n for i, n in enumerate(a.shape) if i not in gone))


def expand_dims(a: Any, axis: Any) -> Any:
    """The array with new axes of size 1 at these positions of the result."""
    given: Any = axis if is_listed(axis) else (axis,)
    new = axes_of(given, a.ndim + len(given))
    sizes = iter(a.shape)
    return _reshaped(strong(a), tuple(1 if i in new else next(sizes) for i in range(a.ndim + len(new))))


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """The array repeated to a shape."""
    return to_shape(strong(array), ints_of(shape))


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """The arrays broadcast against each other."""
    like = the_tracer(args)
    shape = joint_shape("broadcast_arrays", args)
    return tuple(to_shape(tracer_of(x, like), shape) for x in args)


def _at_least(rank: int, grown: Callable[[Any], Any]) -> Callable[..., Any]:
    def at_least(*arys: Any) -> Any:
        like = the_tracer(arys)
        found = tuple(x if np.ndim(x) >= rank else grown(x) for x in (tracer_of(a, like) for a in arys))
        return found[0] if len(found) == 1 else found

    return at_least


def _to_three(x: Any) -> Any:
    shape = {0: (1, 1, 1), 1: (1, *x.shape, 1)}.get(x.ndim, (*x.shape, 1))
    return np.reshape(x, shape)


def flip(m: Any, axis: Any = None) -> Any:
    """The elements in reverse order along axes."""
    axes = axes_of(axis, m.ndim)
    return shapes.flip(strong(m), axes=axes) if axes else strong(m)


def _flip_one(what: str, axis: int) -> Callable[[Any], Any]:
    def flipped(m: Any) -> Any:
        if m.ndim <= axis:
            raise ShapeError(f"{what}: {m.type} has too few axes", loc=caller())
        return flip(m, axis)

    return flipped


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """The array turned by k right angles in the plane of two axes."""
    first, second = (axis_of(axis, m.ndim) for axis in axes)
    if first == second:
        raise ShapeError(f"rot90: axes {tuple(axes)} must differ", loc=caller())
    match operator.index(k) % 4:
        case 0:
            return strong(m)
        case 1:
            return swapaxes(flip(m, second), first, second)
        case 2:
            return flip(m, (first, second))
        case _:
            return flip(swapaxes(m, first, second), second)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved along axes; those pushed out come back at the other end."""
    if axis is None:
        return np.reshape(roll(np.ravel(a), int(np.sum(shift)), 0), a.shape)
    axes, shifts = np.broadcast_arrays(ints_of(axis), ints_of(shift))
    for k, by in zip(axes.tolist(), shifts.tolist(), strict=True):
        k = axis_of(k, a.ndim)
        n = a.shape[k]
        cut = by % n if n else 0
        if cut:
            whole = (slice(None),) * k
            a = np.concatenate([a[(*whole, slice(n - cut, None))], a[(*whole, slice(None, n - cut))]], axis=k)
    return strong(a)


TABLE: dict[Any, Callable[..., Any]] = {
    np.reshape: reshape,
    np.ravel: ravel,
    np.transpose: transpose,
    np.permute_dims: transpose,
    np.matrix_transpose: matrix_transpose,
    np.linalg.matrix_transpose: matrix_transpose,
    np.swapaxes: swapaxes,
    np.moveaxis: moveaxis,
    np.rollaxis: rollaxis,
    np.squeeze: squeeze,
    np.expand_dims: expand_dims,
    np.broadcast_to: broadcast_to,
    np.broadcast_arrays: broadcast_arrays,
    np.atleast_1d: _at_least(1, lambda x: np.reshape(x, (1,))),
    np.atleast_2d: _at_least(2, lambda x: np.reshape(x, (1, x.size))),
    np.atleast_3d: _at_least(3, _to_three),
    np.flip: flip,
    np.fliplr: _flip_one("fliplr", 1),
    np.flipud: _flip_one("flipud", 0),
    np.rot90: rot90,
    np.roll: roll,
}
