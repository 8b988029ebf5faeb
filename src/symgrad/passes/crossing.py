"""Which values are kept for later, and which are made again there: one minimum cut for a block.

A value that a later stage reads (see `stages`) may be stored, which costs writing and reading, or be made
again there from others that cross in its stead, which costs its arithmetic. Of a layer z tanh(p(z)) with its
derivative five arrays are stored if all are that two kernels read; z, tanh(p(z)) and the result are enough.

What crosses at least cost is a minimum cut, as in the partitioner of PyTorch's AOTAutograd, but with the time
that it takes to make values again where that one has a ban. Each value is two nodes. A value whose first node
is on the side of the sink is made at the later stages; one whose second node alone is there is stored.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from symgrad.ir.capacity import estimated_bytes
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Ranges
from symgrad.passes.cost import LEVELS, WRITING
from symgrad.passes.min_cut import INFINITY, SINK, SOURCE, Network
from symgrad.passes.stages import Stages, stages_in

NEAR = LEVELS[0][0]  # bytes of an array that is always in the nearest cache
MAX_OPS = 4000  # in a block; of a larger one everything is stored
CAUTION = 1.5  # times the arithmetic of what is made again: caches may be larger than the model's
TIE = 1e-15  # seconds for each byte that is stored: of what takes the same time, the smaller


@dataclass(frozen=True, slots=True)
class Crossing:
    """A block with ops of its own for what is made again."""

    block: Block
    early: frozenset[Op]  # those that are computed in the loop of what they read, though readers come later


def crossing(block: Block, free: frozenset[Op], ranges: Ranges, late: Set[Op] = frozenset()) -> Crossing:
    """The block with what crosses chosen anew; `free` are ops that are computed where they are read.

    The `late` ones compute again, at their place, what was computed before: no stage before has them.
    """
    if len(block.ops) <= MAX_OPS and any(_is_large(v, ranges) for op in block.ops for v in op.results):
        stages = Stages(block, free, ranges, late)
        if any(_is_open(v, stages) for v in stages.of):
            return _Writer(stages, _decided(stages)).written()
    return Crossing(block, frozenset())


def _is_large(value: Value, ranges: Ranges) -> bool:
    return estimated_bytes(value.type, ranges) > NEAR


def _is_open(value: Value, stages: Stages) -> bool:
    """Whether there is something to decide on a value: it crosses, and could be made again."""
    reader, maker = stages.of[value], stages.movable(value)
    open_ = maker is not None and maker not in stages.free and not reader.fixed
    return open_ and reader.later > 0 and _is_large(value, stages.ranges)


# ---- what is decided --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Price:
    """What it costs to have a value at later stages, in seconds."""

    stored: float  # to write it in its own stage, if it is not in memory there anyway, and read it
    again: float  # to make it later, beyond what making it once takes
    once: bool = False  # whether it is then made at the first of these stages, and stored for the others


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done with the values that cross."""

    again: Set[Value]  # they are made again at later stages
    stored: Set[Value]  # they are stored for these
    once: Set[Value]  # those of `again` that are made once, for all later stages


def price_of(value: Value, stages: Stages) -> Price:
    """What it costs to have a value at the later stages that read it, or what is made with it."""
    reader, maker = stages.of[value], stages.movable(value)
    if maker in stages.free:
        return Price(INFINITY, INFINITY if reader.fixed else 0.0)
    reads = [stages.reading(value, stage) for stage in stages_in(reader.reached)]
    if maker is None or reader.fixed:
        return Price(INFINITY if reader.fixed else sum(reads), INFINITY)
    writing, computing = WRITING * reads[0], CAUTION * stages.computing(maker)
    stored = sum(reads) if reader.stored else writing + sum(reads) + TIE * reader.nbytes
    in_memory = writing + reads[0] if reader.in_memory else 0.0
    each = (len(reads) - (not reader.early)) * (computing + in_memory)
    once = computing * reader.early + (
        writing + sum(reads[1:]) if len(reads) > 1 else in_memory * reader.early
    )
    return Price(stored, min(each, once), once < each)


