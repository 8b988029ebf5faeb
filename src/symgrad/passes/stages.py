"""The stages of a block: what can be computed in one loop, as soon as the loops before it have run.

The stage of a value is how many contractions, reductions and other ops that end a loop come before it on the
longest way. A value that an op of a later stage reads *crosses*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from symgrad.ir.analysis import defs
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.opdef import Remap, Scalar
from symgrad.ir.overwriting import is_alias, is_unit_move
from symgrad.passes.cost import FLOP, rate
from symgrad.passes.members import stored_operands
from symgrad.passes.versions import overwritten


@dataclass(eq=False, slots=True)
class Reader:
    """How a value is read; sets of stages are bits."""

    stage: int
    nbytes: int  # of the value, if it is stored
    early: bool = False  # whether its own stage needs it
    stored: bool = False  # whether its own stage needs it in memory
    fixed: bool = False  # whether an update may write over it, so that nobody may read it later than now
    together: list[Op] = field(default_factory=lambda: list[Op]())  # ops of its stage that go where it goes
    later: int = 0  # the later stages that read it
    reached: int = 0  # and those that read what is computed together with it
    in_memory: bool = False  # whether one of these needs it in memory


class Stages:
    """The values of a block with their stages and readers; `free` ops are computed wherever they are read."""

    def __init__(self, block: Block, free: frozenset[Op], ranges: Ranges) -> None:
        self.block, self.free, self.ranges = block, free, ranges
        self.makers: dict[Value, Op] = defs(block)
        self.of: dict[Value, Reader] = {v: self._reader(v, 0) for v in block.params}
        self.runs: dict[Op, int] = {}  # the stage in which an op reads its operands
        for op in block.ops:
            self._add(op)
        for v in block.results:
            self.of[v].early = self.of[v].stored = True
        self._fix_overwritten()
        for op in reversed(block.ops):
            self._hand_down(op)
        for v in block.params:
            self.of[v].reached |= self.of[v].later
        self._moved = self._bytes_moved()

    def is_point(self, op: Op) -> bool:
        """Whether the op is computed in the loop of its readers, or of what it reads."""
        return op in self.free or isinstance(op.opdef.lowering, Scalar)

    def movable(self, value: Value) -> Op | None:
        """The op that makes a value, if it can be computed at a later stage as well."""
        maker = self.makers.get(value)
        return maker if maker is not None and self.is_point(maker) else None

    def _reader(self, value: Value, stage: int) -> Reader:
        return Reader(stage, estimated_bytes(value.type, self.ranges))

    def _add(self, op: Op) -> None:
        runs = self.runs[op] = max((self.of[v].stage for v in op.operands), default=0)
        point = self.is_point(op)
        self.of.update((v, self._reader(v, runs if point else runs + 1)) for v in op.results)
        whole = () if op in self.free else stored_operands(op, self.makers)
        moves = op in self.free and isinstance(op.opdef.lowering, Remap) and not is_unit_move(op)
        for v in dict.fromkeys(op.operands):
            reader = self.of[v]
            moved = moves and v in self.makers and self.makers[v] not in self.free
            in_memory = v in whole or is_alias(op) or moved
            if reader.stage < runs:
                reader.later |= 1 << runs
            elif point:
                reader.together.append(op)
            else:
                reader.early = True
                reader.stored |= in_memory
            reader.in_memory |= in_memory and (moved or reader.stage < runs)

    def _fix_overwritten(self) -> None:
        """Find what updates write over, and the views of it."""
        roots: dict[Value, Value] = {}
        for op in self.block.ops:
            if is_alias(op):
                roots[op.result] = roots.get(op.operands[0], op.operands[0])
        changed = {roots.get(v, v) for op in self.block.ops for v in overwritten(op)}
        for v, reader in self.of.items():
            reader.fixed = roots.get(v, v) in changed

    def _hand_down(self, op: Op) -> None:
        """Tell the operands of an op what is asked of its results; its readers have been asked before."""
        for v in op.results:
            reader = self.of[v]
            reader.reached |= reader.later
        if not self.is_point(op):
            return
        reader = self.of[op.result]
        for v in dict.fromkeys(op.operands):
            below = self.of[v]
            if below.stage == reader.stage:
                below.early |= reader.early
                below.reached |= reader.reached

    # ---- what it costs ------------------------------------------------------------------------------------
    def _bytes_moved(self) -> list[int]:
        """The bytes in memory that are touched before each stage, if all that crosses is stored."""
        touched = [0] * (max((reader.stage for reader in self.of.values()), default=0) + 2)
        for v, reader in self.of.items():
            if reader.later or reader.stored or self.movable(v) is None:
                touched[reader.stage + 1] += reader.nbytes
        for k in range(1, len(touched)):
            touched[k] += touched[k - 1]
        return touched

    def reading(self, value: Value, stage: int) -> float:
        """Seconds to read a value at a later stage."""
        reader = self.of[value]
        between = self._moved[min(stage + 1, len(self._moved) - 1)] - self._moved[reader.stage]
        return 1e-9 * reader.nbytes * rate(between)

    def computing(self, op: Op) -> float:
        """Seconds to compute an op once more in a loop that has its operands."""
        if op in self.free or not isinstance(op.opdef.lowering, Scalar):
            return 0.0
        return 1e-9 * FLOP * op.opdef.lowering.flops * self.of[op.result].nbytes


def stages_in(bits: int) -> Iterator[int]:
    """The stages of a set of bits, the first ones first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
