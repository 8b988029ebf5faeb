# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Memory that grows as LLVM code: a cell of two words, where it begins and how many bytes it has.

It at least doubles, so that a row costs what it costs to write it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_values import BYTE, CELL, VOID, WORD, external, pointer_type, word
from symgrad.ir.types import DType

LEAST = 4096  # bytes that are taken first
_BYTES = BYTE.as_pointer()


def begin(builder: Any, cell: Any) -> None:
    """Memory of no bytes yet, in a cell."""
    builder.store(ir.Constant(CELL, [0, 0]), cell)


def grown(builder: Any, cell: Any, count: Any, dtype: DType) -> Any:
    """The elements that lie in memory, which has room for `count` of them from here on."""
    start, size = (builder.gep(cell, [word(0), word(place)]) for place in range(2))
    need, had = builder.mul(count, word(dtype.itemsize)), builder.load(size)
    with builder.if_then(builder.icmp_signed("<", had, need), likely=False):
        goal = builder.shl(had, word(1))
        for other in (need, word(LEAST)):
            goal = builder.select(builder.icmp_signed("<", goal, other), other, goal)
        old = builder.inttoptr(builder.load(start), _BYTES)
        larger = external(builder, "realloc", _BYTES, [old, goal])
        builder.store(builder.ptrtoint(larger, WORD), start)
        builder.store(goal, size)
    return builder.inttoptr(builder.load(start), pointer_type(dtype))


def release(builder: Any, cell: Any) -> None:
    """Give memory back."""
    start = builder.load(builder.gep(cell, [word(0), word(0)]))
    external(builder, "free", VOID, [builder.inttoptr(start, _BYTES)])
