"""Dead code elimination: what no result depends on is dropped, and what enters or leaves regions for nothing.

A carry of a loop is alive if its result is used, if the test of a `while` reads it, or if what is alive after
an iteration depends on it. A value whose sizes bear a name needs the op that binds the name, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from symgrad.ir.core import Attr, Block, Function, Op, Value, sorted_attrs, with_body
from symgrad.ir.index_names import binds_after, bound_by, mentioned
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import as_for, as_while, flow_of


def dce(function: Function) -> Function:
    """The function without ops, and without operands and results of regions, that nothing uses."""
    body = _live(function.body)
    return function if body is function.body else with_body(function, body)


def _live(block: Block) -> Block:
    """The block without ops none of whose results is used; the same object if all are."""
    live, names, kept, changed = set(block.results), set[str](), list[Op](), False
    for op in reversed(block.ops):
        if live.isdisjoint(op.results) and not (binds_after(op) and bound_by(op) in names):
            changed = True
            continue
        left = trimmed(op, live) if op.regions else op
        changed |= left is not op
        kept.append(left)
        live.update(left.operands)
        names |= mentioned(left)
    return replace(block, ops=tuple(reversed(kept))) if changed else block


def _read(block: Block) -> set[Value]:
    """What the ops of a block read, and what it returns."""
    return {v for op in block.ops for v in op.operands}.union(block.results)


# ---- ops with regions -------------------------------------------------------------------------------------
def trimmed(op: Op, live: Set[Value]) -> Op:
    """The op without the results, operands and params that are not used, and so are its regions."""
    used = [k for k, result in enumerate(op.results) if result in live]
    match flow_of(op):
        case Flow.ONCE | Flow.AGAIN | Flow.BRANCH:
            lead = 1 if flow_of(op) is Flow.BRANCH else 0
            regions = tuple(_returning(region, used) for region in op.regions)
            return _with(op, used, _used_params(regions), regions, lead)
        case Flow.FOR:
            return _trimmed_loop(op, used, len(as_for(op).carries), 0)
        case Flow.WHILE:
            # The trip count is always a result.
            carries = len(as_while(op).carries)
            return _trimmed_loop(op, sorted({*used, carries}), carries, 1)
        case None:
            return op


def _returning(region: Block, results: Iterable[int]) -> Block:
    """The region with some of its results, and what they need."""
    kept = tuple(region.results[k] for k in results)
    return _live(region if kept == region.results else replace(region, results=kept))


def _used_params(regions: Sequence[Block]) -> list[int]:
    """The positions of the params that a region reads or returns."""
    read = set[Value]().union(*map(_read, regions))
    params = zip(*(region.params for region in regions), strict=True)
    return [k for k, same in enumerate(params) if not read.isdisjoint(same)]


def _trimmed_loop(op: Op, used: Sequence[int], carries: int, others: int) -> Op:
    """A loop without the carries that are not alive; `others` results lie between carries and stacks."""
    test = tuple(_live(region) for region in op.regions[:-1])
    stacks = [k - others for k in used if k >= carries + others]
    alive = {k for k in used if k < carries}
    while True:
        body = _returning(op.regions[-1], (*sorted(alive), *stacks))
        read = _used_params((*test, body))
        needed = alive.union(k for k in read if k < carries)
        if needed == alive:
            break
        alive = needed
    results = [*sorted(alive), *(k for k in used if k >= carries)]
    return _with(op, results, sorted(alive.union(read)), (*test, body), 0)


def _with(op: Op, results: Sequence[int], params: Sequence[int], regions: Sequence[Block], lead: int) -> Op:
    """The op with some of its results, and with some of the operands that are params of its regions."""
    trimmed = tuple(
        region
        if len(params) == len(region.params)
        else replace(region, params=_chosen(region.params, params))
        for region in regions
    )
    if len(results) == len(op.results) and trimmed == op.regions:
        return op
    return replace(
        op,
        operands=(*op.operands[:lead], *_chosen(op.operands[lead:], params)),
        results=_chosen(op.results, results),
        attrs=_counted(op, params),
        regions=trimmed,
    )


def _chosen(values: Sequence[Value], positions: Iterable[int]) -> tuple[Value, ...]:
    return tuple(values[k] for k in positions)


def _counted(op: Op, params: Sequence[int]) -> tuple[tuple[str, Attr], ...]:
    """The attributes, which say how many operands of a loop are carries and xs."""
    attrs = dict(op.attrs)
    match flow_of(op):
        case Flow.FOR:
            loop = as_for(op)
            first = len(op.operands) - len(loop.xs)
            attrs["carries"] = sum(k < len(loop.carries) for k in params)
            attrs["xs"] = sum(k >= first for k in params)
        case Flow.WHILE:
            attrs["carries"] = sum(k < len(as_while(op).carries) for k in params)
        case Flow.ONCE | Flow.AGAIN | Flow.BRANCH | None:
            pass
    return sorted_attrs(attrs)
