"""What runs along one axis, an element after another: sums, products, extremes, and linear recurrences.

The derivatives are runs again. That of a running sum is the sum from the other end; those of the others are
`recurrence`, the one op whose derivatives of every order are itself. So none divides, and zeros are nothing
special.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy

from symgrad.errors import DTypeError, ShapeError
from symgrad.ir import dims
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Derivative, Example, Jvp, Library, Linear, LinearIn, OpDef
from symgrad.ir.ops.shapes import concat, slice_
from symgrad.ir.types import F64, I64, ArrayType, array_type, type_of

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


# ---- type rules -------------------------------------------------------------------------------------------
def _checked(name: str, x: ArrayType, axis: int) -> ArrayType:
    if not 0 <= axis < x.rank:
        raise ShapeError(f"{name}: axis {axis} does not fit {x}")
    if not x.has_derivatives and x.dtype != I64:
        raise DTypeError(f"{name} does not take {x}")
    return x


def _lines(x: ArrayType, axis: int) -> tuple[Dim, Dim, Dim]:
    """How many blocks there are, how long a line is, and how many lines lie side by side in a block."""
    return dims.product(x.shape[:axis]), x.shape[axis], dims.product(x.shape[axis + 1 :])


def _library(routine: str, over: int, *flags: int) -> Library:
    def arguments(*types: ArrayType, axis: int, reverse: int | None = None) -> tuple[Dim, ...]:
        return (*_lines(types[0], axis), *(() if reverse is None else (reverse,)), *flags)

    return Library(routine, arguments, over=over, axes=None)


# ---- neighbours along an axis -----------------------------------------------------------------------------
def _part(x: Any, axis: int, start: Dim, stop: Dim) -> Any:
    """The elements of x in a range of an axis."""
    shape = type_of(x).shape
    low = tuple(start if i == axis else 0 for i in range(len(shape)))
    high = tuple(stop if i == axis else n for i, n in enumerate(shape))
    return slice_(x, start=low, stop=high, step=(1,) * len(shape))


def _split(x: Any, axis: int) -> tuple[Any, Any, Any]:
    """The first element of each line, those without the last one, and those without the first one."""
    n = type_of(x).shape[axis]
    return _part(x, axis, 0, 1), _part(x, axis, 0, dims.shift(n, 1)), _part(x, axis, 1, n)


def _neighbours(x: Any, axis: int, value: float, *, after: int) -> Any:
    """For each element the one before it, or after it; at the end of a line that has none, a number."""
    n = type_of(x).shape[axis]
    if dims.is_zero(n):
        return x
    last = dims.shift(n, 1)
    end = np.full_like(_part(x, axis, 0, 1), value)
    parts = (_part(x, axis, 1, n), end) if after else (end, _part(x, axis, 0, last))
    return end if dims.is_one(n) else concat(*parts, axis=axis)


# ---- linear recurrences -----------------------------------------------------------------------------------
def _evaluate_recurrence(a: Any, b: Any, axis: int, reverse: int) -> Any:
    a, found = (np.moveaxis(np.array(x), axis, 0) for x in (a, b))
    order = range(len(found))[::-1] if reverse else range(len(found))
    with np.errstate(all="ignore"):
        for before, here in pairwise(order):
            found[here] = a[here] * found[before] + found[here]
    return np.ascontiguousarray(np.moveaxis(found, 0, axis))


def _infer_recurrence(a: ArrayType, b: ArrayType, axis: int, reverse: int) -> ArrayType:
    if a != b:
        raise ShapeError(f"recurrence: {a} and {b} differ")
    return _checked("recurrence", b, axis)


def _recurrence_transpose(ct: Any, a: Any, b: Any, axis: int, reverse: int) -> Any:
    """b̄ₖ = s̄ₖ + aₖ₊₁ b̄ₖ₊₁"""
    factors = _neighbours(a, axis, 0.0, after=1 - reverse)
    return recurrence(factors, ct, axis=axis, reverse=1 - reverse)


def _recurrence_jvp(dots: tuple[Any, Any], y: Any, a: Any, b: Any, axis: int, reverse: int) -> Any:
    """ṡₖ = aₖ ṡₖ₋₁ + ȧₖ sₖ₋₁"""
    return recurrence(a, dots[0] * _neighbours(y, axis, 0.0, after=reverse), axis=axis, reverse=reverse)


def _pair(shape: tuple[int, ...], axis: int, reverse: int) -> Example:
    return Example((array_type(F64, *shape),) * 2, (("axis", axis), ("reverse", reverse)))


recurrence = OpDef(
    "recurrence", _evaluate_recurrence, _infer_recurrence,
    LinearIn(1, _recurrence_transpose, _recurrence_jvp), _library("recurrence", 1),
    "s with sₖ = aₖ sₖ₋₁ + bₖ along an axis, or sₖ = aₖ sₖ₊₁ + bₖ; the first s is b",
    examples=(
        _pair((4,), 0, 0), _pair((4,), 0, 1), _pair((3, 4), 0, 1), _pair((2, 3, 2), 1, 0),
        _pair((2, 0), 1, 0), _pair((1, 3), 0, 1),
    ),
)  # fmt: skip


# ---- sums -------------------------------------------------------------------------------------------------
def _evaluate_cumsum(x: Any, axis: int, reverse: int) -> Any:
    x = np.flip(x, axis) if reverse else np.asarray(x)
    found = np.cumsum(x, axis, x.dtype)
    return np.ascontiguousarray(np.flip(found, axis)) if reverse else found


def _examples(*shapes: tuple[tuple[int, ...], int], **flags: int) -> tuple[Example, ...]:
    """Examples of an op of one operand, in floats and one in integers."""
    attrs = tuple(flags.items())
    found = [Example((array_type(F64, *shape),), (("axis", axis), *attrs)) for shape, axis in shapes]
    return (*found, Example((array_type(I64, 3, 4),), (("axis", 1), *attrs), bound=9))


_SHAPES = (((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2), 1), ((0, 2), 0), ((2, 1), 1))

cumsum = OpDef(
    "cumsum", _evaluate_cumsum, lambda x, axis, reverse: _checked("cumsum", x, axis),
    Linear(lambda ct, i, x, axis, reverse: cumsum(ct, axis=axis, reverse=1 - reverse)),
    _library("cumsum", 0), "Σ x over what is not after an element along an axis; not before it, if reverse",
    examples=(*_examples(*_SHAPES, reverse=0), *_examples(*_SHAPES[:3], reverse=1)),
)  # fmt: skip


# ---- products and extremes --------------------------------------------------------------------------------
def _cumprod_jvp(dots: tuple[Any], y: Any, x: Any, axis: int) -> Any:
    """ẏₖ = xₖ ẏₖ₋₁ + yₖ₋₁ ẋₖ: right with any number of zeros."""
    return recurrence(x, dots[0] * _neighbours(y, axis, 1.0, after=0), axis=axis, reverse=0)


def _extreme_jvp(beyond: Any) -> Callable[..., Any]:
    """What `maximum`, or `minimum`, of the extreme so far and the next element gives; a tie is ½ of each."""

    def jvp(dots: tuple[Any], y: Any, x: Any, axis: int) -> Any:
        dot = dots[0]
        if dims.is_zero(type_of(x).shape[axis]):
            return dot
        (_, before, _), (_, _, here) = _split(y, axis), _split(x, axis)
        first, _, rest = _split(dot, axis)
        kept = beyond(before, here) | np.isnan(before)
        share = np.where(kept, 1.0, np.where(before == here, 0.5, 0.0)).astype(type_of(x).dtype)
        own = np.where(kept, np.zeros_like(rest), (1 - share) * rest)
        factors = concat(np.zeros_like(first), share, axis=axis)
        return recurrence(factors, concat(first, own, axis=axis), axis=axis, reverse=0)

    return jvp


def _running(name: str, ufunc: Any, derivative: Derivative, lowering: Library, doc: str, tie: str) -> OpDef:
    """The record of a ufunc that is accumulated."""

    def evaluate(x: Any, axis: int) -> Any:
        with np.errstate(all="ignore"):
            return ufunc.accumulate(x, axis)

    return OpDef(
        name, evaluate, lambda x, axis: _checked(name, x, axis), derivative, lowering, doc,
        examples=_examples(*_SHAPES), convention=tie,
    )  # fmt: skip


cumprod = _running(
    "cumprod", np.multiply, Jvp(_cumprod_jvp), _library("cumprod", 0),
    "Π x over what is not after an element along an axis", "",
)  # fmt: skip
_TIES = "ties: as maximum or minimum of two, one element after another"
cummax = _running(
    "cummax", np.maximum, Jvp(_extreme_jvp(np.greater)), _library("cumextreme", 0, 1),
    "the largest x of what is not after an element along an axis; NaN from a NaN on", _TIES,
)  # fmt: skip
cummin = _running(
    "cummin", np.minimum, Jvp(_extreme_jvp(np.less)), _library("cumextreme", 0, 0),
    "the smallest x of what is not after an element along an axis; NaN from a NaN on", _TIES,
)  # fmt: skip

OPS: tuple[OpDef, ...] = (recurrence, cumsum, cumprod, cummax, cummin)
