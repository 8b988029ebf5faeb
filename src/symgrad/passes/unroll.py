"""Short last axes of large arrays are unrolled: the entries along them become arrays of their own.

The differences of all pairs of points in space are n × n × 3 numbers. What is summed over the last axis has
n × n, so no one loop does both. As three arrays of n × n differences, all is done in one loop along the long
axes:

    f(x)[..., k] = f(x[..., k]),  Σ_k x[..., k] = x[..., 0] + x[..., 1] + ...

An array is unrolled if it is computed, element by element, from repeats of smaller arrays, and ends in
reductions: so nothing large is ever put together from its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from symgrad.ir import dims
from symgrad.ir.analysis import uses
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Block, Function, Op, Value, with_body
from symgrad.ir.opdef import OpDef, Reduce, Reduction, Remap, Scalar
from symgrad.ir.ops.elementwise import add, and_, maximum, minimum, mul, or_
from symgrad.ir.ops.shapes import broadcast, concat, reshape, slice_
from symgrad.passes.literals import splat_of
from symgrad.passes.remade import repeats

MAX_SIZE = 4  # entries of an axis that is unrolled
LARGE = 1 << 16  # elements of the smallest array that is worth it

_COMBINED: dict[Reduction, OpDef] = {
    Reduction.SUM: add,
    Reduction.PROD: mul,
    Reduction.MAX: maximum,
    Reduction.MIN: minimum,
    Reduction.ANY: or_,
    Reduction.ALL: and_,
}


def unroll(function: Function) -> Function:
    """The function with the short last axes of large arrays unrolled."""
    found = _unrolled(function.body)
    return with_body(function, _Unrolling(found).block(function.body)) if found else function


# ---- which arrays -----------------------------------------------------------------------------------------
def _unrolled(block: Block) -> set[Value]:
    """The values that are unrolled; what is computed from one of them is, too, or is a reduction."""
    partners: dict[Value, list[Value]] = {}  # of each value, those unrolled with it or not at all
    splats: set[Value] = set()
    for op in block.ops:
        if splat_of(op) is not None:
            splats.update(op.results)
        elif _is_source(op):
            partners[op.result] = []
        elif isinstance(op.opdef.lowering, Scalar) and _is_large(op.result):
            parts = [v for v in op.operands if v not in splats]
            if parts and all(v in partners for v in parts):
                partners[op.result] = parts
                for v in parts:
                    partners[v].append(op.result)
    readers, returned = uses(block), set(block.results)
    unrolled = set(partners)
    whole = [v for v in partners if v in returned or not _stay(readers[v], unrolled)]
    while whole:
        v = whole.pop()
        if v in unrolled:
            unrolled.remove(v)
            whole += partners[v]
    return unrolled


def _is_large(value: Value) -> bool:
    shape = value.type.shape
    if len(shape) < 2 or not all(map(dims.is_known, shape)):
        return False
    return 1 < dims.known(shape[-1]) <= MAX_SIZE and dims.known(value.type.size) >= LARGE


def _is_source(op: Op) -> bool:
    """Whether the op repeats a smaller array along new axes."""
    return repeats(op) and _is_large(op.result)


def _stay(readers: tuple[Op, ...], candidates: set[Value]) -> bool:
    """Whether all readers of a value can take it in parts."""
    return all(
        isinstance(op.opdef.lowering, Reduce)
        or (isinstance(op.opdef.lowering, Scalar) and op.result in candidates)
        for op in readers
    )


# ---- in parts ---------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Unrolling:
    """Writes a block anew, with some of its values in parts."""

    unrolled: set[Value]
    builder: Builder = field(default_factory=Builder)
    parts: dict[Value, tuple[Value, ...]] = field(default_factory=lambda: dict[Value, tuple[Value, ...]]())
    whole: dict[Value, Value] = field(default_factory=lambda: dict[Value, Value]())  # results made anew

    def block(self, block: Block) -> Block:
        """The block written anew."""
        makers = {v: op for op in block.ops for v in op.results}
        for op in block.ops:
            self.builder.loc = op.loc
            if any(v in self.unrolled for v in op.results):
                self.parts[op.result] = tuple(self._parts(op, makers))
            elif any(v in self.unrolled for v in op.operands):
                self.whole[op.result] = self._reduced(op)
            else:
                self.builder.append(self._renamed(op))
        return self.builder.block(block.params, [self.whole.get(v, v) for v in block.results])

    def _renamed(self, op: Op) -> Op:
        operands = tuple(self.whole.get(v, v) for v in op.operands)
        return (
            op
            if operands == op.operands
            else Op(op.opdef, operands, op.results, op.attrs, op.regions, op.loc)
        )

    def _parts(self, op: Op, makers: dict[Value, Op]) -> Iterator[Value]:
        shape = op.result.type.shape
        kind = op.result.type.with_shape(shape[:-1])
        for k in range(dims.known(shape[-1])):
            if isinstance(op.opdef.lowering, Remap):
                yield self._repeated(op, k)
            else:
                operands = [self._part(v, k, makers) for v in op.operands]
                yield self.builder.emit(op.opdef, operands, dict(op.attrs), kind)

    def _part(self, value: Value, k: int, makers: dict[Value, Op]) -> Value:
        """Part k of an operand; each part of a number is the number."""
        if value in self.parts:
            return self.parts[value][k]
        number = makers[value]
        kind = value.type.with_shape(value.type.shape[:-1])
        return self.builder.emit(number.opdef, (), dict(number.attrs), kind)

    def _repeated(self, op: Op, k: int) -> Value:
        """Part k of an array that repeats a smaller one."""
        (x,), result = op.operands, op.result.type
        x = self.whole.get(x, x)
        (piece,) = cast(Remap, op.opdef.lowering).pieces((x.type,), result, dict(op.attrs))
        read = [part.axis for part in piece.index]
        last = result.rank - 1
        if last in read:
            x = self._entry(x, k)
        new = tuple(axis for axis in range(last) if axis not in read)
        kind = result.with_shape(result.shape[:-1])
        return self.builder.emit(broadcast, (x,), {"axes": new}, kind) if new else x

    def _entry(self, x: Value, k: int) -> Value:
        """The entries at k along the last axis."""
        rank, shape = x.type.rank, x.type.shape
        attrs: dict[str, Attr] = {
            "start": (*(0,) * (rank - 1), k), "stop": (*shape[:-1], k + 1), "step": (1,) * rank
        }  # fmt: skip
        part = self.builder.emit(slice_, (x,), attrs)
        return self.builder.emit(reshape, (part,), {}, x.type.with_shape(shape[:-1]))

    def _reduced(self, op: Op) -> Value:
        """A reduction of an array in parts."""
        kind = cast(Reduce, op.opdef.lowering).kind
        axes, last = cast("tuple[int, ...]", dict(op.attrs)["axes"]), op.operands[0].type.rank - 1
        parts = self.parts[op.operands[0]]
        rest: dict[str, Attr] = {"axes": tuple(axis for axis in axes if axis != last)}
        if last in axes:
            found, *others = parts
            for part in others:
                found = self.builder.emit(_COMBINED[kind], (found, part))
            return self.builder.emit(op.opdef, (found,), rest, hint=op.result.hint) if rest["axes"] else found
        reduced = [self.builder.emit(op.opdef, (part,), rest) for part in parts]
        single = reduced[0].type.with_shape((*reduced[0].type.shape, 1))
        columns = [self.builder.emit(reshape, (v,), {}, single) for v in reduced]
        return self.builder.emit(concat, columns, {"axis": single.rank - 1}, hint=op.result.hint)
