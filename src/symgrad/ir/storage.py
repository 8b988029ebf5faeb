"""Where values are stored: which places fit, and which values may share bytes.

Two values that are alive at the same time share no byte, with two exceptions: a view has the place of what it
is a view of, and an op may write its result over an operand that dies there, if it reads that operand only at
the position that it writes. In the body of a loop, a carry lies where the loop's result lies, and all else
that comes from outside stays alive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from symgrad.ir import dims
from symgrad.ir.analysis import last_use, walk
from symgrad.ir.capacity import most_bytes, ranges_within
from symgrad.ir.core import Block, Function, Op, Place, Space, Value
from symgrad.ir.dims import Ranges
from symgrad.ir.index_names import ranges_inside
from symgrad.ir.opdef import Flow
from symgrad.ir.overwriting import can_overwrite, is_alias
from symgrad.ir.regions import as_for, as_while, carries_of, flow_of
from symgrad.ir.types import ALIGNMENT

_FOREVER = 1 << 60  # after the last op of every block


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A value with a place that it cannot have."""

    value: Value
    block: Block  # that it belongs to
    maker: Op | None  # None for a param
    reason: str  # follows the name of the value
    other: Value | None = None  # the value that is in the way; its name follows the reason


@dataclass(frozen=True, slots=True)
class _Stored:
    """A value that has a place."""

    value: Value
    place: Place
    maker: Op | None  # None for a param, and for what comes from outside
    root: Value  # what it is a view of; itself if it isn't a view in place
    born: int  # index of the op that makes it; -1 for params and what comes from outside
    dies: int  # index of the op that uses it last
    nbytes: int

    @property
    def start(self) -> int:
        """The first byte in its buffer."""
        return self.place.number if self.place.space is Space.ARENA else 0

    @property
    def stop(self) -> int:
        """The byte after the last."""
        return self.start + self.nbytes

    def always(self) -> _Stored:
        """The same, alive all through a region."""
        return _Stored(self.value, self.place, None, self.root, -1, _FOREVER, self.nbytes)


@dataclass(frozen=True, slots=True)
class _Scope:
    """A block, and what surrounds it."""

    function: Function
    block: Block
    ranges: Ranges
    entering: Sequence[_Stored]  # the params that have memory of their own
    outside: Sequence[_Stored] = ()  # what is alive around a region
    rows: Sequence[Value] = ()  # the rows that a body returns
    op: Op | None = None  # whose region it is; None at the top


def misplaced(function: Function) -> Iterator[Misplaced]:
    """What is wrong with the places of a function; nothing as long as no value has a place."""
    body = function.body
    if all(v.place is None for op in walk(body) for v in op.results):
        return
    last = last_use(body)
    params: list[_Stored] = []
    for k, param in enumerate(body.params):
        place = Place(Space.PARAM, k) if param.place is None else param.place
        params.append(_Stored(param, place, None, param, -1, last[param], most_bytes(param.type, {}) or 0))
    yield from _block(_Scope(function, body, {}, params))
    ranges = ranges_within(body, {})
    for op in body.ops:
        yield from _overlapping(body, op, ranges)


def _block(scope: _Scope) -> Iterator[Misplaced]:
    """What is wrong in a block; then in its regions, unless something is."""
    stored = {s.value: s for s in scope.entering}
    last, ranges = last_use(scope.block), ranges_within(scope.block, scope.ranges)
    faults = list(_odd_params(scope))
    for k, op in enumerate(scope.block.ops):
        for v in op.results:
            nbytes, root = most_bytes(v.type, ranges), _root(op, v, stored)
            reason = _unfit(scope, op, v, nbytes, root)
            if reason is not None:
                faults.append(Misplaced(v, scope.block, op, reason))
            elif v.place is not None:
                stored[v] = _Stored(v, v.place, op, root, k, last[v], nbytes or 0)
        faults += _in_kernel(op)
    faults += _collisions(scope, list(stored.values()), ranges)
    yield from faults
    if not faults:
        for k, op in enumerate(scope.block.ops):
            for region in _regions(scope, op, k, list(stored.values()), ranges):
                yield from _block(region)


def _root(op: Op, result: Value, stored: dict[Value, _Stored]) -> Value:
    """What a value is a view of, if it is one in place."""
    source = stored.get(op.operands[0]) if is_alias(op) else None
    return result if source is None or source.place != result.place else source.root


