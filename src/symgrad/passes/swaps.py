"""Swaps: the results of a region are put where they go one after another, so none may bar the others' way.

A branch that exchanges two arrays, or a loop that does so in each iteration, needs a third place. Here one of
the arrays is copied in the region, so that the third place is planned like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from symgrad.ir.core import Block, Function, Op, Value, map_regions, with_body
from symgrad.ir.opdef import Flow
from symgrad.ir.ops import kernel
from symgrad.ir.overwriting import is_alias
from symgrad.ir.regions import as_while, flow_of
from symgrad.passes.slots import Slot, Slots, slots_of

ROUNDS = 4  # of copies: where the places that they get are in the way again, another is made

Lying: TypeAlias = "Mapping[Value, Slot | None]"  # where values lie; None is in the way of nothing
Move: TypeAlias = "tuple[int, Slot, Slot]"  # the number of a result, where it lies, and where it goes
Swaps: TypeAlias = "dict[Block, list[int]]"  # the numbers of the results to be copied, by region


def without_swaps(function: Function) -> tuple[Function, Slots]:
    """The function with such copies as its results need, and the slots of its values."""
    found = slots_of(function)
    for _ in range(ROUNDS):
        wrong = dict(_swaps(function.body, found, {}))
        if not wrong:
            break
        function = with_body(function, _with_copies(function.body, wrong))
        found = slots_of(function)
    return function, found


def _with_copies(block: Block, wrong: Swaps) -> Block:
    """The block with a copy at the end of each region that needs one."""
    ops = [map_regions(op, lambda region: _with_copies(region, wrong)) for op in block.ops]
    results = list(block.results)
    for number in wrong.get(block, ()):
        value = results[number]
        param, copied = replace(value), replace(value)
        ops.append(Op(kernel, (value,), (copied,), regions=(Block((param,), (), (param,)),)))
        results[number] = copied
    return Block(block.params, tuple(ops), tuple(results))


def _swaps(block: Block, found: Slots, given: Lying) -> Iterator[tuple[Block, list[int]]]:
    """The results in the regions of a block that cannot be put where they go; `given` are its params."""
    at = _lying(block, found, given)
    for op in block.ops:
        flow = flow_of(op)
        if flow in (None, Flow.ONCE):
            continue
        operands = op.operands[1:] if flow is Flow.BRANCH else op.operands
        for number, region in enumerate(op.regions):
            inside = {param: at[v] for param, v in zip(region.params, operands, strict=True)}
            yield from _swaps(region, found, inside)
            is_test = flow is Flow.WHILE and number == 0
            stuck = [] if is_test else _stuck(_moves(op, region, found, _lying(region, found, inside)))
            if stuck:
                yield region, stuck


def _lying(block: Block, found: Slots, given: Lying) -> Lying:
    """Where the values of a block lie: its params in slots of their own, or where they are given."""
    at: dict[Value, Slot | None] = {v: found.of.get(v, given.get(v)) for v in block.params}
    for op in block.ops:
        for v in op.results:
            at[v] = at[op.operands[0]] if is_alias(op) else found.of.get(v)
    return at


def _moves(op: Op, region: Block, found: Slots, at: Lying) -> Iterator[Move]:
    """The results of a region that go elsewhere."""
    # What a `while` stacks grows elsewhere.
    outer = op.results if flow_of(op) is not Flow.WHILE else op.results[: len(as_while(op).carries)]
    for number, (value, result) in enumerate(zip(region.results, outer, strict=False)):
        source, target = at[value], found.of.get(result)
        if source is not None and target is not None and source is not target and value.type.rank:
            yield number, source, target


def _stuck(moves: Iterable[Move]) -> list[int]:
    """The numbers of the results that must be copied before the others can go."""
    pending, found = list(moves), list[int]()
    while pending:
        free = next((m for m in pending if all(m[2] is not o[1] for o in pending if o is not m)), None)
        if free is None:
            free = pending[0]
            found.append(free[0])
        pending.remove(free)
    return found
