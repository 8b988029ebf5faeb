"""Which ops are computed in one loop: the groups of `fuse`.

Ops are placed from the last to the first, so that a value is computed where it is used and need not be
stored. Each group, and each op that stays alone, has a height: higher ones run first, and every dependence
between two groups goes strictly down. So no cycle can arise, and whether an op may join a group is one
comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from symgrad.ir import dims
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Shape
from symgrad.ir.opdef import (
    ArgReduce,
    Constant,
    Contract,
    Control,
    Coordinate,
    Gather,
    Reduce,
    Remap,
    Scalar,
    ScatterAdd,
    View,
)

# Ops in one kernel: keeps straight-line code of thousands of ops in pieces that compile in linear time.
MAX_GROUP_OPS = 200
# Elements of an iteration space so small that kernels are merged even if they read nothing in common.
SMALL_SPACE = 1024
# How many of the groups that came last are looked at for an op.
RECENT = 8


def is_member(op: Op) -> bool:
    """Whether the op is computed in a loop, and so belongs to a group."""
    return isinstance(op.opdef.lowering, Scalar | Reduce | ArgReduce | Gather | ScatterAdd)


def space_of(op: Op) -> Shape:
    """The iteration space: the points at which the op does its work."""
    match op.opdef.lowering:
        case Reduce() | ArgReduce():
            return op.operands[0].type.shape
        case Scalar() | Gather() | ScatterAdd() | Remap() | View() | Contract() | Constant() | Coordinate():
            return op.result.type.shape
        case Control():
            return ()
        case _:
            assert_never(op.opdef.lowering)


def stored_operands(op: Op, makers: dict[Value, Op]) -> tuple[Value, ...]:
    """The operands that must lie in memory, not be computed at a point."""
    match op.opdef.lowering:
        case View() | Contract() | Control() | Gather():
            return op.operands
        case ScatterAdd():
            # What is added to may be a constant; it is written once before anything is added.
            x = makers.get(op.operands[0])
            constant = x is not None and isinstance(x.opdef.lowering, Constant)
            return op.operands[1:] if constant else op.operands
        case Scalar() | Reduce() | ArgReduce() | Remap() | Constant() | Coordinate():
            return ()
        case _:
            assert_never(op.opdef.lowering)


@dataclass(eq=False, slots=True)
class Group:
    """Ops that share one iteration space and become one kernel."""

    space: Shape
    height: int  # greater than that of every group that reads its results
    open: bool = True  # whether more ops may join
    ops: list[Op] = field(default_factory=lambda: list[Op]())  # in no order, until it is complete

    @property
    def full(self) -> bool:
        """Whether the group takes no more ops."""
        return not self.open or len(self.ops) >= MAX_GROUP_OPS


@dataclass(slots=True)
class _Uses:
    """What the users of a value that are placed already ask of its producer."""

    above: int = 0  # least height, for users that read at other points or need the whole value first
    stored_above: int = 0  # the same, for users that need it in memory
    group: Group | None = None  # the highest of the groups that read it at the same point
    next_height: int = -1  # of the second highest of these

    def pointwise(self, group: Group) -> None:
        """Note a use at the same point."""
        if self.group is group:
            return
        if self.group is None or group.height > self.group.height:
            self.next_height = -1 if self.group is None else self.group.height
            self.group = group
        else:
            self.next_height = max(self.next_height, group.height)

    def least(self, joined: Group | None) -> int:
        """The least height of a producer; those who read it at the same point may be in its own group."""
        highest = -1 if self.group is None else self.group.height
        others = self.next_height if self.group is joined else highest
        return max(self.above, self.stored_above, others + 1)


class Grouping:
    """The groups of a block, in which each member op and each stored free op has its place."""

    def __init__(
        self, block: Block, makers: dict[Value, Op], free: frozenset[Op], stored: set[Value]
    ) -> None:
        self.makers = makers
        self.free = free  # computed again wherever they are read
        self.stored = stored  # results of free ops that must lie in memory
        self.groups: list[Group] = []
        self.heights: dict[Op, int] = {}  # of the ops that stay alone
        self._uses: dict[Value, _Uses] = {}
        self._readers: dict[Value, list[Group]] = {}  # the groups that read a value, last ones last
        self._recent: dict[Shape, list[Group]] = {}
        for op in reversed(block.ops):
            self._place(op)

    def _place(self, op: Op) -> None:
        if op in self.free:
            self._place_free(op)
        elif is_member(op):
            self._join(op, self._best(op))
        else:
            height = max((self._of(result).least(None) for result in op.results), default=0)
            self.heights[op] = height
            for operand in op.operands:
                self._store_above(operand, height + 1)

    def _place_free(self, op: Op) -> None:
        """A free op is cloned into its users, and has a place of its own only where it must be stored."""
        uses = self._of(op.result)
        highest = -1 if uses.group is None else uses.group.height
        for operand in op.operands:
            below = self._of(operand)
            below.above = max(below.above, uses.above, highest + 1)
        if op.result in self.stored:
            self._join(op, self._best(op))

    def _join(self, op: Op, group: Group) -> None:
        group.ops.append(op)
        stored = stored_operands(op, self.makers)
        for operand in op.operands:
            if operand in stored:
                self._store_above(operand, group.height + 1)
            elif op in self.free or isinstance(op.opdef.lowering, ScatterAdd):
                uses = self._of(operand)
                uses.above = max(uses.above, group.height + 1)
            else:
                self._of(operand).pointwise(group)
            readers = self._readers.setdefault(operand, [])
            if not readers or readers[-1] is not group:
                readers.append(group)

    def _best(self, op: Op) -> Group:
        """The group to join: that of the op's reader, else one that reads what it reads, else a new one."""
        uses, space = self._of(op.result), space_of(op)
        alone = isinstance(op.opdef.lowering, ScatterAdd)
        if not alone:
            for group in self._candidates(op, space):
                if self._fits(op, group, space):
                    return group
        new = Group(space, uses.stored_above if op in self.free else uses.least(None), open=not alone)
        self.groups.append(new)
        self._recent.setdefault(space, []).append(new)
        return new

    def _candidates(self, op: Op, space: Shape) -> list[Group]:
        """Groups to try, the best one first."""
        reader = self._of(op.result).group
        shared: dict[Group, int] = {}
        for operand in op.operands:
            for group in self._readers.get(operand, [])[-RECENT:]:
                shared[group] = shared.get(group, 0) + 1
        found = sorted(shared, key=lambda group: (-shared[group], group.height))
        if dims.known(dims.product(space)) <= SMALL_SPACE:
            found += reversed(self._recent.get(space, [])[-RECENT:])
        return found if reader is None else [reader, *found]

    def _fits(self, op: Op, group: Group, space: Shape) -> bool:
        if group.full or not dims.same(group.space, space):
            return False
        uses = self._of(op.result)
        if op in self.free:
            return group.height >= uses.stored_above
        # The result of a reduction is not there before its loop has ended.
        whole = isinstance(op.opdef.lowering, Reduce | ArgReduce)
        return group.height >= uses.least(None if whole else group)

    def _store_above(self, value: Value, height: int) -> None:
        uses = self._of(value)
        uses.stored_above = max(uses.stored_above, height)

    def _of(self, value: Value) -> _Uses:
        return self._uses.setdefault(value, _Uses())
