"""Common subexpression elimination: the same op on the same operands is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from symgrad.ir.core import Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.opdef import Mark
from symgrad.ir.printer import format_attr


def cse(function: Function) -> Function:
    """The function with each op that repeats an earlier one replaced by it.

    Those with regions all stay, and so does what is read anew.
    """
    body = _merged(function.body)
    return function if body is function.body else with_body(function, body)


def _merged(block: Block) -> Block:
    first: dict[Hashable, Op] = {}
    number = {param: k for k, param in enumerate(block.params)}  # in order of definition
    same: dict[Value, Value] = {}
    kept: list[Op] = []
    changed = False
    for op in block.ops:
        operands = tuple(same.get(v, v) for v in op.operands)
        op = op if operands == op.operands else replace(op, operands=operands)
        if op.regions:
            inner = map_regions(op, _merged)
            changed |= inner.regions != op.regions
            kept.append(inner)
            number.update((result, len(number)) for result in op.results)
            continue
        if op.opdef.mark is Mark.AGAIN:
            kept.append(op)
            number[op.result] = len(number)
            continue
        earlier = first.setdefault(_key(op, number), op)
        if earlier is not op:
            same.update(zip(op.results, earlier.results, strict=True))
            changed = True
            continue
        kept.append(op)
        number.update((result, len(number)) for result in op.results)
    if not changed:
        return block
    return Block(block.params, tuple(kept), tuple(same.get(v, v) for v in block.results))


def _key(op: Op, number: dict[Value, int]) -> Hashable:
    """Equal for two ops that compute the same bits.

    Attributes are compared as text, which tells 0.0 from -0.0 and 1 from True, and finds NaN equal to itself.
    """
    operands = [number[v] for v in op.operands]
    if op.opdef.commutative:
        operands.sort()
    attrs = tuple((name, format_attr(value)) for name, value in op.attrs)
    return op.opdef, tuple(operands), attrs, tuple(v.type for v in op.results)
