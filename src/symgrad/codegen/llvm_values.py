# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
"""Scalars of the element types as LLVM values: their types, constants, conversions and places in memory.

A truth value is one bit, and one byte in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from symgrad.ir.types import F64, DType

if TYPE_CHECKING:
    from symgrad.codegen.expressions import Number

BIT, BYTE, NARROW, WORD = (ir.IntType(bits) for bits in (1, 8, 32, 64))
VOID = ir.VoidType()
CELL = ir.ArrayType(WORD, 2)  # of memory that grows
VARIANTS = "symgrad.variants"  # the table of vector functions that are to be put into loops
_REALS = {8: ir.DoubleType(), 4: ir.FloatType()}


def value_type(dtype: DType) -> ir.Type:
    """The type of a scalar in a register."""
    if dtype.kind == "f":
        return _REALS[dtype.itemsize]
    return BIT if dtype.kind == "b" else ir.IntType(8 * dtype.itemsize)


def memory_type(dtype: DType) -> ir.Type:
    """The type of a scalar in memory."""
    return BYTE if dtype.kind == "b" else value_type(dtype)


def pointer_type(dtype: DType) -> ir.PointerType:
    """The type of a buffer."""
    return memory_type(dtype).as_pointer()


def constant(value: Number, dtype: DType) -> ir.Constant:
    """A number."""
    kind = value_type(dtype)
    if dtype.kind == "f":
        return ir.Constant(kind, float(dtype.type(value)))
    return ir.Constant(kind, int(value))


def word(value: int) -> ir.Constant:
    """An index."""
    return ir.Constant(WORD, value)


def load(builder: Any, buffer: Any, index: Any, dtype: DType) -> Any:
    """An element of a buffer."""
    data = builder.load(builder.gep(buffer, [index], inbounds=True))
    return builder.trunc(data, BIT) if dtype.kind == "b" else data


def store(builder: Any, buffer: Any, index: Any, value: Any, dtype: DType) -> None:
    """Write an element of a buffer."""
    data = builder.zext(value, BYTE) if dtype.kind == "b" else value
    builder.store(data, builder.gep(buffer, [index], inbounds=True))


def intrinsic(builder: Any, name: str, *args: Any) -> Any:
    """The result of an LLVM intrinsic whose operands and result have one type."""
    kind = args[0].type
    declared = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * len(args)))
    return builder.call(declared, args)


def declared(module: Any, name: str, function_type: ir.FunctionType) -> Any:
    """The function `name` of `module`, declared if it was not."""
    known = module.globals.get(name)
    return ir.Function(module, function_type, name) if known is None else known


def external(builder: Any, name: str, result: ir.Type, args: Sequence[Any]) -> Any:
    """The result of a function that is found by its name when the code is loaded."""
    function_type = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(declared(builder.module, name, function_type), args)


def converted(builder: Any, value: Any, old: DType, new: DType) -> Any:
    """A scalar in another dtype, as NumPy's astype makes it."""
    if old == new:
        return value
    if new.kind == "b":
        return nonzero(builder, value, old)
    goal = value_type(new)
    if old.kind == "f":
        if new.kind == "f":
            return (builder.fpext if new.itemsize > old.itemsize else builder.fptrunc)(value, goal)
        return to_int(builder, value, old, new)
    signed = old.kind == "i"
    if new.kind == "f":
        return (builder.sitofp if signed else builder.uitofp)(value, goal)
    width = value.type.width
    if width < goal.width:
        return (builder.sext if signed else builder.zext)(value, goal)
    return builder.trunc(value, goal) if width > goal.width else value


def nonzero(builder: Any, value: Any, dtype: DType) -> Any:
    """Whether a scalar is not zero; NaN is not."""
    zero = constant(0, dtype)
    return (
        builder.fcmp_unordered("!=", value, zero)
        if dtype.kind == "f"
        else builder.icmp_unsigned("!=", value, zero)
    )


def to_int(builder: Any, value: Any, old: DType, new: DType, within: DType = F64) -> Any:
    """A float as an integer, rounded towards zero; out of range, as C has it on x86.

    It is compared with the bounds in the format `within`, which holds all of `old`.
    """
    # Convert to the int of 32 or 64 bits that holds the type, the least one where nothing fits, and keep
    # the low bits: what C compilers do, and NumPy with them.  LLVM's conversion is undefined out of range.
    bits = 8 * new.itemsize
    width = 32 if bits < 32 or new == np.int32 else 64
    wide = converted(builder, value, old, within)
    result = ir.IntType(width)
    if new == np.uint64:
        return _to_uint64(builder, wide)
    lowest = -(2.0 ** (width - 1))
    # Doubles below -2**31 are truncated to it; below -2**63 the next double is already out of range. Within
    # float32 the bound rounds to -2**31, which is then outside, and that gives it too.
    above = builder.fcmp_ordered(
        ">" if width == 32 else ">=", wide, ir.Constant(wide.type, lowest - (width == 32))
    )
    below = builder.fcmp_ordered("<", wide, ir.Constant(wide.type, -lowest))
    inside = builder.and_(above, below)
    safe = builder.select(inside, wide, ir.Constant(wide.type, 0.0))
    found = builder.select(inside, builder.fptosi(safe, result), ir.Constant(result, -(1 << (width - 1))))
    return builder.trunc(found, ir.IntType(bits)) if bits < width else found


def _to_uint64(builder: Any, wide: Any) -> Any:
    bottom, top = ir.Constant(wide.type, -(2.0**63)), ir.Constant(wide.type, 2.0**64)
    zero = ir.Constant(wide.type, 0.0)
    negative = builder.fcmp_ordered("<", wide, zero)
    inside = builder.and_(builder.fcmp_ordered(">=", wide, bottom), builder.fcmp_ordered("<", wide, top))
    below = builder.fptosi(builder.select(builder.and_(inside, negative), wide, zero), WORD)
    above = builder.fptoui(builder.select(builder.and_(inside, builder.not_(negative)), wide, zero), WORD)
    value = builder.select(negative, below, above)
    return builder.select(inside, value, ir.Constant(WORD, -(1 << 63)))
