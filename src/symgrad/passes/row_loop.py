"""The loop that runs a region of rows a block at a time, and what makes its results whole.

All full blocks have one body; what remains runs once more, after the loop. Rows that are needed whole are
stacked. A sum over rows is added up over the blocks in a carry or, where that costs next to nothing, its
parts are stacked and summed like any other sum, with all the precision of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Contract, Remap
from symgrad.ir.ops import constant
from symgrad.ir.ops.elementwise import add
from symgrad.ir.ops.reductions import sum_
from symgrad.ir.ops.shapes import concat, reshape, slice_, transpose
from symgrad.ir.regions import ForLoop, for_op
from symgrad.ir.types import ArrayType
from symgrad.passes.literals import literal
from symgrad.passes.row_region import Member, RowRegion

# The parts of a sum are stacked if the operands of one block have at least so many times the sum's bytes.
MIN_SHRINK = 16

Source = Callable[[Value, "int | None"], Value]  # a value from outside: some rows along an axis, or whole


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a region is cut."""

    region: RowRegion
    size: int  # rows in a block
    whole: Sequence[Value]  # the rows that are needed whole

    @property
    def count(self) -> int:
        """How many blocks are full."""
        return self.region.size // self.size

    @property
    def rest(self) -> int:
        """The rows beyond the full blocks."""
        return self.region.size % self.size


def emit_blocks(blocks: Blocks, index: str, builder: Builder) -> dict[Value, Value]:
    """What stands for the values of the region that are needed after it, appended to the builder."""
    region = blocks.region
    stacked = [m.op.result for m in region.members if m.axis is None and _is_stacked(m, blocks)]
    carried = [v for v in region.sums if v not in stacked]
    found = _loop(blocks, index, carried, stacked, builder)
    if blocks.rest:
        done = blocks.count * blocks.size
        rest = emit_rows(
            region, blocks.rest, builder, lambda v, axis: _cut(v, axis, done, blocks.rest, builder)
        )
        for v in blocks.whole:
            found[v] = builder.emit(concat, (found[v], rest[v]), {"axis": region.rows[v]}, hint=v.hint)
        for v in region.sums:
            found[v] = builder.emit(add, (found[v], rest[v]), hint=v.hint)
    return found


def _is_stacked(member: Member, blocks: Blocks) -> bool:
    """Whether the parts of a sum are stacked."""
    if isinstance(member.op.opdef.lowering, Contract):
        return False  # BLAS adds up as it likes, in the carry as well as anywhere
    read = sum(
        dims.known(v.type.nbytes) // (1 if axis is None else blocks.count)
        for v, axis in zip(member.op.operands, member.sliced, strict=True)
    )
    return dims.known(member.op.result.type.nbytes) * MIN_SHRINK <= read


# ---- all full blocks --------------------------------------------------------------------------------------
def _loop(
    blocks: Blocks, index: str, carried: Sequence[Value], stacked: Sequence[Value], builder: Builder
) -> dict[Value, Value]:
    """The values of the region that are needed after it, as the full blocks make them."""
    inside = _Inside(blocks, dims.mul(dims.index(index), blocks.size), builder)
    made = emit_rows(blocks.region, blocks.size, inside.builder, inside.source)
    params = [Value(v.type, v.hint) for v in carried]
    totals = [inside.builder.emit(add, (p, made[v])) for p, v in zip(params, carried, strict=True)]
    rows = [made[v] for v in (*blocks.whole, *stacked)]
    body = inside.builder.block([*params, *inside.constants, *inside.xs], [*totals, *rows])
    zeros = [builder.emit(constant, (), {"value": literal(0, v.type.dtype)}, v.type) for v in carried]
    loop = ForLoop(
        index, 0, blocks.count, False, tuple(zeros), tuple(inside.constants.values()),
        tuple(inside.xs.values()), body,
    )  # fmt: skip
    builder.append(for_op(loop, blocks.region.members[0].op.loc))
    results = dict(zip((*carried, *blocks.whole, *stacked), builder.ops[-1].results, strict=True))
    for v in blocks.whole:
        results[v] = _joined(results[v], blocks.region.rows[v], builder)
    for v in stacked:
        results[v] = builder.emit(sum_, (results[v],), {"axes": (0,)}, hint=v.hint)
    return results


