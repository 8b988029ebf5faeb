"""What a generated numba module stands on: flat buffers, and scalar arithmetic that agrees with NumPy's.

Each name is a plain Python function on NumPy values, and numba is told beside it which LLVM code to put in
its place.  So one generated module runs jitted and, under `NUMBA_DISABLE_JIT=1`, as ordinary Python.

A `Buffer` is one bare pointer: no size, no strides, no reference count, no bounds check, and no index is
ever counted from the end.  Its memory must outlive it: an array that an entry was given does, and `stack`
does until the function returns; a local array does not, for numba frees it after its last use.
"""

# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedClassDecorator=false, reportOptionalCall=false, reportCallIssue=false

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import register_model, type_callable
from numba.np.numpy_support import as_dtype, from_dtype

from symgrad.codegen import llvm_arithmetic as arithmetic
from symgrad.codegen.lapack import at

SUM_BLOCK = (
    256  # elements that `fold_add` may sum in any order before a compensated sum takes the block's total
)
STACK_LIMIT = 1 << 16  # bytes that `stack` gives at most; threads can have stacks of 512 KiB

_Emit = Callable[[Any, Any, Any, Any], Any]


class Buffer(types.Type):
    """The numba type of a run of elements of one dtype in memory, held as a bare pointer."""

    def __init__(self, dtype: types.Type) -> None:
        self.dtype = dtype
        super().__init__(name=f"Buffer({dtype})")


register_model(Buffer)(models.PointerModel)


def buffer_type(dtype: np.dtype[Any]) -> Buffer:
    """The `Buffer` of a NumPy dtype."""
    return Buffer(from_dtype(dtype))


def array_type(dtype: np.dtype[Any], rank: int, writable: bool) -> types.Array:
    """The numba type of a C-contiguous array; one that need not be writable matches both kinds."""
    return types.Array(from_dtype(dtype), rank, "C", readonly=not writable)


def lowers(function: Callable[..., Any], typer: Callable[..., Any]) -> Callable[[_Emit], _Emit]:
    """A decorator: numba gives `function` the type that `typer` says and the decorated's code."""
    arity = function.__code__.co_argcount

    def register(emit: _Emit) -> _Emit:
        type_callable(function)(lambda context: typer)
        lower_builtin(function, *[types.Any] * arity)(emit)
        return emit

    return register


def emitted(emit: Callable[..., Any]) -> _Emit:
    """The code of a scalar function, as numba asks for it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return emit(builder, as_dtype(sig.return_type), *args)

    return generate


# Buffers: reading, writing, making.


@infer_global(operator.getitem)
class _BufferGetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        base, index = args
        if isinstance(base, Buffer) and isinstance(index, types.Integer):
            return signature(base.dtype, base, types.int64)
        return None


@infer_global(operator.setitem)
class _BufferSetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        base, index, _ = args
        if isinstance(base, Buffer) and isinstance(index, types.Integer):
            return signature(types.none, base, types.int64, base.dtype)
        return None


@lower_builtin(operator.getitem, Buffer, types.Integer)
def _load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    data = builder.load(builder.gep(args[0], [args[1]], inbounds=True))
    if sig.return_type == types.boolean:
        # numba would branch on the byte, and a loop with a branch is not vectorised.
        return builder.trunc(data, ir.IntType(1))
    return context.data_model_manager[sig.return_type].from_data(builder, data)


@lower_builtin(operator.setitem, Buffer, types.Integer, types.Any)
def _store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer = builder.gep(args[0], [args[1]], inbounds=True)
    builder.store(context.data_model_manager[sig.args[2]].as_data(builder, args[2]), pointer)
    return context.get_dummy_value()


def flat(array: Any) -> Any:
    """The elements of a C-contiguous array in order, sharing its memory."""
    return array.reshape(-1)


@lowers(flat, lambda array: Buffer(array.dtype) if getattr(array, "layout", "") == "C" else None)
def _flat(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.make_array(sig.args[0])(context, builder, args[0]).data


def stack(size: int) -> Any:
    """`size` bytes (a literal, at most `STACK_LIMIT`) of this call's own memory, aligned to 64."""
    return np.empty(size, np.uint8)


@infer_global(stack)
class _Stack(AbstractTemplate):
    prefer_literal = True

    def generic(self, args: Any, kws: Any) -> Any:
        (size,) = args
        if isinstance(size, types.IntegerLiteral) and 0 <= size.literal_value <= STACK_LIMIT:
            return signature(Buffer(types.uint8), size)
        return None


