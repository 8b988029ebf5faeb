"""Runs a scheduled function in its arena: every array lies where the memory pass put it.

Whatever is not alive at the top is full of NaN, so a place that is used again too early, or read too late,
shows in the results. Loops run as compiled code runs them: carries in one place, rows in their stacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from symgrad.ir import dims
from symgrad.ir.analysis import defs, last_use
from symgrad.ir.capacity import most_bytes, ranges_within
from symgrad.ir.core import Block, Function, Op, Place, Space, Value
from symgrad.ir.dims import Dim
from symgrad.ir.index_names import binds_after, bound_by
from symgrad.ir.interpreter import run_block
from symgrad.ir.opdef import Flow, View
from symgrad.ir.regions import as_branch, as_for, as_while, flow_of
from symgrad.passes.literals import is_room
from symgrad.passes.memory import arena_bytes

Array = np.ndarray[Any, Any]
Indices = dict[str, Dim]
POISON = 0xFF  # every float of these bytes is NaN


def run_in_arena(function: Function, args: list[Array]) -> tuple[Array, ...]:
    """The results of the function, computed in place."""
    block = function.body
    given = [np.array(arg) for arg in args]
    memory = _Memory(
        np.full(arena_bytes(function), POISON, np.uint8),
        [np.full(dims.known(v.type.nbytes), POISON, np.uint8) for v in block.results],
        given,
    )
    values = dict(zip(block.params, given, strict=True))
    dies, ranges = _deaths(block), ranges_within(block, {})
    indices: Indices = {}
    with np.errstate(all="ignore"):
        for k, op in enumerate(block.ops):
            _run(op, values, memory, indices, ())
            indices |= _named(op, values)
            for v, last in dies.items():
                if last == k and v.place is not None and v.place.space is Space.ARENA and not _reused(v, op):
                    memory.at(v.place, most_bytes(v.type, ranges) or 0)[:] = POISON
    found = tuple(np.array(values[v]) for v in block.results)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(given, args, strict=True))
    return found


@dataclass(frozen=True)
class _Memory:
    arena: Array
    outputs: Sequence[Array]
    given: Sequence[Array]

    def at(self, place: Place, nbytes: int) -> Array:
        """The bytes at a place."""
        match place.space:
            case Space.ARENA:
                found = self.arena[place.number : place.number + nbytes]
            case Space.RESULT:
                found = self.outputs[place.number][:nbytes]
            case Space.PARAM:
                found = self.given[place.number].reshape(-1).view(np.uint8)
            case Space.ROW:
                raise AssertionError("rows lie in stacks")
        assert found.size == nbytes
        return found

    def array(self, value: Value, indices: Indices, rows: Sequence[Array]) -> Array:
        """The array in which a value is to lie; one of its own if it has no place."""
        shape = tuple(dims.known(dims.substituted(n, indices)) for n in value.type.shape)
        if value.place is None:
            return np.full(shape, 0, value.type.dtype)
        if value.place.space is Space.ROW:
            return rows[value.place.number].reshape(shape)
        nbytes = int(np.prod(shape)) * value.type.dtype.itemsize
        return self.at(value.place, nbytes).view(value.type.dtype).reshape(shape)


def _run(
    op: Op, values: dict[Value, Array], memory: _Memory, indices: Indices, rows: Sequence[Array]
) -> None:
    """Run one op: its results lie at their places afterwards."""
    operands = [values[v] for v in op.operands]
    if isinstance(op.opdef.lowering, View) and op.result.place == op.operands[0].place:
        shape = tuple(dims.known(dims.substituted(n, indices)) for n in op.result.type.shape)
        values[op.result] = operands[0].reshape(shape)
        assert np.shares_memory(values[op.result], operands[0]) or not operands[0].size
        return
    match flow_of(op):
        case Flow.FOR:
            found = _run_for(op, operands, memory, indices, rows)
        case Flow.WHILE:
            found = _run_while(op, operands, memory, indices)
        case Flow.BRANCH:
            branch = as_branch(op)
            results = [memory.array(v, indices, rows) for v in op.results]
            region = branch.then if operands[0] else branch.otherwise
            _move(_run_region(region, operands[1:], memory, indices, ()), results)
            found = results
        case Flow.ONCE | Flow.AGAIN | None:
            computed = run_block(_body(op), tuple(operands), indices)
            found = [memory.array(v, indices, rows) for v in op.results]
            makers = defs(_body(op))
            stored = [not is_room(makers.get(v)) for v in _body(op).results]
            _move(list(compress(computed, stored)), list(compress(found, stored)))
    values.update(zip(op.results, found, strict=True))


def _body(op: Op) -> Block:
    """The body of a kernel, or a block with the op in it."""
    return op.regions[0] if op.regions else Block(op.operands, (op,), op.results)


def _move(sources: Sequence[Array], targets: Sequence[Array]) -> None:
    """Put each array where it should be, all at once."""
    copies = [np.array(source) for source in sources]
    for target, copy in zip(targets, copies, strict=True):
        target[...] = copy


def _run_region(
    block: Block, args: Sequence[Array], memory: _Memory, indices: Indices, rows: Sequence[Array]
) -> list[Array]:
    values, inside = dict(zip(block.params, args, strict=True)), dict(indices)
    for op in block.ops:
        _run(op, values, memory, inside, rows)
        inside |= _named(op, values)
    return [values[v] for v in block.results]


def _named(op: Op, values: dict[Value, Array]) -> Indices:
    """The name that an op gives a number, with the number."""
    name = bound_by(op)
    if name is None or not binds_after(op):
        return {}
    number = len(as_while(op).carries) if flow_of(op) is Flow.WHILE else 0
    return {name: int(values[op.results[number]])}


def _run_for(
    op: Op, operands: list[Array], memory: _Memory, indices: Indices, around: Sequence[Array]
) -> list[Array]:
    loop = as_for(op)
    a, b = len(loop.carries), len(loop.carries) + len(loop.constants)
    lower, upper = (dims.known(dims.substituted(end, indices)) for end in loop.range)
    carried = [memory.array(v, indices, ()) for v in op.results[:a]]
    stacks = [memory.array(v, indices, around) for v in op.results[a:]]
    _move(operands[:a], carried)
    for i in reversed(range(lower, upper)) if loop.reverse else range(lower, upper):
        rows = [
            stack[i - lower] if stack.ndim > 1 else stack[i - lower :][:1].reshape(()) for stack in stacks
        ]
        args = [*carried, *operands[a:b], *(x[i - lower] for x in operands[b:])]
        found = _run_region(loop.body, args, memory, {**indices, loop.index: i}, rows)
        _move(found, [*carried, *rows])
    return [*carried, *stacks]


def _run_while(op: Op, operands: list[Array], memory: _Memory, indices: Indices) -> list[Array]:
    loop = as_while(op)
    a = len(loop.carries)
    carried = [memory.array(v, indices, ()) for v in op.results[:a]]
    _move(operands[:a], carried)
    stacks: list[list[Array]] = [[] for _ in op.results[a + 1 :]]
    trips = 0
    while _run_region(loop.test, [*carried, *operands[a:]], memory, indices, ())[0]:
        rows = [
            np.zeros([dims.known(dims.substituted(n, indices)) for n in v.type.shape[1:]], v.type.dtype)
            for v in op.results[a + 1 :]
        ]
        found = _run_region(loop.body, [*carried, *operands[a:]], memory, indices, rows)
        _move(found, [*carried, *rows])
        for stack, row in zip(stacks, rows, strict=True):
            stack.append(row)
        trips += 1
    inside = {**indices, loop.trips: trips}
    count, *ys = (memory.array(v, inside, ()) for v in op.results[a:])
    count[...] = trips
    for y, stack in zip(ys, stacks, strict=True):
        y[...] = np.array(stack, y.dtype).reshape(y.shape)
    return [*carried, count, *ys]


def _reused(value: Value, op: Op) -> bool:
    """Whether the op has written a result over the value."""
    return value not in op.results and any(result.place == value.place for result in op.results)


def _deaths(block: Block) -> dict[Value, int]:
    """When the bytes of each value are read last; views count for what they view."""
    last = last_use(block)
    root = {v: v for v in (*block.params, *(r for op in block.ops for r in op.results))}
    for op in block.ops:
        if isinstance(op.opdef.lowering, View):
            root[op.result] = root[op.operands[0]]
    found: dict[Value, int] = {}
    for v, base in root.items():
        found[base] = max(found.get(base, -1), last[v])
    return found
