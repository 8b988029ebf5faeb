"""Memory that grows: what loops without a known end stack lies there, and it stays between kernels.

It belongs to one call of an entry, which gives it back.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import register_model
from numba.np.numpy_support import as_dtype

from symgrad.codegen import llvm_memory
from symgrad.codegen.llvm_memory import LEAST
from symgrad.codegen.llvm_values import CELL
from symgrad.codegen.numba_support import Buffer, lowers

_CLASS: Any = types.NumberClass


class Memory(types.Type):
    """The numba type of memory that grows."""

    def __init__(self) -> None:
        super().__init__(name="Memory")


@register_model(Memory)
class _MemoryModel(models.PrimitiveModel):
    """The address of a cell."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, CELL.as_pointer())


def growing() -> Any:
    """Memory of no bytes yet."""
    return [np.empty(0, np.uint8)]


@lowers(growing, lambda: Memory())
def _growing(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    cell = cgutils.alloca_once(builder, CELL)
    llvm_memory.begin(builder, cell)
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
    count = context.cast(builder, args[1], sig.args[1], types.int64)
    return llvm_memory.grown(builder, args[0], count, as_dtype(sig.return_type.dtype))


def released(memory: Any) -> None:
    """Give memory back."""
    memory.clear()


@lowers(released, lambda memory: types.none if isinstance(memory, Memory) else None)
def _released(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    llvm_memory.release(builder, args[0])
    return context.get_dummy_value()
