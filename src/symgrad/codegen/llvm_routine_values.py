# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false
"""The values in the text of a routine as LLVM values: numbers, names, elements, arithmetic, choices, calls.

An integer is a word, a truth value a bit, a float of the element type; none stands for another but a literal
integer for a float.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llvmlite import ir

from symgrad.codegen import llvm_arithmetic as arithmetic
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_scalar import OPERATORS
from symgrad.codegen.llvm_values import (
    BIT,
    VOID,
    WORD,
    constant,
    converted,
    load,
    pointer_type,
    value_type,
    word,
)
from symgrad.errors import InternalError
from symgrad.ir.types import BOOL, I64, DType

Call: TypeAlias = Callable[[ast.Call, Callable[..., Any], Sequence[ast.expr]], Any]
Node: TypeAlias = ast.stmt | ast.expr | ast.arg  # what has a place in the text
Refuse: TypeAlias = Callable[..., InternalError]

# Arithmetic on integers that are known is done at once: sizes of blocks, steps of loops.
_INTEGERS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_FLOATS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


class Values:
    """The names of a routine, and what the expressions of its text are."""

    def __init__(
        self, frame: Frame, dtype: DType, function: Callable[..., Any], call: Call, refused: Refuse
    ) -> None:
        self._frame = frame
        self._dtype = dtype
        self._call = call
        self._refused = refused
        self._globals: dict[str, Any] = function.__globals__
        self._places: dict[str, Any] = {}  # the memory of each name
        self._own: frozenset[str] = frozenset(function.__code__.co_varnames)
        self.known: set[str] = set()  # names that are set, whatever way the code went

    # ---- names ----
    def assign(self, node: Node, name: str, value: Any) -> None:
        """A name is a value from here on; it has one type everywhere."""
        if value.type == VOID:
            raise self._refused(node, "a name for what has no value")
        if name not in self._places:
            self._places[name] = self._frame.slot(value.type)
        if self._places[name].type.pointee != value.type:
            raise self._refused(node, f"{name} has values of two types")
        self._frame.builder.store(value, self._places[name])
        self.known.add(name)

    def _name(self, node: ast.Name) -> Any:
        name = node.id
        if name in self._own:
            if name not in self.known:
                raise self._refused(node, f"{name} may not be set here")
            return self._frame.builder.load(self._places[name])
        found = self._globals.get(name)
        if type(found) is not int:
            raise self._refused(node)
        return word(found)

    def of_type(self, node: Node, value: Any, kind: ir.Type) -> Any:
        """The value of a type that it has to have."""
        if value.type == WORD and kind == value_type(self._dtype) and isinstance(value, ir.Constant):
            return constant(value.constant, self._dtype)
        if value.type != kind:
            raise self._refused(node, f"`{ast.unparse(node)}` is {value.type} where {kind} is wanted")
        return value

    # ---- expressions ----
    def value(self, node: ast.expr) -> Any:
        """What an expression is."""
        match node:
            case ast.Constant(bool() | int() | float() as number):
                return self._number(number)
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp(ast.USub(), operand):
                return self._negative(node, self.value(operand))
            case ast.BinOp(left, sign, right):
                return self._binary(node, sign, self.value(left), self.value(right))
            case ast.Compare(left, [sign], [right]) if type(sign) in OPERATORS:
                dtype, x, y = self._alike(node, self.value(left), self.value(right))
                return OPERATORS[type(sign)](self._frame.builder, dtype, x, y)
            case ast.IfExp(test, then, otherwise):
                return self._choice(node, test, then, otherwise)
            case ast.BoolOp(_, [only]):
                return self.of_type(only, self.value(only), BIT)
            case ast.BoolOp():
                return self._choice(node, *_choice_of(node))
            case ast.Subscript(buffer, index):
                return load(self._frame.builder, *self.element(node, buffer, index))
            case ast.Call():
                found = self.call(node)
                if found is None or found.type == VOID:
                    raise self._refused(node, f"`{ast.unparse(node)}` has no value")
                return found
            case _:
                raise self._refused(node)

    def _number(self, number: float) -> ir.Constant:
        dtype = {bool: BOOL, int: I64, float: self._dtype}[type(number)]
        return constant(number, dtype)

    def _alike(self, node: ast.expr, x: Any, y: Any) -> tuple[DType, Any, Any]:
        """Two numbers of one type, and what it is."""
        real = value_type(self._dtype)
        if real in (x.type, y.type):
            return self._dtype, self.of_type(node, x, real), self.of_type(node, y, real)
        return I64, self.of_type(node, x, WORD), self.of_type(node, y, WORD)

    def _negative(self, node: ast.expr, x: Any) -> Any:
        if x.type not in (WORD, value_type(self._dtype)):
            raise self._refused(node)
        dtype = I64 if x.type == WORD else self._dtype
        if isinstance(x, ir.Constant):
            return constant(-x.constant, dtype)
        return arithmetic.negative(self._frame.builder, dtype, x)

    def _binary(self, node: ast.expr, sign: ast.operator, x: Any, y: Any) -> Any:
        dtype, x, y = self._alike(node, x, y)
        builder, kind = self._frame.builder, type(sign)
        if dtype != I64 and kind in _FLOATS:
            return OPERATORS[kind](builder, dtype, x, y)
        if dtype != I64 or kind not in _INTEGERS:
            raise self._refused(node)
        if kind is ast.FloorDiv and not (isinstance(y, ir.Constant) and y.constant != 0):
            raise self._refused(node, f"`{ast.unparse(node)}` divides by what may be 0")
        if isinstance(x, ir.Constant) and isinstance(y, ir.Constant):
            return word(_INTEGERS[kind](x.constant, y.constant))
        emit = arithmetic.int_floor_divide if kind is ast.FloorDiv else OPERATORS[kind]
        return emit(builder, dtype, x, y)

    def _choice(self, node: ast.expr, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> Any:
        """Only what is chosen is computed."""
        builder = self._frame.builder
        found: list[tuple[Any, ir.Block]] = []
        with builder.if_else(self.of_type(test, self.value(test), BIT)) as arms:
            for arm, chosen in zip(arms, (then, otherwise), strict=True):
                with arm:
                    value = self.value(chosen)
                    found.append((value, builder.block))
        (x, _), (y, _) = found
        if x.type != y.type:
            raise self._refused(node, f"`{ast.unparse(node)}` has values of two types")
        chosen_value = builder.phi(x.type)
        for value, block in found:
            chosen_value.add_incoming(value, block)
        return chosen_value

    def element(self, node: ast.expr, buffer: ast.expr, index: ast.expr) -> tuple[Any, Any, DType]:
        """A buffer, a place in it, and the dtype of what is there."""
        where, place = self.value(buffer), self.value(index)
        dtype = self._dtype if where.type == pointer_type(self._dtype) else I64
        if where.type != pointer_type(dtype) or place.type != WORD:
            raise self._refused(node)
        if isinstance(place, ir.Constant) and place.constant < 0:
            raise self._refused(node, "no place is counted from the end")
        return where, place, dtype

    # ---- calls ----
    def call(self, node: ast.Call) -> Any:
        """The result of a call, which may be none."""
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self._refused(node)
        known, args = self.called(node.func.id), node.args
        if known is min and len(args) == 2:
            x, y = (self.of_type(arg, self.value(arg), WORD) for arg in args)
            return arithmetic.minimum(self._frame.builder, I64, x, y)
        if known is int and len(args) == 1:
            x = self.of_type(args[0], self.value(args[0]), value_type(self._dtype))
            return converted(self._frame.builder, x, self._dtype, I64)
        if known is float and len(args) == 1:
            x = self.of_type(args[0], self.value(args[0]), WORD)
            return converted(self._frame.builder, x, I64, self._dtype)
        if not inspect.isfunction(known):
            raise self._refused(node)
        return self._call(node, known, args)

    def called(self, name: str) -> Any:
        """What a name in a call stands for; None if nothing that is known."""
        return None if name in self._own else self._globals.get(name, getattr(builtins, name, None))


def _choice_of(node: ast.BoolOp) -> tuple[ast.expr, ast.expr, ast.expr]:
    """The choice that `and` or `or` is: between the other conditions and what the first one has decided."""
    first, *others = node.values
    decided = ast.copy_location(ast.Constant(isinstance(node.op, ast.Or)), node)
    rest = ast.copy_location(ast.BoolOp(node.op, others), node)
    return (first, decided, rest) if decided.value else (first, rest, decided)