@dataclass(slots=True)
class _Inside:
    """The body of the loop, and what it is given."""

    blocks: Blocks
    start: Dim  # the first row of this block
    outside: Builder
    builder: Builder = field(default_factory=Builder)
    constants: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())  # by param
    xs: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())  # by param
    known: dict[tuple[Value, int | None], Value] = field(
        default_factory=lambda: dict[tuple[Value, int | None], Value]()
    )

    def source(self, value: Value, axis: int | None) -> Value:
        """A value from outside in the body."""
        if (value, axis) not in self.known:
            self.known[value, axis] = self._given(value, axis)
        return self.known[value, axis]

    def _given(self, value: Value, axis: int | None) -> Value:
        size, count = self.blocks.size, self.blocks.count
        if axis == 0 and not self.blocks.rest:
            # A row of blocks lies where it is: nothing is copied.
            shape = (count, size, *value.type.shape[1:])
            stack = self.outside.emit(reshape, (value,), {}, value.type.with_shape(shape))
            param = Value(value.type.with_shape(shape[1:]), value.hint)
            self.xs[param] = stack
            return param
        if axis is not None:
            return _cut(self.source(value, None), axis, self.start, size, self.builder)
        param = Value(value.type, value.hint)
        self.constants[param] = value
        return param


def _joined(stack: Value, axis: int, builder: Builder) -> Value:
    """A stack of blocks of rows as all the rows, along an axis of theirs."""
    rank = stack.type.rank - 1
    if axis:
        perm = (*range(1, axis + 1), 0, *range(axis + 1, rank + 1))
        stack = builder.emit(transpose, (stack,), {"perm": perm})
    shape = list(stack.type.shape)
    shape[axis : axis + 2] = [dims.mul(shape[axis], shape[axis + 1])]
    return builder.emit(reshape, (stack,), {}, stack.type.with_shape(tuple(shape)), hint=stack.hint)


def _cut(value: Value, axis: int | None, start: Dim, size: int, builder: Builder) -> Value:
    """Some rows of a value along an axis; the value itself if it is read whole."""
    if axis is None:
        return value
    starts = tuple(start if k == axis else 0 for k in range(value.type.rank))
    stops = tuple(dims.add(start, size) if k == axis else n for k, n in enumerate(value.type.shape))
    attrs: dict[str, Attr] = {"start": starts, "stop": stops, "step": (1,) * len(starts)}
    return builder.emit(slice_, (value,), attrs, hint=value.hint)


# ---- one block --------------------------------------------------------------------------------------------
def emit_rows(region: RowRegion, size: int, builder: Builder, source: Source) -> dict[Value, Value]:
    """The values of the region for so many rows: their rows, and their parts of its sums."""
    made: dict[Value, Value] = {}
    for member in region.members:
        op = member.op
        operands = tuple(
            made[v] if v in made else source(v, axis)
            for v, axis in zip(op.operands, member.sliced, strict=True)
        )
        attrs = dict(op.attrs)
        if isinstance(op.opdef.lowering, Remap) and member.axis is not None:
            attrs = op.opdef.lowering.resized(attrs, member.axis, size)
        wanted = _resized(op.result.type, member.axis, size)
        found = builder.emit(op.opdef, operands, attrs, wanted, loc=op.loc, hint=op.result.hint)
        if found.type != wanted:
            raise InternalError(f"{size} rows of {op.opdef.name} are {found.type}, not {wanted}", loc=op.loc)
        made[op.result] = found
    return made


def _resized(type: ArrayType, axis: int | None, size: int) -> ArrayType:
    if axis is None:
        return type
    return type.with_shape((*type.shape[:axis], size, *type.shape[axis + 1 :]))
