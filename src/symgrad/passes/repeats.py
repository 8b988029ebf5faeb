"""Arithmetic that is done again at the points of those who read it, rather than stored.

Neighbours on a grid read each other at other points than they are made at. To write an array and to read it
again takes longer than some additions, so a value that is read through a shift is computed from the arrays
behind it wherever it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass

from symgrad.ir.analysis import defs
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.opdef import Component, Remap, Scalar
from symgrad.ir.overwriting import is_unit_move
from symgrad.passes.cost import FLOP, moving
from symgrad.passes.members import reads_memory, stored_operands

MAX_FLOPS = 40  # additions for an element
MAX_LEAVES = 4  # arrays that it is computed from


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How an element is computed from elements of stored arrays."""

    leaves: frozenset[Value]  # the stored arrays
    steps: frozenset[tuple[Op, tuple[Op, ...]]]  # the ops, each with the moves between it and the element

    @property
    def flops(self) -> int:
        """Additions; an op at one point counts once."""
        return sum(op.opdef.lowering.flops for op, _ in self.steps if isinstance(op.opdef.lowering, Scalar))


class Repeats:
    """What of a block may be done again at other points, given what is done wherever it is read."""

    def __init__(self, block: Block, free: Set[Op], ranges: Ranges) -> None:
        self._block, self._free, self._ranges = block, free, ranges
        self._makers = defs(block)
        self._stored = {
            v for op in block.ops if op not in free or reads_memory(op) for v in self._in_memory(op)
        }
        self._stored.update(block.results)

    def _in_memory(self, op: Op) -> tuple[Value, ...]:
        """The operands that an op which is not free reads in memory; a stored move copies from there."""
        return op.operands if isinstance(op.opdef.lowering, Remap) else stored_operands(op, self._makers)

    def at_other_points(self) -> frozenset[Op]:
        """The ops that are done again for those who read their results through a shift."""
        shifts = Counter(
            v for op in self._block.ops if op in self._free and is_shift(op) for v in op.operands
        )
        found: set[Op] = set()
        for v, readers in shifts.items():
            if v in self._makers and self._makers[v] not in found:
                found |= self.ops_for(v, readers)
        return frozenset(found)

    def ops_for(self, value: Value, readers: int) -> Set[Op]:
        """The ops that compute a value at the points of so many readers; none if it had better be stored."""
        maker = self._makers.get(value)
        if maker is None or value in self._stored or not _repeats(maker):
            return frozenset()
        recipe = self._recipe(maker)
        if recipe is None or not self._pays(value, recipe, readers):
            return frozenset()
        return {op for op, _ in recipe.steps}

    def _recipe(self, op: Op) -> _Recipe | None:
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
                inner = self._makers.get(v)
                if inner is not None and (inner in self._free or (v not in self._stored and _repeats(inner))):
                    pending.append((inner, beyond))
                else:
                    leaves.add(v)
            if len(steps) > MAX_FLOPS or len(leaves) > MAX_LEAVES:
                return None
        recipe = _Recipe(frozenset(leaves), frozenset(steps))
        return recipe if recipe.flops <= MAX_FLOPS else None

    def _pays(self, value: Value, recipe: _Recipe, readers: int) -> bool:
        """Whether computing a value for each reader takes less than to write it and to read it."""
        nbytes = estimated_bytes(value.type, self._ranges)
        read = sum(estimated_bytes(v.type, self._ranges) for v in recipe.leaves)
        return readers * (FLOP * recipe.flops * nbytes + moving(read)) < (2 + readers) * moving(nbytes)


def _repeats(op: Op) -> bool:
    """Whether the op may be done more than once."""
    return isinstance(op.opdef.lowering, Scalar) and op.opdef.lowering.demand is None


def is_shift(op: Op) -> bool:
    """Whether a move reads at other points, along the same axes in the same order and direction."""
    if not isinstance(op.opdef.lowering, Remap) or is_unit_move(op):
        return False
    pieces = op.opdef.lowering.pieces(tuple(v.type for v in op.operands), op.result.type, dict(op.attrs))
    return all(
        len(piece.index) == op.result.type.rank
        and all(part == Component(axis, 1, part.offset) for axis, part in enumerate(piece.index))
        for piece in pieces
    )
