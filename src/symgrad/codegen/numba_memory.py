"""Memory that grows: what loops without a known end stack lies there, and it stays between kernels.

It is a cell of two words, where it begins and how many bytes it has, and belongs to one call of an entry,
which gives it back. It at least doubles, so that a row costs what it costs to write it.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import register_model

from symgrad.codegen.numba_support import Buffer, lowers

LEAST = 4096  # bytes that are taken first

_CLASS: Any = types.NumberClass
_WORD = ir.IntType(64)


class Memory(types.Type):
    """The numba type of memory that grows."""

    def __init__(self) -> None:
        self.dtype = types.int64
        super().__init__(name="Memory")


register_model(Memory)(models.PointerModel)


def growing() -> Any:
    """Memory of no bytes yet."""
    return [np.empty(0, np.uint8)]


@lowers(growing, lambda: Memory())
def _growing(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    cell = cgutils.alloca_once(builder, _WORD, size=ir.Constant(_WORD, 2))
    for word in range(2):
        builder.store(ir.Constant(_WORD, 0), builder.gep(cell, [ir.Constant(_WORD, word)]))
    return cell


def grown(memory: Any, count: int, dtype: Any) -> Any:
    """The elements that lie in memory, which has room for `count` of them from here on."""
    need = count * np.dtype(dtype).itemsize
    if memory[0].size < need:
        larger = np.empty(max(2 * memory[0].size, need, LEAST), np.uint8)
        larger[: memory[0].size] = memory[0]
        memory[0] = larger
    return memory[0].view(dtype)


def _type_grown(memory: Any, count: Any, dtype: Any) -> Any:
    fits = isinstance(memory, Memory) and isinstance(count, types.Integer) and isinstance(dtype, _CLASS)
    return Buffer(dtype.instance_type) if fits else None


@lowers(grown, _type_grown)
def _grown(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    cell = args[0]
    result = context.get_value_type(sig.return_type)
    width = context.get_abi_sizeof(context.get_data_type(sig.return_type.dtype))
    start, size = (builder.gep(cell, [ir.Constant(_WORD, word)]) for word in range(2))
    count = context.cast(builder, args[1], sig.args[1], types.int64)
    need, had = builder.mul(count, ir.Constant(_WORD, width)), builder.load(size)
    with builder.if_then(builder.icmp_signed("<", had, need), likely=False):
        goal = builder.shl(had, ir.Constant(_WORD, 1))
        for other in (need, ir.Constant(_WORD, LEAST)):
            goal = builder.select(builder.icmp_signed("<", goal, other), other, goal)
        larger = context.nrt.allocate(builder, goal)
        old = builder.inttoptr(builder.load(start), larger.type)
        cgutils.raw_memcpy(builder, larger, old, had, 1)
        context.nrt.free(builder, old)
        builder.store(builder.ptrtoint(larger, _WORD), start)
        builder.store(goal, size)
    return builder.inttoptr(builder.load(start), result)


def released(memory: Any) -> None:
    """Give memory back."""
    memory.clear()


@lowers(released, lambda memory: types.none if isinstance(memory, Memory) else None)
def _released(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    start = builder.load(args[0])
    context.nrt.free(builder, builder.inttoptr(start, ir.IntType(8).as_pointer()))
    return context.get_dummy_value()
