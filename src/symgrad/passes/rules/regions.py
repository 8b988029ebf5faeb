"""Rules on what enters regions: what costs nothing is made inside, and what comes twice comes once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from symgrad.ir.core import Block, Op, Value
from symgrad.ir.opdef import Flow, OpDef
from symgrad.ir.ops import cond, for_loop, while_loop
from symgrad.ir.regions import as_branch, as_for, as_while, flow_of
from symgrad.passes.remade import remade
from symgrad.passes.rewrite import Context, Found, Rule


# ---- what rules on regions share --------------------------------------------------------------------------
def fresh(values: Sequence[Value]) -> tuple[Value, ...]:
    """New values with the types and hints of some others."""
    return tuple(Value(v.type, v.hint) for v in values)


def rebuilt(
    block: Block, params: Sequence[Value], values: Mapping[Value, Value], first: Sequence[Op] = ()
) -> Block:
    """The block with other params, with ops before its own, and with other values where some were read."""
    ops = (replace(op, operands=tuple(values.get(v, v) for v in op.operands)) for op in block.ops)
    return Block(tuple(params), (*first, *ops), tuple(values.get(v, v) for v in block.results))


def reads(block: Block) -> set[Value]:
    """What the ops of a block read, and what it returns."""
    return {v for op in block.ops for v in op.operands}.union(block.results)


# ---- constants --------------------------------------------------------------------------------------------
def constants_inside(op: Op, context: Context) -> Found:
    """f(c, x, x) = g(x), where g makes c for itself: a number, a size, or repeats of a smaller array"""
    lead, start, stop = _span(op)
    given = op.operands[lead:]
    slots: dict[Value, int] = {}  # where in the new constants a value is handed over
    made = {k: ops for k in range(start, stop) if (ops := remade(given[k], context.maker))}
    for k in range(start, stop):
        for v in _leaves(made[k]) if k in made else (given[k],):
            slots.setdefault(v, len(slots))
    if not made and len(slots) == stop - start:
        return None
    regions = tuple(_handed(region, start, stop, given, slots, made) for region in op.regions)
    operands = (*op.operands[: lead + start], *slots, *given[stop:])
    new = replace(op, operands=operands, results=fresh(op.results), regions=regions)
    context.builder.append(new)
    return new.results


def _span(op: Op) -> tuple[int, int, int]:
    """How many operands are no params of the regions, and which params are constants."""
    match flow_of(op):
        case Flow.FOR:
            loop = as_for(op)
            return 0, len(loop.carries), len(loop.carries) + len(loop.constants)
        case Flow.WHILE:
            return 0, len(as_while(op).carries), len(op.operands)
        case Flow.BRANCH:
            return 1, 0, len(as_branch(op).constants)
        case Flow.ONCE | Flow.AGAIN | None:
            return 0, 0, 0


def _leaves(ops: Sequence[Op]) -> list[Value]:
    """What ops read that they do not make themselves."""
    own = {v for op in ops for v in op.results}
    return [v for op in ops for v in op.operands if v not in own]


def _handed(
    region: Block,
    start: int,
    stop: int,
    given: Sequence[Value],
    slots: Mapping[Value, int],
    made: Mapping[int, Sequence[Op]],
) -> Block:
    """The region with the values in `slots` as its constants, and the others made inside."""
    params = {v: Value(v.type, v.hint) for v in slots}
    for k in reversed(range(start, stop)):
        if given[k] in params:
            params[given[k]] = region.params[k]
    values, first, used = dict[Value, Value](), list[Op](), reads(region)
    inside = dict(params)  # the values of outside that there are by now
    for k in range(start, stop):
        for op in made.get(k, ()) if region.params[k] in used else ():
            if op.result not in inside:
                inside[op.result] = Value(op.result.type, op.result.hint)
                operands = tuple(inside[v] for v in op.operands)
                first.append(replace(op, operands=operands, results=(inside[op.result],)))
        if given[k] in inside:
            values[region.params[k]] = inside[given[k]]
    rows = (*region.params[:start], *params.values(), *region.params[stop:])
    return rebuilt(region, rows, values, first)


RULES: dict[OpDef, tuple[Rule, ...]] = dict.fromkeys((for_loop, while_loop, cond), (constants_inside,))
