"""Marks put at random into the blocks of a program, regions included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.index_names import binds_after
from symgrad.ir.ops.marks import fence, recompute, save
from symgrad.ir.regions import checkpoint_op


def with_marks(function: Function, seed: int) -> Function:
    """The function with some of its ops in regions of `checkpoint`, and marks on some of its values."""
    return with_body(function, _Marking(Random(seed)).block(function.body, saves=True))


class _Marking:
    def __init__(self, random: Random) -> None:
        self._random = random

    def block(self, block: Block, *, saves: bool) -> Block:
        """The block with marks; `save` only where nothing around the block runs it again."""
        stands: dict[Value, Value] = {}
        made: list[Op] = []
        left = list(block.ops)
        while left:
            count = self._random.randint(1, 5)
            run, left = left[:count], left[count:]
            if self._random.random() < 0.5 and not any(map(binds_after, run)):
                made.append(self._region(run, stands, saves=saves))
            else:
                made += self._ops(run, stands, saves=saves, inside=saves)
        return Block(block.params, tuple(made), tuple(stands.get(v, v) for v in block.results))

    def _ops(self, ops: Sequence[Op], stands: dict[Value, Value], *, saves: bool, inside: bool) -> list[Op]:
        """The ops with marks on their results; `inside` says whether regions of them may save."""
        made: list[Op] = []
        for op in ops:
            regions = tuple(self.block(region, saves=inside) for region in op.regions)
            operands = tuple(stands.get(v, v) for v in op.operands)
            made.append(replace(op, operands=operands, regions=regions))
            for v in op.results if not binds_after(op) else ():
                mark = self._random.choice((None, None, recompute, save if saves else None))
                if mark is not None:
                    stands[v] = Value(v.type)
                    made.append(Op(mark, (v,), (stands[v],)))
        return made

    def _region(self, ops: Sequence[Op], stands: dict[Value, Value], *, saves: bool) -> Op:
        """A `checkpoint` of the ops, which gives all their results."""
        inner = dict(stands)
        body = self._ops(ops, inner, saves=saves, inside=False)
        own = {v for op in body for v in op.results}
        read = tuple(dict.fromkeys(v for op in body for v in op.operands if v not in own))
        given = tuple(v for op in ops for v in op.results)
        results = tuple(inner.get(v, v) for v in given)
        builder = Builder()
        params = [Value(v.type, v.hint) for v in read]
        fenced = [builder.emit(fence, (p,)) for p in params]
        found = builder.inline(Block(read, tuple(body), results), fenced)
        return checkpoint_op(read, builder.block(params, found), results=given)
