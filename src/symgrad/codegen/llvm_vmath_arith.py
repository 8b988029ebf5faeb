# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportReturnType=false
"""The arithmetic of vector math as LLVM code: an instruction an operation, on one number or on many lanes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llvmlite import ir

from symgrad.codegen.llvm_values import BIT, declared
from symgrad.codegen.vmath_arith import FLOAT32, FLOAT64, Format, Function, Real

REAL_TYPES = {FLOAT64: ir.DoubleType(), FLOAT32: ir.FloatType()}


def laned(kind: ir.Type, lanes: int) -> ir.Type:
    """So many numbers side by side."""
    return kind if lanes == 1 else ir.VectorType(kind, lanes)


def splat(kind: ir.Type, value: float, lanes: int) -> ir.Constant:
    """A constant in every lane."""
    one = ir.Constant(kind, value)
    return one if lanes == 1 else ir.Constant(ir.VectorType(kind, lanes), [one] * lanes)


@dataclass(frozen=True)
class LLVMArith:
    """Arithmetic that appends one instruction an operation to a function."""

    format: Format
    builder: ir.IRBuilder
    lanes: int = 1  # how many numbers a value is

    @property
    def real_type(self) -> ir.Type:
        """The LLVM type of a real."""
        return laned(REAL_TYPES[self.format], self.lanes)

    @property
    def word_type(self) -> ir.Type:
        """The LLVM type of a word."""
        return laned(ir.IntType(self.format.bits), self.lanes)

    def real(self, value: float) -> ir.Value:
        """The constant `value`."""
        return splat(REAL_TYPES[self.format], value, self.lanes)

    def word(self, value: int) -> ir.Value:
        """The constant word `value`."""
        return splat(ir.IntType(self.format.bits), value & self.format.word_mask, self.lanes)

    def call(self, name: str, *operands: ir.Value) -> ir.Value:
        """A call of an LLVM intrinsic whose operands and result are reals."""
        function_type = ir.FunctionType(self.real_type, [self.real_type] * len(operands))
        suffix = f"f{self.format.bits}" if self.lanes == 1 else f"v{self.lanes}f{self.format.bits}"
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

    def lookup(self, entries: tuple[float, ...], index: ir.Value) -> ir.Value:
        """An entry of a constant table."""
        builder, table = self.builder, self.table(entries)
        zero = ir.Constant(ir.IntType(self.format.bits), 0)

        def entry(place: ir.Value) -> ir.Value:
            return builder.load(builder.gep(table, [zero, place], inbounds=True))

        if self.lanes == 1:
            return entry(index)
        found: ir.Value = ir.Constant(self.real_type, ir.Undefined)
        for lane in range(self.lanes):
            place = ir.Constant(ir.IntType(32), lane)
            found = builder.insert_element(found, entry(builder.extract_element(index, place)), place)
        return found

    def table(self, entries: tuple[float, ...]) -> ir.GlobalVariable:
        """A constant table in the module."""
        module: ir.Module = self.builder.module
        array_type = ir.ArrayType(REAL_TYPES[self.format], len(entries))
        table = ir.GlobalVariable(module, array_type, module.get_unique_name("symgrad.table"))
        table.global_constant, table.linkage = True, "internal"
        table.initializer = ir.Constant(array_type, entries)
        return table

    def fmod(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The remainder of `a / b` with the sign of `a`, by the C library."""
        return self.builder.frem(a, b)

    def symbol(self, name: str) -> str:
        """The name of a function in the module."""
        return f"symgrad.{name}.{self.format.name}" + (f".x{self.lanes}" if self.lanes > 1 else "")

    def _out_of_line(self, name: str, body: Function[ir.Value], arity: int) -> ir.Function:
        """The body as a function of the module, which several functions of `vmath` may call."""
        kind = ir.FunctionType(self.real_type, [self.real_type] * arity)
        callee = declared(self.builder.module, self.symbol(name), kind)
        if not callee.is_declaration:
            return callee
        # Modules that are linked into one may each have it.
        callee.linkage = "linkonce_odr"
        for attribute in ("noinline", "nounwind", "readnone"):
            callee.attributes.add(attribute)
        arith = replace(self, builder=type(self.builder)(callee.append_basic_block()))
        arith.builder.ret(body(*(Real(arith, argument) for argument in callee.args)).value)
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
        callee = self._out_of_line(name, body, len(operands))
        any_lane = condition
        if self.lanes > 1:
            bits = builder.bitcast(condition, ir.IntType(self.lanes))
            any_lane = builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
        before = builder.block
        with builder.if_then(any_lane, likely=False):
            called = self.rare_call(callee, operands)
            if self.lanes > 1:
                called = builder.select(condition, called, otherwise)
            rare = builder.block
        result = builder.phi(self.real_type)
        result.add_incoming(otherwise, before)
        result.add_incoming(called, rare)
        return result

    def rare_call(self, callee: ir.Function, operands: tuple[ir.Value, ...]) -> ir.Value:
        """A call in a branch that is rarely taken."""
        called = self.builder.call(callee, operands)
        if self.lanes == 1:
            called.attributes = LaneByLane(self.builder.module, callee)
        return called


class LaneByLane(ir.instructions.CallInstrAttributes):
    """The attributes that keep a loop vectorised around a call in a branch.

    A call without effects that has no vector variant stops LLVM's vectoriser, or is made for every element.
    Promised a masked variant, at a width that no machine has, the vectoriser makes the call one by one, where
    the branch is taken. The variant itself is never called, so it need not exist.
    """

    def __init__(self, module: ir.Module, callee: ir.Function) -> None:
        width, arity = 1024, len(callee.args)
        real_type: ir.Type = callee.function_type.return_type
        lanes, mask = ir.VectorType(real_type, width), ir.VectorType(BIT, width)
        kind = ir.FunctionType(lanes, [lanes] * arity + [mask])
        variant = declared(module, f"{callee.name}.x{width}", kind)
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
