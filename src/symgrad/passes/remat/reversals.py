"""All pairs of loops that a gradient makes, with a known end or without, at the top and in regions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import is_
from typing import TypeAlias

from symgrad.ir.capacity import ranges_within
from symgrad.ir.core import Block, Op
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import ranges_inside
from symgrad.passes.remat.reversal import Reversal, reversals
from symgrad.passes.remat.unbounded import Unbounded, unbounded

Pair: TypeAlias = "Reversal | Unbounded"


def pairs_of(block: Block, ranges: Ranges) -> Iterator[Pair]:
    """The pairs of a block."""
    ranges = ranges_within(block, ranges)
    yield from reversals(block, ranges)
    yield from unbounded(block, ranges)


def pairs_within(block: Block, ranges: Ranges) -> Iterator[Pair]:
    """The pairs of a block and of the regions in it."""
    yield from pairs_of(block, ranges)
    ranges = ranges_within(block, ranges)
    for op in block.ops:
        for region in op.regions:
            yield from pairs_within(region, ranges_inside(op, ranges))


def in_regions(block: Block, ranges: Ranges, change: Callable[[Block, Ranges], Block]) -> Block:
    """The block with its regions changed; the same object if none is."""
    ranges = ranges_within(block, ranges)
    ops: list[Op] = []
    for op in block.ops:
        regions = tuple(change(region, ranges_inside(op, ranges)) for region in op.regions)
        ops.append(op if regions == op.regions else replace(op, regions=regions))
    return block if all(map(is_, ops, block.ops)) else replace(block, ops=tuple(ops))
