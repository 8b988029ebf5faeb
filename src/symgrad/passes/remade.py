"""What a region makes rather than being handed it: numbers, sizes, ramps, repeats of smaller arrays.

These cost nothing where they are read, while a value that enters a region is stored. So they move into the
regions that read them (`rules/loops.py`), and never out (`hoist.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import Constant, Coordinate, Extent, Remap, Scalar
from symgrad.passes.literals import splat_of

MakerOf: TypeAlias = "Callable[[Value], Op | None]"

# A number is made again if it takes at most so many additions an op, and so many ops.
MAX_FLOPS = 6
MAX_OPS = 4


def remade(value: Value, maker_of: MakerOf) -> tuple[Op, ...]:
    """The ops, in order, that make the value from less, or from nothing; none if it must be handed over."""
    found: list[Op] = []
    return tuple(found) if _make(value, maker_of, found) else ()


def _make(value: Value, maker_of: MakerOf, found: list[Op]) -> bool:
    """Append the ops that make the value; whether there are such."""
    op = maker_of(value)
    if op is None or op in found:
        return op is not None
    if len(found) == MAX_OPS or not _costs_nothing(op):
        return False
    before = len(found)
    if not all(_make(v, maker_of, found) for v in op.operands):
        del found[before:]
        if not repeats(op):
            return False
    found.append(op)
    return True


def _costs_nothing(op: Op) -> bool:
    match op.opdef.lowering:
        case Constant():
            return splat_of(op) is not None
        case Coordinate() | Extent():
            return True
        case Scalar(flops=flops, demand=demand):
            return op.result.type.rank == 0 and flops <= MAX_FLOPS and demand is None
        case Remap():
            return repeats(op)
        case _:
            return False


def repeats(op: Op) -> bool:
    """Whether the op repeats its operand along new axes, and does nothing else."""
    lowering = op.opdef.lowering
    if not isinstance(lowering, Remap) or len(op.operands) != 1:
        return False
    x, result = op.operands[0].type, op.result.type
    pieces = lowering.pieces((x,), result, dict(op.attrs))
    return x.rank < result.rank and len(pieces) == 1 and not pieces[0].within
