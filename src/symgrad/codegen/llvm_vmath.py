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

from symgrad.codegen.llvm_values import BYTE, VARIANTS
from symgrad.codegen.llvm_vmath_arith import REAL_TYPES, LLVMArith, laned
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
        self._variants: dict[str, ir.Function] = {}  # on vectors, and what they are variants of
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
        self._left -= 1
        inlined = self._left >= 0
        if self.vectorised:
            widths = sorted({self._bits // form.bits, self._bits // FLOAT64.bits})
            variants = {lanes: self._variant(function, form, lanes, inlined) for lanes in widths}
            shape = f"{'v' * function.arity}_{scalar.name}"
            texts = [f"_ZGV_LLVM_N{lanes}{shape}({name})" for lanes, name in variants.items()]
            # In the table, too, or LLVM takes away an argument that all calls agree on, and the forms differ.
            self._variants[scalar.name] = scalar
            yield f'"vector-function-abi-variant"="{",".join(texts)}"'
        elif inlined:
            yield "alwaysinline"

    def _variant(self, function: VectorFunction, form: Format, lanes: int, inlined: bool) -> str:
        """The name of a vector variant, whose body goes where it is called, or of a function that has it."""
        name = symbol(function, form, lanes)
        body = self._variants.get(name)
        if body is None:
            body = self._variants[name] = define(self._module, function, form, lanes)
        if inlined:
            return name
        shared = f"{name}.shared"
        if shared not in self._variants:
            around = _declared(self._module, shared, body.function_type, "noinline")
            builder = ir.IRBuilder(around.append_basic_block())
            builder.ret(builder.call(body, around.args))
            self._variants[shared] = around
        return shared

    def close(self) -> None:
        """Have LLVM keep the variants, which nothing calls yet: a table that others could read names them."""
        if not self._variants:
            return
        places = [variant.bitcast(BYTE.as_pointer()) for variant in self._variants.values()]
        pointers = ir.ArrayType(BYTE.as_pointer(), len(places))
        table = ir.GlobalVariable(self._module, pointers, VARIANTS)
        table.global_constant = True
        table.initializer = ir.Constant(
            pointers, [v.bitcast(BYTE.as_pointer()) for v in self._variants.values()]
        )


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
    inlining = "alwaysinline" if lanes > 1 else "noinline"
    defined = _declared(module, symbol(function, form, lanes), function_type, inlining)
    builder = ir.IRBuilder(defined.append_basic_block())
    arith = LLVMArith(form, builder, lanes)
    result = function.body(*(Real(arith, argument) for argument in defined.args))
    builder.ret(result.value)
    return defined


def _declared(module: ir.Module, name: str, function_type: ir.FunctionType, inlining: str) -> ir.Function:
    """A function of the module alone that has no effect."""
    made = ir.Function(module, function_type, name)
    made.linkage = "internal"
    for attribute in (inlining, "nounwind", "readnone"):
        made.attributes.add(attribute)
    return made
