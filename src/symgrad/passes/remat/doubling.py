"""A loop of which nobody knows how often it runs, reversed in memory of a fixed size.

The first run leaves states in slots, at distances that double when the slots are full: so it leaves at least
half of them, whatever the number of steps. The later loop works on the stack of these states. Behind the one
on top it leaves others, as the binomial schedule has them, until the rows of what is left fit in a stack;
then these rows are made, and reversed. A state is the carries of the loop and the number of steps before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Value
from symgrad.ir.ops import constant
from symgrad.ir.regions import Values, stack_type
from symgrad.passes.cost import USUAL_TRIPS
from symgrad.passes.literals import literal
from symgrad.passes.loop_rows import row_of
from symgrad.passes.remat.binomial import Course, reduced
from symgrad.passes.remat.unbounded import Unbounded
from symgrad.passes.remat.whole import Whole, number
from symgrad.passes.remat.writing import Writer, loop, loop_while, split, with_row


@dataclass(slots=True)
class Doubling:
    """The loops of a pair, with so many slots for states, and rows for so many steps."""

    pair: Unbounded
    slots: int  # a multiple of four, eight at least
    rows: int
    course: Course = field(init=False)  # of as many steps as the cost model expects
    left: Values = ()  # by the first run: the slots, how many are in use, and the number of steps

    def __post_init__(self) -> None:
        self.course = Course.of(USUAL_TRIPS, self.slots, self.rows)

    @property
    def _carries(self) -> int:
        return len(self.pair.ahead.carries)

    # ---- the first run ----
    def run(self, writer: Writer) -> None:
        """The loop as it runs first."""
        ahead, builder, n = self.pair.ahead, writer.builder, self._carries
        state = (*writer.of(ahead.carries), number(builder, 0).value)
        slots = tuple(_slots(v, self.slots, writer.name("slots"), builder) for v in state)
        sizes = (number(builder, value).value for value in (0, self.rows, self.slots))

        def holds(b: Builder, carries: Values, constants: Values) -> Value:
            return b.inline(ahead.test, (*carries[:n], *constants))[0]

        def segment(b: Builder, carries: Values, constants: Values) -> Values:
            state, slots, sizes = split(carries, n + 1, n + 1)
            kept, spacing, most = (Whole(b, v) for v in sizes)
            full = kept >= most
            half = full.choose(kept // 2, 0)
            slots = self._thinned(writer, b, slots, half)
            kept = full.choose(half, kept)
            spacing = full.choose(spacing + spacing, spacing)
            fewer = (most - 2).at_least(reduced(0, self.slots))
            most = full.choose(fewer, most)
            slots = self._put(writer, b, slots, kept, state)
            end = Whole(b, state[n]) + spacing
            each = _share(USUAL_TRIPS, self.course.segments)
            state = self._advanced(writer, b, state, end, constants, each, holds)
            return (*state, *slots, *(v.value for v in (kept + 1, spacing, most)))

        made = loop_while(
            builder,
            (writer.name("segments"), self.course.segments),
            (*state, *slots, *sizes),
            writer.of(ahead.constants),
            holds,
            segment,
        )
        state, slots, sizes = split(made, n + 1, n + 1)
        self.left = (*slots, sizes[0], state[n])
        writer.stand(self.pair.forward.results[: n + 1], state)

    def _thinned(self, writer: Writer, builder: Builder, slots: Values, half: Whole) -> Values:
        """The slots with every second state in the first ones, so many of them."""

        def test(b: Builder, carries: Values, constants: Values) -> Value:
            return (Whole(b, carries[0]) < Whole(b, constants[0])).value

        def move(b: Builder, carries: Values, _: Values) -> Values:
            to, slots = Whole(b, carries[0]), carries[1:]
            at = to.named(writer.name("slot"), self.slots // 2 - 1)
            rows = [row_of(v, dims.mul(at, 2), b) for v in slots]
            moved = (with_row(v, row, at, b) for v, row in zip(slots, rows, strict=True))
            return ((to + 1).value, *moved)

        moves = writer.name("moves"), round(self.course.moved / max(1, self.course.segments))
        first = number(builder, 1).value
        return loop_while(builder, moves, (first, *slots), (half.value,), test, move)[1:]

    # ---- both ----
    def _put(self, writer: Writer, builder: Builder, slots: Values, at: Whole, state: Values) -> Values:
        """The slots with a state in one of them."""
        place = at.named(writer.name("slot"), self.slots - 1)
        return tuple(with_row(v, part, place, builder) for v, part in zip(slots, state, strict=True))

    def _advanced(
        self, writer: Writer, builder: Builder, state: Values, end: Whole, constants: Values, expected: int,
        holds: Callable[[Builder, Values, Values], Value] | None = None,
    ) -> Values:  # fmt: skip
        """The state after the steps before `end`, or after those before the loop ends, if it may."""
        n = self._carries

        def test(b: Builder, carries: Values, constants: Values) -> Value:
            before = Whole(b, carries[n]) < Whole(b, constants[0])
            if holds is None:
                return before.value
            return (before & Whole(b, holds(b, carries, constants[1:]))).value

        def step(b: Builder, carries: Values, constants: Values) -> Values:
            made = b.inline(self.pair.ahead.body, (*carries[:n], *constants[1:]))
            return (*made[:n], (Whole(b, carries[n]) + 1).value)

        trips = writer.name("steps"), expected
        return loop_while(builder, trips, state, (end.value, *constants), test, step)

    # ---- the later loop ----
    def reverse(self, writer: Writer) -> None:
        """The later loop, with the steps run again."""
        pair, builder, n, m = self.pair, writer.builder, self._carries, len(self.pair.back.carries)
        again, constants = writer.of(pair.ahead.constants), writer.of(pair.back.constants)

        def test(b: Builder, carries: Values, _: Values) -> Value:
            return (Whole(b, carries[-1]) > 0).value

        def part(b: Builder, carries: Values, given: Values) -> Values:
            bars, slots, (used, end) = split(carries, m, n + 1)
            again_, constants_ = split(given, len(again))
            return self._undone(writer, b, bars, slots, (Whole(b, used), Whole(b, end)), (again_, constants_))

        made = loop_while(
            builder,
            (writer.name("pieces"), self._pieces),
            (*writer.of(pair.back.carries), *self.left),
            (*again, *constants),
            test,
            part,
        )
        writer.stand(pair.backward.results, made[:m])

    @property
    def _pieces(self) -> int:
        """How many pieces are reversed, as the cost model expects."""
        return -(-USUAL_TRIPS // self.rows)

    def _undone(
        self, writer: Writer, builder: Builder, bars: Values, slots: Values, sizes: tuple[Whole, Whole],
        given: tuple[Values, Values],
    ) -> Values:  # fmt: skip
        """Bars, slots, how many are used, and how many steps are left, after reversing the last piece."""
        (used, end), (again, constants) = sizes, given
        slots, used = self._filled(writer, builder, slots, used, end, again)
        state = self._at(writer, builder, slots, used - 1)
        begin = Whole(builder, state[-1])
        first = (end - self.rows).at_least(begin)
        expected = _share(self.course.reversing.again * self.rows, self._pieces)
        state = self._advanced(writer, builder, state, first, again, expected)
        span = writer.name("step"), 0, (end - first).named(writer.name("count"), self.rows)
        n = self._carries

        def step(b: Builder, carries: Values, again: Values, _: Values) -> Values:
            return b.inline(self.pair.ahead.body, (*carries, *again))

        def back(b: Builder, carries: Values, constants: Values, rows: Values) -> Values:
            return b.inline(self.pair.back.body, (*carries, *constants, *rows))

        rows = loop(builder, span, state[:n], again, (), step)[n:]
        bars = loop(builder, span, bars, constants, rows, back, reverse=True)
        used = (first > begin).choose(used, used - 1)
        return (*bars, *slots, used.value, first.value)

    def _filled(
        self, writer: Writer, builder: Builder, slots: Values, used: Whole, end: Whole, again: Values
    ) -> tuple[Values, Whole]:
        """The slots with states up to the last piece, or to the last slot, and how many are used."""
        n = self._carries
        work = self.course.reversing
        times = max(1, round(work.states / self._pieces)) if work.states else 0
        each = _share(work.run * self.rows, times * self._pieces) if times else 0

        def test(b: Builder, carries: Values, constants: Values) -> Value:
            used, last, end = (Whole(b, v) for v in (*carries[-2:], constants[0]))
            return ((end - last > self.rows) & (used < self.slots)).value

        def leave(b: Builder, carries: Values, constants: Values) -> Values:
            slots, used, last = carries[: n + 1], Whole(b, carries[-2]), Whole(b, carries[-1])
            left = (Whole(b, constants[0]) - last + (self.rows - 1)) // self.rows
            steps = self._distance(writer, b, left, self.slots - used) * self.rows
            state = self._at(writer, b, slots, used - 1)
            state = self._advanced(writer, b, state, last + steps, constants[1:], each)
            return (*self._put(writer, b, slots, used, state), (used + 1).value, state[n])

        last = self._at(writer, builder, slots[n:], used - 1)
        carries = (*slots, used.value, *last)
        trips = writer.name("states"), times
        made = loop_while(builder, trips, carries, (end.value, *again), test, leave)
        return made[: n + 1], Whole(builder, made[n + 1])

    def _distance(self, writer: Writer, builder: Builder, pieces: Whole, free: Whole) -> Whole:
        """What `binomial.distance` says."""

        def test(b: Builder, carries: Values, constants: Values) -> Value:
            return (Whole(b, carries[1]) < Whole(b, constants[0])).value

        def more(b: Builder, carries: Values, constants: Values) -> Values:
            _, reach, passes = (Whole(b, v) for v in carries)
            further = reach * (Whole(b, constants[1]) + passes + 1) // passes
            return reach.value, further.value, (passes + 1).value

        ones = tuple(number(builder, 1).value for _ in range(3))
        constants = (pieces.value, free.value)
        made = loop_while(builder, (writer.name("passes"), 2), ones, constants, test, more)
        return Whole(builder, made[0])

    def _at(self, writer: Writer, builder: Builder, slots: Values, at: Whole) -> Values:
        """The state in one of the slots."""
        place = at.named(writer.name("slot"), self.slots - 1)
        return tuple(row_of(v, place, builder) for v in slots)


def _slots(like: Value, count: int, name: str, builder: Builder) -> Value:
    """Slots for values of a type, each to be written before it is read."""
    type = stack_type(like.type, count)
    attrs = {"value": literal(0, type.dtype), "room": name}
    return builder.emit(constant, (), attrs, type, hint=like.hint)


def _share(total: int, count: int) -> int:
    """About what each of so many has, and one at least if there is anything."""
    return -(-total // max(1, count))