@lower_builtin(stack, types.IntegerLiteral)
def _stack(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    # Bytes, not one array: numba fills what it allocates with zeros, and this way that is one byte.
    size = ir.Constant(ir.IntType(64), sig.args[0].literal_value)
    space = cgutils.alloca_once(builder, ir.IntType(8), size=size)
    space.align = 64
    return builder.bitcast(space, context.get_value_type(sig.return_type))


def view(arena: Any, offset: int, count: int, dtype: Any) -> Any:
    """The `count` elements of `dtype` that begin `offset` bytes into `arena`."""
    return arena[offset : offset + count * np.dtype(dtype).itemsize].view(dtype)


def _type_view(arena: Any, offset: Any, count: Any, dtype: Any) -> Any:
    flat_bytes = isinstance(arena, types.Array | Buffer) and arena.dtype == types.uint8
    ints = isinstance(offset, types.Integer) and isinstance(count, types.Integer)
    if flat_bytes and ints and isinstance(dtype, types.NumberClass):
        return Buffer(dtype.instance_type)
    return None


@lowers(view, _type_view)
def _view(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    base = args[0]
    if isinstance(sig.args[0], types.Array):
        base = context.make_array(sig.args[0])(context, builder, base).data
    pointer = builder.gep(base, [args[1]], inbounds=True)
    return builder.bitcast(pointer, context.get_value_type(sig.return_type))


def _type_at(buffer: Any, index: Any) -> Any:
    return buffer if isinstance(buffer, Buffer) and isinstance(index, types.Integer) else None


@lowers(at, _type_at)
def _at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.gep(args[0], [args[1]], inbounds=True)


def distinct() -> None:
    """State, first thing in a kernel, that what it writes through one buffer it meets through no other."""


@lowers(distinct, lambda: types.none)
def _distinct(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    # These are parameters of the kernel's own LLVM function: inlining the kernel, LLVM turns the attribute
    # into alias scopes of that one call, so nothing is claimed about the caller's buffers elsewhere.
    for param in builder.function.args:
        if param.name.count(".") > 1:
            raise TypeError(
                f"distinct() belongs in a function of buffers and scalars; {param.name} is an aggregate"
            )
        if isinstance(param.type, ir.PointerType):
            param.add_attribute("noalias")
    return context.get_dummy_value()


# Sums, maxima, choices.


def _same_floats(*operands: Any) -> Any:
    return operands[0] if isinstance(operands[0], types.Float) and len(set(operands)) == 1 else None


def _same_numbers(*operands: Any) -> Any:
    number = isinstance(operands[0], types.Float | types.Integer | types.Boolean)
    return operands[0] if number and len(set(operands)) == 1 else None


def _binary(rule: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    # numba binds a typer's parameters by name, so it needs one of the right arity.
    return lambda x, y: rule(x, y)


def fold_add(total: Any, x: Any) -> Any:
    """`total + x`, where the order of a run of such additions is the compiler's to choose."""
    return total + x


lowers(fold_add, _binary(_same_floats))(emitted(arithmetic.fold_add))


def fold_dot(total: Any, x: Any, y: Any) -> Any:
    """`total + x * y` as `fold_add`, the product rounded or not."""
    return total + x * y


lowers(fold_dot, lambda total, x, y: _same_floats(total, x, y))(emitted(arithmetic.fold_dot))


def sum_error(total: Any, x: Any) -> Any:
    """What rounding takes from `total + x`, to be added at the end; 0 where that is not finite."""
    new = total + x
    lost = (total - new) + x if abs(total) >= abs(x) else (x - new) + total
    return lost if abs(new) < np.inf else type(new)(0)


lowers(sum_error, _binary(_same_floats))(emitted(arithmetic.sum_error))


def maximum(x: Any, y: Any) -> Any:
    """The larger, NaN if either is."""
    return np.maximum(x, y)


def minimum(x: Any, y: Any) -> Any:
    """The smaller, NaN if either is."""
    return np.minimum(x, y)


lowers(maximum, _binary(_same_numbers))(emitted(arithmetic.maximum))
lowers(minimum, _binary(_same_numbers))(emitted(arithmetic.minimum))


def select(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds and `y` elsewhere, both having been computed."""
    return x if condition else y


def _type_select(condition: Any, x: Any, y: Any) -> Any:
    return _same_numbers(x, y) if condition == types.boolean else None


lowers(select, _type_select)(emitted(arithmetic.select))
