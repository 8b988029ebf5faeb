"""Dead code elimination: what no result depends on is dropped."""

from __future__ import annotations

from dataclasses import replace

from symgrad.ir.core import Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.ops import kernel


def dce(function: Function) -> Function:
    """The function without ops, kernel results and kernel params that nothing uses."""
    body = _live(function.body)
    return function if body is function.body else with_body(function, body)


def _live(block: Block) -> Block:
    """The block without ops none of whose results is used; the same object if all are."""
    live, kept, changed = set(block.results), list[Op](), False
    for op in reversed(block.ops):
        if live.isdisjoint(op.results):
            changed = True
            continue
        trimmed = _trimmed(op, live)
        changed |= trimmed is not op
        kept.append(trimmed)
        live.update(trimmed.operands)
    return replace(block, ops=tuple(reversed(kept))) if changed else block


def _trimmed(op: Op, live: set[Value]) -> Op:
    """The op with its regions trimmed; a kernel loses the results and the params that are not used."""
    if not op.regions:
        return op
    if op.opdef is not kernel:
        inner = map_regions(op, _live)
        return op if inner.regions == op.regions else inner
    (body,) = op.regions
    kept = [k for k, result in enumerate(op.results) if result in live]
    inner = _live(replace(body, results=tuple(body.results[k] for k in kept)))
    read = {operand for inner_op in inner.ops for operand in inner_op.operands}.union(inner.results)
    used = [k for k, param in enumerate(body.params) if param in read]
    if len(kept) == len(op.results) and len(used) == len(op.operands) and inner.ops == body.ops:
        return op
    return replace(
        op,
        operands=tuple(op.operands[k] for k in used),
        results=tuple(op.results[k] for k in kept),
        regions=(replace(inner, params=tuple(body.params[k] for k in used)),),
    )
