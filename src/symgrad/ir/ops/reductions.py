"""Reductions over axes, and the positions of extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Shape
from symgrad.ir.opdef import ArgReduce, Derivative, Example, Jvp, Linear, OpDef, Reduce, Reduction, Zero
from symgrad.ir.ops import pairs
from symgrad.ir.ops.shapes import broadcast, concat, slice_
from symgrad.ir.types import BOOL, C128, F64, I64, ArrayType, array_type, type_of

Ints = tuple[int, ...]

# The stubs of NumPy do not know that its functions give tracers for tracers.
where: Callable[..., Any] = np.where
full: Callable[..., Any] = np.full_like


def _without(shape: Shape, axes: Ints) -> Shape:
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def spread(x: Any, axes: Ints, like: Any) -> Any:
    """x repeated along the reduced axes, to the shape of `like`."""
    return broadcast(x, axes=axes, type=type_of(x).with_shape(type_of(like).shape)) if axes else x


def _infer(name: str, kinds: str, nonempty: bool) -> Callable[..., ArrayType]:
    def infer(x: ArrayType, axes: Ints) -> ArrayType:
        if any(not 0 <= axis < x.rank for axis in axes) or tuple(sorted(set(axes))) != axes:
            raise ShapeError(f"{name}: axes {axes} do not fit {x}")
        if x.dtype.kind not in kinds:
            raise DTypeError(f"{name} does not take {x}")
        if nonempty and any(dims.is_zero(x.shape[axis]) for axis in axes):
            raise ShapeError(f"{name}: {x} has no elements along axes {axes}")
        return x.with_shape(_without(x.shape, axes))

    return infer


def _max_jvp(dots: tuple[Any, ...], y: Any, x: Any, axes: Ints) -> Any:
    """The mean of the tangents of the extreme elements; a NaN is as extreme as it gets.

    They are chosen and not multiplied by 0 or 1, so that an infinite cotangent stays in its own entry.
    """
    dot = dots[0]
    hit = (x == spread(y, axes, x)) | np.isnan(x)
    chosen = where(hit, dot, np.zeros_like(dot))
    return np.sum(chosen, axis=axes) / np.sum(hit.astype(type_of(x).dtype), axis=axes)


def _running(x: Any, axis: int) -> Any:
    """Exclusive running products along an axis, by doubling (Hillis and Steele 1986)."""
    shape = type_of(x).shape
    n, rank = dims.known(shape[axis]), len(shape)

    def behind(value: Any, count: int) -> Any:
        """The elements moved along by count, with ones before them."""
        lead = tuple(count if i == axis else dims.known(m) for i, m in enumerate(shape))
        stop = tuple(n - count if i == axis else dims.known(m) for i, m in enumerate(shape))
        rest = slice_(value, start=(0,) * rank, stop=stop, step=(1,) * rank)
        return concat(np.full_like(value, 1.0, shape=lead), rest, axis=axis)

    found, reach = behind(x, min(1, n)), 1
    while reach < n - 1:
        found = found * behind(found, reach)
        reach *= 2
    return found


def _prod_jvp(dots: tuple[Any, ...], y: Any, x: Any, axes: Ints) -> Any:
    """Σ_i ẋ_i Π_{j≠i} x_j, without division: right with any number of zeros."""
    dot = dots[0]
    for axis in reversed(axes):
        backwards = np.flip(_running(np.flip(x, axis), axis), axis)
        others = _running(x, axis) * backwards
        dot = np.sum(others * dot, axis=axis)
        x = np.prod(x, axis=axis)
    return dot


def _prod_on_pairs(z: pairs.Pair, axes: Ints) -> pairs.Pair:
    """Products of the first half and the second one, until one is left."""
    for axis in reversed(axes):
        shape = type_of(z[0]).shape
        n, rank = dims.known(shape[axis]), len(shape)

        def part(x: Any, start: int, stop: int, axis: int = axis, rank: int = rank) -> Any:
            return x[tuple(slice(start, stop) if i == axis else slice(None) for i in range(rank))]

        if n == 0:
            rest = _without(shape, (axis,))
            z = full(z[0], 1.0, shape=rest), full(z[0], 0.0, shape=rest)
            continue
        while n > 1:
            half = n // 2
            first, second, rest = (
                (part(z[0], a, b), part(z[1], a, b)) for a, b in ((0, half), (half, 2 * half), (2 * half, n))
            )
            z, n = pairs.mul(first, second), half + n % 2
            if n > half:
                z = concat(z[0], rest[0], axis=axis), concat(z[1], rest[1], axis=axis)
        z = np.squeeze(z[0], axis), np.squeeze(z[1], axis)
    return z


def _reduction(
    kind: Reduction,
    evaluate: Callable[..., Any],
    derivative: Derivative,
    doc: str,
    kinds: str = "fiu",
    *,
    nonempty: bool = False,
    convention: str = "",
    on_pairs: Callable[..., Any] | None = None,
) -> OpDef:
    def reduce(x: Any, axes: Ints) -> Any:
        x = np.asarray(x)
        # NumPy widens small integers; the IR says so with a convert of its own.
        return evaluate(x, axis=axes).astype(x.dtype) if axes else x

    real, whole = array_type(F64, 3, 4), array_type(I64, 3, 4)
    examples = [Example((real,), (("axes", axes),)) for axes in ((0,), (1,), (0, 1)) if "f" in kinds]
    examples += [Example((whole,), (("axes", (1,)),), bound=9)] if "i" in kinds else []
    examples += [Example((array_type(C128, 3, 4),), (("axes", (0, 1)),))] if "c" in kinds else []
    examples += [Example((array_type(BOOL, 3, 4),), (("axes", (1,)),))] if "b" in kinds else []
    return OpDef(
        kind.value,
        reduce,
        _infer(kind.value, kinds, nonempty),
        derivative,
        Reduce(kind),
        doc,
        examples=tuple(examples),
        convention=convention,
        on_pairs=on_pairs,
    )


sum_ = _reduction(
    Reduction.SUM, np.sum, Linear(lambda ct, i, x, axes: spread(ct, axes, x)), "Σ x over axes",
    "fiuc",
)  # fmt: skip
prod = _reduction(Reduction.PROD, np.prod, Jvp(_prod_jvp), "Π x over axes", "fiuc", on_pairs=_prod_on_pairs)
max_ = _reduction(
    Reduction.MAX, np.max, Jvp(_max_jvp), "the largest x over axes; NaN if any is",
    nonempty=True, convention="ties share equally",
)  # fmt: skip
min_ = _reduction(
    Reduction.MIN, np.min, Jvp(_max_jvp), "the smallest x over axes; NaN if any is",
    nonempty=True, convention="ties share equally",
)  # fmt: skip
any_ = _reduction(Reduction.ANY, np.any, Zero(), "whether any holds over axes", "b")
all_ = _reduction(Reduction.ALL, np.all, Zero(), "whether all hold over axes", "b")


def _infer_arg(x: ArrayType, axis: int) -> ArrayType:
    if not 0 <= axis < x.rank:
        raise ShapeError(f"axis {axis} does not fit {x}")
    if dims.is_zero(x.shape[axis]):
        raise ShapeError(f"{x} has no elements along axis {axis}")
    return ArrayType(I64, _without(x.shape, (axis,)))


_ARG_EXAMPLES = (
    Example((array_type(F64, 3, 4),), (("axis", 0),)),
    Example((array_type(I64, 3, 4),), (("axis", 1),), bound=9),
)
argmax = OpDef(
    "argmax", lambda x, axis: np.argmax(x, axis=axis), _infer_arg, Zero(), ArgReduce(Reduction.MAX),
    "the position of the first largest x along an axis", examples=_ARG_EXAMPLES,
)  # fmt: skip
argmin = OpDef(
    "argmin", lambda x, axis: np.argmin(x, axis=axis), _infer_arg, Zero(), ArgReduce(Reduction.MIN),
    "the position of the first smallest x along an axis", examples=_ARG_EXAMPLES,
)  # fmt: skip

OPS: tuple[OpDef, ...] = (sum_, prod, max_, min_, any_, all_, argmax, argmin)
