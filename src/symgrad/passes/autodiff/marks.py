"""What the adjoint of a block reads in the place of values that the user has marked.

A saved value is read as the op `save` gives it. One that is marked `recompute` is read as a new instance: the
op that makes it, again, in front of the reader, of instances of what it reads itself, if that is marked, too.
What such a value is a move of counts as marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from symgrad.ir.builder import Builder, copied
from symgrad.ir.core import Block, Op, Value, map_regions
from symgrad.ir.index_names import binds_after
from symgrad.ir.opdef import Mark, Remap, View
from symgrad.ir.ops.marks import again
from symgrad.passes.autodiff.rules import through

# An instance is read by adjoint ops that are at most so many ops apart: those of ops that stand near each
# other. Between others it is not kept.
NEAR = 16


@dataclass(eq=False, slots=True)
class _Instance:
    """A value that was made again."""

    value: Value
    read: int  # where it was read last


@dataclass(eq=False, slots=True)
class Marks:
    """The marks of a block, and the instances so far."""

    saved: dict[Value, Value]  # by a value, its copy that is kept
    makers: dict[Value, Op]  # by a value that is not to be kept, the op that makes it
    instances: dict[Value, _Instance] = field(default_factory=lambda: dict[Value, _Instance]())

    @property
    def none(self) -> bool:
        """Whether nothing is marked."""
        return not self.saved and not self.makers

    def read(self, value: Value, builder: Builder) -> Value:
        """What an adjoint op that is appended now reads in the place of a value."""
        value = self.saved.get(value, value)
        if value not in self.makers:
            return value
        now, found = len(builder.ops), self.instances.get(value)
        if found is None or now - found.read > NEAR:
            self._make(value, builder)
            found = self.instances[value]
        found.read = len(builder.ops)
        return found.value

    def _make(self, value: Value, builder: Builder) -> None:
        op = self.makers[value]
        operands = tuple(
            self.read(v, builder) if v in self.makers else builder.emit(again, (self.saved.get(v, v),))
            for v in op.operands
        )
        results = tuple(Value(r.type, r.hint) for r in op.results)
        again_ = run_again(Block(op.operands, (op,), op.results)).ops[0]
        builder.append(replace(again_, operands=operands, results=results))
        now = len(builder.ops)
        self.instances.update(
            (old, _Instance(new, now)) for old, new in zip(op.results, results, strict=True)
        )


def run_again(block: Block) -> Block:
    """The block with values of its own, whose ops belong to the reverse sweep."""
    return _derived(copied(block))


def _derived(block: Block) -> Block:
    ops = (replace(map_regions(op, _derived), loc=through(op.loc, "vjp")) for op in block.ops)
    return replace(block, ops=tuple(ops))


def marks_of(ops: Sequence[Op]) -> Marks:
    """The marks of a block with these ops."""
    marked = [op for op in ops if op.opdef.mark in (Mark.SAVE, Mark.RECOMPUTE)]
    if not marked:
        return Marks({}, {})
    same: dict[Value, Value] = {}  # by what an op with a mark gives, the value that it is
    kept: dict[Value, Value] = {}  # by such a value, what `save` gives of it
    for op in marked:
        root = same[op.result] = same.get(op.operands[0], op.operands[0])
        if op.opdef.mark is Mark.SAVE:
            kept[root] = op.result
    saved = {v: kept[root] for v, root in same.items() if root in kept and v is not kept[root]} | kept
    makers = {r: op for op in ops for r in op.results}
    remade: dict[Value, Op] = {}
    todo = [op.result for op in marked if op.opdef.mark is Mark.RECOMPUTE]
    while todo:
        v = todo.pop()
        op = makers.get(v)
        if op is None or v in remade or same.get(v, v) in kept or binds_after(op):
            continue  # a name is bound once
        remade[v] = op
        if isinstance(op.opdef.lowering, View | Remap) and len(op.operands) == 1:
            todo.append(op.operands[0])
    return Marks(saved, remade)
