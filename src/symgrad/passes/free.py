"""Which ops are computed again wherever they are read, because that costs less than storing them.

Moves, constants and ramps always are. So is cheap arithmetic on arrays much smaller than its result, such as
the differences of all pairs: an n×n array that is a function of two vectors never exists. And so is
arithmetic whose result others read at other points, as neighbours on a grid do, where writing it and reading
it again would take longer than computing it twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass

from symgrad.ir.analysis import defs
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.opdef import Component, Constant, Coordinate, Extent, Remap, Scalar, View
from symgrad.ir.overwriting import is_unit_move
from symgrad.passes.cost import FLOP, moving
from symgrad.passes.members import stored_operands

# What may be computed again for an element: additions, arrays read, and how much smaller these are.
MAX_FLOPS = 8
MAX_LEAVES = 4
MIN_SHRINK = 8
MAX_REPEATED = 40  # additions for an element that is computed at several points


def free_ops(block: Block, ranges: Ranges) -> frozenset[Op]:
    """The ops of a block that are computed wherever they are read."""
    small = _from_less(block, ranges)
    return small | _at_other_points(block, small, ranges)


def _from_less(block: Block, ranges: Ranges) -> frozenset[Op]:
    """Moves and numbers, and cheap arithmetic on little."""
    found: set[Op] = set()
    flops: dict[Value, int] = {}  # to compute one element of a free value
    leaves: dict[Value, frozenset[Value]] = {}  # what that reads
    for op in block.ops:
        match op.opdef.lowering:
            case Remap() | Constant() | Coordinate() | Extent():
                own = 0
            case View() if is_unit_move(op):
                own = 0
            case Scalar(flops=own) if own <= MAX_FLOPS and all(v in leaves for v in op.operands):
                pass
            case _:
                continue
        # An operand that is stored is a leaf of its own.
        read = frozenset[Value]().union(*(leaves.get(v, (v,)) for v in op.operands))
        work = own + sum(flops.get(v, 0) for v in op.operands)
        if isinstance(op.opdef.lowering, Scalar) and not _worth(op.result, read, work, ranges):
            continue
        found.add(op)
        flops[op.result] = work
        # More leaves than may be read are as good as the value itself being one, which is not small either.
        leaves[op.result] = read if len(read) <= MAX_LEAVES else frozenset((op.result,))
    return frozenset(found)


def _worth(result: Value, read: frozenset[Value], work: int, ranges: Ranges) -> bool:
    if work > MAX_FLOPS or len(read) > MAX_LEAVES:
        return False
    nbytes = sum(estimated_bytes(v.type, ranges) for v in read)
    return nbytes * MIN_SHRINK <= estimated_bytes(result.type, ranges)


# ---- what is read at other points -------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Recipe:
    """How an element is computed from elements of stored arrays."""

    leaves: frozenset[Value]  # the stored arrays
    steps: frozenset[tuple[Op, tuple[Op, ...]]]  # the ops, each with the moves between it and the element

    @property
    def work(self) -> int:
        """Additions; an op at one point counts once."""
        return sum(op.opdef.lowering.flops for op, _ in self.steps if isinstance(op.opdef.lowering, Scalar))


def _at_other_points(block: Block, free: frozenset[Op], ranges: Ranges) -> frozenset[Op]:
    """The arithmetic that is computed again for those who read it elsewhere than it is made."""
    makers = defs(block)
    shifts = Counter(v for op in block.ops if op in free and shifts_points(op) for v in op.operands)
    shifted = [op for v in shifts if (op := makers.get(v)) is not None and _repeats(op)]
    if not shifted:
        return frozenset()
    stored = {v for op in block.ops if op not in free for v in stored_operands(op, makers)}
    stored.update(block.results)
    found: set[Op] = set()
    for op in shifted:
        recipe = None if op.result in stored or op in found else _recipe(op, free, makers, stored)
        if recipe is not None and _worth_repeating(op.result, recipe, shifts[op.result], ranges):
            found.update(step for step, _ in recipe.steps)
    return frozenset(found)


def _repeats(op: Op) -> bool:
    """Whether the op may be done more than once."""
    return isinstance(op.opdef.lowering, Scalar) and op.opdef.lowering.demand is None


def _recipe(op: Op, free: frozenset[Op], makers: Mapping[Value, Op], stored: Set[Value]) -> _Recipe | None:
    """How the result of an op is computed; None if that takes too much."""
    steps: set[tuple[Op, tuple[Op, ...]]] = set()
    leaves: set[Value] = set()
    pending: list[tuple[Op, tuple[Op, ...]]] = [(op, ())]
    while pending:
        step = pending.pop()
        if step in steps:
            continue
        steps.add(step)
        maker, moves = step
        beyond = moves if isinstance(maker.opdef.lowering, Scalar) else (*moves, maker)
        for v in maker.operands:
            inner = makers.get(v)
            if inner is not None and (inner in free or (v not in stored and _repeats(inner))):
                pending.append((inner, beyond))
            else:
                leaves.add(v)
        if len(steps) > MAX_REPEATED or len(leaves) > MAX_LEAVES:
            return None
    recipe = _Recipe(frozenset(leaves), frozenset(steps))
    return recipe if recipe.work <= MAX_REPEATED else None


def shifts_points(op: Op) -> bool:
    """Whether a move reads at other points, along the same axes in the same order and direction."""
    if not isinstance(op.opdef.lowering, Remap) or is_unit_move(op):
        return False
    pieces = op.opdef.lowering.pieces(tuple(v.type for v in op.operands), op.result.type, dict(op.attrs))
    return all(
        len(piece.index) == op.result.type.rank
        and all(part == Component(axis, 1, part.offset) for axis, part in enumerate(piece.index))
        for piece in pieces
    )


def _worth_repeating(value: Value, recipe: _Recipe, readers: int, ranges: Ranges) -> bool:
    """Whether to compute a value at the points of its readers takes less than to write and to read it."""
    nbytes = estimated_bytes(value.type, ranges)
    read = sum(estimated_bytes(v.type, ranges) for v in recipe.leaves)
    return readers * (FLOP * recipe.work * nbytes + moving(read)) < (2 + readers) * moving(nbytes)
