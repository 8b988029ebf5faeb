"""Which loops without a known end a gradient reverses: a `while`, and the loop that reads what it stacks.

The stacks grow, and nobody knows how far. They may be left out if the `while` can run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from symgrad.ir import dims
from symgrad.ir.analysis import uses
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import mentioned, mentioned_in
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import ForLoop, Values, WhileLoop, as_for, as_while, flow_of
from symgrad.passes.loop_rows import indexed
from symgrad.passes.remat.reversal import saves


@dataclass(frozen=True, slots=True)
class Unbounded:
    """A `while`, and the later loop that reads its rows from last to first: all steps of either are alike."""

    forward: Op
    backward: Op
    ahead: WhileLoop  # its body returns the next carries and the rows of `read`
    back: ForLoop  # its xs are these stacks
    read: Values  # the stacks, results of `forward`
    ranges: Ranges  # of the names around

    @property
    def state_bytes(self) -> int:
        """Of the carries before a step."""
        return sum(estimated_bytes(v.type, self.ranges) for v in self.ahead.carries)

    @property
    def row_bytes(self) -> int:
        """Of what a step leaves to the later loop."""
        rows = self.ahead.split_results()[1]
        return sum(estimated_bytes(v.type, self.ranges) for v in rows)


def unbounded(block: Block, ranges: Ranges) -> Iterator[Unbounded]:
    """The pairs of a block whose stacks nothing else reads, and whose number of steps no other op knows."""
    users = uses(block)
    for op in block.ops:
        if flow_of(op) is Flow.WHILE and not saves(as_while(op).body):
            stacks = op.results[len(as_while(op).carries) + 1 :]
            readers = {user for v in stacks for user in users[v]}
            others = {name for each in block.ops if each not in readers for name in mentioned(each)}
            if len(readers) == 1 and as_while(op).trips not in others:
                (reader,) = readers
                if flow_of(reader) is Flow.FOR and _reverses(as_for(reader), as_while(op), stacks):
                    back = indexed(as_for(reader), stacks)
                    yield Unbounded(op, reader, as_while(op), back, stacks, ranges)


def _reverses(back: ForLoop, ahead: WhileLoop, stacks: Values) -> bool:
    """Whether a loop reads the rows of a `while` from last to first, and each as the others."""
    every = dims.equal(back.lower, 0) and dims.equal(back.upper, dims.index(ahead.trips))
    alone = set(back.xs) == set(stacks) and set(stacks).isdisjoint((*back.carries, *back.constants))
    alike = back.index not in mentioned_in(back.body) and ahead.trips not in mentioned_in(back.body)
    return back.reverse and every and alone and alike and not back.split_results()[1]
