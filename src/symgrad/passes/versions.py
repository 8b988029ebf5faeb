"""Who must read an array before an update writes over it: the order in which updates are in place.

A1 = update(A0, u) costs as many writes as u has elements if nothing reads A0 afterwards, and a copy of A0
otherwise. So every reader of A0 is put before the update, unless it needs what the update makes. A reader
that does, and sees but a piece of A0 through a move, reads a copy of that piece instead, made before.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import binds_after, bound_by, mentioned
from symgrad.ir.opdef import Control, Flow, Scatter, Update
from symgrad.ir.overwriting import reads_beside, reads_what_it_rewrites, writes_one_element
from symgrad.ir.regions import as_branch, as_for, as_while
from symgrad.passes.reads import Read, Reads

# Ops looked at in search of paths in one block; beyond, a path is taken to be there.
MAX_SEARCH = 300_000


@dataclass(frozen=True, slots=True)
class Versions:
    """The order that updates in place ask for."""

    block: Block  # its ops in such an order
    before: dict[Op, set[Op]]  # what must come before an op, besides what makes its operands
    pieces: frozenset[Op]  # free ops that are stored once, so that an update need not wait for their readers


def versions(block: Block, reads: Reads, ranges: Ranges, own: Set[Value]) -> Versions:
    """The order of a block; `own` are the params whose memory the block may write over."""
    search = _Search(block, reads, ranges)
    search.name_before_use()
    for op in block.ops:
        for root in dict.fromkeys(reads.roots[v] for v in overwritten(op)):
            if root in own or (root in reads.makers and reads.makers[root] not in reads.free):
                search.keep_in_place(op, root)
    for op, root in _successors(block, reads, own):
        search.prefer_in_place(op, root)
    return Versions(search.ordered(), search.before, frozenset(search.pieces))


def overwritten(op: Op) -> tuple[Value, ...]:
    """The operands that an op changes in places, and should be written over."""
    match op.opdef.lowering:
        case Update() | Scatter():
            return op.operands[:1]
        case Control(Flow.FOR):
            return tuple(v for v in as_for(op).carries if v.type.rank)
        case Control(Flow.WHILE):
            return tuple(v for v in as_while(op).carries if v.type.rank)
        case Control(Flow.BRANCH):
            kinds = {v.type for v in op.results if v.type.rank}
            return tuple(v for v in as_branch(op).constants if v.type in kinds)
        case _:
            return ()


def _successors(block: Block, reads: Reads, own: Set[Value]) -> Iterator[tuple[Op, Value]]:
    """The ops that compute the next value of a carried array as a whole, each with the param."""
    for param, result in zip(block.params, block.results, strict=False):
        maker = reads.makers.get(reads.roots[result])
        if param not in own or maker is None or maker in reads.free or overwritten(maker):
            continue
        if param.type.rank and param.type == result.type:
            yield maker, param


@dataclass(slots=True)
class _Search:
    """The dependences of a block, to which those of the updates are added."""

    block: Block
    reads: Reads
    ranges: Ranges
    before: dict[Op, set[Op]] = field(default_factory=lambda: dict[Op, set[Op]]())
    pieces: set[Op] = field(default_factory=lambda: set[Op]())
    position: dict[Op, int] = field(init=False)
    after: dict[Op, list[Op]] = field(init=False)  # the ops that need each op to come before
    forward: bool = True  # whether all of these come after it in the block as it is, too
    fuel: int = MAX_SEARCH

    def __post_init__(self) -> None:
        self.position = {op: k for k, op in enumerate(self.block.ops)}
        self.after = {op: [] for op in self.block.ops}
        for op in self.block.ops:
            for v in dict.fromkeys(op.operands):
                if v in self.reads.makers:
                    self.after[self.reads.makers[v]].append(op)

    def name_before_use(self) -> None:
        """Put the ops that give numbers names before those that use the names."""
        binders = {bound_by(op): op for op in self.block.ops if binds_after(op)}
        if not binders:
            return
        used: dict[Value, set[str]] = {}  # by the free ops that make a value
        for op in self.block.ops:
            names = set(mentioned(op)).union(*(used.get(v, ()) for v in op.operands)).intersection(binders)
            if op in self.reads.free:
                used[op.result] = names
            for name in names:
                self._put_before(binders[name], op)

    def keep_in_place(self, update: Op, root: Value) -> None:
        """Put the readers of an array before the op that writes over it, or give them copies of pieces."""
        for read in self.reads.of(root):
            if read.op is update:
                if not harmless(update, read, self.ranges):
                    self._store(read.last, update, root)
            elif self._reaches(update, read.op):
                if read.through is not None and not self._reaches(update, read.through):
                    self._store(read.through, update, root)
            else:
                self._put_before(read.op, update)

    def prefer_in_place(self, op: Op, root: Value) -> None:
        """Put the readers of an array before the op that makes its next value, as far as they can be."""
        for read in self.reads.of(root):
            if read.op is not op and not self._reaches(op, read.op):
                self._put_before(read.op, op)

    def _put_before(self, reader: Op, op: Op) -> None:
        if reader not in self.before.setdefault(op, set()):
            self.before[op].add(reader)
            self.after[reader].append(op)
            self.forward &= self.position[reader] < self.position[op]

    def _store(self, piece: Op | None, update: Op, root: Value) -> None:
        """Have the result of a free op stored before the update, unless it is larger than the array."""
        if piece is None:
            return
        sizes = [estimated_bytes(v.type, self.ranges) for v in (piece.result, root)]
        if sizes[0] > sizes[1] or self._reaches(update, piece):
            return
        if piece not in self.pieces:
            self.pieces.add(piece)
            self.reads.store(piece)
        self._put_before(piece, update)

    def _reaches(self, early: Op, late: Op) -> bool:
        """Whether an op needs another one to come before, directly or through others."""
        end = self.position[late]
        if self.forward and end <= self.position[early]:
            return False
        pending, seen = [early], {early}
        while pending:
            for op in self.after[pending.pop()]:
                if op is late:
                    return True
                if op not in seen and not (self.forward and self.position[op] > end):
                    seen.add(op)
                    pending.append(op)
            self.fuel -= 1
            if self.fuel < 0:
                return True
        return False

    def ordered(self) -> Block:
        """The block in an order in which everything comes after what it needs, else as it was."""
        if self.forward:
            return self.block
        missing = dict.fromkeys(self.block.ops, 0)
        for followers in self.after.values():
            for op in followers:
                missing[op] += 1
        ready = [self.position[op] for op, count in missing.items() if count == 0]
        heapify(ready)
        found: list[Op] = []
        while ready:
            op = self.block.ops[heappop(ready)]
            found.append(op)
            for follower in self.after[op]:
                missing[follower] -= 1
                if missing[follower] == 0:
                    heappush(ready, self.position[follower])
        return Block(self.block.params, tuple(found), self.block.results)


def harmless(update: Op, read: Read, ranges: Ranges) -> bool:
    """Whether an update reads its array as what it writes over, or no element that it has written over."""
    if read.through is None:
        return True
    if not isinstance(update.opdef.lowering, Update):
        return False
    if writes_one_element(update) or reads_beside(update, read.through, ranges):
        return True
    return not read.moved and reads_what_it_rewrites(update, read.through)
