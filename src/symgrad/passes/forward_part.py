"""Which values of a program that computes a gradient are residuals: made forward, and read backward.

An op is of the *forward part* if a result of the function itself depends on it: it would be there without
the gradient. What else it makes is forward if it is made of nothing but what is. All others are of the
*backward part*. Dead code elimination tells them apart, in loops and branches too, wherever passes have put
them. Where the results of the function are not asked for, as by `grad`, nothing depends on the forward part
but the gradient; then an op is forward if it, or one that needs it, does the function's own work alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from symgrad.ir.analysis import walk
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.opdef import Flow
from symgrad.ir.overwriting import is_alias
from symgrad.ir.regions import carries_of, flow_of
from symgrad.passes.dce import dce

# Steps by which an op is derived from one of the function.
ADJOINT = "vjp"  # by reverse mode
REPEATED = "rematerialize"  # the op runs again, to keep a budget


def residuals(body: Block, own: Sequence[Value] | None) -> set[Value]:
    """The values, at the top and in regions, that the forward part makes and the backward part reads.

    `own` are the results of the body that are those of the function itself; None if they are not asked for.
    """
    return set(_crossing(body, _by_lines(body) if own is None else forward_values(body, own)))


def forward_values(body: Block, own: Sequence[Value]) -> set[Value]:
    """All values that these results depend on, those in regions included."""
    return {v for op in walk(_left_for(body, own)) for v in op.results}


def params_read(body: Block, own: Sequence[Value]) -> set[Value]:
    """The params that these results depend on."""
    left = _left_for(body, own)
    return {v for op in left.ops for v in op.operands}.union(own).intersection(body.params)


def _left_for(body: Block, own: Sequence[Value]) -> Block:
    return dce(Function("forward", replace(body, results=tuple(own)))).body


def _by_lines(body: Block) -> set[Value]:
    """What ops make in which derivatives have no part, and what these depend on."""
    functions_own = [op for op in body.ops if _is_functions_own(op)]
    found = forward_values(body, [v for op in functions_own for v in op.results])
    for op in body.ops:
        if op.regions and flow_of(op) is not Flow.ONCE and found.isdisjoint(op.results):
            found.update(v for region in op.regions for v in _by_lines(region))
    return found


def _is_functions_own(op: Op) -> bool:
    steps = [inner.loc.via for inner in walk(Block((), (op,), ())) if inner.loc is not None]
    return bool(steps) and all({ADJOINT, REPEATED}.isdisjoint(via) for via in steps)


def _crossing(block: Block, forward: set[Value]) -> Iterator[Value]:
    """The values of a block and of its regions that the forward part makes and the backward part reads."""
    roots: dict[Value, Value] = {param: param for param in block.params}
    known: set[Value] = set(block.params)  # params, and what the forward part makes
    read: set[Value] = set()  # by the backward part
    for op in block.ops:
        if is_alias(op):
            roots[op.result] = roots[op.operands[0]]
            continue
        roots.update(zip(op.results, op.results, strict=True))
        carries, is_forward = carries_of(op), not forward.isdisjoint(op.results)
        for k, v in enumerate(op.results):
            # What a loop adds up for the backward part alone is no work of the forward part.
            if v in forward or (is_forward and k < carries):
                continue
            of = {roots[x] for x in (_made_of(op, k) if is_forward else op.operands)}
            if is_forward and of <= known:
                known.add(v)
            else:
                read |= of
        known |= forward.intersection(op.results)
        if flow_of(op) not in (None, Flow.ONCE):
            for region in op.regions:
                yield from _crossing(region, forward)
    yield from known.intersection(read).difference(block.params)


def _made_of(op: Op, number: int) -> Sequence[Value]:
    """The operands that a result is made of."""
    if flow_of(op) is not Flow.ONCE:
        return op.operands
    (body,) = op.regions
    read = params_read(body, [body.results[number]])
    return [v for param, v in zip(body.params, op.operands, strict=True) if param in read]
