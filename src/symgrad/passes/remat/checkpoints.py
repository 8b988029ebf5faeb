"""Checkpointed loops: a loop runs again, piece by piece, for the later loop that reads what it has stacked.

`segments` does that for any loop, `simplex` for those whose steps are all alike, in less memory. A step that
runs again gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Function, Op, with_body
from symgrad.ir.index_names import bound_in
from symgrad.passes.cost import LEVELS as CACHES
from symgrad.passes.cost import seconds
from symgrad.passes.dce import dce
from symgrad.passes.fuse import fuse
from symgrad.passes.remat.reversal import Reversal, reversals
from symgrad.passes.remat.segments import Segments
from symgrad.passes.remat.simplex import Simplex
from symgrad.passes.remat.writing import Writer

PARTS = (0.5, 0.75, 1.0)  # of the steps, in segments
LEVELS = (2, 3, 4)  # how often a step runs at most

LARGE = CACHES[-1][0]  # bytes of stacks; less is read from a cache
MIN_GAIN = 0.95  # what runs again by default must take at most this part of the time

Scheme: TypeAlias = "Segments | Simplex"


def checkpoint(function: Function) -> Function:
    """The function with loops that run again where that is faster than to keep what they stack in memory."""
    if not any(_stacked(pair) > LARGE for pair in reversals(function.body)):
        return function
    found = rewritten(function, lambda pair: _segments(pair, 1.0))
    return found if seconds(fuse(found)) <= MIN_GAIN * seconds(fuse(function)) else function


def _stacked(pair: Reversal) -> int:
    return sum(estimated_bytes(v.type, {}) for v in pair.read)


def checkpointed(function: Function) -> Iterator[Function]:
    """The function with the loops that its gradient reverses in pieces that run again, of several sizes."""
    if next(reversals(function.body), None) is None:
        return
    for part in PARTS:
        yield rewritten(function, lambda pair, part=part: _segments(pair, part))
    if any(pair.is_autonomous for pair in reversals(function.body)):
        for levels in LEVELS:
            yield rewritten(function, lambda pair, levels=levels: _simplex(pair, levels))


def _simplex(pair: Reversal, levels: int) -> Scheme:
    return Simplex(pair, levels) if pair.is_autonomous else _segments(pair, 1.0)


def _segments(pair: Reversal, part: float) -> Segments:
    """Segments of the length that takes least memory, for so many of the steps."""
    state = sum(estimated_bytes(v.type, {}) for v in pair.ahead.carries)
    row = _stacked(pair) / pair.trips
    steps = max(4, int(part * pair.trips))
    length = min(max(2, round(math.sqrt(steps * state / max(row, 1.0)))), steps // 2)
    return Segments(pair, steps // length, length)


def rewritten(function: Function, scheme_of: Callable[[Reversal], Scheme]) -> Function:
    """The function with the loops of each pair written anew, as the scheme of the pair has them."""
    schemes = [scheme_of(pair) for pair in reversals(function.body)]
    forward: dict[Op, Scheme] = {scheme.pair.forward: scheme for scheme in schemes}
    backward: dict[Op, Scheme] = {scheme.pair.backward: scheme for scheme in schemes}
    writer = Writer(set(bound_in(function.body)))
    for op in function.body.ops:
        writer.builder.loc = op.loc
        if op in forward:
            forward[op].run(writer)
        elif op in backward:
            backward[op].reverse(writer)
        else:
            writer.builder.append(replace(op, operands=writer.of(op.operands)))
    body = writer.builder.block(function.body.params, writer.of(function.body.results))
    return dce(with_body(function, body))
