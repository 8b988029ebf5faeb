"""`Sweep`: what reverse mode knows while it pulls cotangents back through one block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from symgrad.ir import dims
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.index_names import bound_in, fresh_name, ranges_after
from symgrad.ir.types import ArrayType
from symgrad.passes.autodiff.bars import Bars
from symgrad.passes.autodiff.marks import Marks, marks_of
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder

# (ops, cotangents of their results, what cotangents are wanted of, sweep) -> all cotangents
Run: TypeAlias = "Callable[[Sequence[Op], Bars, Sequence[Value], Sweep], Bars]"

# An op with regions that gives residuals, after ops that it takes; and the op that makes an operand, which
# was written into, from the result.
Undone: TypeAlias = tuple[list[Op], Op]

# (op with regions, result, operand, sweep) -> how the operand is made from the result
Undo: TypeAlias = "Callable[[Op, Value, Value, Sweep], Undone]"


class IndexNames:
    """New names for the indices of loops."""

    def __init__(self, body: Block) -> None:
        self.taken = set(bound_in(body))  # by the program, and by loops made since

    def fresh(self, hint: str) -> str:
        """A name that nothing has."""
        name = fresh_name(hint, self.taken)
        self.taken.add(name)
        return name


@dataclass(frozen=True, slots=True)
class Modes:
    """The two functions that the rules of regions call for what is nested in them."""

    run: Run  # reverse mode itself
    undo: Undo


@dataclass(eq=False, slots=True)
class Sweep:
    """The ops of a block, then those of its adjoint, and what else the rules of regions ask for."""

    recorder: (
        Recorder  # the forward ops come first; one with regions is replaced when residuals are taken of it
    )
    ranges: dims.Ranges  # of the names that sizes are made of
    names: IndexNames
    modes: Modes
    count: int  # of the forward ops
    marks: Marks  # what the adjoint reads in the place of forward values
    given_back: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())
    # arrays that were written over since, and the adjoint's values in which they are restored

    @staticmethod
    def of(body: Block, modes: Modes) -> Sweep:
        """The sweep through the body of a function."""
        return _begun(body.ops, {}, IndexNames(body), modes)

    def inside(self, region: Block, ranges: dims.Ranges) -> Sweep:
        """The sweep through a region of an op, in which more indices have ranges."""
        inner = _begun(region.ops, {**self.ranges, **ranges}, self.names, self.modes)
        inner.recorder.loc = self.recorder.loc
        return inner

    def weight(self, type: ArrayType) -> int:
        """The most elements that an array of a type can have."""
        return math.prod(dims.largest(n, self.ranges) for n in type.shape)

    @property
    def forward(self) -> list[Op]:
        """The ops of the block."""
        return self.recorder.ops[: self.count]

    @property
    def adjoint(self) -> list[Op]:
        """The ops of its adjoint."""
        return self.recorder.ops[self.count :]

    def replace(self, op: Op, by: Sequence[Op]) -> None:
        """Put other ops in the place of a forward op."""
        at = self.recorder.ops.index(op)
        self.recorder.ops[at : at + 1] = by
        self.count += len(by) - 1

    def heed_marks(self, start: int) -> None:
        """Have the adjoint ops from a position on read what marks ask for, in the place of marked values."""
        if self.marks.none:
            return
        recorder = self.recorder
        ops, recorder.ops = recorder.ops[self.count + start :], recorder.ops[: self.count + start]
        for op in ops:
            operands = tuple(self.marks.read(v, recorder) for v in op.operands)
            recorder.append(op if operands == op.operands else replace(op, operands=operands))

    def undo(self, op: Op, result: Value, before: Value) -> Undone:
        """An op of the block with residuals, and the op that makes an operand again that it wrote into."""
        return self.modes.undo(op, result, before, self)


def _begun(ops: Sequence[Op], ranges: dims.Ranges, names: IndexNames, modes: Modes) -> Sweep:
    recorder = Recorder(NUMPY)
    for op in ops:
        recorder.append(op)
        ranges = ranges_after(op, ranges)
    return Sweep(recorder, ranges, names, modes, len(recorder.ops), marks_of(ops))
