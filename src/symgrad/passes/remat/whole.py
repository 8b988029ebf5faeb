"""Whole numbers that a program computes, and the arithmetic that appends its ops to a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import constant, measure
from symgrad.ir.ops.elementwise import add, and_, floor_divide, ge, gt, lt, maximum, mul, select, sub
from symgrad.ir.types import I64, array_type

Term: TypeAlias = "Whole | int"
WHOLE = array_type(I64)


@dataclass(frozen=True, slots=True)
class Whole:
    """A number, or the truth of a comparison, as a value of a block that grows."""

    builder: Builder
    value: Value

    def __add__(self, other: Term) -> Whole:
        return self._with(add, other)

    def __sub__(self, other: Term) -> Whole:
        return self._with(sub, other)

    def __rsub__(self, other: int) -> Whole:
        return number(self.builder, other) - self

    def __mul__(self, other: Term) -> Whole:
        return self._with(mul, other)

    def __floordiv__(self, other: Term) -> Whole:
        return self._with(floor_divide, other)

    def __lt__(self, other: Term) -> Whole:
        return self._with(lt, other)

    def __gt__(self, other: Term) -> Whole:
        return self._with(gt, other)

    def __ge__(self, other: Term) -> Whole:
        return self._with(ge, other)

    def __and__(self, other: Whole) -> Whole:
        return self._with(and_, other)

    def at_least(self, other: Term) -> Whole:
        """The larger of the two."""
        return self._with(maximum, other)

    def choose(self, then: Whole, otherwise: Term) -> Whole:
        """One number where this holds, another where it does not."""
        return Whole(self.builder, self.builder.emit(select, (self.value, then.value, self._of(otherwise))))

    def named(self, name: str, limit: int) -> Dim:
        """The number, cut to 0, ..., limit, as a place or a size, by a name."""
        self.builder.emit(measure, (self.value,), {"limit": limit, "name": name})
        return dims.index(name)

    def _with(self, opdef: OpDef, other: Term) -> Whole:
        return Whole(self.builder, self.builder.emit(opdef, (self.value, self._of(other))))

    def _of(self, term: Term) -> Value:
        return term.value if isinstance(term, Whole) else number(self.builder, term).value


def number(builder: Builder, value: int) -> Whole:
    """A number that is known."""
    return Whole(builder, builder.emit(constant, (), {"value": value}, WHOLE))
