"""Forward ops that also give their results packed: stacks of loops row by row, results of branches inside."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TypeAlias

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Flow
from symgrad.ir.ops.packing import Packing
from symgrad.ir.regions import as_branch, as_for, as_while, branch_op, flow_of, for_op, stack_type, while_op

Stands: TypeAlias = dict[Value, Value]  # packed values, by what they are packed of


def pack_results(op: Op, wanted: Set[Value], packing: Packing, builder: Builder) -> Stands:
    """Append an op, and what gives those of its results packed that are wanted."""
    chosen = [v for v in op.results if v in wanted]
    inside = [v for v in chosen if op.results.index(v) >= _first_row(op)]
    stands: Stands = {}
    if inside:
        op = _packing_inside(op, [op.results.index(v) for v in inside], packing)
        stands.update(zip(inside, op.results[-len(inside) :], strict=True))
    builder.append(op)
    for v in chosen:
        if v not in stands:
            stands[v] = builder.emit(packing.pack, (v,), loc=op.loc, hint=v.hint)
    return stands


def _first_row(op: Op) -> int:
    """The position of the first result of which the regions make rows, or the whole."""
    match flow_of(op):
        case None | Flow.ONCE | Flow.AGAIN:
            return len(op.results)
        case Flow.FOR:
            return len(as_for(op).carries)
        case Flow.WHILE:
            return len(as_while(op).carries) + 1
        case Flow.BRANCH:
            return 0


def _packing_inside(op: Op, positions: Sequence[int], packing: Packing) -> Op:
    """The op with more results: the packed forms of some."""
    match flow_of(op):
        case Flow.FOR:
            loop = as_for(op)
            body = _returning(loop.body, positions, packing)
            new = _stacks(body, len(positions), loop.trips)
            return for_op(replace(loop, body=body), op.loc, (*op.results, *new))
        case Flow.WHILE:
            ahead = as_while(op)
            # The count of iterations is among the results of the op, not of the body.
            body = _returning(ahead.body, [k - 1 for k in positions], packing)
            new = _stacks(body, len(positions), dims.index(ahead.trips))
            return while_op(replace(ahead, body=body), op.loc, (*op.results, *new))
        case Flow.BRANCH:
            branch = as_branch(op)
            then, otherwise = (_returning(b, positions, packing) for b in (branch.then, branch.otherwise))
            new = [Value(v.type, v.hint) for v in then.results[len(op.results) :]]
            return branch_op(replace(branch, then=then, otherwise=otherwise), op.loc, (*op.results, *new))
        case Flow.ONCE | Flow.AGAIN | None:
            return op


def _returning(block: Block, positions: Sequence[int], packing: Packing) -> Block:
    """The block with more results: the packed forms of some."""
    rows = [block.results[k] for k in positions]
    wanted, builder, stands = frozenset(rows), Builder(), Stands()
    for v in block.params:
        if v in wanted:
            stands[v] = builder.emit(packing.pack, (v,), hint=v.hint)
    for op in block.ops:
        stands.update(pack_results(op, wanted, packing, builder))
    return builder.block(block.params, (*block.results, *(stands[v] for v in rows)))


def _stacks(body: Block, count: int, trips: Dim) -> list[Value]:
    """The stacks of the last rows that a body returns."""
    return [Value(stack_type(v.type, trips), v.hint) for v in body.results[-count:]]