# ---- one value --------------------------------------------------------------------------------------------
def _odd_params(scope: _Scope) -> Iterator[Misplaced]:
    """The params of a region whose places are not those that the op around gives them."""
    if scope.op is None:
        return
    carried = dict(zip(scope.block.params, scope.op.results[: carries_of(scope.op)], strict=False))
    for param in scope.block.params:
        result = carried.get(param)
        if result is None or not param.type.rank:
            if param.place is not None:
                yield Misplaced(param, scope.block, None, "lies where the operand lies, and has a place")
        elif param.place != result.place:
            yield Misplaced(param, scope.block, None, f"does not lie where the result lies, {result.place}")


def _unfit(scope: _Scope, op: Op, value: Value, nbytes: int | None, root: Value) -> str | None:
    """Why a value cannot have its place, or lack one, whatever else is there; None if it can."""
    if value.place is None:
        return None if scope.op is None else _missing(op, value, nbytes)
    if scope.op is not None and not value.type.rank:
        return "is a number in a region, and has a place"
    if nbytes is None:
        return "has a place, but its size is not known before the program runs"
    params, results, number = scope.function.body.params, scope.function.body.results, value.place.number
    match value.place.space:
        case Space.ARENA:
            return f"is at {number}, which is no multiple of {ALIGNMENT}" if number % ALIGNMENT else None
        case Space.RESULT:
            if number >= len(results):
                return f"is in result {number}, but there are only {len(results)}"
            fits = nbytes == most_bytes(results[number].type, {})
            return None if fits else f"does not have the size of result {number}, {results[number].type}"
        case Space.PARAM:
            is_view = scope.op is None and number < len(params) and root is params[number]
            return None if is_view else f"is in param {number}, but is no view of it"
        case Space.ROW:
            return _unfit_row(scope, op, value)
        case _:
            assert_never(value.place.space)


def _missing(op: Op, value: Value, nbytes: int | None) -> str | None:
    """Why a value in a region must have a place; None if it need not."""
    if is_alias(op):
        return None if op.operands[0].place is None else "has no place, though what it is a view of has one"
    return None if not value.type.rank or nbytes is None else "has no place"


def _unfit_row(scope: _Scope, op: Op, value: Value) -> str | None:
    number = value.place.number if value.place is not None else 0
    if number >= len(scope.rows):
        return f"is in row {number}, but the loop stacks only {len(scope.rows)}"
    if flow_of(op) not in (None, Flow.ONCE, Flow.FOR) or value in op.results[: carries_of(op)]:
        return f"is in row {number}, but is the result of a branch or the carry of a loop"
    row = scope.rows[number]
    if row.place != value.place or not dims.same_count(row.type.shape, value.type.shape):
        return f"is in row {number}, but that row is made elsewhere"
    return None


# ---- two values -------------------------------------------------------------------------------------------
def _collisions(scope: _Scope, stored: Sequence[_Stored], ranges: Ranges) -> Iterator[Misplaced]:
    """The values of a block that share bytes with others while both are alive, and may not."""
    buffers: dict[tuple[Space, int], list[_Stored]] = defaultdict(list)
    for s in (*scope.outside, *stored):
        buffers[s.place.space, 0 if s.place.space is Space.ARENA else s.place.number].append(s)
    for group in buffers.values():
        yield from _colliding(scope.block, group, ranges)


def _colliding(block: Block, group: list[_Stored], ranges: Ranges) -> Iterator[Misplaced]:
    """The pairs of values in one buffer that share bytes while both are alive, and may not."""
    dies, start, stop = (
        np.array(column) for column in zip(*((s.dies, s.start, s.stop) for s in group), strict=True)
    )
    for k, late in enumerate(group):
        if late.dies == _FOREVER:
            continue
        shared = (dies[:k] >= late.born) & (start[:k] < late.stop) & (stop[:k] > late.start)
        for i in np.flatnonzero(shared & (stop[:k] > start[:k])):
            early = group[int(i)]
            if early.root is late.root:
                continue
            if early.place == late.place and early.dies == late.born > early.born and late.maker is not None:
                if can_overwrite(late.maker, early.value, late.value, ranges):
                    continue
                reason = "is written over an operand read at other positions,"
            else:
                bytes_ = f"bytes {late.start} to {late.stop} of the {late.place.space.value}"
                reason = f"in {bytes_} overlaps what is still alive:"
            yield Misplaced(late.value, block, late.maker, reason, early.value)


