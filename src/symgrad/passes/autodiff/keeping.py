"""How a loop hands what its body keeps to its reverse: a row an iteration.

The rows are ys of the loop, stacked, and xs of its reverse. A loop whose count of iterations may come out
negative (`range(i + 2, n)` where i is near n), and which then runs no time, cannot have stacks of that size:
it carries buffers, with rows for the largest count, and writes into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.ops.shapes import pad, reshape, slice_, update_slice
from symgrad.ir.regions import stack_type
from symgrad.ir.types import ArrayType


@dataclass(frozen=True)
class Keeping:
    """The rows of a loop."""

    index: str
    lower: Dim
    upper: Dim
    ranges: dims.Ranges  # of the index, and of all names outside

    @cached_property
    def outer(self) -> dims.Ranges:
        """The ranges of the names outside."""
        return {name: ends for name, ends in self.ranges.items() if name != self.index}

    @cached_property
    def stacked(self) -> bool:
        """Whether the rows are stacked, and not written into a buffer."""
        return dims.never_above(self.lower, self.upper, self.outer)

    @property
    def trips(self) -> Dim:
        """The number of rows."""
        trips = dims.shift(self.upper, self.lower)
        return trips if self.stacked else dims.largest(trips, self.outer)

    def widest(self, type: ArrayType) -> ArrayType:
        """The type with sizes that all iterations have room in."""
        return type.with_shape(tuple(map(self._bound, type.shape)))

    def _bound(self, size: Dim) -> Dim:
        """A size that no iteration exceeds, and that does not change with the index."""
        factor = dict(dims.affine(size).terms).get(self.index, 0)
        if factor == 0:
            return size
        last = dims.shift(self.upper, 1) if factor > 0 else self.lower
        found = dims.substituted(size, {self.index: last})
        return found if dims.never_above(0, found, self.outer) else dims.largest(size, self.ranges)

    # ---- stacks ----
    def row(self, value: Value, builder: Builder) -> Value:
        """The row of a stack for a value: itself, padded if its size changes with the index."""
        widest = self.widest(value.type)
        if widest == value.type:
            return value
        none = (0,) * value.type.rank
        high = tuple(dims.shift(b, a) for a, b in zip(value.type.shape, widest.shape, strict=True))
        return builder.emit(pad, (value,), {"low": none, "high": high, "interior": none})

    # ---- buffers ----
    def buffer_type(self, value: Value) -> ArrayType:
        """The type of the buffer for a value."""
        return stack_type(self.widest(value.type), self.trips)

    def written(self, buffer: Value, value: Value, builder: Builder) -> Value:
        """The buffer with the value in the row of this iteration."""
        row = builder.emit(reshape, (value,), {}, stack_type(value.type, 1))
        start = (self._place(), *(0,) * value.type.rank)
        return builder.emit(update_slice, (buffer, row), {"start": start, "step": (1,) * len(start)})

    # ---- both ----
    def unpack(self, value: Value) -> tuple[Value, list[Op]]:
        """The param that brings a kept value to the reverse body, and the ops that take it out of that."""
        builder, shape = Builder(), value.type.shape
        if self.stacked:
            param = Value(self.widest(value.type), value.hint)
            if param.type != value.type:
                builder.emit(slice_, (param,), _first((0,) * len(shape), shape))
            return param, builder.ops
        param = Value(self.buffer_type(value), value.hint)
        place = self._place()
        start, stop = (place, *(0,) * len(shape)), (dims.add(place, 1), *shape)
        row = builder.emit(slice_, (param,), _first(start, stop))
        builder.emit(reshape, (row,), {}, value.type)
        return param, builder.ops

    def _place(self) -> Dim:
        """The number of the row."""
        return dims.shift(dims.index(self.index), self.lower)


def _first(start: Sequence[Dim], stop: Sequence[Dim]) -> dict[str, Attr]:
    """The attributes of a slice without steps."""
    return {"start": tuple(start), "stop": tuple(stop), "step": (1,) * len(start)}
