"""Which ops can run for some rows at a time: the region that one loop over blocks of rows takes in.

A *row* is an entry along an axis of a given size that runs through the ops of the region. Forward from the
params, an op belongs to the region if it works along that axis side by side: what it reads of the region are
rows of one axis, everything else is there before and is read whole or in slices. What it makes are rows
again, or a sum over them, which is there when the loop has ended. So an op that needs a sum, or rows as a
whole, comes after the loop, and so does all that depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
    region = RowRegion(size)
    late: set[Value] = set()  # results of the ops that come after, and sums
    names: set[str | None] = set()  # that ops which come after bind
    for op in block.ops:
        waits = not late.isdisjoint(op.operands) or not names.isdisjoint(mentioned(op))
        member = None if waits else _member(op, region)
        if member is not None:
            region.members.append(member)
            if member.axis is None:
                region.sums[op.result] = op
                late.add(op.result)
            else:
                region.rows[op.result] = member.axis
        elif waits or any(v in region.rows for v in op.operands):
            region.after.append(op)
            late.update(op.results)
            names.update([bound_by(op)] if binds_after(op) else [])
        else:
            region.before.append(op)
    return _with_copies(region, block)


def _member(op: Op, region: RowRegion) -> Member | None:
    """How the op runs in the region; None if it does not."""
    if len(op.results) != 1 or (names := axis_names(op)) is None:
        return None
    name = _name_of_rows(op, names, region)
    if name is None or not names.is_split(name):
        return None
    sliced = tuple(found.index(name) if name in found else None for found in names.operands)
    if any(region.rows.get(v, axis) != axis for v, axis in zip(op.operands, sliced, strict=True)):
        return None
    return Member(op, sliced, names.result.index(name) if name in names.result else None)


def _name_of_rows(op: Op, names: AxisNames, region: RowRegion) -> int | None:
    """The name of the axis along which the op has rows: that of the rows it reads, else one of their size."""
    for v, found in zip(op.operands, names.operands, strict=True):
        if v in region.rows:
            return found[region.rows[v]]
    shaped = [*zip(op.operands, names.operands, strict=True), (op.result, names.result)]
    return next(
        (
            name
            for v, found in shaped
            for name, n in zip(found, v.type.shape, strict=True)
            if name is not None and dims.equal(n, region.size) and names.is_split(name)
        ),
        None,
    )


def _with_copies(region: RowRegion, block: Block) -> RowRegion:
    """The region with what its ops of no cost make of nothing that it reads made before the loop, as well.

    A move or a number costs nothing where it is read, while rows that leave the region are stored.
    """
    wanted = {v for op in region.after for v in op.operands}.union(block.results)
    again: list[Op] = []
    for member in reversed(region.members):
        op = member.op
        if op.result in wanted and _is_free(op) and all(_again(v, region) for v in op.operands):
            again.append(op)
            wanted.update(op.operands)
    region.before += reversed(again)
    return region


def _again(value: Value, region: RowRegion) -> bool:
    """Whether a value is there before the loop, or can be."""
    maker = next((m.op for m in region.members if m.op.result is value), None)
    return maker is None or (_is_free(maker) and all(_again(v, region) for v in maker.operands))


def escaping(region: RowRegion, block: Block) -> Iterator[Value]:
    """The rows that are needed whole, after the loop, in order."""
    there = {v for op in region.before for v in op.results}
    wanted = {v for op in region.after for v in op.operands}.union(block.results)
    yield from (v for v in region.rows if v in wanted and v not in there)


def _is_free(op: Op) -> bool:
    return isinstance(op.opdef.lowering, Remap | View | Constant | Coordinate | Extent)
