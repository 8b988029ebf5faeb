"""`Shift`: how a value moves when another one, m, is shifted, by what the records of the ops say.

Where m moves by δ, a value moves to v + d · δ or to v · base**(d · δ), or in a way that is not known; δ is
repeated along the axes that m does not have. In tangents: v̇ = d · ṁ, or v̇ = d · log(base) · v · ṁ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import TypeAlias, cast

from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Shape
from symgrad.ir.laws import Equivariant, Exponential, Logarithmic, Monomial
from symgrad.ir.opdef import (
    Contract,
    Coordinate,
    Gather,
    Linear,
    Partials,
    Piece,
    Reduce,
    Reduction,
    Remap,
    Scalar,
    Select,
    View,
    Zero,
)
from symgrad.ir.ops import split_spec
from symgrad.ir.types import ArrayType
from symgrad.passes.literals import Number, splat_of
from symgrad.passes.rules.moves import axis_groups, empty, ints

Along: TypeAlias = "tuple[int | None, ...]"


@dataclass(frozen=True, slots=True)
class Shift:
    """How a value moves with m; where the degree is 0, it does not."""

    degree: int | Fraction
    base: float | None  # of the factor; None where the value is added to
    along: Along  # for each axis of the value, the axis of m with which δ varies along it

    @staticmethod
    def of_itself(type: ArrayType) -> Shift:
        """How m moves; along an axis of one entry nothing varies."""
        along = (None if dims.is_one(n) else axis for axis, n in enumerate(type.shape))
        return Shift(1, None, tuple(along))


STILL = Shift(0, None, ())

Shifts: TypeAlias = Mapping[Value, Shift]  # of the values that move
Makers: TypeAlias = Mapping[Value, Op]  # of the values of the block


def shift_of(op: Op, shifts: Shifts, makers: Makers) -> Shift | None:
    """How the result of an op moves; None if that is not known, or if there is not one."""
    if len(op.results) != 1:
        return None
    result = op.result
    if isinstance(op.opdef.derivative, Zero) or not result.type.is_real:
        return STILL
    match op.opdef.lowering:
        case Scalar():
            return _of_elements(op, shifts, makers)
        case Reduce(kind=kind):
            return _reduced(op, shifts[op.operands[0]], kind)
        case Remap(pieces=pieces):
            found = pieces(tuple(v.type for v in op.operands), result.type, dict(op.attrs))
            return _moved(op, found, shifts, makers)
        case View() if len(op.operands) == 1:
            return _reshaped(op, shifts[op.operands[0]])
        case Contract():
            return _contracted(op, shifts)
        case Gather():
            return _gathered(op, shifts[op.operands[0]], makers)
        case _:
            return None


# ---- elementwise ------------------------------------------------------------------------------------------
def _of_elements(op: Op, shifts: Shifts, makers: Makers) -> Shift | None:
    moving = {i: shifts[v] for i, v in enumerate(op.operands) if v in shifts}
    base, along = next((s.base, s.along) for s in moving.values())
    if len(moving) > 1 and any(s.base != base or s.along != along for s in moving.values()):
        return None
    match op.opdef.derivative, op.opdef.law:
        case Select(), _:
            return _common(op.operands[1:], shifts, makers)
        case Linear(), _:
            return _common(op.operands, shifts, makers)
        case Partials(of=of), None if base is None:
            return _sum_of(moving, of)
        case Partials(of=of), None if all(isinstance(partial, int) for partial in of):
            return _common(op.operands, shifts, makers)
        case _, Exponential(base=found) if base is None:
            return replace(moving[0], base=found)
        case _, Logarithmic(base=found) if base == found:
            return replace(moving[0], base=None)
        case _, Monomial(powers=powers) if base is not None:
            return _sum_of(moving, powers)
        case _, Monomial(powers=powers):
            return _multiplied(op, moving, powers, makers)
        case _, Equivariant() if base is None:
            return _common(op.operands, shifts, makers)
        case _:
            return None


def _common(operands: Sequence[Value], shifts: Shifts, makers: Makers) -> Shift | None:
    """How all operands move, if they move alike; 0 is 0 times any factor."""
    found = {shifts.get(v) for v in operands if v in shifts or not is_zero(v, makers)}
    (only,) = found if len(found) == 1 else (None,)
    if only is None or (only.base is None and not all(v in shifts for v in operands)):
        return None
    return only


def _sum_of(moving: Mapping[int, Shift], weights: Sequence[object]) -> Shift | None:
    """How the result moves where degrees add up with these weights, if they are numbers."""
    degree: int | Fraction = 0
    for i, shift in moving.items():
        weight = weights[i]
        if not isinstance(weight, int | Fraction):
            return None
        degree += weight * shift.degree
    some = next(iter(moving.values()))
    return Shift(degree, some.base, some.along)


def _multiplied(
    op: Op, moving: Mapping[int, Shift], powers: Sequence[int | Fraction], makers: Makers
) -> Shift | None:
    """How a product moves with one of its factors, if all others are numbers."""
    ((i, shift), *others) = moving.items()
    if others or powers[i] != 1:
        return None
    degree = Fraction(shift.degree)
    for k, v in enumerate(op.operands):
        number = _number(v, makers)
        if k == i:
            continue
        if number is None or number == 0 or not isfinite(number) or powers[k].denominator != 1:
            return None
        degree *= Fraction(number) ** powers[k].numerator
    return replace(shift, degree=degree)


# ---- reductions and contractions --------------------------------------------------------------------------
def _reduced(op: Op, shift: Shift, kind: Reduction) -> Shift | None:
    """How a reduction moves over axes along which δ does not vary."""
    (x,), axes = op.operands, ints(op, "axes")
    if any(shift.along[axis] is not None for axis in axes):
        return None
    kept = replace(shift, along=tuple(a for axis, a in enumerate(shift.along) if axis not in axes))
    match kind:
        case Reduction.MAX | Reduction.MIN:
            return kept
        case Reduction.SUM if shift.base is not None:
            return kept
        case Reduction.SUM:
            count = dims.product(x.type.shape[axis] for axis in axes)
            return replace(kept, degree=kept.degree * dims.known(count)) if dims.is_known(count) else None
        case _:
            return None


def _contracted(op: Op, shifts: Shifts) -> Shift | None:
    """How a contraction moves with its factors: their degrees add up."""
    terms, result = split_spec(cast(str, dict(op.attrs)["spec"]))
    moving = {i: shifts[v] for i, v in enumerate(op.operands) if v in shifts}
    varying = [
        {name: a for name, a in zip(terms[i], s.along, strict=True) if a is not None}
        for i, s in moving.items()
    ]
    base = next(iter(moving.values())).base
    if base is None or any(s.base != base for s in moving.values()):
        return None
    if any(found != varying[0] for found in varying) or not varying[0].keys() <= set(result):
        return None
    return Shift(sum(s.degree for s in moving.values()), base, tuple(varying[0].get(name) for name in result))


# ---- moves ------------------------------------------------------------------------------------------------
def _moved(op: Op, pieces: Sequence[Piece], shifts: Shifts, makers: Makers) -> Shift | None:
    """How elements move that are read at other places, all of them moving alike."""
    shape = op.result.type.shape
    found: set[Shift | None] = set()
    for piece in pieces:
        operand = op.operands[piece.operand]
        if operand in shifts:
            found.add(_read(piece, operand.type.shape, shape, shifts[operand]))
        elif not is_zero(operand, makers):
            return None
    (only,) = found if len(found) == 1 else (None,)
    if only is None or only.base is not None:
        return only
    # A place that no piece covers is 0, and a 0 is not added to.
    return only if all(v in shifts for v in op.operands) and _cover(pieces, shape) else None


def _read(piece: Piece, before: Shape, after: Shape, shift: Shift) -> Shift | None:
    """How what is read moves; along the axes along which δ varies, all is read in its order."""
    along: list[int | None] = [None] * len(after)
    for n, a, at in zip(before, shift.along, piece.index, strict=True):
        if a is None:
            continue
        if at.axis is None or at.scale != 1 or at.divisor != 1 or not dims.is_zero(at.offset):
            return None
        if not dims.equal(n, after[at.axis]) or along[at.axis] is not None:
            return None
        along[at.axis] = a
    return replace(shift, along=tuple(along))


def _cover(pieces: Sequence[Piece], shape: Shape) -> bool:
    """Whether pieces lie one after another along an axis, from its beginning to its end."""
    ranges = [piece.within for piece in pieces]
    if len(ranges) == 1 and not ranges[0]:
        return True
    if any(len(within) != 1 or within[0].step != 1 for within in ranges):
        return False
    axis, at = ranges[0][0].axis, dims.ZERO
    for (within,) in ranges:
        if within.axis != axis or not dims.equal(within.start, at):
            return False
        at = within.stop
    return dims.equal(at, shape[axis])


def _reshaped(op: Op, shift: Shift) -> Shift | None:
    """How the elements move under another shape that has the axes along which δ varies."""
    after = op.result.type.shape
    groups = None if empty(op.result.type) else axis_groups(op.operands[0].type.shape, after)
    if groups is None:
        return None
    along: list[int | None] = [None] * len(after)
    for left, right in groups:
        varying = [shift.along[axis] for axis in left if shift.along[axis] is not None]
        if varying and not len(left) == len(right) == 1:
            return None
        if varying:
            along[right[0]] = varying[0]
    return replace(shift, along=tuple(along))


def _gathered(op: Op, shift: Shift, makers: Makers) -> Shift | None:
    """How elements at integer places move; along the axes along which δ varies, all are read in order."""
    x, *indices = op.operands
    axes, lead = ints(op, "axes"), indices[0].type
    along: list[int | None] = [None] * lead.rank
    for axis, index in zip(axes, indices, strict=True):
        if shift.along[axis] is None:
            continue
        ramp = _ramp(index, makers)
        if ramp is None or not dims.equal(lead.shape[ramp], x.type.shape[axis]):
            return None
        if along[ramp] is not None:
            return None  # a diagonal: which one it is, `along` cannot say
        along[ramp] = shift.along[axis]
    return replace(shift, along=(*along, *(a for k, a in enumerate(shift.along) if k not in axes)))


# ---- what values are --------------------------------------------------------------------------------------
def _number(value: Value, makers: Makers) -> Number | None:
    """The number that every element is, if it is such a constant."""
    return splat_of(makers[value]) if value in makers else None


def is_zero(value: Value, makers: Makers) -> bool:
    """Whether every element is the constant 0."""
    return _number(value, makers) == 0


def _ramp(value: Value, makers: Makers) -> int | None:
    """The axis along which each element is its own place, if there is one."""
    maker = makers.get(value)
    if maker is None or not isinstance(maker.opdef.lowering, Coordinate):
        return None
    return cast(int, dict(maker.attrs)["axis"])
