"""Cotangents as reverse mode carries them: with a mask, and as pieces until they are joined.

A cotangent that comes out of a `select` is *masked*: it is known to be 0 wherever the branch was not taken.
The mask travels upstream with it, and every product with a local derivative is taken only where the mask
holds, so that 0 · inf never makes a NaN. Where cotangents meet, the masks are joined by `or`; a contraction
and the edge of a region drop them.

The cotangent of a slice is a *piece* of that of the array: it is laid into zeros only if nothing else meets
it, and otherwise added at its place, so that reading n elements one by one costs n and not n².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from symgrad.ir import dims
from symgrad.ir.core import Attr, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Constant, Piece, Remap, Scatter
from symgrad.ir.ops.shapes import add_slice
from symgrad.ir.types import ArrayType
from symgrad.trace.tracer import Recorder, Tracer


class Mask:
    """Where a cotangent may differ from 0; its ops are emitted only when something asks."""

    def __init__(self, make: Callable[[], Tracer]) -> None:
        self.make = make  # makes it, as bool in the shape of the cotangent

    @cached_property
    def tracer(self) -> Tracer:
        """The mask itself."""
        return self.make()


@dataclass(frozen=True, eq=False)
class Placed:
    """Ops that lay a piece into zeros, not emitted yet."""

    ops: Sequence[Op]  # the last of them gives the whole
    onto: Callable[[Value], Value]  # emits the sum of a whole and the piece
    recorder: Recorder

    @cached_property
    def whole(self) -> Tracer:
        """The piece among zeros."""
        self.recorder.ops.extend(self.ops)
        return Tracer(self.ops[-1].result, self.recorder)


@dataclass(frozen=True)
class Bar:
    """A cotangent, and its mask if it has one."""

    found: Tracer | Placed
    mask: Mask | None = None

    @property
    def ct(self) -> Tracer:
        """The cotangent itself."""
        return self.found.whole if isinstance(self.found, Placed) else self.found

    @property
    def dense(self) -> bool:
        """Whether it is there in full, and no piece."""
        return isinstance(self.found, Tracer)

    def plus(self, other: Bar) -> Bar:
        """The sum; it may differ from 0 where either may."""
        mine, theirs = self.mask, other.mask
        either = None if mine is None or theirs is None else Mask(lambda: mine.tracer | theirs.tracer)
        return Bar(_sum(self, other), either)


Bars: TypeAlias = dict[Value, Bar]


def contribute(bars: Bars, value: Value, bar: Bar) -> None:
    """Add to the cotangent of a value."""
    bars[value] = bars[value].plus(bar) if value in bars else bar


def _sum(a: Bar, b: Bar) -> Tracer:
    if isinstance(b.found, Placed):
        return Tracer(b.found.onto(a.ct.value), b.found.recorder)
    if isinstance(a.found, Placed):
        return Tracer(a.found.onto(b.ct.value), a.found.recorder)
    return a.ct + b.ct


# ---- finding pieces ---------------------------------------------------------------------------------------
def as_placed(ops: Sequence[Op], recorder: Recorder) -> Placed | None:
    """What some ops give, as a piece that is laid into zeros; None if it is worth no such care."""
    last = ops[-1]
    match last.opdef.lowering:
        case Remap(pieces=pieces) if len(ops) == 1 and len(last.operands) == 1:
            (piece,) = last.operands
            spot = _spot(pieces((piece.type,), last.result.type, dict(last.attrs)))
            if spot is None or _mostly(piece.type, last.result.type):
                return None
            attrs: dict[str, Attr] = {"start": spot[0], "step": spot[1]}
            return Placed(ops, lambda x: recorder.emit(add_slice, (x, piece), attrs, loc=last.loc), recorder)
        case Scatter(add=True) if isinstance(ops[0].opdef.lowering, Constant) and len(ops) == 2:
            return Placed(ops, lambda x: _scattered(last, x, recorder), recorder)
        case _:
            return None


def _scattered(op: Op, onto: Value, recorder: Recorder) -> Value:
    result = replace(op.result)
    recorder.append(replace(op, operands=(onto, *op.operands[1:]), results=(result,)))
    return result


def _spot(pieces: Sequence[Piece]) -> tuple[tuple[Dim, ...], tuple[int, ...]] | None:
    """Start and step of the box in which an array lies among zeros; None if it does not lie so."""
    if len(pieces) != 1 or len(pieces[0].within) != len(pieces[0].index):
        return None
    for k, (box, component) in enumerate(zip(pieces[0].within, pieces[0].index, strict=True)):
        straight = box.axis == component.axis == k and component.scale == 1 and component.divisor == box.step
        if not straight or not dims.equal(component.offset, dims.mul(-1, box.start)):
            return None
    return tuple(box.start for box in pieces[0].within), tuple(box.step for box in pieces[0].within)


def _mostly(piece: ArrayType, whole: ArrayType) -> bool:
    """Whether the piece is at least half of the whole: then sums of wholes, which fuse, cost no more."""
    known = all(map(dims.is_known, (*piece.shape, *whole.shape)))
    return known and 2 * dims.known(piece.size) >= dims.known(whole.size)
