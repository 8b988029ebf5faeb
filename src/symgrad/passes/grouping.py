"""Which ops are computed in one loop: the groups of `fuse`.

Ops are placed from the last to the first, so that a value is computed where it is used and need not be
stored. Each group, and each op that stays alone, has a height: higher ones run first, and every dependence
between two groups goes strictly down. So no cycle can arise, and whether an op may join a group is one
comparison. An op that must read an array before an update writes over it is higher than the update, too.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from symgrad.ir import dims
from symgrad.ir.capacity import most_elements
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Ranges, Shape
from symgrad.ir.opdef import ArgReduce, Gather, Reduce, Scalar, Scatter, Update
from symgrad.ir.overwriting import is_unit_move, without_units
from symgrad.passes.members import is_member, space_of, stored_operands
from symgrad.passes.reads import Reads
from symgrad.passes.versions import Versions, harmless

# Ops in one kernel: keeps straight-line code of thousands of ops in pieces that compile in linear time.
MAX_GROUP_OPS = 200
# Elements of an iteration space so small that kernels are merged even if they read nothing in common.
SMALL_SPACE = 1024
# How many of the groups that came last are looked at for an op.
RECENT = 8


def is_small(space: Shape, ranges: Ranges) -> bool:
    """Whether starting a kernel over the space costs more than its work."""
    points = most_elements(space, ranges)
    return points is not None and points <= SMALL_SPACE


@dataclass(eq=False, slots=True)
class Group:
    """Ops that share one iteration space and become one kernel."""

    space: Shape
    height: int  # greater than that of every group that reads its results
    open: bool = True  # whether groups and ops that read the same may join
    update: Op | None = None  # the one op whose result is stored, if it writes over an array in places
    ops: list[Op] = field(default_factory=lambda: list[Op]())  # in no order, until it is complete

    @property
    def full(self) -> bool:
        """Whether the group takes no more ops."""
        return len(self.ops) >= MAX_GROUP_OPS


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

    def only(self, group: Group) -> bool:
        """Whether nobody but one group uses the value, at the point that it computes."""
        return self.group is group and self.next_height < 0 and not self.above and not self.stored_above


class Grouping:
    """The groups of a block, in which each member op and each stored free op has its place."""

    def __init__(
        self, found: Versions, reads: Reads, stored: Set[Value], ranges: Ranges, early: Set[Op] = frozenset()
    ) -> None:
        self.heights: dict[Op, int] = {}  # of the ops that stay alone
        self.groups: list[Group] = []
        self._reads = reads
        self._free = reads.free  # computed again wherever they are read
        self._pieces = found.pieces
        self._stored = stored  # results of free ops that must lie in memory
        self._ranges = ranges
        self._early = early  # ops that are placed where their operands are read, not their results
        self._results = frozenset(found.block.results)
        self._group_of: dict[Op, Group] = {}
        self._later: dict[Op, list[Op]] = {}  # those that an op must come before, though they do not read it
        for op, before in found.before.items():
            for first in before:
                self._later.setdefault(first, []).append(op)
        self._uses: dict[Value, _Uses] = {}
        self._readers: dict[Value, list[Group]] = {}  # the groups that read a value, last ones last
        self._recent: dict[Shape, list[Group]] = {}
        for op in reversed(found.block.ops):
            self._place(op)

    def _place(self, op: Op) -> None:
        if op in self._free:
            self._place_free(op)
        elif is_member(op) or op in self._pieces:
            self._join(op, self._best(op))
        else:
            above = max((self._of(result).least(None) for result in op.results), default=0)
            self.heights[op] = max(above, self._above_later(op, None))
            for operand in op.operands:
                self._store_above(operand, self.heights[op] + 1)

    def _place_free(self, op: Op) -> None:
        """A free op is cloned into its users, and has a place of its own only where it must be stored."""
        uses = self._of(op.result)
        highest = -1 if uses.group is None else uses.group.height
        for operand in op.operands:
            below = self._of(operand)
            below.above = max(below.above, uses.above, highest + 1)
        if op.result in self._stored:
            self._join(op, self._best(op))

    def _join(self, op: Op, group: Group) -> None:
        group.ops.append(op)
        self._group_of[op] = group
        moves = op in self._free or (op in self._pieces and not is_member(op))
        stored = () if moves else stored_operands(op, self._reads.makers)
        for k, operand in enumerate(op.operands):
            if operand in stored:
                self._store_above(operand, group.height + 1)
            elif op is group.update and k > 0:
                self._of(self._written(operand)).pointwise(group)
            elif moves or isinstance(op.opdef.lowering, Scatter | Update):
                uses = self._of(operand)
                uses.above = max(uses.above, group.height + 1)
            else:
                self._of(operand).pointwise(group)
            readers = self._readers.setdefault(operand, [])
            if not readers or readers[-1] is not group:
                readers.append(group)

    def _written(self, value: Value) -> Value:
        """What is written by an update, without the axes of one entry that the update needs."""
        maker = self._reads.makers.get(value)
        while maker is not None and maker in self._free and is_unit_move(maker):
            value = maker.operands[0]
            maker = self._reads.makers.get(value)
        return value

    def _best(self, op: Op) -> Group:
        """The group to join: that of the op's reader, else one that reads what it reads, else a new one."""
        uses, space = self._of(op.result), space_of(op)
        update = op if isinstance(op.opdef.lowering, Update) else None
        alone = update is not None or isinstance(op.opdef.lowering, Scatter)
        if not alone:
            for group in self._candidates(op, space):
                if self._fits(op, group, space):
                    return group
        least = uses.stored_above if op in self._free else uses.least(None)
        new = Group(space, max(least, self._above_later(op, None)), not alone, update)
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
        if is_small(space, self._ranges):
            found += reversed(self._recent.get(space, [])[-RECENT:])
        if reader is None:
            return found
        return [*found, reader] if op in self._early else [reader, *found]

    def _fits(self, op: Op, group: Group, space: Shape) -> bool:
        if group.full or group.height < self._above_later(op, group):
            return False
        if group.update is not None:
            return self._feeds(op, group, group.update)
        if not group.open or not dims.same(group.space, space):
            return False
        uses = self._of(op.result)
        if op in self._free:
            return group.height >= uses.stored_above
        # The result of a reduction is not there before its loop has ended.
        whole = isinstance(op.opdef.lowering, Reduce | ArgReduce)
        return group.height >= uses.least(None if whole else group)

    def _feeds(self, op: Op, group: Group, update: Op) -> bool:
        """Whether the op is computed for an update alone, from nothing that the update may have changed."""
        if not isinstance(op.opdef.lowering, Scalar | Gather) or op.result in self._results:
            return False
        if not dims.same(without_units(group.space), without_units(op.result.type.shape)):
            return False
        if not self._of(op.result).only(group):
            return False
        array = self._reads.roots[update.operands[0]]
        reads = [read for read in self._reads.by(op) if read.root is array]
        return all(read.through is not None and harmless(update, read, self._ranges) for read in reads)

    def _above_later(self, op: Op, joined: Group | None) -> int:
        """The least height of an op for the sake of those that it must come before."""
        found = 0
        for later in self._later.get(op, ()):
            group = self._group_of.get(later)
            if group is not None and group is not joined:
                found = max(found, group.height + 1)
            # A free op has no height but those of its users.
            found = max(found, self.heights.get(later, -1) + 1)
        return found

    def _store_above(self, value: Value, height: int) -> None:
        uses = self._of(value)
        uses.stored_above = max(uses.stored_above, height)

    def _of(self, value: Value) -> _Uses:
        return self._uses.setdefault(value, _Uses())
