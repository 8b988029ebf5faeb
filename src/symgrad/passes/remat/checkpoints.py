"""Checkpointed loops: a loop runs again, piece by piece, for the later loop that reads what it has stacked.

`segments` does that for any loop that has an end, `simplex` for those whose steps are all alike, in less
memory, and `doubling` for those without a known end. A step that runs again gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Function, Op, with_body
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import bound_in
from symgrad.passes.cost import LEVELS as CACHES
from symgrad.passes.cost import USUAL_TRIPS, seconds
from symgrad.passes.dce import dce
from symgrad.passes.fuse import fuse
from symgrad.passes.remat.doubling import Doubling
from symgrad.passes.remat.inward import inward
from symgrad.passes.remat.reversal import Reversal
from symgrad.passes.remat.reversals import Pair, in_regions, pairs_of, pairs_within
from symgrad.passes.remat.segments import Segments
from symgrad.passes.remat.simplex import Simplex
from symgrad.passes.remat.unbounded import Unbounded
from symgrad.passes.remat.writing import Writer

PARTS = (0.5, 0.75, 1.0)  # of the steps, in segments
LEVELS = (2, 3, 4)  # how often a step runs at most
# Slots · rows of loops without a known end, up to which each step runs twice.
REACHES = tuple(USUAL_TRIPS >> k for k in range(0, 16, 2))

LARGE = CACHES[-1][0]  # bytes of stacks; less is read from a cache
MIN_GAIN = 0.95  # what runs again by default must take at most this part of the time

Scheme: TypeAlias = "Segments | Simplex | Doubling"
Choice: TypeAlias = "Callable[[Pair], Scheme | None]"  # of how to write a pair anew, if at all


def checkpoint(function: Function) -> Function:
    """The function with loops that run again where that is faster than to keep what they stack in memory."""
    found = rewritten(function, _large)
    if found is function:
        return function
    return found if seconds(fuse(found)) <= MIN_GAIN * seconds(fuse(function)) else function


def _large(pair: Pair) -> Scheme | None:
    """Segments for what is larger than the caches; a loop that may turn out to be short stays as it is."""
    if isinstance(pair, Unbounded) or pair.stacked_bytes <= LARGE:
        return None
    return _segments(pair, 1.0)


def checkpointed(function: Function) -> Iterator[Function]:
    """The function with the loops that its gradient reverses in pieces that run again, of several sizes."""
    yield from _checkpointed(function, REACHES)
    moved = inward(function)
    if moved is not function:
        yield moved
        yield from _checkpointed(moved, REACHES[::4])


def _checkpointed(function: Function, reaches: Sequence[int]) -> Iterator[Function]:
    """The function with each of its pairs written anew."""
    pairs = list(pairs_within(function.body, {}))
    bounded = [pair for pair in pairs if isinstance(pair, Reversal)]
    ways: list[Callable[[Reversal], Scheme | None]] = []
    if bounded:
        ways += [lambda pair, part=part: _segments(pair, part) for part in PARTS]
    if any(pair.is_autonomous for pair in bounded):
        ways += [lambda pair, levels=levels: _simplex(pair, levels) for levels in LEVELS]
    if len(bounded) == len(pairs):
        yield from (rewritten(function, cast(Choice, way)) for way in ways)
        return
    # What grows must run again; loops with an end may, or else are as they were.
    for reach in reaches[:: 2 if ways else 1]:
        for way in (_kept, *ways[PARTS.index(1.0) :]):
            yield rewritten(function, _choice(reach, way))


def _kept(_: Pair) -> None:
    """A pair stays as it is."""


def _choice(reach: int, way: Callable[[Reversal], Scheme | None]) -> Choice:
    return lambda pair: _doubling(pair, reach) if isinstance(pair, Unbounded) else way(pair)


def _simplex(pair: Reversal, levels: int) -> Scheme:
    """Simplices with as many rows as levels at least, or segments where steps differ."""
    if not pair.is_autonomous:
        return _segments(pair, 1.0)
    enough = (level for level in range(levels, 1, -1) if math.comb(2 * level, level) <= pair.trips)
    return Simplex(pair, next(enough, 2))


def _segments(pair: Reversal, part: float) -> Segments:
    """Segments of the length that takes least memory, for so many of the steps."""
    state = sum(estimated_bytes(v.type, pair.ranges) for v in pair.ahead.carries)
    row = pair.stacked_bytes / pair.trips
    steps = max(4, int(part * pair.trips))
    length = min(max(2, round(math.sqrt(steps * state / max(row, 1.0)))), steps // 2)
    return Segments(pair, steps // length, length)


def _doubling(pair: Unbounded, reach: int) -> Doubling:
    """Slots and rows that take least memory, of this product."""
    state = pair.state_bytes + 8  # the number of steps before it
    slots = 4 * max(2, round(math.sqrt(reach * pair.row_bytes / state) / 4))
    return Doubling(pair, slots, max(1, reach // slots))


# ---- programs with other loops ---------------------------------------------------------------------------
def rewritten(function: Function, choice: Choice) -> Function:
    """The function with the loops of each pair written anew, as the scheme that is chosen for it has them."""
    names = set(bound_in(function.body))
    body = _rewritten(function.body, {}, choice, names)
    return function if body is function.body else dce(with_body(function, body))


def _rewritten(block: Block, ranges: Ranges, choice: Choice, names: set[str]) -> Block:
    """The block with the pairs in its regions written anew, and then its own, of which those are a part."""
    block = in_regions(block, ranges, lambda region, inner: _rewritten(region, inner, choice, names))
    schemes = [scheme for pair in pairs_of(block, ranges) if (scheme := choice(pair)) is not None]
    if not schemes:
        return block
    forward: dict[Op, Scheme] = {scheme.pair.forward: scheme for scheme in schemes}
    backward: dict[Op, Scheme] = {scheme.pair.backward: scheme for scheme in schemes}
    writer = Writer(names)
    for op in block.ops:
        writer.builder.loc = op.loc
        if op in forward:
            forward[op].run(writer)
        elif op in backward:
            backward[op].reverse(writer)
        else:
            writer.builder.append(replace(op, operands=writer.of(op.operands)))
    return writer.builder.block(block.params, writer.of(block.results))
