# numba and llvmlite have no types: what comes from them is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUnknownParameterType=false, reportCallIssue=false
"""The scalar library as intrinsics of numba-cuda: each is a module of LLVM code, linked into the kernel.

None needs a driver to be compiled. A function is inlined where it is called, up to a number of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.cuda import types
from numba.cuda.codegen import CUDA_TRIPLE
from numba.cuda.cudadrv import nvvm
from numba.cuda.extending import intrinsic

from symgrad.codegen.cuda.device_library import DEVICE_FUNCTIONS, DeviceFunction
from symgrad.codegen.llvm_values import declared
from symgrad.ir.types import DType

# In a longer kernel the rest stay calls: what is inlined takes NVVM time, and the body of a loop grows.
INLINED = 64

_SCALARS = (types.Float, types.Integer, types.Boolean)


def names() -> dict[str, Any]:
    """What the text of a kernel may call, by name."""
    return {name: _intrinsic(function) for name, function in DEVICE_FUNCTIONS.items()}


@cache
def _intrinsic(function: DeviceFunction) -> Any:
    """The numba intrinsic."""

    def typed(operands: tuple[Any, ...]) -> tuple[Any, Callable[..., Any]] | None:
        if not all(isinstance(operand, _SCALARS) for operand in operands):
            return None
        dtypes = tuple(map(_dtype, operands))
        result = function.result(*dtypes)
        if result is None:
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            kind = ir.FunctionType(context.get_value_type(signature.return_type), [arg.type for arg in args])
            return builder.call(_callee(function, dtypes, context, builder.module, kind), args)

        return _numba(result)(*operands), generate

    # numba reads the operands off the signature.
    def unary(typing_context: Any, x: Any) -> Any:
        return typed((x,))

    def binary(typing_context: Any, x: Any, y: Any) -> Any:
        return typed((x, y))

    def ternary(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
        return typed((x, y, z))

    implementation = (unary, binary, ternary)[function.arity - 1]
    implementation.__name__ = implementation.__qualname__ = function.name
    return intrinsic(implementation)


def _dtype(kind: Any) -> DType:
    return np.dtype(bool if isinstance(kind, types.Boolean) else kind.name)


def _numba(dtype: DType) -> Any:
    return types.boolean if dtype.kind == "b" else getattr(types, dtype.name)


def _callee(
    function: DeviceFunction, dtypes: tuple[DType, ...], context: Any, module: Any, kind: ir.FunctionType
) -> Any:
    """What one more call in the kernel's module calls, declared there, its body linked."""
    name = function.symbol(dtypes)
    calls = module.symgrad_calls = getattr(module, "symgrad_calls", 0) + 1
    if name not in module.globals and f"{name}_shared" not in module.globals:
        context.active_code_library.add_linking_library(_linked(function, dtypes, context.codegen()))
    return declared(module, f"{name}_shared" if calls > INLINED else name, kind)


@cache
def _linked(function: DeviceFunction, dtypes: tuple[DType, ...], codegen: Any) -> Any:
    """The function's module as numba links it."""
    made = function.module(dtypes)
    made.triple, made.data_layout = CUDA_TRIPLE, nvvm.NVVM().data_layout
    nvvm.add_ir_version(made)
    library = codegen.create_library(made.name)
    library.add_ir_module(made)
    library.finalize()
    return library
