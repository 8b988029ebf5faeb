"""Restoring: arrays that a region only writes into are made again backwards, from the pieces written over.

A *chain* leads from an array to what a region leaves of it by updates alone, A0 → A1 → … → An. With the
piece that each update wrote over as its residual, An gives An-1 and so on down to A0: reverse mode keeps as
many numbers as were written, not one array a step. This is the store-on-kill of Tapenade (Hascoët and
Pascual 2013, "The Tapenade automatic differentiation tool"). The pieces are put back and nothing is
subtracted, so that the restored array is the old one to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

from symgrad.errors import Loc
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Block, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Flow, OpDef, Scatter, Update, View
from symgrad.ir.ops.indexing import gather, scatter
from symgrad.ir.ops.shapes import reshape, slice_, update_slice
from symgrad.ir.regions import as_branch, as_for, flow_of
from symgrad.ir.types import ArrayType

Values: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One op that writes into an array, or whose regions do."""

    op: Op
    before: Value
    after: Value


@dataclass(frozen=True, slots=True)
class Chain:
    """How a region gets from an array to what it leaves of it: the first step first, none if it stays."""

    first: Value
    last: Value
    steps: tuple[Step, ...]

    def versions(self) -> set[Value]:
        """The array at all times."""
        return {self.first, *(step.after for step in self.steps)}


# ---- finding chains ---------------------------------------------------------------------------------------
def chain(block: Block, first: Value, last: Value) -> Chain | None:
    """The updates that lead from a param of a block to one of its results; None if there is more to it."""
    made_by = {result: op for op in block.ops for result in op.results}
    steps, after = list[Step](), last
    while after is not first:
        op = made_by.get(after)
        before = None if op is None else written_into(op, after)
        if op is None or before is None:
            return None
        steps.append(Step(op, before, after))
        after = before
    return Chain(first, last, tuple(reversed(steps)))


def written_into(op: Op, result: Value) -> Value | None:
    """The operand that a result is, but for what the op wrote into it; None if there is none."""
    if isinstance(op.opdef.lowering, Update | Scatter):
        return op.operands[0]
    k = op.results.index(result)
    match flow_of(op):
        case Flow.FOR:
            loop = as_for(op)
            known = k < len(loop.carries) and chain(loop.body, loop.body.params[k], loop.body.results[k])
            return loop.carries[k] if known else None
        case Flow.BRANCH:
            branch = as_branch(op)
            blocks = (branch.then, branch.otherwise)
            for i, v in enumerate(branch.constants):
                if v.type == result.type and all(chain(b, b.params[i], b.results[k]) for b in blocks):
                    return v
            return None
        case Flow.WHILE | Flow.ONCE | Flow.AGAIN | None:
            return None


# ---- going back along them --------------------------------------------------------------------------------
# (op with regions, result, operand) -> ops in its place, with residuals, and the op that makes the operand
Undo: TypeAlias = "Callable[[Op, Value, Value], tuple[list[Op], Op]]"


def _values() -> dict[Value, None]:
    return {}


def _ops() -> dict[Value, Op]:
    return {}


@dataclass(slots=True)
class WayBack:
    """The ops of a block with what restoring takes, and the ops that make older arrays of newer ones."""

    forward: list[Op]
    restoring: dict[Value, Op] = field(default_factory=_ops)  # by the array that the op makes
    reading: dict[Value, Op] = field(default_factory=_ops)  # by what was written: it can be read again
    pieces: dict[Value, None] = field(default_factory=_values)  # written over
    extras: dict[Value, None] = field(default_factory=_values)  # what else restoring takes

    def along(self, path: Chain, given_back: Set[Value], undo: Undo) -> WayBack:
        """The way back along one more chain; what the adjoint gives back anyway needs no op."""
        found = WayBack(
            list(self.forward), dict(self.restoring), dict(self.reading), dict(self.pieces), dict(self.extras)
        )
        for step in path.steps:
            at = next(k for k, op in enumerate(found.forward) if op.results[0] is step.op.results[0])
            if _replaces(step.op):
                found._read_written(step)
            if step.before in given_back:
                continue
            if isinstance(step.op.opdef.lowering, Update | Scatter):
                found._undo_write(step, at)
                continue
            found.forward[at : at + 1], back = undo(found.forward[at], step.after, step.before)
            found.restoring[step.before] = back
            found.extras.update(dict.fromkeys(v for v in back.operands if v is not step.after))
        return found

    def _undo_write(self, step: Step, at: int) -> None:
        """Read the piece before it is written over; putting it back is a write, too."""
        read = _reading(step.op, step.before)
        known = next((op for op in self.forward[:at] if _alike(op, read)), None)
        if known is None:
            self.forward.insert(at, read)
        piece = read.result if known is None else known.result
        put = scatter if isinstance(step.op.opdef.lowering, Scatter) else update_slice
        indices = step.op.operands[2:]
        back = _made(put, (step.after, piece, *indices), dict(step.op.attrs), step.op.loc)
        self.restoring[step.before] = replace(back, results=(step.before,))
        self.pieces[piece] = None
        self.extras.update(dict.fromkeys(indices))

    def _read_written(self, step: Step) -> None:
        """What was written, and what that is a view of, are in the array until it is written over again."""
        written = step.op.operands[1]
        self.reading[written] = replace(_reading(step.op, step.after), results=(written,))
        made_by = {r: op for op in self.forward for r in op.results}
        op = made_by.get(written)
        while op is not None and isinstance(op.opdef.lowering, View):
            (inner,) = op.operands
            again = _made(reshape, (op.result,), {}, op.loc, inner.type)
            self.reading.setdefault(inner, replace(again, results=(inner,)))
            op = made_by.get(inner)


def _replaces(op: Op) -> bool:
    """Whether an op writes numbers that are then in the array, each in a place of its own."""
    match op.opdef.lowering:
        case Update(add=add):
            return not add
        case Scatter(add=add):
            return not add and op.operands[2].type.rank == 0
        case _:
            return False


def _reading(op: Op, array: Value) -> Op:
    """The op that reads from an array what a write writes over."""
    attrs, (_, written, *indices) = dict(op.attrs), op.operands
    if indices:
        return _made(gather, (array, *indices), attrs, op.loc)
    start, step = cast("tuple[Dim, ...]", attrs["start"]), cast("tuple[int, ...]", attrs["step"])
    stop = tuple(dims.after_last(a, n, s) for a, n, s in zip(start, written.type.shape, step, strict=True))
    return _made(slice_, (array,), {"start": start, "step": step, "stop": stop}, op.loc)


def _alike(a: Op, b: Op) -> bool:
    """Whether two ops read the same."""
    return a.opdef is b.opdef and a.operands == b.operands and a.attrs == b.attrs


def _made(
    opdef: OpDef, operands: Values, attrs: dict[str, Attr], loc: Loc | None, type: ArrayType | None = None
) -> Op:
    builder = Builder()
    builder.emit(opdef, operands, attrs, type, loc=loc)
    return builder.ops[0]
