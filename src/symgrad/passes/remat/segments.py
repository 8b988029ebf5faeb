"""Segments: states every so many steps, and the rows of one segment at a time.

With n steps and segments of √n, that is 2√n rows for one more run of the loop (Chen and others, 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Value
from symgrad.ir.dims import Dim
from symgrad.ir.ops.shapes import concat, reshape
from symgrad.ir.regions import Values, for_op
from symgrad.passes.remat.reversal import Reversal
from symgrad.passes.remat.writing import Writer, body_at, loop, split


@dataclass(slots=True)
class Segments:
    """So many segments of a length; the steps after them are stacked."""

    pair: Reversal
    count: int
    length: int
    states: Values = ()  # the stacks of the carries at the beginning of each segment
    rows: Values = ()  # the stacks of the steps after the segments

    @property
    def _done(self) -> int:
        return self.pair.lower + self.count * self.length

    def _index(self, outer: str, inner: str) -> Dim:
        """The index of the step, of those of the segment and in it."""
        first = dims.add(dims.mul(dims.index(outer), self.length), dims.index(inner))
        return dims.add(first, self.pair.lower)

    def run(self, writer: Writer) -> None:
        """The loop as it runs first."""
        ahead, builder = self.pair.ahead, writer.builder
        n, others = len(ahead.carries), len(self.pair.others)
        outer, inner = writer.name("segment"), writer.name("step")

        def step(b: Builder, carries: Values, constants: Values, _: Values) -> Values:
            return body_at(ahead, self._index(outer, inner), b, carries, constants)[: n + others]

        def segment(b: Builder, carries: Values, constants: Values, _: Values) -> Values:
            made = loop(b, (inner, 0, self.length), carries, constants, (), step)
            return (*made[:n], *carries, *made[n:])

        constants = writer.of(ahead.constants)
        made = loop(builder, (outer, 0, self.count), writer.of(ahead.carries), constants, (), segment)
        carries, self.states, blocks = split(made, n, n)
        rest: Values = ()
        if self._done < dims.known(ahead.upper):
            rest_loop = replace(ahead, lower=self._done, carries=carries, constants=constants)
            builder.append(for_op(rest_loop, builder.loc))
            carries, rest, self.rows = split(builder.ops[-1].results, n, others)
        writer.stand(self.pair.forward.results[:n], carries)
        writer.stand(self.pair.others, _joined(blocks, rest, builder))

    def reverse(self, writer: Writer) -> None:
        """The later loop, with the segments run again."""
        ahead, back, builder = self.pair.ahead, self.pair.back, writer.builder
        n, m = len(ahead.carries), len(back.carries)
        outer, inner = writer.name("segment"), writer.name("step")
        again, constants = writer.of(ahead.constants), writer.of(back.constants)
        carries, rest = writer.of(back.carries), Values()
        if self.rows:
            rest_loop = replace(back, lower=self._done, carries=carries, constants=constants, xs=self.rows)
            builder.append(for_op(rest_loop, builder.loc))
            carries, rest = split(builder.ops[-1].results, m)

        def step(b: Builder, carries: Values, constants: Values, _: Values) -> Values:
            made = body_at(ahead, self._index(outer, inner), b, carries, constants)
            return (*made[:n], *made[n + len(self.pair.others) :])

        def back_step(b: Builder, carries: Values, constants: Values, rows: Values) -> Values:
            return body_at(back, self._index(outer, inner), b, carries, constants, rows)

        def segment(b: Builder, carries: Values, given: Values, state: Values) -> Values:
            again_, constants_ = split(given, len(again))
            span = (inner, 0, self.length)
            rows = loop(b, span, state, again_, (), step)[n:]
            return loop(b, span, carries, constants_, rows, back_step, reverse=True)

        span = (outer, 0, self.count)
        made = loop(builder, span, carries, (*again, *constants), self.states, segment, reverse=True)
        writer.stand(self.pair.backward.results[:m], made[:m])
        writer.stand(self.pair.backward.results[m:], _joined(made[m:], rest, builder))


def _joined(blocks: Sequence[Value], rest: Sequence[Value], builder: Builder) -> Values:
    """Stacks of blocks of rows, and the rows that follow, as stacks of rows."""
    found: list[Value] = []
    for k, v in enumerate(blocks):
        count, length, *sizes = v.type.shape
        rows = v.type.with_shape((dims.mul(count, length), *sizes))
        found.append(builder.emit(reshape, (v,), {}, rows))
        if rest:
            found[-1] = builder.emit(concat, (found[-1], rest[k]), {"axis": 0})
    return tuple(found)
