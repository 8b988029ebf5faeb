"""What passes ask of a block: who defines a value, who uses it, and until when it lives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from symgrad.ir.core import Block, Function, Op, Value


def defs(block: Block) -> dict[Value, Op]:
    """The op that defines each value of the block; params have none."""
    return {result: op for op in block.ops for result in op.results}


def uses(block: Block) -> dict[Value, tuple[Op, ...]]:
    """The users of each value of the block in order, one entry an operand position; empty where unused."""
    users: dict[Value, list[Op]] = {value: [] for value in values(block)}
    for op in block.ops:
        for operand in op.operands:
            users.setdefault(operand, []).append(op)
    return {value: tuple(ops) for value, ops in users.items()}


def use_counts(block: Block) -> dict[Value, int]:
    """How often each value of the block is an operand or a result of the block."""
    counts = dict.fromkeys(values(block), 0)
    for value in (*(operand for op in block.ops for operand in op.operands), *block.results):
        counts[value] = counts.get(value, 0) + 1
    return counts


def last_use(block: Block) -> dict[Value, int]:
    """The index of the op at which each value is used last.

    Results of the block live to its end, which has the index `len(block.ops)`. A value without use has the
    index of the op that defines it, and a param without use has -1.
    """
    last = dict.fromkeys(block.params, -1)
    for k, op in enumerate(block.ops):
        last.update(dict.fromkeys((*op.operands, *op.results), k))
    last.update(dict.fromkeys(block.results, len(block.ops)))
    return last


def values(block: Block) -> Iterator[Value]:
    """The params and the results of the ops of a block, in order; regions are not entered."""
    yield from block.params
    for op in block.ops:
        yield from op.results


def walk(block: Block) -> Iterator[Op]:
    """Every op in order, each before those of its regions."""
    pending = list(reversed(block.ops))
    while pending:
        op = pending.pop()
        yield op
        for region in reversed(op.regions):
            pending.extend(reversed(region.ops))


def op_counts(function: Function) -> dict[str, int]:
    """How many ops of each name the function has, regions included, in the order of the names."""
    return dict(sorted(Counter(op.opdef.name for op in walk(function.body)).items()))
