"""Loops in branches: what a loop stacks for a later branch of the same condition is made again there.

The stacks need not leave the first branch then, and are no array that is made where the branch is not taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from symgrad.ir.analysis import uses
from symgrad.ir.builder import Builder
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.opdef import Flow
from symgrad.ir.ops import constant
from symgrad.ir.regions import Branch, Values, as_branch, as_for, branch_op, flow_of
from symgrad.passes.literals import literal


@dataclass(frozen=True, slots=True)
class _Moving:
    """A loop in a branch, and the later branch of the same condition that alone reads what it stacks."""

    first: Op
    later: Op
    arm: int  # 0 where the condition holds, 1 where not
    maker: Op
    stacks: tuple[int, ...]  # which results of the first branch they are


def loops_in_branches(block: Block, ranges: Ranges) -> Block:
    """The block with loops in its branches run again where that saves bytes."""
    while (found := next(_movings(block, ranges), None)) is not None:
        first, later = _moved(found)
        changed = {found.first: first, found.later: later}
        block = replace(block, ops=tuple(changed.get(op, op) for op in block.ops))
    return block


def _movings(block: Block, ranges: Ranges) -> Iterator[_Moving]:
    users = uses(block)
    branches = [op for op in block.ops if flow_of(op) is Flow.BRANCH]
    for number, first in enumerate(branches):
        for later in branches[number + 1 :]:
            if as_branch(later).predicate is not as_branch(first).predicate:
                continue
            alone = [k for k, v in enumerate(first.results) if set(users[v]) == {later}]
            alone = [k for k in alone if first.results[k] not in block.results]
            for arm in (0, 1):
                free = [k for k in alone if _unread(later, first.results[k], 1 - arm)]
                for maker in first.regions[arm].ops:
                    found = _Moving(first, later, arm, maker, _stacks(first, maker, arm, free))
                    if found.stacks and _saves(found, ranges):
                        yield found


def _unread(op: Op, value: Value, arm: int) -> bool:
    """Whether one region of a branch does nothing with an operand."""
    region = op.regions[arm]
    params = {p for p, v in zip(region.params, op.operands[1:], strict=True) if v is value}
    return params.isdisjoint((*(v for inner in region.ops for v in inner.operands), *region.results))


def _stacks(first: Op, maker: Op, arm: int, free: Sequence[int]) -> tuple[int, ...]:
    """Which of some results of a branch are stacks that a loop in it makes."""
    if flow_of(maker) is not Flow.FOR:
        return ()
    made = maker.results[len(as_for(maker).carries) :]
    return tuple(k for k in free if first.regions[arm].results[k] in made)


def _saves(moving: _Moving, ranges: Ranges) -> bool:
    """Whether what the loop begins with takes fewer bytes than what it stacks."""
    params = moving.first.regions[moving.arm].params
    kept = sum(estimated_bytes(v.type, ranges) for v in set(moving.maker.operands) if v not in params)
    return kept < sum(estimated_bytes(moving.first.results[k].type, ranges) for k in moving.stacks)


# ---- moving them -------------------------------------------------------------------------------------------
def _moved(moving: _Moving) -> tuple[Op, Op]:
    """The two branches, with the loop in the later one."""
    first, given = moving.first, tuple(dict.fromkeys(moving.maker.operands))
    params = first.regions[moving.arm].params
    new = {v: Value(v.type, v.hint) for v in given if v not in params}  # results of the first branch
    handed = tuple(new[v] if v in new else first.operands[1 + params.index(v)] for v in given)
    return _first(moving, new), _later(moving, given, handed)


def _first(moving: _Moving, new: dict[Value, Value]) -> Op:
    """The first branch without the stacks, and with what the loop begins with."""
    first = moving.first
    kept = [k for k in range(len(first.results)) if k not in moving.stacks]
    regions: list[Block] = []
    for arm, region in enumerate(first.regions):
        builder = Builder()
        builder.ops.extend(region.ops)
        more = new if arm == moving.arm else [_nothing(v, builder) for v in new]
        regions.append(builder.block(region.params, (*(region.results[k] for k in kept), *more)))
    results = (*(first.results[k] for k in kept), *new.values())
    branch = as_branch(first)
    return branch_op(Branch(branch.predicate, branch.constants, *regions), first.loc, results)


def _nothing(like: Value, builder: Builder) -> Value:
    return builder.emit(constant, (), {"value": literal(0, like.type.dtype)}, like.type)


def _later(moving: _Moving, given: Values, handed: Values) -> Op:
    """The later branch, which is handed what the loop begins with, and runs it in front of what it does."""
    later, gone = moving.later, {moving.first.results[k]: k for k in moving.stacks}
    branch = as_branch(later)
    kept = [k for k, v in enumerate(branch.constants) if v not in gone]
    regions: list[Block] = []
    for arm, region in enumerate(later.regions):
        builder, fresh = Builder(), tuple(Value(v.type, v.hint) for v in given)
        values: dict[Value, Value] = {}
        if arm == moving.arm:
            made = builder.inline(Block(given, (moving.maker,), moving.maker.results), fresh)
            again = dict(zip(moving.maker.results, made, strict=True))
            rows = moving.first.regions[arm].results
            pairs = zip(region.params, branch.constants, strict=True)
            values = {p: again[rows[gone[v]]] for p, v in pairs if v in gone}
        for op in region.ops:
            builder.append(replace(op, operands=tuple(values.get(v, v) for v in op.operands)))
        params = (*(region.params[k] for k in kept), *fresh)
        regions.append(builder.block(params, [values.get(v, v) for v in region.results]))
    constants = (*(branch.constants[k] for k in kept), *handed)
    return branch_op(Branch(branch.predicate, constants, *regions), later.loc, later.results)
