"""Which loops a gradient reverses: one that stacks rows, and a later one that reads them last to first.

That is what differentiation makes of a loop. The stacks may be left out if the first loop can run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from symgrad.ir import dims
from symgrad.ir.analysis import uses, walk
from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import binds_after, mentioned_in
from symgrad.ir.opdef import Flow, Mark
from symgrad.ir.regions import ForLoop, as_for, flow_of
from symgrad.passes.loop_rows import indexed

MIN_TRIPS = 16


@dataclass(frozen=True, slots=True)
class Reversal:
    """A loop, the later one that reads its rows from last to first, and these rows.

    Other stacks that the two read are constants here, of which the bodies read a row at the index.
    """

    forward: Op
    backward: Op
    ahead: ForLoop  # its body returns the next carries, what others read of its rows, and the rows of `read`
    back: ForLoop  # its xs are the stacks that it reads of the other loop
    read: tuple[Value, ...]  # these stacks, results of `forward`
    others: tuple[Value, ...]  # its other stacks
    ranges: Ranges  # of the names around

    @property
    def trips(self) -> int:
        """How often either body runs."""
        return dims.known(self.ahead.trips)

    @property
    def lower(self) -> int:
        """The first index."""
        return dims.known(self.ahead.lower)

    @property
    def stacked_bytes(self) -> int:
        """Of the stacks that may be left out."""
        return sum(estimated_bytes(v.type, self.ranges) for v in self.read)

    @property
    def is_autonomous(self) -> bool:
        """Whether all steps are alike, may be copied into one block, and have no rows but those of `read`."""
        loops = (self.ahead, self.back)
        alike = all(loop.index not in mentioned_in(loop.body) for loop in loops)
        alike = alike and not any(binds_after(op) for loop in loops for op in loop.body.ops)
        return alike and not self.others and not self.back.split_results()[1]


def reversals(block: Block, ranges: Ranges) -> Iterator[Reversal]:
    """The pairs of a block, no loop of which is in two of them."""
    users = uses(block)
    taken: set[Op] = set()
    for op in block.ops:
        if flow_of(op) is not Flow.FOR or op in taken or not _is_fixed(as_for(op)) or as_for(op).reverse:
            continue
        stacks = op.results[len(as_for(op).carries) :]
        readers = {user for v in stacks for user in users[v]}
        for reader in (later for later in block.ops if later in readers and later not in taken):
            found = _reversal(op, reader, users, block, ranges)
            if found is not None:
                taken |= {op, reader}
                yield found
                break


def _is_fixed(loop: ForLoop) -> bool:
    """Whether the bounds are numbers, far enough from each other, and the body may run again."""
    known = dims.is_known(loop.lower) and dims.is_known(loop.upper)
    return known and dims.known(loop.trips) >= MIN_TRIPS and not saves(loop.body)


def saves(body: Block) -> bool:
    """Whether something in a body is to be kept, whatever it takes."""
    return any(op.opdef.mark is Mark.SAVE for op in walk(body))


def _reversal(
    op: Op, reader: Op, users: dict[Value, tuple[Op, ...]], block: Block, ranges: Ranges
) -> Reversal | None:
    if flow_of(reader) is not Flow.FOR:
        return None
    ahead, back = as_for(op), as_for(reader)
    alike = dims.equal(back.lower, ahead.lower) and dims.equal(back.upper, ahead.upper)
    if not back.reverse or not alike or not _is_fixed(back):
        return None
    stacks = op.results[len(ahead.carries) :]
    read = [v for v in stacks if set(users[v]) == {reader} and v not in block.results and v in back.xs]
    read = [v for v in read if v not in (*back.carries, *back.constants)]
    if not read:
        return None
    others = [v for v in stacks if v not in read]
    inner = dict(zip(stacks, ahead.split_results()[1], strict=True))
    carried = ahead.body.results[: len(ahead.carries)]
    body = replace(ahead.body, results=(*carried, *(inner[v] for v in others), *(inner[v] for v in read)))
    ahead = indexed(replace(ahead, body=body))
    return Reversal(op, reader, ahead, indexed(back, read), tuple(read), tuple(others), ranges)