def _decided(stages: Stages) -> Decision:
    """Which values are made again, and which are stored."""
    prices = {v: price_of(v, stages) for v, reader in stages.of.items() if reader.reached}
    network, nodes = Network(), dict[Value, tuple[int, int]]()
    for v, price in prices.items():
        reader = stages.of[v]
        first, second = nodes[v] = network.node(), network.node()
        network.edge(SOURCE, first, price.again)
        network.edge(first, second, price.stored)
        if reader.later and not reader.fixed:
            network.edge(second, SINK, INFINITY)
    for v, (_, second) in nodes.items():
        for op in stages.of[v].together:
            if op.result in nodes:
                network.edge(second, nodes[op.result][0], INFINITY)
    left = network.source_side()
    again = {v for v, (first, _) in nodes.items() if first not in left}
    stored = {v for v, (first, second) in nodes.items() if first in left and second not in left}
    return Decision(again, stored, {v for v in again if prices[v].once})


# ---- the new block ----------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Writer:
    """Writes the block with the ops that are made again, each right before its first reader."""

    stages: Stages
    decision: Decision
    ops: list[Op] = field(default_factory=lambda: list[Op]())
    made: dict[tuple[Value, int], Value] = field(default_factory=lambda: dict[tuple[Value, int], Value]())

    def written(self) -> Crossing:
        """The new block."""
        block, ahead = self.stages.block, self._ahead()
        early: set[Op] = set()
        for op in block.ops:
            runs = self.stages.runs[op]
            operands = tuple(self._at(v, runs) for v in op.operands)
            self.ops.append(op if operands == op.operands else replace(op, operands=operands))
            if op in ahead:
                early.add(self.ops[-1])
        used = _used(self.ops, block.results, self.stages)
        return Crossing(Block(block.params, _moved_up(used, early), block.results), frozenset(early))

    def _ahead(self) -> set[Op]:
        """The ops that are computed in their own stage for the sake of later ones alone."""
        found: set[Op] = set()
        for op in reversed(self.stages.block.ops):
            if self.stages.is_point(op) and not self.stages.of[op.result].early:
                readers = self.stages.of[op.result].together
                if op.result in self.decision.stored or not found.isdisjoint(readers):
                    found.add(op)
        return found

    def _at(self, value: Value, stage: int) -> Value:
        """What stands for a value at a stage; it is made again, with what it needs, if it is not there."""
        pending = [(value, stage)]
        while pending:
            key = self._key(*pending[-1])
            maker = None if key is None or key in self.made else self.stages.movable(key[0])
            if key is None or maker is None:
                pending.pop()
                continue
            needed = [(v, key[1]) for v in maker.operands if self._now(v, key[1]) is None]
            if needed:
                pending += needed
                continue
            pending.pop()
            self._make(key, maker)
        return self._now(value, stage) or value

    def _key(self, value: Value, stage: int) -> tuple[Value, int] | None:
        """The value and the stage that it is made again for; None if it is not."""
        reader = self.stages.of[value]
        if value not in self.decision.again or stage <= reader.stage:
            return None
        return value, (next(stages_in(reader.reached)) if value in self.decision.once else stage)

    def _now(self, value: Value, stage: int) -> Value | None:
        """What stands for a value at a stage; None if it has still to be made."""
        key = self._key(value, stage)
        return value if key is None else self.made.get(key)

    def _make(self, key: tuple[Value, int], maker: Op) -> None:
        value, stage = key
        operands = tuple(self._now(v, stage) or v for v in maker.operands)
        if maker in self.stages.free and operands == maker.operands:
            self.made[key] = value
            return
        self.made[key] = Value(value.type, value.hint)
        self.ops.append(replace(maker, operands=operands, results=(self.made[key],)))


def _used(ops: Sequence[Op], results: Sequence[Value], stages: Stages) -> list[Op]:
    """The ops without those that nobody reads any more."""
    read, kept = set(results), list[Op]()
    for op in reversed(ops):
        if not stages.is_point(op) or not read.isdisjoint(op.results):
            read.update(op.operands)
            kept.append(op)
    return kept[::-1]


def _moved_up(ops: Sequence[Op], early: Set[Op]) -> tuple[Op, ...]:
    """The ops in an order in which the early ones come right after what they read."""
    place: dict[Value, int] = {}
    keys: list[tuple[int, bool, int]] = []
    for k, op in enumerate(ops):
        ahead = op in early
        at = max((place[v] for v in op.operands if v in place), default=-1) if ahead else k
        place.update((v, at) for v in op.results)
        keys.append((at, ahead, k))
    return tuple(ops[k] for _, _, k in sorted(keys))
