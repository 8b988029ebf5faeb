"""Cotangents as reverse mode carries them: with a mask, and as pieces until they are joined.

A cotangent that comes out of a `select` is *masked*: it is known to be 0 wherever the branch was not taken.
The mask travels upstream with it, and every product with a local derivative is taken only where the mask
holds, so that 0 · inf never makes a NaN. Where cotangents meet, the masks are joined by `or`; a contraction
and the edge of a region drop them.

The cotangent of a slice is a *piece* of that of the array: it is laid into zeros only if nothing else meets
it, and otherwise added at its place, so that reading n elements one by one costs n and not n². That of an
array into which a piece was written is what it was, *cleared* at that place: the zeros are written only if
no piece comes to lie there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, cast

from symgrad.ir import dims
from symgrad.ir.core import Attr, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Constant, Piece, Remap, Scatter
from symgrad.ir.ops.shapes import add_slice, update_slice
from symgrad.ir.types import ArrayType
from symgrad.passes.autodiff.rules import zeros
from symgrad.trace.tracer import Recorder, Tracer


class Mask:
    """Where a cotangent may differ from 0; its ops are emitted only when something asks."""

    def __init__(self, make: Callable[[], Tracer]) -> None:
        self.make = make  # makes it, as bool in the shape of the cotangent

    @cached_property
    def tracer(self) -> Tracer:
        """The mask itself."""
        return self.make()


Spot: TypeAlias = "tuple[tuple[Dim, ...], tuple[int, ...], ArrayType]"  # start, step, and what lies there


@dataclass(frozen=True, eq=False)
class Placed:
    """Ops that lay a piece into zeros, not emitted yet."""

    ops: Sequence[Op]  # the last of them gives the whole
    onto: Callable[[Value], Value]  # emits the sum of a whole and the piece
    recorder: Recorder
    piece: Value
    spot: Spot | None = None  # where it lies, if that is a box

    @cached_property
    def whole(self) -> Tracer:
        """The piece among zeros."""
        self.recorder.ops.extend(self.ops)
        return Tracer(self.ops[-1].result, self.recorder)

    def added_to(self, whole: Tracer) -> Tracer:
        """The sum; a large piece is laid into zeros first, for sums of wholes fuse and cost no more."""
        if self.spot is not None and _mostly(self.piece.type, whole.type):
            return whole + self.whole
        return Tracer(self.onto(whole.value), self.recorder)


@dataclass(frozen=True, eq=False)
class Cleared:
    """A cotangent with zeros in a box, which are not written yet, and pieces to be added to it."""

    base: Tracer  # before it is cleared
    spot: Spot
    taken: Value | None  # what lay in the box
    pieces: tuple[Placed, ...] = ()

    @cached_property
    def whole(self) -> Tracer:
        """The sum."""
        found, pieces = self.base, list(self.pieces)
        here = [p for p in pieces if p.spot == self.spot]
        back = next((p for p in here if p.piece is self.taken), None)
        if back is not None:
            pieces.remove(back)  # what was taken out comes back
        else:
            pieces = [p for p in pieces if p not in here]
            found = self._filled(here)
        for p in pieces:
            found = p.added_to(found)
        return found

    def _filled(self, here: Sequence[Placed]) -> Tracer:
        """The cotangent with the sum of pieces in the box."""
        recorder, (start, step, type) = self.base.recorder, self.spot
        filling = zeros(type, recorder)
        for k, p in enumerate(here):
            piece = Tracer(p.piece, recorder)
            filling = piece if k == 0 else filling + piece
        attrs: dict[str, Attr] = {"start": start, "step": step}
        return Tracer(recorder.emit(update_slice, (self.base.value, filling.value), attrs), recorder)


@dataclass(frozen=True)
class Bar:
    """A cotangent, and its mask if it has one."""

    found: Tracer | Placed | Cleared
    mask: Mask | None = None

    @property
    def ct(self) -> Tracer:
        """The cotangent itself."""
        return self.found if isinstance(self.found, Tracer) else self.found.whole

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


def _sum(a: Bar, b: Bar) -> Tracer | Cleared:
    match a.found, b.found:
        case Cleared() as cleared, Placed() as piece:
            return replace(cleared, pieces=(*cleared.pieces, piece))
        case Placed() as piece, Cleared() as cleared:
            return replace(cleared, pieces=(*cleared.pieces, piece))
        case _, Placed() as piece:
            return piece.added_to(a.ct)
        case Placed() as piece, _:
            return piece.added_to(b.ct)
        case _:
            return a.ct + b.ct


# ---- finding pieces ---------------------------------------------------------------------------------------
def as_placed(ops: Sequence[Op], recorder: Recorder) -> Placed | None:
    """What some ops give, as a piece that is laid into zeros; None if it is worth no such care."""
    last = ops[-1]
    match last.opdef.lowering:
        case Remap(pieces=pieces) if len(ops) == 1 and len(last.operands) == 1:
            (piece,) = last.operands
            spot = _spot(pieces((piece.type,), last.result.type, dict(last.attrs)))
            if spot is None:
                return None
            attrs: dict[str, Attr] = {"start": spot[0], "step": spot[1]}

            def onto(x: Value) -> Value:
                return recorder.emit(add_slice, (x, piece), attrs, loc=last.loc)

            return Placed(ops, onto, recorder, piece, (*spot, piece.type))
        case Scatter(add=True) if isinstance(ops[0].opdef.lowering, Constant) and len(ops) == 2:
            return Placed(ops, lambda x: _scattered(last, x, recorder), recorder, last.operands[1])
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


def as_cleared(op: Op, ct: Tracer, taken: Value | None) -> Cleared:
    """The cotangent of what an update wrote into, given that of the result."""
    attrs = dict(op.attrs)
    start, step = cast("tuple[Dim, ...]", attrs["start"]), cast("tuple[int, ...]", attrs["step"])
    return Cleared(ct, (start, step, op.operands[1].type), taken)
