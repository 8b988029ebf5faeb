# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
"""The functions of `vmath` in an LLVM module: each once for one number, and once for a vector of them.

A call names its vector variants, so LLVM's vectoriser puts them in the place of the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir

from symgrad.codegen.llvm_arith import REAL_TYPES, LLVMArith, laned
from symgrad.codegen.llvm_values import BYTE, VARIANTS
from symgrad.codegen.vmath import VMATH, VectorFunction
from symgrad.codegen.vmath_arith import FLOAT32, FLOAT64, Format, Real
from symgrad.ir.types import DType

# Inlined outside of vector loops bodies overlap, and take LLVM time; in a longer function others stay calls.
INLINED = 32

_FORMATS = {8: FLOAT64, 4: FLOAT32}


class Calls:
    """The calls of vector math in one module, for a processor with registers of so many bits."""

    def __init__(self, module: ir.Module, register_bits: int) -> None:
        self._module = module
        self._bits = register_bits
        self._variants: dict[ir.Function, dict[int, ir.Function]] = {}  # by width
        self.vectorised = False  # whether calls are in a loop that may become vector code
        self.count = 0  # calls so far
        self._left = 0  # calls of a function that may still be inlined

    def begin(self) -> None:
        """Another function begins."""
        self._left = INLINED

    def call(self, builder: Any, name: str, dtype: DType, *operands: Any) -> Any:
        """The result of a function on numbers."""
        function, form = VMATH[name], _FORMATS[dtype.itemsize]
        scalar = self._module.globals.get(symbol(function, form)) or define(self._module, function, form)
        called = builder.call(scalar, operands)
        called.attributes = CallAttributes(*self._attributes(function, form, scalar))
        self.count += 1
        return called

    def _attributes(self, function: VectorFunction, form: Format, scalar: ir.Function) -> Iterator[str]:
        """What is particular about a call."""
        if not self.vectorised:
            self._left -= 1
            if self._left >= 0:
                yield "alwaysinline"
            return
        if scalar not in self._variants:
            widths = sorted({self._bits // form.bits, self._bits // FLOAT64.bits})
            self._variants[scalar] = {n: define(self._module, function, form, n) for n in widths}
        shape = "v" * function.arity
        texts = [
            f"_ZGV_LLVM_N{lanes}{shape}_{scalar.name}({variant.name})"
            for lanes, variant in self._variants[scalar].items()
        ]
        yield f'"vector-function-abi-variant"="{",".join(texts)}"'

    def close(self) -> None:
        """Have LLVM keep the variants, which nothing calls yet: a table that others could read names them."""
        variants = [variant for known in self._variants.values() for variant in known.values()]
        if not variants:
            return
        pointers = ir.ArrayType(BYTE.as_pointer(), len(variants))
        table = ir.GlobalVariable(self._module, pointers, VARIANTS)
        table.global_constant = True
        table.initializer = ir.Constant(pointers, [v.bitcast(BYTE.as_pointer()) for v in variants])


class CallAttributes(ir.instructions.CallInstrAttributes):
    """The attributes of a call that has no effect, with some that llvmlite does not know."""

    def __init__(self, *others: str) -> None:
        self._known = frozenset(("nounwind", "readnone", "willreturn", *others))
        super().__init__(self._known)


def symbol(function: VectorFunction, form: Format, lanes: int = 1) -> str:
    """The name of the LLVM function for one format."""
    return f"symgrad.{function.name}.{form.name}" + (f".x{lanes}" if lanes > 1 else "")


def define(module: ir.Module, function: VectorFunction, form: Format, lanes: int = 1) -> ir.Function:
    """The LLVM function, with its body, in `module`."""
    real_type = laned(REAL_TYPES[form], lanes)
    function_type = ir.FunctionType(real_type, [real_type] * function.arity)
    defined = ir.Function(module, function_type, symbol(function, form, lanes))
    defined.linkage = "internal"
    for attribute in ("alwaysinline" if lanes > 1 else "noinline", "nounwind", "readnone"):
        defined.attributes.add(attribute)
    builder = ir.IRBuilder(defined.append_basic_block())
    arith = LLVMArith(form, builder, lanes)
    result = function.body(*(Real(arith, argument) for argument in defined.args))
    builder.ret(result.value)
    return defined
