"""Activity: which values vary with the inputs, and through which the results do.

Both are sets that only grow. A carry of a loop varies if its first value does or the body makes it vary,
and has a cotangent if its last value has one or the body reads it for something that has: fixpoints over
the carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import ByRegions, Flow, Zero
from symgrad.ir.regions import as_branch, as_for, as_while, flow_of

Flags = list[bool]


# ---- forward ----------------------------------------------------------------------------------------------
def varying(ops: Sequence[Op], inputs: Iterable[Value]) -> set[Value]:
    """The values that vary with some inputs, these included."""
    found = set(inputs)
    for op in ops:
        if not found.isdisjoint(op.operands):
            flags = results_vary(op, [v in found for v in op.operands])
            found.update(r for r, varies in zip(op.results, flags, strict=True) if varies)
    return found


def results_vary(op: Op, operands: Flags) -> Flags:
    """Which results vary, given which operands do."""
    if isinstance(op.opdef.derivative, Zero) or not any(operands):
        return [False] * len(op.results)
    if not isinstance(op.opdef.derivative, ByRegions):
        return [r.type.is_real for r in op.results]
    match flow_of(op):
        case Flow.FOR:
            loop = as_for(op)
            return _left_by_loop(loop.body, len(loop.carries), operands)
        case Flow.WHILE:
            loop = as_while(op)
            n = len(loop.carries)
            found = _left_by_loop(loop.body, n, operands)
            return [*found[:n], False, *found[n:]]
        case Flow.AGAIN:
            (body,) = op.regions
            return _returned(body, varying_in(body, operands))
        case Flow.BRANCH:
            branch = as_branch(op)
            then, otherwise = (
                _returned(b, varying_in(b, operands[1:])) for b in (branch.then, branch.otherwise)
            )
            return [a or b for a, b in zip(then, otherwise, strict=True)]
        case Flow.ONCE | None:
            return [r.type.is_real for r in op.results]


def varying_in(block: Block, params: Flags) -> set[Value]:
    """The values of a block that vary, given which params do."""
    return varying(block.ops, [p for p, varies in zip(block.params, params, strict=True) if varies])


def varying_in_loop(body: Block, carries: int, params: Flags) -> set[Value]:
    """The values of the body of a loop that vary in some iteration."""
    flags = list(params)
    while True:
        found = varying_in(body, flags)
        grown = [flags[k] or body.results[k] in found for k in range(carries)] + flags[carries:]
        if grown == flags:
            return found
        flags = grown


def _left_by_loop(body: Block, carries: int, params: Flags) -> Flags:
    """Which last carries and stacks of a loop vary; where it runs no time, the first carries are the last."""
    found = varying_in_loop(body, carries, params)
    return [v in found for v in (*body.params[:carries], *body.results[carries:])]


def _returned(block: Block, found: Set[Value]) -> Flags:
    return [r in found for r in block.results]


# ---- reverse ----------------------------------------------------------------------------------------------
def reached(ops: Sequence[Op], seeds: Iterable[Value], vary: Set[Value]) -> set[Value]:
    """The varying values that some seeds depend on, varying seeds included."""
    found = {v for v in seeds if v in vary}
    for op in reversed(ops):
        if found.isdisjoint(op.results):
            continue
        results = [r in found for r in op.results]
        flags = operands_reached(op, results, [v in vary for v in op.operands])
        found.update(v for v, hit in zip(op.operands, flags, strict=True) if hit)
    return found


def operands_reached(op: Op, results: Flags, vary: Flags) -> Flags:
    """Through which of the varying operands some results vary."""
    match flow_of(op):
        case Flow.FOR:
            loop = as_for(op)
            return _reached_by_loop(loop.body, len(loop.carries), results, vary)
        case Flow.WHILE:
            loop = as_while(op)
            n = len(loop.carries)
            return _reached_by_loop(loop.body, n, [*results[:n], *results[n + 1 :]], vary)
        case Flow.AGAIN:
            (body,) = op.regions
            hit = reached_in(body, results, varying_in(body, vary))
            return [p in hit for p in body.params]
        case Flow.BRANCH:
            branch = as_branch(op)
            hits = [
                reached_in(block, results, varying_in(block, vary[1:]))
                for block in (branch.then, branch.otherwise)
            ]
            params = zip(branch.then.params, branch.otherwise.params, strict=True)
            return [False, *(p in hits[0] or q in hits[1] for p, q in params)]
        case Flow.ONCE | None:
            return vary


def _reached_by_loop(body: Block, carries: int, results: Flags, vary: Flags) -> Flags:
    """Through which params of its body a loop is reached; where it runs no time, through the carries."""
    hit = reached_in_loop(body, carries, results, varying_in_loop(body, carries, vary))
    straight = [*results[:carries], *[False] * (len(vary) - carries)]
    return [v and (s or p in hit) for p, v, s in zip(body.params, vary, straight, strict=True)]


def reached_in(block: Block, results: Flags, vary: Set[Value]) -> set[Value]:
    """The varying values of a block that the flagged results depend on."""
    return reached(block.ops, (r for r, hit in zip(block.results, results, strict=True) if hit), vary)


def reached_in_loop(body: Block, carries: int, results: Flags, vary: Set[Value]) -> set[Value]:
    """The varying values of the body of a loop that the flagged results depend on in some iteration."""
    flags = list(results)
    while True:
        found = reached_in(body, flags, vary)
        grown = [flags[k] or body.params[k] in found for k in range(carries)] + flags[carries:]
        if grown == flags:
            return found
        flags = grown
