"""Which ops are computed again wherever they are read, because that costs less than storing them.

Moves, constants and ramps are; only what a loop over a much larger array would read across memory is copied
into the order of the loop. So is what lies in memory in a smaller type. Cheap arithmetic on arrays
much smaller than its result is, such as the differences of all pairs: an n×n array that is a function of two
vectors never exists. And so is arithmetic whose result others read at other points, as neighbours on a grid
do, where writing it and reading it again would take longer than computing it twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from symgrad.ir import dims
from symgrad.ir.analysis import uses
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.opdef import Constant, Coordinate, Extent, Mark, Remap, Scalar, View
from symgrad.ir.overwriting import is_unit_move, only_piece
from symgrad.passes.members import reads_memory
from symgrad.passes.repeats import Repeats

# What may be computed again for an element: additions, arrays read, and how much smaller these are.
MAX_FLOPS = 8
MAX_LEAVES = 4
MIN_SHRINK = 8


def free_ops(block: Block, ranges: Ranges) -> frozenset[Op]:
    """The ops of a block that are computed wherever they are read."""
    small = made_of_less(block, ranges)
    return small | Repeats(block, small, ranges).at_other_points()


def made_of_less(block: Block, ranges: Ranges) -> frozenset[Op]:
    """Moves and numbers, and cheap arithmetic on little."""
    found: set[Op] = set()
    readers = uses(block)
    flops: dict[Value, int] = {}  # to compute one element of a free value
    leaves: dict[Value, frozenset[Value]] = {}  # what that reads
    for op in block.ops:
        match op.opdef.lowering:
            case Remap() if leaves.keys().isdisjoint(op.operands) and _worth_copying(op, readers, ranges):
                continue
            case Remap() | Constant() | Coordinate() | Extent():
                own = 0
            case View() if is_unit_move(op) and not _keeps(op):
                own = 0
            case Scalar(flops=own, stored=True):
                pass
            case Scalar(flops=own) if own <= MAX_FLOPS and all(v in leaves for v in op.operands):
                pass
            case _:
                continue
        # An operand that is stored is a leaf of its own.
        read = frozenset[Value]().union(*(leaves.get(v, (v,)) for v in op.operands))
        work = own + sum(flops.get(v, 0) for v in op.operands)
        if (
            isinstance(op.opdef.lowering, Scalar)
            and not reads_memory(op)
            and not _worth(op.result, read, work, ranges)
        ):
            continue
        found.add(op)
        flops[op.result] = work
        # More leaves than may be read are as good as the value itself being one, which is not small either.
        leaves[op.result] = read if len(read) <= MAX_LEAVES else frozenset((op.result,))
    return frozenset(found)


def _keeps(op: Op) -> bool:
    """Whether the op gives an array that the user asks to be kept; numbers lie in no memory."""
    return op.opdef.mark is Mark.SAVE and op.result.type.rank > 0


def _worth_copying(op: Op, readers: Mapping[Value, Sequence[Op]], ranges: Ranges) -> bool:
    """Whether a loop over a much larger array would read across memory what this moves, again and again."""
    if len(op.operands) != 1 or is_unit_move(op) or not _goes_across(op):
        return False
    nbytes = estimated_bytes(op.result.type, ranges)
    return any(
        _runs_along(reader) == reader.result.type.rank - 1
        and MIN_SHRINK * nbytes <= estimated_bytes(reader.result.type, ranges)
        for reader in _behind_units(op.result, readers)
        if isinstance(reader.opdef.lowering, Remap)
    )


def _behind_units(value: Value, readers: Mapping[Value, Sequence[Op]]) -> Iterator[Op]:
    """The ops that read a value, be it with other axes of one entry."""
    for reader in readers[value]:
        if is_unit_move(reader):
            yield from _behind_units(reader.result, readers)
        else:
            yield reader


def _goes_across(op: Op) -> bool:
    """Whether neighbours along the last axis of the result lie apart in the memory that it is read from."""
    piece = only_piece(op)
    axes = [axis for axis, n in enumerate(op.result.type.shape) if not dims.is_one(n)]
    if piece is None or not axes:
        return False
    step = 1
    for part, n in zip(reversed(piece.index), reversed(op.operands[0].type.shape), strict=True):
        if part.axis == axes[-1]:
            return part.divisor == 1 and part.scale * step != 1
        if not dims.is_known(n):
            return part.axis is not None
        step *= dims.known(n)
    return False


def _runs_along(op: Op) -> int | None:
    """The axis of the result along which memory is read in its order."""
    piece = only_piece(op)
    return None if piece is None or not piece.index or piece.index[-1].scale != 1 else piece.index[-1].axis


def _worth(result: Value, read: frozenset[Value], work: int, ranges: Ranges) -> bool:
    if work > MAX_FLOPS or len(read) > MAX_LEAVES:
        return False
    nbytes = sum(estimated_bytes(v.type, ranges) for v in read)
    return nbytes * MIN_SHRINK <= estimated_bytes(result.type, ranges)
