"""Lifting: operands of any kind become tracers of one dtype and shape, by ops that say so."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from symgrad.errors import DTypeError, InternalError, ShapeError
from symgrad.ir import dims
from symgrad.ir.affine import Affine
from symgrad.ir.dims import Shape
from symgrad.ir.ops import constant, iota
from symgrad.ir.ops.complexes import complex_
from symgrad.ir.ops.elementwise import convert, ne
from symgrad.ir.ops.shapes import broadcast, concat, reshape
from symgrad.ir.types import I64, DType, array_type, native, supported, type_of
from symgrad.trace.places import caller
from symgrad.trace.promotion import Weak, weak_kind
from symgrad.trace.tracer import Tracer, concrete


def is_listed(x: object) -> bool:
    """Whether x is a list or tuple."""
    return isinstance(x, list | tuple)


def is_foreign(x: Any) -> bool:
    """Whether an operand is no array of numbers, so that its own operators may have a say."""
    return (
        not isinstance(x, Tracer | list | tuple | int | float | complex)
        and np.asarray(x).dtype.kind not in "biufc"
    )


def several(values: Any) -> tuple[Any, ...]:
    """The items of a list or tuple, or one value as a tuple of its own."""
    return tuple(values) if is_listed(values) else (values,)


def tracers_in(values: Iterable[Any]) -> Iterator[Tracer]:
    """The tracers among values, looking into lists, tuples and dicts."""
    for value in values:
        if isinstance(value, Tracer):
            yield value
        elif isinstance(value, list | tuple | dict):
            yield from tracers_in(value.values() if isinstance(value, dict) else value)


def find_tracer(values: Iterable[Any]) -> Tracer | None:
    """The first tracer among values, looking into lists, tuples and dicts."""
    return next(tracers_in(values), None)


def the_tracer(values: Iterable[Any]) -> Tracer:
    """The first tracer among values that NumPy dispatched on, so that there is one."""
    found = find_tracer(values)
    if found is None:
        raise InternalError("a function of traced arrays was reached without one")
    return found


def shape_of(x: Any) -> Shape:
    """The shape of an operand; NumPy's own np.shape would go through the dispatch."""
    if isinstance(x, Tracer):
        return x.type.shape
    found: Shape = x.shape if hasattr(x, "shape") else np.shape(x)
    return found


def described(x: Any) -> str:
    """An operand as errors name it: its type, after its name if it is an input of the function."""
    kind = str(type_of(x))
    return f"{x.value.hint}: {kind}" if isinstance(x, Tracer) and x.value.hint else kind


def prepare(x: Any, like: Tracer) -> Any:
    """x as a tracer, a Python number or an array; nested lists of tracers are stacked."""
    if isinstance(x, Affine):
        return like.recorder.number(dims.plain(x))
    if isinstance(x, Tracer) or weak_kind(x) is not None:
        return x
    if is_listed(x) and find_tracer(x) is not None:
        return _stack([prepare(item, like) for item in x], like)
    array: np.ndarray[Any, Any] = np.asarray(x)
    if not supported(native(array.dtype)):
        what = f"an array of dtype {array.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
        cure = "make it an array of numbers: np.asarray(..., dtype=float)"
        raise DTypeError(f"{what} is not supported", loc=caller(), cure=cure)
    return array


def _stack(items: Sequence[Any], like: Tracer) -> Tracer:
    """The items along a new first axis, in the dtype that NumPy gives a list of them."""
    dtype = np.result_type(*map(dtype_in, items))
    shape = shape_of(items[0])
    if any(shape_of(item) != shape for item in items):
        shapes = ", ".join(str(shape_of(item)) for item in items)
        raise ShapeError(f"a list of arrays of different shapes: {shapes}", loc=caller())
    rows = [fit(item, dtype, shape, like) for item in items]
    rows = [reshape(row, type=row.type.with_shape((1, *row.type.shape))) for row in rows]
    return concat(*rows, axis=0) if len(rows) > 1 else rows[0]


def kind_of(x: Any) -> DType | Weak:
    """What decides about promotion: the dtype of an array, the Python type of a number."""
    if isinstance(x, Tracer):
        return x.dtype if x.weak is None else x.weak
    weak = weak_kind(x)
    return native(np.asarray(x).dtype) if weak is None else weak


def dtype_in(x: Any) -> DType:
    """The dtype that x has as an array of its own."""
    return x.dtype if isinstance(x, Tracer) else native(np.asarray(x).dtype)


def tracer_of(x: Any, like: Tracer) -> Tracer:
    """x as a strong tracer of the trace that `like` belongs to."""
    x = prepare(x, like)
    return strong(like.lift(x))


def strong(x: Tracer) -> Tracer:
    """x as an array: what a NumPy function makes of a Python number."""
    return x if x.weak is None else Tracer(x.value, x.recorder)


