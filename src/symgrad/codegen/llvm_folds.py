# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Accumulators and extremes of a kernel as LLVM code."""

from __future__ import annotations

from typing import Any

from symgrad.codegen import llvm_arithmetic as arithmetic
from symgrad.codegen.expressions import neutral
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_scalar import Scalars
from symgrad.codegen.llvm_values import constant, converted, load, store, word
from symgrad.codegen.loops import Accumulate, Accumulator, AddExactly, Extreme, Observe
from symgrad.ir.opdef import Reduction
from symgrad.ir.types import F64, I64, DType


class Folds:
    """The accumulators and extremes of one kernel: variables, with others beside them."""

    def __init__(self, frame: Frame, scalars: Scalars) -> None:
        self._frame = frame
        self._scalars = scalars
        self._accumulators: dict[str, Accumulator] = {}
        self._extremes: dict[str, Extreme] = {}

    # ---- accumulators ----
    def accumulator(self, made: Accumulator) -> None:
        """An accumulator begins."""
        self._accumulators[made.name] = made
        if not made.blocked:
            self._frame.declare(made.name, made.dtype, self._neutral(made))
            return
        zero = constant(0.0, F64)
        for name in (made.name, *([_lost(made.name)] if made.dtype == F64 else [])):
            self._frame.declare(name, F64, zero)
        self._frame.declare(_part(made.name), made.dtype, self._neutral(made))

    def _neutral(self, made: Accumulator) -> Any:
        return self._frame.atom(neutral(made.kind, made.dtype))

    def _read(self, name: str) -> Any:
        return self._frame.builder.load(self._frame.variables[name])

    def accumulate(self, statement: Accumulate) -> None:
        """An accumulator takes a value, or a product."""
        made = self._accumulators[statement.name]
        name = _part(made.name) if made.blocked else made.name
        values = [self._frame.atom(a) for a in (statement.factor, statement.value) if a is not None]
        found = self._scalars.accumulated(
            self._frame.builder, made.kind, self._read(name), values, made.dtype
        )
        self._frame.assign(name, found)

    def open(self, name: str) -> None:
        """A block begins."""
        self._frame.assign(_part(name), self._neutral(self._accumulators[name]))

    def close(self, name: str) -> None:
        """A block ends: its part goes to the total, and what rounding takes of it is kept beside."""
        builder, dtype = self._frame.builder, self._accumulators[name].dtype
        total, part = self._read(name), self._read(_part(name))
        if dtype != F64:
            self._frame.assign(name, builder.fadd(total, converted(builder, part, dtype, F64)))
            return
        error = arithmetic.sum_error(builder, dtype, total, part)
        self._frame.assign(_lost(name), builder.fadd(self._read(_lost(name)), error))
        self._frame.assign(name, builder.fadd(total, part))

    def total(self, name: str, dtype: DType) -> Any:
        """What a blocked sum has come to."""
        builder, total = self._frame.builder, self._read(name)
        if dtype == F64:
            return builder.fadd(total, self._read(_lost(name)))
        return converted(builder, total, F64, dtype)

    # ---- sums in memory ----
    def add_exactly(self, statement: AddExactly) -> None:
        """A scalar goes to one element, and what rounding takes from that to another."""
        frame, builder, dtype = self._frame, self._frame.builder, statement.value.dtype
        value = frame.atom(statement.value)
        sums, at = frame.buffers[statement.buffer], frame.index(statement.index)
        rests, lost_at = frame.buffers[statement.lost], frame.index(statement.lost_index)
        total = load(builder, sums, at, dtype)
        error = arithmetic.sum_error(builder, dtype, total, value)
        rest = builder.fadd(load(builder, rests, lost_at, dtype), error)
        store(builder, rests, lost_at, rest, dtype)
        store(builder, sums, at, builder.fadd(total, value), dtype)

    # ---- extremes ----
    def extreme(self, made: Extreme) -> None:
        """An extreme that has seen nothing yet."""
        self._extremes[made.name] = made
        self._frame.declare(made.name, made.dtype, self._frame.atom(neutral(made.kind, made.dtype)))
        self._frame.declare(_where(made.name), I64, word(0))

    def observe(self, statement: Observe) -> None:
        """An extreme sees a scalar; a NaN stays, and the first one."""
        made, frame, builder = self._extremes[statement.name], self._frame, self._frame.builder
        value, best = frame.atom(statement.value), self._read(made.name)
        relation = ">" if made.kind is Reduction.MAX else "<"
        better = arithmetic.compare(relation, builder, made.dtype, value, best)
        if made.dtype.kind == "f":
            first = builder.and_(
                arithmetic.isnan(builder, made.dtype, value),
                arithmetic.compare("==", builder, made.dtype, best, best),
            )
            better = builder.or_(better, first)
        frame.assign(made.name, builder.select(better, value, best))
        where = _where(made.name)
        at = builder.select(better, frame.index(statement.position), self._read(where))
        frame.assign(where, at)

    def where(self, name: str) -> Any:
        """The position that an extreme was first seen at."""
        return self._read(_where(name))


# No name of the loop IR has a dot.
def _part(name: str) -> str:
    return f"{name}.part"


def _lost(name: str) -> str:
    return f"{name}.lost"


def _where(name: str) -> str:
    return f"{name}.at"
