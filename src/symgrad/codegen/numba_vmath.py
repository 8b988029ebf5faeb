# numba and llvmlite have no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportReturnType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false, reportArgumentType=false
"""The functions of `vmath` for code compiled by numba: each is an LLVM function, inlined where it is called.

A body is written as a module of its own and linked into the library being compiled, so that the flags of a
kernel's fast-math never reach it. Under `NUMBA_DISABLE_JIT` the names are NumPy's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module

import numpy as np
from llvmlite import ir
from numba.core import config, types
from numba.core.base import BaseContext
from numba.core.codegen import Codegen, CodeLibrary
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from symgrad.codegen.llvm_vmath import define, symbol
from symgrad.codegen.llvm_vmath_arith import REAL_TYPES
from symgrad.codegen.vmath import VMATH, VectorFunction
from symgrad.codegen.vmath_arith import FLOAT32, FLOAT64, Format

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "digamma",
    "erf", "erfc", "exp", "exp2", "expm1", "floor_divide", "fmod", "gamma", "gammaln", "hypot", "log",
    "log1p", "log2", "log10", "logaddexp", "logaddexp2", "polygamma", "pow", "remainder", "sigmoid", "sin",
    "sinh", "softplus", "tan", "tanh", "trigamma",
]  # fmt: skip

FORMATS = {types.float64: FLOAT64, types.float32: FLOAT32}

# Inlined bodies let LLVM vectorise a loop, and take it 20 ms each; in a longer kernel the rest stay calls.
INLINED = 32


@cache
def library(codegen: Codegen, function: VectorFunction, form: Format) -> CodeLibrary:
    """The compiled library of one function, from which its body is linked into a kernel and inlined."""
    name = symbol(function, form)
    module = ir.Module(name)
    defined = define(module, function, form)
    defined.linkage = "external"
    defined.attributes.remove("noinline")
    defined.attributes.add("alwaysinline")
    made = codegen.create_library(name)
    made.add_ir_module(module)
    made.finalize()
    return made


def lowered(
    function: VectorFunction, context: BaseContext, builder: ir.IRBuilder, form: Format
) -> ir.Function:
    """The function as declared in the module being built, its body linked."""
    name = symbol(function, form)
    known = builder.module.globals.get(name)
    if known is not None:
        return known
    context.active_code_library.add_linking_library(library(context.codegen(), function, form))
    real_type = REAL_TYPES[form]
    return ir.Function(builder.module, ir.FunctionType(real_type, [real_type] * function.arity), name)


def counted(module: ir.Module) -> int:
    """How many calls of vector math have been made in the module, with this one."""
    count = getattr(module, "symgrad_calls", 0) + 1
    module.symgrad_calls = count
    return count


def compiled(function: VectorFunction) -> Callable[..., float]:
    """The numba intrinsic."""

    def typed(operands: tuple[types.Type, ...]) -> tuple[Signature, Callable[..., ir.Value]] | None:
        form = FORMATS.get(operands[0])
        if form is None or any(operand != operands[0] for operand in operands):
            return None

        def generate(
            context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]
        ) -> ir.Value:
            call = builder.call(lowered(function, context, builder, form), arguments)
            if counted(builder.module) > INLINED:
                call.attributes.add("noinline")
            return call

        return operands[0](*operands), generate

    # numba reads the operands off the signature.
    def unary(typing_context: object, x: types.Type) -> object:
        return typed((x,))

    def binary(typing_context: object, x: types.Type, y: types.Type) -> object:
        return typed((x, y))

    implementation = unary if function.arity == 1 else binary
    implementation.__name__ = implementation.__qualname__ = function.name
    return intrinsic(implementation)


def interpreted(function: VectorFunction) -> Callable[..., float]:
    """The plain Python function."""
    # The table of ops is loaded where functions are plain only: a program from the disk does without it.
    op = import_module("symgrad.ir.ops").OPS.get(function.name)
    evaluate = getattr(np, function.name) if op is None else op.evaluate

    def plain(*operands: np.floating) -> np.floating:
        with np.errstate(all="ignore"):
            return type(operands[0])(evaluate(*operands))

    plain.__name__ = plain.__qualname__ = function.name
    return plain


def exposed(name: str) -> Callable[..., float]:
    """What code calls: an intrinsic, or a Python function where numba does not compile."""
    function = VMATH[name]
    return interpreted(function) if config.DISABLE_JIT else compiled(function)


exp = exposed("exp")
exp2 = exposed("exp2")
expm1 = exposed("expm1")
sinh = exposed("sinh")
cosh = exposed("cosh")
tanh = exposed("tanh")
sigmoid = exposed("sigmoid")
log = exposed("log")
log2 = exposed("log2")
log10 = exposed("log10")
log1p = exposed("log1p")
sin = exposed("sin")
cos = exposed("cos")
tan = exposed("tan")
erf = exposed("erf")
erfc = exposed("erfc")
pow = exposed("pow")
cbrt = exposed("cbrt")
asin = exposed("asin")
acos = exposed("acos")
atan = exposed("atan")
atan2 = exposed("atan2")
asinh = exposed("asinh")
acosh = exposed("acosh")
atanh = exposed("atanh")
softplus = exposed("softplus")
logaddexp = exposed("logaddexp")
logaddexp2 = exposed("logaddexp2")
hypot = exposed("hypot")
fmod = exposed("fmod")
remainder = exposed("remainder")
floor_divide = exposed("floor_divide")
gamma = exposed("gamma")
gammaln = exposed("gammaln")
digamma = exposed("digamma")
trigamma = exposed("trigamma")
polygamma = exposed("polygamma")
