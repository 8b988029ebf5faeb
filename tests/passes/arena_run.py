"""Runs a scheduled function in its arena: every value at the top lies where the memory pass put it.

Whatever is not alive is full of NaN, so a place that is used again too early, or read too late, shows in the
results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.ir import dims
from symgrad.ir.analysis import last_use
from symgrad.ir.core import Block, Function, Op, Space, Value
from symgrad.ir.interpreter import run_block
from symgrad.ir.opdef import View
from symgrad.passes.memory import arena_bytes

Array = np.ndarray[Any, Any]
POISON = 0xFF  # every float of these bytes is NaN


def run_in_arena(function: Function, args: list[Array]) -> tuple[Array, ...]:
    """The results of the function, computed in place."""
    block = function.body
    arena = np.full(arena_bytes(function), POISON, np.uint8)
    outputs = [np.full(dims.known(v.type.nbytes), POISON, np.uint8) for v in block.results]
    given = [np.array(arg) for arg in args]

    def bytes_of(value: Value) -> Array:
        assert value.place is not None
        nbytes = dims.known(value.type.nbytes)
        match value.place.space:
            case Space.ARENA:
                return arena[value.place.number : value.place.number + nbytes]
            case Space.RESULT:
                return outputs[value.place.number]
            case Space.PARAM:
                return given[value.place.number].reshape(-1).view(np.uint8)

    def read(value: Value) -> Array:
        if value in block.params:
            return given[block.params.index(value)]
        assert bytes_of(value).size == dims.known(value.type.nbytes)
        return bytes_of(value).view(value.type.dtype).reshape(tuple(map(dims.known, value.type.shape)))

    dies = _deaths(block)
    with np.errstate(all="ignore"):
        for k, op in enumerate(block.ops):
            if isinstance(op.opdef.lowering, View):
                assert np.shares_memory(read(op.result), read(op.operands[0])) or not read(op.result).size
            else:
                _write(op, [read(v) for v in op.operands], [bytes_of(v) for v in op.results])
            for v, last in dies.items():
                if last == k and v.place is not None and v.place.space is Space.ARENA and not _reused(v, op):
                    bytes_of(v)[:] = POISON
    found = tuple(np.array(read(v)) for v in block.results)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(given, args, strict=True))
    return found


def _write(op: Op, operands: list[Array], targets: list[Array]) -> None:
    if op.regions:
        found = run_block(op.regions[0], tuple(operands))
    else:
        found = (np.asarray(op.opdef.evaluate(*operands, **op.keywords())),)
    copies = [np.array(array, order="C") for array in found]
    for target, array in zip(targets, copies, strict=True):
        target[:] = array.reshape(-1).view(np.uint8)


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
