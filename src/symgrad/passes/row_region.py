"""Which ops can run for some rows at a time: the region that one loop over blocks of rows takes in.

A *row* is an entry along an axis of a given size that runs through the ops of the region. Forward from the
params, an op belongs to the region if it works along that axis side by side: what it reads of the region are
rows of one axis, everything else is there before and is read whole or in slices. What it makes are rows
again, or a sum over them, which is there when the loop has ended. So an op that needs a sum, or rows as a
whole, comes after the loop, and so does all that depends on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from symgrad.ir import dims
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.index_names import binds_after, bound_by, mentioned
from symgrad.ir.opdef import Constant, Coordinate, Extent, Remap, View
from symgrad.passes.axis_names import AxisNames, axis_names


@dataclass(frozen=True, slots=True)
class Member:
    """How an op runs for some rows."""

    op: Op
    sliced: tuple[int | None, ...]  # for each operand, the axis of its rows; None for one that is read whole
    axis: int | None  # of the rows of the result; None for a sum over rows


@dataclass(slots=True)
class RowRegion:
    """Ops that run for some of `size` rows at a time."""

    size: int
    members: list[Member] = field(default_factory=lambda: list[Member]())  # in order
    rows: dict[Value, int] = field(default_factory=lambda: dict[Value, int]())  # made in it: the rows' axis
    sums: dict[Value, Op] = field(default_factory=lambda: dict[Value, Op]())  # made in it: sums over rows
    after: list[Op] = field(default_factory=lambda: list[Op]())  # what has to come after the loop
    before: list[Op] = field(default_factory=lambda: list[Op]())  # and what comes before it


def row_region(block: Block, size: int) -> RowRegion:
    """The ops of a block that can run for some rows at a time, where rows are `size` in number."""
    growing = _Growing(RowRegion(size))
    for op in block.ops:
        growing.take(op)
    return growing.region


class _Growing:
    """A region, and what became of the ops so far.

    What costs nothing and reads nothing of the region is there before it. Some rows of it are made again
    inside, along the axis that whoever reads them has its rows along.
    """

    def __init__(self, region: RowRegion) -> None:
        self.region = region
        self.late: set[Value] = set()  # results of the ops that come after, and sums
        self.names: set[str | None] = set()  # that ops which come after bind
        self.free: dict[Value, Op] = {}  # what costs nothing, before the region
        self.again: dict[tuple[Value, int], Value] = {}  # the rows of it that are made inside, by their axis

    def take(self, op: Op) -> None:
        """Put an op where it belongs."""
        region = self.region
        waits = not self.late.isdisjoint(op.operands) or not self.names.isdisjoint(mentioned(op))
        inside = any(v in region.rows for v in op.operands)
        if not waits and not inside and is_free(op):
            self.free[op.result] = op
            region.before.append(op)
            return
        member = None if waits else self._member(op)
        if member is not None:
            self._join(member, op.result)
        elif waits or inside:
            region.after.append(op)
            self.late.update(op.results)
            self.names.update([bound_by(op)] if binds_after(op) else [])
        else:
            region.before.append(op)

    def _join(self, member: Member, result: Value) -> None:
        self.region.members.append(member)
        if member.axis is None:
            self.region.sums[result] = member.op
            self.late.add(result)
        else:
            self.region.rows[result] = member.axis

    def _member(self, op: Op) -> Member | None:
        """How the op runs in the region; None if it does not."""
        if len(op.results) != 1 or (names := axis_names(op)) is None:
            return None
        name = self._name_of_rows(op, names)
        if name is None or not names.is_split(name):
            return None
        sliced = tuple(found.index(name) if name in found else None for found in names.operands)
        rows = self.region.rows
        if any(rows.get(v, axis) != axis for v, axis in zip(op.operands, sliced, strict=True)):
            return None
        operands = tuple(self._rows_of(v, axis) for v, axis in zip(op.operands, sliced, strict=True))
        axis = names.result.index(name) if name in names.result else None
        return Member(op if operands == op.operands else replace(op, operands=operands), sliced, axis)

    def _name_of_rows(self, op: Op, names: AxisNames) -> int | None:
        """The name of the axis of the op's rows: that of the rows it reads, else one of their size."""
        for v, found in zip(op.operands, names.operands, strict=True):
            if v in self.region.rows:
                return found[self.region.rows[v]]
        shaped = [*zip(op.operands, names.operands, strict=True), (op.result, names.result)]
        return next(
            (
                name
                for v, found in shaped
                for name, n in zip(found, v.type.shape, strict=True)
                if name is not None and dims.equal(n, self.region.size) and names.is_split(name)
            ),
            None,
        )

    def _rows_of(self, v: Value, axis: int | None) -> Value:
        """The value of which rows are read: one made inside if it costs nothing, else the value itself."""
        op = self.free.get(v)
        if op is None or axis is None:
            return v
        if (v, axis) not in self.again:
            member = self._along(op, axis)
            if member is None:
                return v
            self._join(member, member.op.result)
            self.again[v, axis] = member.op.result
        return self.again[v, axis]

    def _along(self, op: Op, axis: int) -> Member | None:
        """An op that costs nothing, made again for rows along an axis of its result; None if it cannot be."""
        names = axis_names(op)
        name = None if names is None else names.result[axis]
        if names is None or name is None or not names.is_split(name):
            return None
        sliced = tuple(found.index(name) if name in found else None for found in names.operands)
        operands = tuple(self._rows_of(v, k) for v, k in zip(op.operands, sliced, strict=True))
        return Member(replace(op, operands=operands, results=(replace(op.result),)), sliced, axis)


def escaping(region: RowRegion, block: Block) -> Iterator[Value]:
    """The rows that are needed whole, after the loop, in order."""
    wanted = {v for op in region.after for v in op.operands}.union(block.results)
    yield from (v for v in region.rows if v in wanted)


def bytes_by_rows(block: Block, least: int) -> Counter[int]:
    """For each number of rows, the bytes of the arrays that have so many, if they are at least so large."""
    found: Counter[int] = Counter()
    for v in dict.fromkeys(v for op in block.ops for v in (*op.operands, *op.results)):
        if dims.is_known(v.type.nbytes) and dims.known(v.type.nbytes) >= least:
            for n in dict.fromkeys(map(dims.known, v.type.shape)):
                found[n] += dims.known(v.type.nbytes)
    return found


def is_free(op: Op) -> bool:
    """Whether an op costs nothing where its result is read."""
    return isinstance(op.opdef.lowering, Remap | View | Constant | Coordinate | Extent)
