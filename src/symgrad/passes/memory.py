"""Memory planning: where every array of a fused program is stored, before it runs.

Results of the function go straight into their fresh arrays, views share the place of what they view, and all
other values lie in one arena, where bytes are used again as soon as their value is dead. Numbers inside loops
and branches have no place: they are kept in registers. `slots` decides which values share bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from symgrad.errors import Loc
from symgrad.ir.analysis import last_use
from symgrad.ir.capacity import most_bytes, ranges_within
from symgrad.ir.core import Block, Function, Op, Place, Space, Value, with_body
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import ranges_inside
from symgrad.ir.opdef import Flow
from symgrad.ir.overwriting import is_alias
from symgrad.ir.regions import flow_of, row_type
from symgrad.ir.types import aligned
from symgrad.passes.allocate import allocate
from symgrad.passes.packing import Lifetime
from symgrad.passes.slots import Slot, Slots
from symgrad.passes.swaps import without_swaps


def memory(function: Function) -> Function:
    """The function with a place for each of its arrays."""
    function = with_body(function, _with_own_regions(function.body, set()))
    function, found = without_swaps(function)
    placing = _Placing(found, _places(found.slots))
    body = function.body
    params = {param: Place(Space.PARAM, k) for k, param in enumerate(body.params)}
    return with_body(function, placing.block(body, body.params, params))


def _with_own_regions(block: Block, seen: set[Value]) -> Block:
    """The block with values of its own for each region: two ops with one region want it in two places."""
    ops = list(block.ops)
    for k, op in enumerate(ops):
        if flow_of(op) not in (None, Flow.ONCE):
            ops[k] = replace(op, regions=tuple(_own(region, seen) for region in op.regions))
    return Block(block.params, tuple(ops), block.results)


def _own(region: Block, seen: set[Value]) -> Block:
    """The region, with new values if those that it has were seen before."""
    region = _with_own_regions(region, seen)
    made = {*region.params, *(v for op in region.ops for v in op.results)}
    if seen.isdisjoint(made):
        seen |= made
        return region
    new = {v: replace(v) for v in made}
    ops = (
        replace(op, operands=tuple(new[v] for v in op.operands), results=tuple(new[v] for v in op.results))
        for op in region.ops
    )
    return Block(tuple(new[v] for v in region.params), tuple(ops), tuple(new[v] for v in region.results))


def _places(slots: Sequence[Slot]) -> dict[Slot, Place]:
    """The place of each slot."""
    inside = [slot for slot in slots if slot.result is None]
    offsets = allocate([Lifetime(aligned(slot.nbytes), slot.born, slot.dies) for slot in inside])
    places = {slot: Place(Space.ARENA, offset) for slot, offset in zip(inside, offsets, strict=True)}
    places.update((slot, Place(Space.RESULT, slot.result)) for slot in slots if slot.result is not None)
    return places


@dataclass(frozen=True, slots=True)
class _Placing:
    """Puts the places into a program."""

    found: Slots
    places: dict[Slot, Place]

    def block(self, block: Block, params: Sequence[Value], given: dict[Value, Place]) -> Block:
        """The block with these params; `given` are places of its own params that no slot has."""
        placed = dict(zip(block.params, params, strict=True))
        at: dict[Value, Place | None] = {param: given.get(param, param.place) for param in params}
        ops: list[Op] = []
        for op in block.ops:
            operands = tuple(placed[v] for v in op.operands)
            if is_alias(op):
                places = [at[operands[0]]]
            else:
                places = [self._place(v) for v in op.results]
            results = tuple(replace(v, place=p) for v, p in zip(op.results, places, strict=True))
            at.update(zip(results, places, strict=True))
            placed.update(zip(op.results, results, strict=True))
            ops.append(replace(op, operands=operands, results=results, regions=self._regions(op)))
        return Block(tuple(params), tuple(ops), tuple(placed[v] for v in block.results))

    def _regions(self, op: Op) -> tuple[Block, ...]:
        if flow_of(op) is Flow.ONCE:
            return op.regions
        return tuple(
            self.block(region, [replace(v, place=self._place(v)) for v in region.params], {})
            for region in op.regions
        )

    def _place(self, value: Value) -> Place | None:
        if value in self.found.rows:
            return Place(Space.ROW, self.found.rows[value])
        slot = self.found.of.get(value)
        return None if slot is None else self.places[slot]


# ---- what it comes to -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Stored:
    """A value in the arena."""

    value: Value
    nbytes: int  # as stored, aligned
    maker: Op


@dataclass(frozen=True, slots=True)
class Grown:
    """An array whose size nobody knows before the program runs, for a `while` has stacked it."""

    value: Value
    row: int | None  # the bytes of each iteration, if they are always the same
    loc: Loc | None  # of the op that makes it

    def __str__(self) -> str:
        return f"{self.value.type}" + ("" if self.row is None else f" ({self.row:,} bytes an iteration)")


def arena_bytes(function: Function) -> int:
    """The size of the arena: where the last value in it ends."""
    ranges = ranges_within(function.body, {})
    ends = (
        offset + stored.nbytes
        for op in function.body.ops
        for offset, stored in chain(made_by(op, ranges), made_inside(op, ranges))
    )
    return max(ends, default=0)


def grown(function: Function) -> Iterator[Grown]:
    """The arrays that have no place in the arena, for no number of bytes is enough for them."""
    return _grown(function.body, {})


def _grown(block: Block, ranges: Ranges) -> Iterator[Grown]:
    ranges = ranges_within(block, ranges)
    for op in block.ops:
        for v in () if is_alias(op) else op.results:
            if most_bytes(v.type, ranges) is None:
                yield Grown(v, most_bytes(row_type(v.type), ranges), op.loc)
        if flow_of(op) is not Flow.ONCE:
            for region in op.regions:
                yield from _grown(region, ranges_inside(op, ranges))


def lower_bound(function: Function) -> int:
    """The most bytes that are alive in the arena at one op at the top."""
    return max(simulate(function), default=0)


def simulate(function: Function) -> list[int]:
    """The bytes that are alive in the arena while each op at the top runs: the judge of every plan.

    What is alive at some time in the regions of an op is alive while it runs.
    """
    dies, ranges = deaths(function.body), ranges_within(function.body, {})
    alive: dict[int, tuple[int, int]] = {}  # by offset: bytes, and the op that needs them last
    found: list[int] = []
    total = 0
    dying: dict[int, list[int]] = {}
    for k, op in enumerate(function.body.ops):
        for offset, stored in made_by(op, ranges):
            total += stored.nbytes - alive.get(offset, (0, 0))[0]
            alive[offset] = stored.nbytes, dies[stored.value]
            dying.setdefault(dies[stored.value], []).append(offset)
        inside = dict(made_inside(op, ranges))
        found.append(total + sum(s.nbytes for offset, s in inside.items() if offset not in alive))
        for offset in dying.pop(k, []):
            if offset in alive and alive[offset][1] == k:
                total -= alive.pop(offset)[0]
    return found


def deaths(block: Block) -> dict[Value, int]:
    """The index of the op that reads the bytes of each value last, as its own or as those of a view."""
    last = last_use(block)
    roots: dict[Value, Value] = {}
    dies: dict[Value, int] = {}
    for op in block.ops:
        for v in op.results:
            view = is_alias(op)
            roots[v] = roots.get(op.operands[0], op.operands[0]) if view else v
            dies[roots[v]] = max(dies.get(roots[v], -1), last[v])
    return dies


def made_inside(op: Op, ranges: Ranges) -> Iterator[tuple[int, Stored]]:
    """What lies in the arena at some time in the regions of an op, with its offset."""
    for region in op.regions:
        inside = ranges_within(region, ranges_inside(op, ranges))
        for inner in region.ops:
            yield from made_by(inner, inside)
            yield from made_inside(inner, inside)


def made_by(op: Op, ranges: Ranges) -> Iterator[tuple[int, Stored]]:
    """The results of an op in the arena, with their offsets; a view is none."""
    if is_alias(op):
        return
    for v in op.results:
        if v.place is not None and v.place.space is Space.ARENA:
            nbytes = most_bytes(v.type, ranges)
            if nbytes:
                yield v.place.number, Stored(v, aligned(nbytes), op)
