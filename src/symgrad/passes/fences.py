"""Fences come down when kernels are formed: what is left of them is an order that kernels keep.

A fence is the identity, so its readers read what it read. Those of an `again` compute anew what was computed
before, when its turn comes: nothing that depends on one may share a kernel with an op that stands before it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import Mark

_FENCES = (Mark.FENCE, Mark.AGAIN)


@dataclass(frozen=True, slots=True)
class Span:
    """Where ops stand in the order of their block, and where the last `again` stands that they depend on."""

    first: int
    after: int

    def __or__(self, other: Span) -> Span:
        """That of both."""
        return Span(min(self.first, other.first), max(self.after, other.after))

    @property
    def is_whole(self) -> bool:
        """Whether the ops may be computed at once."""
        return self.after <= self.first


NOWHERE = Span(sys.maxsize, 0)  # of no ops
Spans = dict[Value, Span]  # by the results of ops


def unfenced(block: Block) -> tuple[Block, Spans]:
    """The block and its regions without fences, and the spans of the ops that are left."""
    spans = Spans()
    return _unfenced(block, spans), spans


def _unfenced(block: Block, spans: Spans) -> Block:
    stands: dict[Value, Value] = {}
    after: dict[Value, int] = {}  # by a value, the last `again` that it depends on
    ops: list[Op] = []
    changed = False
    for k, op in enumerate(block.ops):
        mark = op.opdef.mark
        last = max((after.get(v, 0) for v in op.operands), default=0)
        after.update(dict.fromkeys(op.results, k if mark is Mark.AGAIN else last))
        if mark in _FENCES:
            stands[op.result] = stands.get(op.operands[0], op.operands[0])
            continue
        operands = tuple(stands.get(v, v) for v in op.operands)
        regions = tuple(_unfenced(region, spans) for region in op.regions)
        if operands != op.operands or regions != op.regions:
            op, changed = replace(op, operands=operands, regions=regions), True
        ops.append(op)
        spans.update(dict.fromkeys(op.results, Span(k, last)))
    if not stands and not changed:
        return block
    return Block(block.params, tuple(ops), tuple(stands.get(v, v) for v in block.results))


def spans_of(block: Block, known: Mapping[Value, Span]) -> dict[Op, Span]:
    """The span of each op of a block; one that came in since stands where its neighbours do."""
    found: dict[Op, Span] = {}
    by_value: Spans = {}
    first = 0
    for op in block.ops:
        span = next((known[v] for v in op.results if v in known), None)
        if span is None:
            span = Span(first, max((by_value[v].after for v in op.operands if v in by_value), default=0))
        first = max(first, span.first)
        found[op] = span
        by_value.update(dict.fromkeys(op.results, span))
    return found
