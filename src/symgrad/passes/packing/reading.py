"""Late ops that read packed values: each is unpacked where it is read, in the region that reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import Flow, Remap, View
from symgrad.ir.ops.packing import Packing, unpack_same
from symgrad.ir.regions import as_for, as_while, flow_of
from symgrad.passes.packing.writing import Stands


@dataclass
class Reader:
    """Appends late ops, given what packed values stand for others."""

    packing: Packing
    stands: Stands  # the packed values, by what they stand for
    moved: Mapping[Value, Op]  # the ops that are done again on what is unpacked, by result
    builder: Builder
    _wide: Stands = field(default_factory=lambda: Stands())
    _packed: dict[Value, Value | None] = field(default_factory=lambda: dict[Value, Value | None]())

    def read(self, op: Op) -> None:
        """Append a late op."""
        given = dict.fromkeys(_handed_on(op))
        packed = {k: v for k in given if (v := self.packed(op.operands[k])) is not None}
        operands = tuple(packed.get(k) or self.wide(v) for k, v in enumerate(op.operands))
        if packed:
            first = len(op.operands) - len(op.regions[0].params)
            op = replace(op, regions=tuple(self._inside(r, packed, first) for r in op.regions))
        self.builder.append(op if operands == op.operands else replace(op, operands=operands))

    def wide(self, value: Value) -> Value:
        """What stands for a value in late ops, in its own type."""
        if value not in self._wide:
            self._wide[value] = self._unpacked(value)
        return self._wide[value]

    def _unpacked(self, value: Value) -> Value:
        again = self.moved.get(value)
        if value in self.stands or (again is not None and isinstance(again.opdef.lowering, View)):
            packed = self.packed(value)
            if packed is None:
                return value
            unpack = unpack_same if packed.type == value.type else self.packing.unpack
            return self.builder.emit(unpack, (packed,), hint=value.hint)
        return value if again is None else self._again(again, [self.wide(v) for v in again.operands])

    def packed(self, value: Value) -> Value | None:
        """What stands for a value in memory, if it is packed or moved from what is."""
        if value in self.stands:
            return self.stands[value]
        if value not in self._packed:
            self._packed[value] = self._moved(value)
        return self._packed[value]

    def _moved(self, value: Value) -> Value | None:
        again = self.moved.get(value)
        if again is None or not again.operands or not isinstance(again.opdef.lowering, Remap | View):
            return None
        operands = [self.packed(v) for v in again.operands]
        if any(v is None for v in operands):
            return None
        return self._again(again, [v for v in operands if v is not None])

    def _again(self, op: Op, operands: Sequence[Value]) -> Value:
        """The result of an op on other operands; if these are packed, so is it."""
        if tuple(operands) == op.operands:
            return op.result
        dtype = op.result.type.dtype if not operands else operands[0].type.dtype
        kept = all(a.type == b.type for a, b in zip(operands, op.operands, strict=True))
        type = op.result.type if kept else op.result.type.with_dtype(dtype)
        return self.builder.emit(op.opdef, operands, dict(op.attrs), type, loc=op.loc, hint=op.result.hint)

    def _inside(self, region: Block, packed: Mapping[int, Value], first: int) -> Block:
        """The region with packed params."""
        params, stands = list(region.params), Stands()
        for k, v in packed.items():
            old = region.params[k - first]
            dtype = v.type.dtype
            params[k - first] = Value(old.type.with_dtype(dtype), old.hint)
            stands[old] = params[k - first]
        inner = Reader(self.packing, stands, {}, Builder())
        for op in region.ops:
            inner.builder.loc = op.loc
            inner.read(op)
        results = [inner.wide(v) for v in region.results]
        return inner.builder.block(params, results)


def _handed_on(op: Op) -> range:
    """The positions of the operands that the regions of an op read as they are: all but carries."""
    match flow_of(op):
        case Flow.FOR:
            return range(len(as_for(op).carries), len(op.operands))
        case Flow.WHILE:
            return range(len(as_while(op).carries), len(op.operands))
        case Flow.BRANCH:
            return range(1, len(op.operands))
        case Flow.ONCE | Flow.AGAIN | None:
            return range(0)
