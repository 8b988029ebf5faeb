# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
"""The scalar library for a GPU: every function as a module of LLVM code, for the dtypes that it is asked for.

The code is what the CPU runs, emitters of scalar arithmetic and bodies of vector math, in a device's terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from symgrad.codegen import llvm_arithmetic
from symgrad.codegen.cuda.device_arith import DeviceArith, DeviceBuilder, DeviceModule, private
from symgrad.codegen.cuda.scalars import TO_INT
from symgrad.codegen.llvm_packing import PACKING
from symgrad.codegen.llvm_values import to_int, value_type
from symgrad.codegen.vmath import VMATH, VectorFunction
from symgrad.codegen.vmath_arith import FLOAT32, FLOAT64, Real
from symgrad.errors import InternalError
from symgrad.ir.types import BOOL, F32, F64, DType

# The dtype of the result on operands of these dtypes; None where the function is not for them.
Rule: TypeAlias = Callable[..., DType | None]
# (builder, dtypes of the operands, operands) -> result
Emit: TypeAlias = Callable[..., Any]

U16 = np.dtype(np.uint16)
_FORMATS = {8: FLOAT64, 4: FLOAT32}


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function of the scalar library."""

    name: str
    arity: int
    result: Rule
    emit: Emit

    def symbol(self, dtypes: tuple[DType, ...]) -> str:
        """The name of the LLVM function."""
        return f"symgrad_{self.name}_{dtypes[-1].name}"

    def module(self, dtypes: tuple[DType, ...]) -> ir.Module:
        """A module with the function, and with one of the name and `_shared` that is never inlined."""
        result = self.result(*dtypes)
        if result is None:
            raise InternalError(f"{self.name} is not for {', '.join(dtype.name for dtype in dtypes)}")
        module = DeviceModule(self.symbol(dtypes))
        kind = ir.FunctionType(value_type(result), [value_type(dtype) for dtype in dtypes])
        body = private(module, self.symbol(dtypes), kind, "alwaysinline")
        builder = DeviceBuilder(body.append_basic_block())
        builder.ret(self.emit(builder, dtypes, *body.args))
        shared = private(module, f"{body.name}_shared", kind, "noinline")
        builder = DeviceBuilder(shared.append_basic_block())
        builder.ret(builder.call(body, shared.args))
        return module


# ---- dtypes -----------------------------------------------------------------------------------------------
def _same(kinds: str) -> Rule:
    """Operands and result are of one dtype, of one of these kinds; half precision is not computed with."""

    def result(*dtypes: DType) -> DType | None:
        one = len(set(dtypes)) == 1 and dtypes[0].kind in kinds and dtypes[0] != np.float16
        return dtypes[0] if one else None

    return result


def _truth(*dtypes: DType) -> DType | None:
    return None if _same("f")(*dtypes) is None else BOOL


def _choice(*dtypes: DType) -> DType | None:
    return _same("fiub")(*dtypes[1:]) if dtypes[0] == BOOL else None


def _from(operand: DType, result: DType) -> Rule:
    return lambda dtype: result if dtype == operand else None


# ---- functions --------------------------------------------------------------------------------------------
def _arithmetic(name: str, arity: int, rule: Rule) -> DeviceFunction:
    """A function of `llvm_arithmetic`."""
    emit: Callable[..., Any] = getattr(llvm_arithmetic, name)
    return DeviceFunction(name, arity, rule, lambda builder, dtypes, *args: emit(builder, dtypes[-1], *args))


def _packing(name: str, operand: DType, result: DType) -> DeviceFunction:
    """A function of `llvm_packing`."""
    emit = PACKING[name]
    return DeviceFunction(
        name, 1, _from(operand, result), lambda builder, dtypes, x: emit(builder, dtypes[0], x)
    )


def _vector(function: VectorFunction) -> DeviceFunction:
    """A function of `vmath`."""

    def emit(builder: Any, dtypes: tuple[DType, ...], *args: Any) -> Any:
        arith = DeviceArith(_FORMATS[dtypes[0].itemsize], builder)
        return function.body(*(Real(arith, arg) for arg in args)).value

    return DeviceFunction(function.name, function.arity, _same("f"), emit)


def _to_int(name: str, goal: DType) -> DeviceFunction:
    """The conversion of floats to an integer dtype, compared with its bounds in their own format."""

    def result(dtype: DType) -> DType | None:
        return None if _same("f")(dtype) is None else goal

    def emit(builder: Any, dtypes: tuple[DType, ...], x: Any) -> Any:
        return to_int(builder, x, dtypes[0], goal, dtypes[0])

    return DeviceFunction(name, 1, result, emit)


_FLOATS, _INTS, _NUMBERS = _same("f"), _same("iu"), _same("fiu")
_RECORDS = (
    *(_arithmetic(name, 2, _same("fiub")) for name in ("maximum", "minimum")),
    _arithmetic("select", 3, _choice),
    _arithmetic("absolute", 1, _same("fiub")),
    _arithmetic("sign", 1, _NUMBERS),
    _arithmetic("invert", 1, _same("iub")),
    _arithmetic("copysign", 2, _FLOATS),
    *(_arithmetic(name, 1, _FLOATS) for name in ("floor", "ceil", "trunc", "rint", "sqrt")),
    *(_arithmetic(name, 1, _truth) for name in ("isnan", "isinf", "isfinite", "signbit")),
    *(
        _arithmetic(name, 2, _INTS)
        for name in (
            "int_floor_divide", "int_remainder", "int_fmod", "int_power", "left_shift", "right_shift",
        )
    ),
    _packing("pack_float32", F64, F32),
    _packing("unpack_float32", F32, F64),
    *(_packing(f"pack_{name}", F32, U16) for name in ("float16", "bfloat16")),
    *(_packing(f"unpack_{name}", U16, F32) for name in ("float16", "bfloat16")),
    *map(_vector, VMATH.values()),
    *(_to_int(name, np.dtype(goal)) for goal, name in TO_INT.items()),
)  # fmt: skip

DEVICE_FUNCTIONS: dict[str, DeviceFunction] = {record.name: record for record in _RECORDS}
