# numba and llvmlite have no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportReturnType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false, reportArgumentType=false
"""The functions of `vmath` for code compiled by numba: each is an LLVM function, inlined where it is called.

A body is written as a module of its own and linked into the library being compiled, so that the flags of a
kernel's fast-math never reach it. Under `NUMBA_DISABLE_JIT` the names are NumPy's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from llvmlite import ir
from numba.core import config, types
from numba.core.base import BaseContext
from numba.core.codegen import Codegen, CodeLibrary
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from symgrad.codegen.vmath import VMATH, VectorFunction
from symgrad.codegen.vmath_arith import FLOAT32, FLOAT64, Format, Function, Real
from symgrad.ir.ops import OPS

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "define", "digamma",
    "erf", "erfc", "exp", "exp2", "expm1", "floor_divide", "fmod", "gamma", "gammaln", "hypot", "log",
    "log1p", "log2", "log10", "logaddexp", "logaddexp2", "polygamma", "pow", "remainder", "sigmoid", "sin",
    "sinh", "softplus", "symbol", "tan", "tanh", "trigamma",
]  # fmt: skip

REAL_TYPES = {FLOAT64: ir.DoubleType(), FLOAT32: ir.FloatType()}
FORMATS = {types.float64: FLOAT64, types.float32: FLOAT32}

# Inlined bodies let LLVM vectorise a loop, and take it 20 ms each; in a longer kernel the rest stay calls.
INLINED = 32


@dataclass(frozen=True)
class LLVMArith:
    """Arithmetic that appends one instruction an operation to a function."""

    format: Format
    builder: ir.IRBuilder

    @property
    def real_type(self) -> ir.Type:
        """The LLVM type of a real."""
        return REAL_TYPES[self.format]

    @property
    def word_type(self) -> ir.IntType:
        """The LLVM type of a word."""
        return ir.IntType(self.format.bits)

    def real(self, value: float) -> ir.Value:
        """The constant `value`."""
        return ir.Constant(self.real_type, value)

    def word(self, value: int) -> ir.Value:
        """The constant word `value`."""
        return ir.Constant(self.word_type, value & self.format.word_mask)

    def call(self, name: str, *operands: ir.Value) -> ir.Value:
        """A call of an LLVM intrinsic whose operands and result are reals."""
        function_type = ir.FunctionType(self.real_type, [self.real_type] * len(operands))
        suffix = f"f{self.format.bits}"
        module: ir.Module = self.builder.module
        return self.builder.call(declared(module, f"llvm.{name}.{suffix}", function_type), operands)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a + b`."""
        return self.builder.fadd(a, b)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a - b`."""
        return self.builder.fsub(a, b)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a * b`."""
        return self.builder.fmul(a, b)

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a / b`."""
        return self.builder.fdiv(a, b)

    def neg(self, a: ir.Value) -> ir.Value:
        """`-a`."""
        return self.builder.fneg(a)

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """`a * b + c`, rounded once."""
        return self.call("fma", a, b, c)

    def sqrt(self, a: ir.Value) -> ir.Value:
        """The square root."""
        return self.call("sqrt", a)

    def absolute(self, a: ir.Value) -> ir.Value:
        """`|a|`."""
        return self.call("fabs", a)

    def copysign(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`|a|` with the sign of `b`."""
        return self.call("copysign", a, b)

    def rint(self, a: ir.Value) -> ir.Value:
        """The nearest integer."""
        return self.call("rint", a)

    def less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a < b`."""
        return self.builder.fcmp_ordered("<", a, b)

    def less_equal(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a <= b`."""
        return self.builder.fcmp_ordered("<=", a, b)

    def equal(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a == b`."""
        return self.builder.fcmp_ordered("==", a, b)

    def both(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a and b`."""
        return self.builder.and_(a, b)

    def either(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a or b`."""
        return self.builder.or_(a, b)

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a` where `condition`, else `b`."""
        return self.builder.select(condition, a, b)

    def to_word(self, a: ir.Value) -> ir.Value:
        """The bits of a real."""
        return self.builder.bitcast(a, self.word_type)

    def to_real(self, a: ir.Value) -> ir.Value:
        """The real with the bits `a`."""
        return self.builder.bitcast(a, self.real_type)

    def word_add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a + b`, wrapping."""
        return self.builder.add(a, b)

    def word_sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a - b`, wrapping."""
        return self.builder.sub(a, b)

    def word_and(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The bits set in both."""
        return self.builder.and_(a, b)

    def word_xor(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The bits set in one."""
        return self.builder.xor(a, b)

    def word_equal(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Whether the bits are the same."""
        return self.builder.icmp_unsigned("==", a, b)

    def shift_left(self, a: ir.Value, count: int) -> ir.Value:
        """`a << count`."""
        return self.builder.shl(a, self.word(count))

    def shift_right(self, a: ir.Value, count: int) -> ir.Value:
        """`a >> count`, with zeros coming in."""
        return self.builder.lshr(a, self.word(count))

    def fmod(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The remainder of `a / b` with the sign of `a`, by the C library."""
        return self.builder.frem(a, b)

    def lookup(self, entries: tuple[float, ...], index: ir.Value) -> ir.Value:
        """An entry of a constant table."""
        array_type = ir.ArrayType(self.real_type, len(entries))
        module: ir.Module = self.builder.module
        constant = ir.GlobalVariable(module, array_type, module.get_unique_name("symgrad.table"))
        constant.global_constant, constant.linkage = True, "internal"
        constant.initializer = ir.Constant(array_type, entries)
        return self.builder.load(self.builder.gep(constant, [self.word(0), index], inbounds=True))

    def out_of_line(self, name: str, body: Function[ir.Value], arity: int) -> ir.Function:
        """The body as a function of the module, which several functions of `vmath` may call."""
        function_type = ir.FunctionType(self.real_type, [self.real_type] * arity)
        callee = declared(self.builder.module, f"symgrad.{name}.{self.format.name}", function_type)
        if not callee.is_declaration:
            return callee
        callee.linkage = "linkonce_odr"
        for attribute in ("noinline", "nounwind", "readnone"):
            callee.attributes.add(attribute)
        inside = ir.IRBuilder(callee.append_basic_block())
        arith = LLVMArith(self.format, inside)
        inside.ret(body(*(Real(arith, argument) for argument in callee.args)).value)
        return callee

    def rarely(
        self,
        condition: ir.Value,
        name: str,
        body: Function[ir.Value],
        operands: tuple[ir.Value, ...],
        otherwise: ir.Value,
    ) -> ir.Value:
        """The body, as a function of its own, in a branch that is marked as rarely taken."""
        builder = self.builder
        callee = self.out_of_line(name, body, len(operands))

        before = builder.block
        with builder.if_then(condition, likely=False):
            called = builder.call(callee, operands)
            called.attributes = LaneByLane(builder.module, callee)
            rare = builder.block
        result = builder.phi(self.real_type)
        result.add_incoming(otherwise, before)
        result.add_incoming(called, rare)
        return result


class LaneByLane(ir.instructions.CallInstrAttributes):
    """The attributes that keep a loop vectorised around a call in a branch.

    A call without effects that has no vector variant stops LLVM's vectoriser, or is made for every element.
    Promised a masked variant, at a width that no machine has, the vectoriser makes the call one by one, where
    the branch is taken. The variant itself is never called, so it need not exist.
    """

    def __init__(self, module: ir.Module, callee: ir.Function) -> None:
        width, arity = 1024, len(callee.args)
        real_type: ir.Type = callee.function_type.return_type
        lanes, mask = ir.VectorType(real_type, width), ir.VectorType(ir.IntType(1), width)
        function_type = ir.FunctionType(lanes, [lanes] * arity + [mask])
        variant = declared(module, f"{callee.name}.x{width}", function_type)
        keep(module, variant)
        name = f"_ZGV_LLVM_M{width}{'v' * arity}_{callee.name}({variant.name})"
        self._known = frozenset(["nounwind", "readnone", f'"vector-function-abi-variant"="{name}"'])
        super().__init__(self._known)


def keep(module: ir.Module, function: ir.Function) -> None:
    """Tell LLVM not to drop a declaration that nothing calls."""
    used = module.globals.get("llvm.compiler.used")
    kept = [function] if used is None else [*used.initializer.constant, function]
    pointers = ir.ArrayType(function.type, len(kept))
    if used is None:
        used = ir.GlobalVariable(module, pointers, "llvm.compiler.used")
        used.linkage, used.section = "appending", "llvm.metadata"
    used.value_type = pointers
    used.initializer = ir.Constant(pointers, kept)


def declared(module: ir.Module, name: str, function_type: ir.FunctionType) -> ir.Function:
    """The function `name` of `module`, declared if it was not."""
    known = module.globals.get(name)
    return ir.Function(module, function_type, name) if known is None else known


def symbol(function: VectorFunction, form: Format) -> str:
    """The name of the LLVM function for one format."""
    return f"symgrad.{function.name}.{form.name}"


def define(module: ir.Module, function: VectorFunction, form: Format) -> ir.Function:
    """The LLVM function, with its body, in `module`."""
    real_type = REAL_TYPES[form]
    function_type = ir.FunctionType(real_type, [real_type] * function.arity)
    defined = ir.Function(module, function_type, symbol(function, form))
    for attribute in ("alwaysinline", "nounwind"):
        defined.attributes.add(attribute)
    builder = ir.IRBuilder(defined.append_basic_block())
    arith = LLVMArith(form, builder)
    result = function.body(*(Real(arith, argument) for argument in defined.args))
    builder.ret(result.value)
    return defined


@cache
def library(codegen: Codegen, function: VectorFunction, form: Format) -> CodeLibrary:
    """The compiled library of one function, from which its body is linked into a kernel and inlined."""
    name = symbol(function, form)
    module = ir.Module(name)
    define(module, function, form)
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
    op = OPS.get(function.name)
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
