# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""The functions of `vmath` in an LLVM module: each once for one number, and once for a vector of them.

A call names its vector variants, so LLVM's vectoriser puts them in the place of the call.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_arith import REAL_TYPES, LLVMArith, keep, laned
from symgrad.codegen.vmath import VMATH, VectorFunction
from symgrad.codegen.vmath_arith import FLOAT32, FLOAT64, Format, Real
from symgrad.ir.types import DType

_FORMATS = {8: FLOAT64, 4: FLOAT32}


class Calls:
    """The calls of vector math in one module, for a processor with registers of so many bits."""

    def __init__(self, module: ir.Module, register_bits: int) -> None:
        self._module = module
        self._bits = register_bits
        self._attributes: dict[ir.Function, CallAttributes] = {}

    def call(self, builder: Any, name: str, dtype: DType, *operands: Any) -> Any:
        """The result of a function on numbers."""
        function, form = VMATH[name], _FORMATS[dtype.itemsize]
        scalar = self._module.globals.get(symbol(function, form))
        if scalar is None:
            scalar = self._defined(function, form)
        called = builder.call(scalar, operands)
        called.attributes = self._attributes[scalar]
        return called

    def _defined(self, function: VectorFunction, form: Format) -> ir.Function:
        scalar = define(self._module, function, form)
        widths = {self._bits // form.bits, self._bits // FLOAT64.bits}
        variants: list[str] = []
        for lanes in sorted(widths):
            variant = define(self._module, function, form, lanes)
            keep(self._module, variant)
            shape = f"_ZGV_LLVM_N{lanes}{'v' * function.arity}"
            variants.append(f"{shape}_{scalar.name}({variant.name})")
        self._attributes[scalar] = CallAttributes(variants)
        return scalar


class CallAttributes(ir.instructions.CallInstrAttributes):
    """The attributes of a call that has no effect, and vector variants."""

    def __init__(self, variants: list[str]) -> None:
        names = (
            "nounwind",
            "readnone",
            "willreturn",
            f'"vector-function-abi-variant"="{",".join(variants)}"',
        )
        self._known = frozenset(names)
        super().__init__(self._known)


def symbol(function: VectorFunction, form: Format, lanes: int = 1) -> str:
    """The name of the LLVM function for one format."""
    return f"symgrad.{function.name}.{form.name}" + (f".x{lanes}" if lanes > 1 else "")


def define(
    module: ir.Module, function: VectorFunction, form: Format, lanes: int = 1, *, inlined: bool = False
) -> ir.Function:
    """The LLVM function, with its body, in `module`."""
    real_type = laned(REAL_TYPES[form], lanes)
    function_type = ir.FunctionType(real_type, [real_type] * function.arity)
    defined = ir.Function(module, function_type, symbol(function, form, lanes))
    if not inlined:
        defined.linkage = "internal"
    for attribute in ("alwaysinline" if inlined else "noinline", "nounwind", "readnone"):
        defined.attributes.add(attribute)
    builder = ir.IRBuilder(defined.append_basic_block())
    arith = LLVMArith(form, builder, lanes)
    result = function.body(*(Real(arith, argument) for argument in defined.args))
    builder.ret(result.value)
    return defined
