"""What the text of a kernel may call that numba-cuda has not: 16 bytes at once, atomics on pointers, fma.

Each is expanded where it stands, and needs no driver to be compiled. An index counts elements.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUnknownParameterType=false, reportUntypedFunctionDecorator=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

WIDE_BYTES = 16  # the most that a thread moves by one instruction

_GLOBAL = 1  # the address space of device memory
_ADDRESS = ir.IntType(64)


def lanes(dtype: Any) -> int:
    """How many elements of a dtype are moved at once."""
    return WIDE_BYTES * 8 // int(dtype.bitwidth)


# ---- 16 bytes at once ----
@intrinsic
def load_wide(typing_context: Any, pointer: Any, index: Any) -> Any:
    """The elements of 16 bytes, as a tuple; the first has an address that is a multiple of 16."""
    dtype = pointer.dtype
    count = lanes(dtype)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _wide(builder, args, context.get_value_type(dtype), count)
        vector = builder.load(address, align=WIDE_BYTES)
        elements = [builder.extract_element(vector, ir.Constant(ir.IntType(32), k)) for k in range(count)]
        return context.make_tuple(builder, signature.return_type, elements)

    return types.UniTuple(dtype, count)(pointer, index), code


@intrinsic
def store_wide(typing_context: Any, pointer: Any, index: Any, values: Any) -> Any:
    """Write the elements of 16 bytes; the first has an address that is a multiple of 16."""
    dtype = pointer.dtype
    count = lanes(dtype)
    if tuple(values) != (dtype,) * count:
        return None

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = context.get_value_type(dtype)
        vector = ir.Constant(ir.VectorType(element, count), ir.Undefined)
        for k in range(count):
            value = builder.extract_value(args[2], k)
            vector = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), k))
        builder.store(vector, _wide(builder, args, element, count), align=WIDE_BYTES)
        return context.get_dummy_value()

    return types.void(pointer, index, values), code


def _wide(builder: Any, args: Any, element: Any, count: int) -> Any:
    """The address of an element as that of a vector."""
    return builder.bitcast(builder.gep(args[0], [args[1]]), ir.VectorType(element, count).as_pointer())


# ---- atomics ----
@intrinsic
def atomic_add(typing_context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """Add to a float in device memory, in an order that is not known."""
    dtype = pointer.dtype
    if dtype not in (types.float32, types.float64):
        return None
    kind, letter = ("f32", "f") if dtype == types.float32 else ("f64", "d")

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _reduced(context, builder, args, f"add.{kind}", letter)

    return types.void(pointer, index, dtype), code


@intrinsic
def atomic_max_int64(typing_context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """Make an int64 in device memory the larger of itself and a value."""
    if pointer.dtype != types.int64:
        return None

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _reduced(context, builder, args, "max.s64", "l")

    return types.void(pointer, index, types.int64), code


def _reduced(context: Any, builder: Any, args: Any, operation: str, letter: str) -> Any:
    """A `red` instruction: NVVM's atomics on floats are read back, and this is not."""
    pointer, index, value = args
    place = builder.gep(pointer, [index])
    place = builder.addrspacecast(place, ir.PointerType(value.type, addrspace=_GLOBAL))
    kind = ir.FunctionType(ir.VoidType(), [_ADDRESS, value.type])
    text = f"red.global.{operation} [$0], $1;"
    assembly = ir.InlineAsm(kind, text, f"l,{letter},~{{memory}}", side_effect=True)
    builder.call(assembly, [builder.ptrtoint(place, _ADDRESS), value])
    return context.get_dummy_value()


# ---- arithmetic ----
@intrinsic
def fma(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """`x · y + z`, rounded once; Python has it from 3.13 on."""
    if not isinstance(x, types.Float) or not x == y == z:
        return None
    return x(x, y, z), lambda context, builder, signature, args: builder.fma(*args)


# What a kernel finds in scope beside `cuda`, `math` and the casts.
INTRINSICS: dict[str, Any] = {
    "load_wide": load_wide,
    "store_wide": store_wide,
    "atomic_add": atomic_add,
    "atomic_max_int64": atomic_max_int64,
    "fma": fma,
}
