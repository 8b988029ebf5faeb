# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Elementwise ops as LLVM code: the source of an op is read as an expression over one table of emitters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

from symgrad.codegen import llvm_arithmetic as arithmetic
from symgrad.codegen.expressions import Apply
from symgrad.codegen.llvm_packing import PACKING
from symgrad.codegen.llvm_published import PUBLISHED
from symgrad.codegen.llvm_values import constant, converted
from symgrad.codegen.llvm_vmath import Calls
from symgrad.codegen.scalar_source import VECTOR_FUNCTIONS, called_name
from symgrad.errors import InternalError
from symgrad.ir.opdef import Reduction, Scalar
from symgrad.ir.types import BOOL, DType
from symgrad.syntax import parse_expression

# (builder, dtype of the operands, operands...) -> result
Emit: TypeAlias = Callable[..., Any]

FUNCTIONS: dict[str, Emit] = {
    name: getattr(arithmetic, name)
    for name in (
        "maximum", "minimum", "select", "int_floor_divide", "int_remainder", "int_fmod", "sign", "int_power",
        "left_shift", "right_shift", "absolute", "copysign", "floor", "ceil", "trunc", "rint", "sqrt",
        "isnan", "isinf", "isfinite", "signbit", "invert",
    )
} | PACKING | PUBLISHED  # fmt: skip
OPERATORS: dict[type[ast.AST], Emit] = {
    ast.Add: arithmetic.add, ast.Sub: arithmetic.subtract, ast.Mult: arithmetic.multiply,
    ast.Div: arithmetic.divide, ast.USub: arithmetic.negative, ast.BitAnd: arithmetic.bitwise_and,
    ast.BitOr: arithmetic.bitwise_or, ast.BitXor: arithmetic.bitwise_xor,
    ast.Lt: partial(arithmetic.compare, "<"), ast.LtE: partial(arithmetic.compare, "<="),
    ast.Gt: partial(arithmetic.compare, ">"), ast.GtE: partial(arithmetic.compare, ">="),
    ast.Eq: partial(arithmetic.compare, "=="), ast.NotEq: partial(arithmetic.compare, "!="),
}  # fmt: skip

_TRUTHS = frozenset({"isnan", "isinf", "isfinite", "signbit"})  # functions that say whether


@dataclass(frozen=True, slots=True)
class Typed:
    """A scalar and its dtype."""

    value: Any
    dtype: DType


class Scalars:
    """Emits elementwise ops and reductions into the functions of one module."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    def apply(self, builder: Any, expression: Apply, operands: Sequence[Any]) -> Any:
        """An elementwise op on scalars."""
        lowering = expression.opdef.lowering
        if not isinstance(lowering, Scalar):
            raise InternalError(f"{expression.opdef.name} has no source on scalars")
        kinds = [operand.dtype for operand in expression.operands]
        if "{dtype}" in lowering.source:
            return converted(builder, operands[0], kinds[0], expression.dtype)
        given = list(map(Typed, operands, kinds))
        return self._emit(builder, _parsed(lowering.source, len(given)), given).value

    def _emit(self, builder: Any, tree: ast.expr, given: Sequence[Typed]) -> Typed:
        match tree:
            case ast.Name(id=name):
                return given[int(name.removeprefix(_OPERAND))]
            case ast.UnaryOp(op, operand):
                x = self._emit(builder, operand, given)
                return Typed(OPERATORS[type(op)](builder, x.dtype, x.value), x.dtype)
            case ast.BinOp(left, op, right):
                x, y = self._pair(builder, left, right, given)
                return Typed(OPERATORS[type(op)](builder, x.dtype, x.value, y.value), x.dtype)
            case ast.Compare(left, [op], [right]):
                x, y = self._pair(builder, left, right, given)
                return Typed(OPERATORS[type(op)](builder, x.dtype, x.value, y.value), BOOL)
            case ast.Call(ast.Name(id=name), arguments):
                return self._called(builder, name, [self._emit(builder, a, given) for a in arguments])
            case _:
                raise InternalError(f"{ast.unparse(tree)} in the source of an op")

    def _pair(
        self, builder: Any, left: ast.expr, right: ast.expr, given: Sequence[Typed]
    ) -> tuple[Typed, Typed]:
        """Two operands; a number takes the dtype of the other."""
        if isinstance(right, ast.Constant) and isinstance(right.value, int | float):
            x = self._emit(builder, left, given)
            return x, Typed(constant(right.value, x.dtype), x.dtype)
        return self._emit(builder, left, given), self._emit(builder, right, given)

    def _called(self, builder: Any, name: str, operands: Sequence[Typed]) -> Typed:
        dtype = operands[-1].dtype  # a choice begins with its condition
        values = [operand.value for operand in operands]
        name = called_name(name, dtype)
        if name in VECTOR_FUNCTIONS:
            return Typed(self.calls.call(builder, name, dtype, *values), dtype)
        return Typed(FUNCTIONS[name](builder, dtype, *values), BOOL if name in _TRUTHS else dtype)

    def combined(self, builder: Any, kind: Reduction, x: Any, y: Any, dtype: DType) -> Any:
        """Two scalars combined by a reduction, in this order."""
        match kind:
            case Reduction.SUM:
                return arithmetic.add(builder, dtype, x, y)
            case Reduction.PROD:
                return arithmetic.multiply(builder, dtype, x, y)
            case Reduction.MAX | Reduction.ANY:
                return arithmetic.maximum(builder, dtype, x, y)
            case Reduction.MIN | Reduction.ALL:
                return arithmetic.minimum(builder, dtype, x, y)

    def accumulated(self, builder: Any, kind: Reduction, x: Any, values: Sequence[Any], dtype: DType) -> Any:
        """An accumulator combined with a value or a product; floats are added in any order."""
        if kind is Reduction.SUM and dtype.kind == "f":
            fold = arithmetic.fold_add if len(values) == 1 else arithmetic.fold_dot
            return fold(builder, dtype, x, *values)
        value = values[0] if len(values) == 1 else arithmetic.multiply(builder, dtype, *values)
        return self.combined(builder, kind, x, value, dtype)


_OPERAND = "operand_"


@cache
def _parsed(source: str, arity: int) -> ast.expr:
    """The source of an op as a tree, its operands numbered."""
    names = [f"{_OPERAND}{k}" for k in range(arity)]
    return parse_expression(source.format(*names))
