"""Where values are stored: which places fit, and which values may share bytes.

Two values that are alive at the same time share no byte, with two exceptions: a view has the place of what it
is a view of, and an op may write its result over an operand that dies there, if it reads that operand only at
the position that it writes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from symgrad.ir import dims
from symgrad.ir.analysis import last_use
from symgrad.ir.core import Function, Op, Place, Space, Value
from symgrad.ir.opdef import (
    ArgReduce,
    Component,
    Constant,
    Contract,
    Control,
    Coordinate,
    Gather,
    Reduce,
    Remap,
    Scalar,
    ScatterAdd,
    View,
)

ALIGNMENT = 64  # of every offset in the arena, in bytes


# ---- writing over an operand ------------------------------------------------------------------------------
def can_overwrite(op: Op, operand: Value, result: Value) -> bool:
    """Whether the op reads the operand only where it writes the result, so that they may share their place.

    Positions are those of the row-major order. For an op with one region, what is asked is whether its body,
    computed point by point, does so.
    """
    a, b = operand.type, result.type
    if a.dtype.itemsize != b.dtype.itemsize or not dims.equal(a.size, b.size) or len(op.regions) > 1:
        return False
    if not op.regions:
        return _keeps_position(op, {operand}) and not _combines(op)
    body = op.regions[0]
    aligned = {param for param, value in zip(body.params, op.operands, strict=True) if value is operand}
    written = {inner for inner, outer in zip(body.results, op.results, strict=True) if outer is result}
    for inner in body.ops:
        if written.intersection(inner.results) and _combines(inner):
            return False
        if aligned.isdisjoint(inner.operands):
            continue
        if not _keeps_position(inner, aligned):
            return False
        if not _combines(inner):
            aligned.update(inner.results)
    return True


def _combines(op: Op) -> bool:
    """Whether an element of the result comes from many positions of the operand."""
    return isinstance(op.opdef.lowering, Reduce | ArgReduce)


def _keeps_position(op: Op, aligned: set[Value]) -> bool:
    """Whether the op, at each point, reads its aligned operands at that point alone."""
    match op.opdef.lowering:
        case Scalar() | View() | Reduce() | ArgReduce() | Constant() | Coordinate():
            return True
        case Remap(pieces):
            types = tuple(v.type for v in op.operands)
            read = [
                p for p in pieces(types, op.result.type, dict(op.attrs)) if op.operands[p.operand] in aligned
            ]
            return all(p.index == tuple(map(Component, range(op.result.type.rank))) for p in read)
        case ScatterAdd():
            return aligned.isdisjoint(op.operands[1:])
        case Contract() | Gather() | Control():
            return False
        case _:
            assert_never(op.opdef.lowering)


# ---- the rules of places ----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Stored:
    """A value that has a place."""

    value: Value
    place: Place
    maker: Op | None  # None for a param of the function
    root: Value  # what it is a view of; itself if it isn't a view in place
    born: int  # index of the op that makes it; -1 for params
    dies: int  # index of the op that uses it last
    start: int  # first byte in its buffer
    stop: int  # byte after the last


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A value with a place that it cannot have."""

    value: Value
    maker: Op | None  # None for a param of the function
    reason: str  # follows the name of the value
    other: Value | None = None  # the value that is in the way; its name follows the reason


def misplaced(function: Function) -> Iterator[Misplaced]:
    """What is wrong with the places of a function; nothing as long as no value has a place."""
    stored = _stored(function)
    if all(s.value.place is None for s in stored):
        return
    buffers: dict[tuple[Space, int], list[_Stored]] = defaultdict(list)
    for s in stored:
        reason = _unfit(function, s)
        if reason is not None:
            yield Misplaced(s.value, s.maker, reason)
            continue
        buffers[s.place.space, 0 if s.place.space is Space.ARENA else s.place.number].append(s)
    for group in buffers.values():
        yield from _collisions(group)


def _stored(function: Function) -> list[_Stored]:
    """The values with a place, in order; a param lies in itself."""
    last = last_use(function.body)
    found: dict[Value, _Stored] = {}
    for k, param in enumerate(function.body.params):
        place = Place(Space.PARAM, k) if param.place is None else param.place
        found[param] = _store(param, place, None, param, -1, last[param])
    for k, op in enumerate(function.body.ops):
        for result in op.results:
            if result.place is None:
                continue
            root = result
            if isinstance(op.opdef.lowering, View):
                source = found.get(op.operands[0])
                if source is not None and source.place == result.place:
                    root = source.root
            found[result] = _store(result, result.place, op, root, k, last[result])
    return list(found.values())


def _store(value: Value, place: Place, maker: Op | None, root: Value, born: int, dies: int) -> _Stored:
    start = place.number if place.space is Space.ARENA else 0
    return _Stored(value, place, maker, root, born, dies, start, start + dims.known(value.type.nbytes))


def _unfit(function: Function, stored: _Stored) -> str | None:
    """Why a value cannot have its place, whatever else is there; None if it can."""
    params, results, number = function.body.params, function.body.results, stored.place.number
    match stored.place.space:
        case Space.ARENA:
            return f"is at {number}, which is no multiple of {ALIGNMENT}" if number % ALIGNMENT else None
        case Space.RESULT:
            if number >= len(results):
                return f"is in result {number}, but there are only {len(results)}"
            fits = dims.equal(stored.value.type.nbytes, results[number].type.nbytes)
            return None if fits else f"does not have the size of result {number}, {results[number].type}"
        case Space.PARAM:
            is_view = number < len(params) and stored.root is params[number]
            return None if is_view else f"is in param {number}, but is no view of it"
        case _:
            assert_never(stored.place.space)


def _collisions(group: list[_Stored]) -> Iterator[Misplaced]:
    """The pairs of values in one buffer that share bytes while both are alive, and may not."""
    dies, start, stop = (
        np.array(column) for column in zip(*((s.dies, s.start, s.stop) for s in group), strict=True)
    )
    for k, late in enumerate(group):
        shared = (dies[:k] >= late.born) & (start[:k] < late.stop) & (stop[:k] > late.start)
        for i in np.flatnonzero(shared & (stop[:k] > start[:k])):
            early = group[int(i)]
            if early.root is late.root:
                continue
            if early.place == late.place and early.dies == late.born > early.born and late.maker is not None:
                if can_overwrite(late.maker, early.value, late.value):
                    continue
                yield Misplaced(
                    late.value, late.maker, "is written over an operand read at other positions,", early.value
                )
                continue
            bytes_ = f"bytes {late.start} to {late.stop} of the {late.place.space.value}"
            yield Misplaced(late.value, late.maker, f"in {bytes_} overlaps what is still alive:", early.value)
