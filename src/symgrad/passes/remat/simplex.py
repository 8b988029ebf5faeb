"""Simplices: m rows reverse as many steps as there are ways to choose, each of them run a few times.

Of one level, m rows hold the states before m steps. Of level k, row i holds the state before a piece of level
k - 1 that has rows i, ..., m - 1, and so m - i of them, when its turn comes: the last piece is reversed
first, when the rows behind its own are free. So m rows reverse C(m + k - 1, k) steps, none of which runs more
than k times: √(2n) rows for two runs of n steps. These are the binomial schedules of Griewank and Walther
(2000), as nested loops with bounds that are affine in the indices around them.

What the later loop reads of a step is made from the state before it, where it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.dims import Dim
from symgrad.ir.regions import Values
from symgrad.passes.loop_rows import row_of
from symgrad.passes.remat.reversal import Reversal
from symgrad.passes.remat.writing import Writer, body_at, loop, split, with_row


@dataclass(frozen=True, slots=True)
class Piece:
    """Steps one after another that are reversed with so many rows."""

    level: int
    rows: int

    @property
    def steps(self) -> int:
        """How many there are."""
        return comb(self.rows + self.level - 1, self.level)


def pieces(steps: int, level: int) -> list[Piece]:
    """The steps in pieces, those of most levels last."""
    found: list[Piece] = []
    while steps:
        rows = 1
        while comb(rows + level, level) <= steps:
            rows += 1
        if comb(rows + level - 1, level) <= steps:
            found.append(Piece(level, rows))
            steps -= found[-1].steps
        level = max(1, level - 1)
    return found[::-1]


class Simplex:
    """The loops of a pair whose steps are all alike, with simplices of so many levels."""

    def __init__(self, pair: Reversal, levels: int) -> None:
        self.pair = pair
        self.pieces = pieces(pair.trips, levels)
        self._carries = len(pair.ahead.carries)
        self._stacks: Values = ()  # of the last piece: the states that the first run has left

    # ---- the first run ----
    def run(self, writer: Writer) -> None:
        """The loop as it runs first."""
        constants = writer.of(self.pair.ahead.constants)
        carries = writer.of(self.pair.ahead.carries)
        *before, last = self.pieces
        for piece in before:
            carries = self._advance(writer, writer.builder, piece.level, piece.rows, carries, constants)
        carries, self._stacks = self._filled(writer, last, carries, constants)
        writer.stand(self.pair.forward.results[: self._carries], carries)

    def _filled(
        self, writer: Writer, piece: Piece, carries: Values, constants: Values
    ) -> tuple[Values, Values]:
        """The carries after a piece, and the stacks of its states."""
        name = writer.name("piece")

        def part(b: Builder, carries: Values, constants: Values, _: Values) -> Values:
            room = dims.sub(piece.rows, dims.index(name))
            return (*self._advance(writer, b, piece.level - 1, room, carries, constants), *carries)

        made = loop(writer.builder, (name, 0, piece.rows), carries, constants, (), part)
        carries, stacks = split(made, self._carries)
        return carries, stacks

    def _advance(
        self, writer: Writer, builder: Builder, level: int, rows: Dim, carries: Values, constants: Values
    ) -> Values:
        """The carries after as many steps as a piece has."""
        if level == 0:
            return self._step(builder, carries, constants)[: self._carries]
        name = writer.name("piece")

        def part(b: Builder, carries: Values, constants: Values, _: Values) -> Values:
            room = dims.shift(rows, dims.index(name))
            return self._advance(writer, b, level - 1, room, carries, constants)

        return loop(builder, (name, 0, rows), carries, constants, (), part)

    def _step(self, builder: Builder, carries: Values, constants: Values) -> Values:
        return body_at(self.pair.ahead, self.pair.lower, builder, carries, constants)

    # ---- the later loop ----
    def reverse(self, writer: Writer) -> None:
        """The later loop, with the pieces run again."""
        pair = self.pair
        again, constants = writer.of(pair.ahead.constants), writer.of(pair.back.constants)
        bars = writer.of(pair.back.carries)
        stacks = self._stacks
        for number in reversed(range(len(self.pieces))):
            piece = self.pieces[number]
            if number < len(self.pieces) - 1:
                carries = writer.of(pair.ahead.carries)
                for early in self.pieces[:number]:
                    carries = self._advance(writer, writer.builder, early.level, early.rows, carries, again)
                _, stacks = self._filled(writer, piece, carries, again)
            bars = self._reversed(writer, piece, bars, stacks, (again, constants))
        writer.stand(pair.backward.results, bars)

    def _reversed(
        self, writer: Writer, piece: Piece, bars: Values, stacks: Values, given: tuple[Values, Values]
    ) -> Values:
        """The bars before a piece, whose states are in the stacks."""
        name, (again, constants) = writer.name("piece"), given

        def part(b: Builder, carries: Values, given: Values, _: Values) -> Values:
            bars, stacks = split(carries, len(self.pair.back.carries))
            again_, constants_ = split(given, len(again))
            at, room = dims.index(name), dims.shift(piece.rows, dims.index(name))
            return self._undo(writer, b, (piece.level - 1, at, room), bars, stacks, (again_, constants_))

        made = loop(
            writer.builder,
            (name, 0, piece.rows),
            (*bars, *stacks),
            (*again, *constants),
            (),
            part,
            reverse=True,
        )
        return made[: len(bars)]

    def _undo(
        self, writer: Writer, builder: Builder, piece: tuple[int, Dim, Dim], bars: Values, stacks: Values,
        given: tuple[Values, Values],
    ) -> Values:  # fmt: skip
        """Bars and stacks, after reversing a piece (level, first row, rows) whose first row is its state."""
        level, first, rows = piece
        again, constants = given
        state = tuple(row_of(stack, first, builder) for stack in stacks)
        if level == 0:
            rows_ = self._step(builder, state, again)[self._carries :]
            back = body_at(self.pair.back, self.pair.lower, builder, bars, constants, rows_)
            return (*back, *stacks)
        fill, name = writer.name("piece"), writer.name("piece")

        def kept(b: Builder, carries: Values, again: Values, _: Values) -> Values:
            state, stacks = split(carries, self._carries)
            at, room = dims.add(first, dims.index(fill)), dims.shift(rows, dims.index(fill))
            written = tuple(with_row(stack, v, at, b) for stack, v in zip(stacks, state, strict=True))
            return (*self._advance(writer, b, level - 1, room, state, again), *written)

        def part(b: Builder, carries: Values, given: Values, _: Values) -> Values:
            bars, stacks = split(carries, len(self.pair.back.carries))
            again_, constants_ = split(given, len(again))
            at, room = dims.add(first, dims.index(name)), dims.shift(rows, dims.index(name))
            return self._undo(writer, b, (level - 1, at, room), bars, stacks, (again_, constants_))

        stacks = loop(builder, (fill, 0, rows), (*state, *stacks), again, (), kept)[self._carries :]
        carries = (*bars, *stacks)
        return loop(builder, (name, 0, rows), carries, (*again, *constants), (), part, reverse=True)
