"""Which axes of the operands and of the result of an op are the same: those that it works along side by side.

An op does the same work at each place of a named axis, so it can be done for some of the places at a time:
with slices of the operands that have the axis it gives that slice of the result; or, where the result lacks
the axis, a part of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never, cast

from symgrad.ir import dims
from symgrad.ir.core import Op
from symgrad.ir.dims import Dim, Shape
from symgrad.ir.opdef import (
    ArgReduce,
    Component,
    Composed,
    Constant,
    Contract,
    Control,
    Coordinate,
    Extent,
    Gather,
    Library,
    Measure,
    OnPairs,
    Reduce,
    Reduction,
    Remap,
    Scalar,
    Scatter,
    Update,
    View,
)
from symgrad.ir.ops import split_spec
from symgrad.passes.literals import splat_of

Names = tuple[int | None, ...]  # the name of each axis of a value; None for one that must stay whole


@dataclass(frozen=True, slots=True)
class AxisNames:
    """The names of the axes of an op."""

    operands: tuple[Names, ...]
    result: Names
    summed: frozenset[int] = frozenset()  # names of operands' axes along which the result is a sum

    def is_split(self, name: int) -> bool:
        """Whether the op can be done for some places of an axis at a time."""
        everywhere = (*self.operands, self.result)
        return (name in self.result or name in self.summed) and all(n.count(name) <= 1 for n in everywhere)


def axis_names(op: Op) -> AxisNames | None:
    """The names of the axes of an op with one result; None if it has to be done all at once."""
    shapes = [v.type.shape for v in op.operands]
    match op.opdef.lowering:
        case Scalar():
            every = tuple(range(op.result.type.rank))
            return AxisNames((every,) * len(op.operands), every)
        case Reduce(kind):
            return _reduced(op, cast("tuple[int, ...]", dict(op.attrs)["axes"]), kind is Reduction.SUM)
        case ArgReduce():
            return _reduced(op, (cast(int, dict(op.attrs)["axis"]),), sums=False)
        case Contract(adds):
            return _contracted(op, adds=adds)
        case Remap():
            return _moved(op)
        case View():
            names = _viewed(shapes[0], op.result.type.shape)
            return AxisNames((names,), tuple(r if r in names else None for r in range(op.result.type.rank)))
        case Gather():
            return _gathered(op)
        case Constant():
            splat = splat_of(op) is not None
            return AxisNames((), tuple(axis if splat else None for axis in range(op.result.type.rank)))
        case Coordinate():
            along = dict(op.attrs)["axis"]
            return AxisNames((), tuple(None if k == along else k for k in range(op.result.type.rank)))
        case Library() | Composed() | OnPairs() | Scatter() | Update() | Extent() | Measure() | Control():
            return None
        case _:
            assert_never(op.opdef.lowering)


def _reduced(op: Op, axes: Sequence[int], sums: bool) -> AxisNames:
    every = tuple(range(op.operands[0].type.rank))
    kept = tuple(axis for axis in every if axis not in axes)
    if sums:
        return AxisNames((every,), kept, frozenset(axes))
    return AxisNames((tuple(None if axis in axes else axis for axis in every),), kept)


def _contracted(op: Op, *, adds: bool) -> AxisNames:
    """A part of a sum that is added to an array is not the sum: then what is summed over stays whole."""
    terms, result = split_spec(cast(str, dict(op.attrs)["spec"]))
    summed = frozenset(ord(name) for term in terms for name in term if name not in result)
    names = tuple(tuple(map(ord, term)) for term in ((result, *terms) if adds else terms))
    return AxisNames(names, tuple(map(ord, result)), frozenset() if adds else summed)


def _moved(op: Op) -> AxisNames:
    """A move has the axes that each of its pieces reads whole, in order, or does not read."""
    lowering, result = cast(Remap, op.opdef.lowering), op.result.type
    types = tuple(v.type for v in op.operands)
    pieces = lowering.pieces(types, result, dict(op.attrs))
    names: list[list[int | None]] = [[None] * t.rank for t in types]
    broken = {part.axis for piece in pieces for part in piece.within}
    for piece in pieces:
        for k, part in enumerate(piece.index):
            if part.axis is None:
                continue
            size: Dim = types[piece.operand].shape[k]
            if part == Component(part.axis) and dims.equal(size, result.shape[part.axis]):
                names[piece.operand][k] = part.axis
            else:
                broken.add(part.axis)
    return AxisNames(
        tuple(tuple(None if n in broken else n for n in found) for found in names),
        tuple(None if axis in broken else axis for axis in range(result.rank)),
    )


def _viewed(before: Shape, after: Shape) -> Names:
    """The axes of the operand of a view, by the axes of its result that are the same."""
    found: list[int | None] = []
    for k, size in enumerate(before):
        ahead = before[:k]
        same = (
            r
            for r, n in enumerate(after)
            if dims.equal(n, size) and not dims.is_one(n) and dims.same_count(ahead, after[:r])
        )
        found.append(next(same, None))
    return tuple(found)


def _gathered(op: Op) -> AxisNames:
    """The axes of the index arrays, then those of x that are not indexed."""
    x, *index_arrays = op.operands
    axes = cast("tuple[int, ...]", dict(op.attrs)["axes"])
    lead = index_arrays[0].type.rank
    rest = iter(range(lead, op.result.type.rank))
    names = tuple(None if axis in axes else next(rest) for axis in range(x.type.rank))
    leading = tuple(range(lead))
    return AxisNames((names, *(leading for _ in index_arrays)), tuple(range(op.result.type.rank)))
