"""Whole numbers that a loop may carry beyond 64 bits, where Python's have no end.

A whole number that only counts stays small for as long as anybody waits. One that is multiplied in each
iteration (a factorial, a power), or that adds up others as they add it up, does not: the loop is not staged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from symgrad.ir.core import Block, Op, Value
from symgrad.ir.ops.elementwise import add, and_, floor_divide, mod, mul, pow_, shift_left, shift_right, sub

# How often a value has each carried number in it, by place: once, or more often than that.
Parts: TypeAlias = "dict[int, int]"

_NONE: Parts = {}
_MULTIPLY = (mul, pow_, shift_left)
_BOUNDED = (mod, and_)
_DIVIDE = (floor_divide, shift_right)


def outgrown(ops: Sequence[Op], carried: Sequence[tuple[str, Value, Value]]) -> str | None:
    """Which carried number, by name, param and result, may grow without end, and fast; None if none does."""
    known: dict[Value, Parts] = {param: {k: 1} for k, (_, param, _) in enumerate(carried)}
    _read(ops, known)
    parts = [known.get(result, _NONE) for _, _, result in carried]
    reached = [_reached(k, parts) for k in range(len(parts))]
    for k, part in enumerate(parts):
        around = [number for place, number in part.items() if k in reached[place]]
        if sum(around) > 1:
            return carried[k][0]
    return None


def _reached(start: int, parts: Sequence[Parts]) -> set[int]:
    """The places whose numbers come to be part of the one at a place."""
    found, todo = {start}, [start]
    while todo:
        fresh = parts[todo.pop()].keys() - found
        found |= fresh
        todo += fresh
    return found


def _read(ops: Sequence[Op], known: dict[Value, Parts]) -> None:
    for op in ops:
        operands = [known.get(v, _NONE) for v in op.operands]
        if not any(operands):
            continue
        if len(op.regions) == 2 and len(op.operands) == len(op.regions[0].params) + 1:
            branches = [_of_branch(region, operands[1:]) for region in op.regions]
            made = [_most(pair) for pair in zip(*branches, strict=True)]
        else:
            made = [_made(op, operands)] * len(op.results)
        known |= {v: p for v, p in zip(op.results, made, strict=True) if v.type.dtype.kind in "iu"}


def _of_branch(region: Block, operands: Sequence[Parts]) -> list[Parts]:
    known: dict[Value, Parts] = dict(zip(region.params, operands, strict=True))
    _read(region.ops, known)
    return [known.get(v, _NONE) for v in region.results]


def _made(op: Op, operands: Sequence[Parts]) -> Parts:
    most = _most(operands)
    if op.opdef in _BOUNDED:
        return _NONE
    if op.opdef in _MULTIPLY:
        return dict.fromkeys(most, 2)
    if op.opdef in (add, sub):
        return {k: min(2, sum(part.get(k, 0) for part in operands)) for k in most}
    if op.opdef in _DIVIDE and sum(most.values()) <= 2 and max(most.values()) == 1:
        return _NONE  # a middle lies between its ends
    return most


def _most(parts: Sequence[Mapping[int, int]]) -> Parts:
    return {k: max(part.get(k, 0) for part in parts) for k in {k for part in parts for k in part}}