# ---- regions ----------------------------------------------------------------------------------------------
def _regions(scope: _Scope, op: Op, k: int, stored: Sequence[_Stored], ranges: Ranges) -> Iterator[_Scope]:
    """The regions of the op at position k, and what is alive around each."""
    inside, flow = ranges_inside(op, ranges), flow_of(op)
    alive = [s for s in stored if s.born < k <= s.dies]
    handed = [s for s in alive if s.dies == k and _is_handed_over(op, s, alive)]
    # The stacks of a loop, and the numbers that it makes, are there from its beginning on.
    made = op.results if flow is Flow.BRANCH else op.results[: carries_of(op)]
    begun = [s for s in stored if s.born == k and not (s.value in made and s.value.type.rank)]
    outside = [s.always() for s in (*scope.outside, *alive, *begun) if s not in handed]
    outside = [s for s in outside if s.place.space is not Space.ROW]

    def region(block: Block, entering: Sequence[_Stored], rows: Sequence[Value]) -> _Scope:
        return _Scope(scope.function, block, inside, entering, outside, rows, op)

    match flow:
        case None | Flow.ONCE | Flow.AGAIN:
            return
        case Flow.FOR:
            body = as_for(op).body
            yield region(body, _entering(body, inside, {}), as_for(op).split_results()[1])
        case Flow.WHILE:
            loop = as_while(op)
            yield region(loop.test, [s.always() for s in _entering(loop.test, inside, {})], ())
            yield region(loop.body, _entering(loop.body, inside, {}), loop.split_results()[1])
        case Flow.BRANCH:
            places = {s.value: s.place for s in handed}
            for block in op.regions:
                given = zip(block.params, op.operands[1:], strict=True)
                own = {param: places[v] for param, v in given if v in places}
                yield region(block, _entering(block, inside, own), ())


def _is_handed_over(op: Op, stored: _Stored, alive: Sequence[_Stored]) -> bool:
    """Whether the memory of an operand that dies at the op belongs to its regions."""
    value = stored.value
    if op.operands.count(value) != 1 or stored.place.space is Space.PARAM:
        return False
    if flow_of(op) is Flow.BRANCH:
        return value is not op.operands[0] and [s for s in alive if s.root is stored.root] == [stored]
    number = op.operands.index(value)
    return number < carries_of(op) and op.results[number].place == stored.place


def _entering(block: Block, ranges: Ranges, given: dict[Value, Place]) -> list[_Stored]:
    """The params of a region that have memory of their own."""
    last = last_use(block)
    for op in reversed(block.ops):
        if is_alias(op):  # a view in no place of its own is the param
            last[op.operands[0]] = max(last[op.operands[0]], last[op.result])
    places = ((param, given.get(param, param.place)) for param in block.params)
    return [
        _Stored(param, place, None, param, -1, last[param], most_bytes(param.type, ranges) or 0)
        for param, place in places
        if place is not None
    ]


def _in_kernel(op: Op) -> Iterator[Misplaced]:
    """The values in a kernel that have places."""
    for block in op.regions if flow_of(op) is Flow.ONCE else ():
        for inner in walk(block):
            reason = "is in a kernel, and has a place"
            yield from (Misplaced(v, block, inner, reason) for v in inner.results if v.place is not None)


# ---- all arrays of one loop -------------------------------------------------------------------------------
def _overlapping(body: Block, op: Op, ranges: Ranges) -> Iterator[Misplaced]:
    """The arrays of a loop or branch at the top that share bytes with others without being the same array."""
    if flow_of(op) in (None, Flow.ONCE):
        return
    found: dict[tuple[Space, int], list[tuple[int, int, str, Value, Block, Op]]] = defaultdict(list)
    for value, block, maker, nbytes in _arrays(body, op, ranges):
        place = value.place
        if place is not None and place.space in (Space.ARENA, Space.RESULT) and nbytes:
            arena = place.space is Space.ARENA
            start = place.number if arena else 0
            entry = (start, start + nbytes, value.type.dtype.name, value, block, maker)
            found[place.space, 0 if arena else place.number].append(entry)
    for entries in found.values():
        entries.sort(key=lambda entry: entry[:3])
        widest = entries[0]
        for entry in entries[1:]:
            if entry[:3] != widest[:3] and entry[0] < widest[1]:
                reason = "overlaps an array of the same loop or branch without being the same:"
                yield Misplaced(entry[3], entry[4], entry[5], reason, widest[3])
            widest = max(widest, entry, key=lambda entry: entry[1])


def _arrays(block: Block, op: Op, ranges: Ranges) -> Iterator[tuple[Value, Block, Op, int | None]]:
    """The operands and results of an op, and of those in its regions, with their sizes in bytes."""
    yield from ((v, block, op, most_bytes(v.type, ranges)) for v in (*op.operands, *op.results))
    if flow_of(op) is Flow.ONCE:
        return
    for region in op.regions:
        inside = ranges_within(region, ranges_inside(op, ranges))
        for inner in region.ops:
            yield from _arrays(region, inner, inside)
