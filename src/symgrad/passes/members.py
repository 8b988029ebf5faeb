"""What ops ask of the kernel that they are computed in: its space, and what has to lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Shape
from symgrad.ir.opdef import (
    ArgReduce,
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


def is_member(op: Op) -> bool:
    """Whether the op is computed in a loop, and so belongs to a group."""
    return isinstance(op.opdef.lowering, Scalar | Reduce | ArgReduce | Gather | Scatter | Update)


def space_of(op: Op) -> Shape:
    """The iteration space: the points at which the op does its work."""
    match op.opdef.lowering:
        case Reduce() | ArgReduce():
            return op.operands[0].type.shape
        case Update():
            return op.operands[1].type.shape
        case (
            Scalar()
            | Gather()
            | Scatter()
            | Remap()
            | View()
            | Contract()
            | Library()
            | Composed()
            | OnPairs()
            | Constant()
            | Coordinate()
            | Extent()
        ):
            return op.result.type.shape
        case Control() | Measure():
            return ()
        case _:
            assert_never(op.opdef.lowering)


def stored_operands(op: Op, makers: dict[Value, Op]) -> tuple[Value, ...]:
    """The operands that must lie in memory, not be computed at a point."""
    match op.opdef.lowering:
        case View() | Contract() | Library() | Composed() | OnPairs() | Control() | Gather() | Measure():
            return op.operands
        case Scatter():
            return op.operands[1:] if _is_constant(op.operands[0], makers) else op.operands
        case Update():
            return () if _is_constant(op.operands[0], makers) else op.operands[:1]
        case Scalar(stored=stored):
            return op.operands if stored else ()
        case Reduce() | ArgReduce() | Remap() | Constant() | Coordinate() | Extent():
            return ()
        case _:
            assert_never(op.opdef.lowering)


def reads_memory(op: Op) -> bool:
    """Whether an elementwise op reads its operand from memory, though one kernel could compute both."""
    return isinstance(op.opdef.lowering, Scalar) and op.opdef.lowering.stored


def kept_apart(some: Sequence[Op], others: Sequence[Op]) -> bool:
    """Whether ops must not be in one kernel: the order in which it adds up depends on what else is in it."""
    pairs = (some, others), (others, some)
    return any(any(map(_is_aside, a)) and any(map(_adds_up, b)) for a, b in pairs)


def _is_aside(op: Op) -> bool:
    return isinstance(op.opdef.lowering, Scalar) and op.opdef.lowering.aside


def _adds_up(op: Op) -> bool:
    """Whether an op is a sum that rounds."""
    lowering = op.opdef.lowering
    return isinstance(lowering, Reduce) and lowering.kind is Reduction.SUM and op.result.type.is_real


def _is_constant(value: Value, makers: dict[Value, Op]) -> bool:
    """Whether a value that is written over is a constant: it is written once before anything else is."""
    maker = makers.get(value)
    return maker is not None and isinstance(maker.opdef.lowering, Constant)
