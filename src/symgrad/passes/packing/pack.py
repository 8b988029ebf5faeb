"""Residuals are packed: what the late part of a gradient reads of the forward part lies in a smaller type.

    v = ...            v = ...
    ... v ...     =    n = pack(v)
    late(v)            ... v ...
                       late(unpack(n))

The forward part reads what it read before, so that the primal results keep their bits. Params are where the
caller has them, and results of the function lie in memory anyway: neither is packed. Nor is what is small.
Moves of a packed value, and what is computed wherever it is read, are done again on what is unpacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from symgrad.errors import ArgumentError
from symgrad.ir.analysis import defs, walk
from symgrad.ir.builder import Builder
from symgrad.ir.capacity import estimated_bytes, ranges_within
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.index_names import binds_after, bound_by, mentioned
from symgrad.ir.opdef import Constant, Remap, View
from symgrad.ir.ops.packing import Packing
from symgrad.ir.types import STORED_FOR
from symgrad.passes.dce import dce
from symgrad.passes.free import free_ops
from symgrad.passes.packing.parts import Parts, parts
from symgrad.passes.packing.reading import Reader
from symgrad.passes.packing.writing import Stands, pack_results

LEAST = 4096  # bytes of a residual that is packed


@dataclass(frozen=True, slots=True)
class Joint:
    """A gradient program with all of its primal results."""

    function: Function
    primal: int  # how many of its results are the primal ones, which come first
    chosen: tuple[int, ...]  # the results that are asked for

    def selected(self) -> Function:
        """The function that returns what is asked for."""
        body = self.function.body
        results = tuple(body.results[k] for k in self.chosen)
        if results == body.results:
            return self.function
        return with_body(self.function, Block(body.params, body.ops, results))


def demand_packable(function: Function, packing: Packing) -> None:
    """Raise if a function computes with arrays of numbers, but with none of the type that is packed."""
    found = {v.type.dtype for op in walk(function.body) for v in (*op.operands, *op.results) if v.type.rank}
    real = sorted(str(dtype) for dtype in found if dtype.kind == "f")
    if real and packing.wide not in found:
        fitting = [name for name, wide in STORED_FOR.items() if str(wide) in real]
        raise ArgumentError(
            f'residuals="{packing.name}" is for arrays of {packing.wide}',
            why=f"those of {function.name} are of {' and '.join(real)}",
            cure=f'write residuals="{fitting[0]}"' if fitting else "leave out residuals=",
        )


def pack(joint: Joint, packing: Packing, nbytes: Callable[[Function], int]) -> Function:
    """The function that a joint program is asked for, with residuals packed unless that takes more bytes."""
    whole, found = dce(joint.selected()), packed(joint, packing)
    return found if nbytes(found) <= nbytes(whole) else whole


def packed(joint: Joint, packing: Packing, least: int = LEAST) -> Function:
    """The same with all residuals packed that have at least so many bytes."""
    body = joint.function.body
    found = _Residuals(body, parts(body, joint.primal), joint, packing, least)
    return dce(with_body(joint.function, found.block()))


def _moves_of_params(block: Block) -> set[Value]:
    """The values that are elements of params, and numbers, in other places."""
    found = set(block.params)
    for op in block.ops:
        if isinstance(op.opdef.lowering, Remap | View | Constant) and found.issuperset(op.operands):
            found.update(op.results)
    return found


class _Residuals:
    """The residuals of a gradient, and its block with them packed."""

    def __init__(self, block: Block, split: Parts, joint: Joint, packing: Packing, least: int) -> None:
        self._block, self._parts, self._packing, self._least = block, split, packing, least
        self._makers = defs(block)
        self._ranges = ranges_within(block, {})
        self._free = free_ops(block, self._ranges)
        self._of_params = _moves_of_params(block)
        self._results = tuple(block.results[k] for k in joint.chosen)
        self._moved: dict[Value, Op] = {}  # ops that late ones do again, by result
        self._packed: dict[Value, None] = {}  # what is packed
        self._kept: dict[Value, None] = {}  # what is stored as it is
        for op in block.ops:
            if op in split.late:
                for v in op.operands:
                    self._find(v)

    # ---- which values -------------------------------------------------------------------------------------
    def _find(self, value: Value) -> None:
        """Note what is packed so that a late op can read a value."""
        op = self._makers.get(value)
        if op is None or value in self._moved or value in self._of_params or value in self._parts.needed:
            return
        if not self._runs_with_forward(op):
            return
        if self._is_repeated(op):
            self._moved[value] = op
            for v in op.operands:
                self._find(v)
        elif value not in self._results and self._is_large(value):
            if value.type.dtype == self._packing.wide:
                self._packed[value] = None
            elif op in self._parts.exact and not value.type.is_real:
                self._kept[value] = None

    def _runs_with_forward(self, op: Op) -> bool:
        return op in self._parts.forward or op in self._parts.exact

    def _is_repeated(self, op: Op) -> bool:
        """Whether an op costs nothing where it is read; a move to a smaller array saves memory, though."""
        match op.opdef.lowering:
            case View():
                return True
            case Remap():
                whole = sum(estimated_bytes(v.type, self._ranges) for v in op.operands)
                return op in self._free and estimated_bytes(op.result.type, self._ranges) >= whole
            case _:
                return op in self._free

    def _is_large(self, value: Value) -> bool:
        """Whether there are enough numbers; what jumps stands for those that it is computed from."""
        wide = value.type.with_dtype(self._packing.wide)
        return value.type.rank > 0 and estimated_bytes(wide, self._ranges) >= self._least

    # ---- the block ----------------------------------------------------------------------------------------
    def block(self) -> Block:
        """The block with the residuals packed, and what was asked for as its results."""
        builder = Builder()
        stands: Stands = {v: v for v in self._kept}
        reader = Reader(self._packing, stands, self._moved, builder)
        for op in self._ordered():
            if op in self._parts.late:
                reader.read(op)
            else:
                stands.update(pack_results(op, self._packed.keys(), self._packing, builder))
        return builder.block(self._block.params, self._results)

    def _ordered(self) -> Sequence[Op]:
        """The ops, those that have to be exact as early as what they read and the names that they mention."""
        ops, exact = self._block.ops, self._parts.exact
        binders = {bound_by(op): op for op in ops if binds_after(op)}
        places: dict[Op, int] = {}
        for k, op in enumerate(ops):
            before = {self._makers[v] for v in op.operands if v in self._makers}
            before.update(binders[name] for name in mentioned(op) & binders.keys())
            places[op] = max((places[b] for b in before), default=-1) if op in exact else k
        number = {op: k for k, op in enumerate(ops)}
        return sorted(ops, key=lambda op: (places[op], op in exact, number[op]))