def as_dtype(x: Tracer, dtype: DType) -> Tracer:
    """x converted, without an op if it has the dtype already; never from complex numbers to real ones."""
    if x.dtype == dtype:
        return strong(x)
    if x.type.is_complex == (dtype.kind == "c"):
        return convert(x, type=x.type.with_dtype(dtype))
    if not x.type.is_complex:
        x = as_dtype(x, array_type(dtype).part.dtype)
        return complex_(x, fill(0.0, x.dtype, x.type.shape, x))
    if dtype.kind == "b":
        return ne(x, fill(0, x.dtype, x.type.shape, x))
    raise DTypeError(
        f"complex numbers are made {dtype}: {x.type}",
        loc=x.here(),
        why="their imaginary parts would be dropped",
        cure="take z.real, or np.abs(z)",
    )


def dtype_of(dtype: Any) -> DType:
    """The dtype that an argument `dtype=` names; unsupported ones are refused."""
    found = np.dtype(dtype)
    if not supported(found):
        raise DTypeError(f"arrays of {found} are not supported", loc=caller())
    return found


def fill(value: Any, dtype: DType, shape: Shape, like: Tracer) -> Tracer:
    """One number in every element."""
    number = concrete(value, dtype).item()
    if isinstance(number, complex):
        part = array_type(dtype).part.dtype
        return complex_(*(fill(x, part, shape, like) for x in (number.real, number.imag)))
    return like.stage(constant, (), {"value": number}, array_type(dtype, *shape))


def ramp(axis: int, shape: Shape, like: Tracer, dtype: DType = I64) -> Tracer:
    """The index of each element along an axis."""
    return like.stage(iota, (), {"axis": axis}, array_type(dtype, *shape))


def to_shape(x: Tracer, shape: Shape) -> Tracer:
    """x broadcast to a shape, without an op if it has the shape already."""
    if x.type.shape == shape:
        return x
    lead = len(shape) - x.ndim
    fits = lead >= 0 and all(m in (1, n) for m, n in zip(x.type.shape, shape[max(lead, 0) :], strict=False))
    if not fits:
        raise ShapeError(f"{x.type} cannot be broadcast to shape {shape}", loc=x.here())
    spread = [i for i, n in enumerate(x.type.shape) if n == 1 and shape[lead + i] != 1]
    if spread:
        kept = tuple(n for i, n in enumerate(x.type.shape) if i not in spread)
        x = reshape(x, type=array_type(x.dtype, *kept))
    axes = (*range(lead), *(lead + i for i in spread))
    return broadcast(x, axes=axes, type=array_type(x.dtype, *shape)) if axes else x


def fit(x: Any, dtype: DType, shape: Shape, like: Tracer) -> Tracer:
    """x as a tracer of this dtype and shape; a number becomes one constant of the whole shape."""
    if isinstance(x, Tracer):
        return to_shape(as_dtype(like.lift(x), dtype), shape)
    array = concrete(x, dtype)
    if array.ndim == 0:
        return fill(array, dtype, shape, like)
    return to_shape(like.lift(array), shape)


def joint_shape(what: str, xs: Sequence[Any]) -> Shape:
    """The shape that the operands broadcast to."""
    shapes = [shape_of(x) for x in xs]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return _broadcast_shapes(shapes)
    except ValueError:
        raise ShapeError(
            f"{what}: operands do not broadcast ({', '.join(map(described, xs))})",
            loc=caller(),
            why="sizes are compared from the last axis; they must be equal, or one of them 1",
            cure="add an axis where one is missing, as x[:, None], or reshape",
        ) from None


def _broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """The shape that shapes broadcast to; ValueError if they do not, for every run."""
    if all(isinstance(n, int) for shape in shapes for n in shape):
        return np.broadcast_shapes(*shapes)  # pyright: ignore[reportArgumentType]
    rank = max(map(len, shapes))
    found: list[dims.Dim] = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(sizes) > 1:
            raise ValueError
        found.append(next(iter(sizes), 1))
    return tuple(found)


def align(what: str, dtype: DType, xs: Sequence[Any], like: Tracer) -> list[Tracer]:
    """The operands in one dtype, broadcast together."""
    shape = joint_shape(what, xs)
    return [fit(x, dtype, shape, like) for x in xs]


def axis_of(axis: Any, rank: int) -> int:
    """The number of an axis, counted from the front."""
    number = operator.index(axis)
    if not -rank <= number < rank:
        axes = "1 axis" if rank == 1 else f"{rank} axes"
        raise ShapeError(
            f"axis {number} is out of bounds for an array with {axes}",
            loc=caller(),
            why="axes are counted from 0, or from -1 backwards",
        )
    return number % rank


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """The numbers of axes in increasing order; None means all."""
    if axis is None:
        return tuple(range(rank))
    given = axis if is_listed(axis) else (axis,)
    found = sorted(axis_of(a, rank) for a in given)
    if len(set(found)) != len(found):
        raise ShapeError(f"an axis is named twice in {axis}", loc=caller())
    return tuple(found)


def ints_of(values: Any) -> Any:
    """A shape or other list of integers, given as one integer or several."""
    if not isinstance(values, Tracer) and hasattr(values, "__iter__") and np.ndim(values) > 0:
        return tuple(map(_size, values))
    return (_size(values),)


def _size(value: Any) -> Any:
    """An integer as a size; one that follows the indices of loops is an expression."""
    if isinstance(value, Affine):
        return dims.plain(value)
    place = value.recorder.places.get(value.value) if isinstance(value, Tracer) else None
    return operator.index(value) if place is None else place
