"""Random programs with regions: nested loops, branches, symbolic slices, updates, and loops that end by data.

Every program verifies and runs, whatever its arguments; every value stays small, so that rounding is all that
passes may change. A loop's sizes and places are made of the indices around it, and of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from hypothesis import strategies as st

from passes.random_blocks import COUNT, ENDLESS, SIZES, TRIPS, Growing, affine_axes
from symgrad.ir import dims
from symgrad.ir.core import Block, Function, Value
from symgrad.ir.dims import Dim
from symgrad.ir.regions import Branch, ForLoop, WhileLoop, branch_op, emit, for_op, row_type, while_op
from symgrad.ir.types import F64, array_type


class Region(Growing):
    """A block that grows, and may have loops and branches in it, up to a depth."""

    # ---- control flow ----
    def inner(self, params: Sequence[Value], ranges: dims.Ranges) -> Region:
        """A region within this one, with some ops in it."""
        found = Region(self.draw, params, ranges, self.fresh, self.depth - 1)
        for _ in range(self.draw(st.integers(0, 5))):
            found.step()
        return found

    def some(self, least: int, most: int) -> list[Value]:
        """Values that may be operands of an op with regions; one may come twice."""
        found = [self.pick() for _ in range(self.draw(st.integers(least, most)))]
        return [v for v in found if v is not None]

    def params_for(self, values: Sequence[Value]) -> list[Value]:
        """Params of the types of some values."""
        return [Value(v.type, v.hint) for v in values]

    def ends(self) -> tuple[Dim, Dim]:
        """Where a loop begins and ends; it may run no time, but never less."""
        options = list[tuple[Dim, Dim]]()
        options += [(first, first + n) for first in (0, 1) for n in TRIPS]
        for n in self.names():
            if self.below(0, n):
                options += [(0, n)] * 2
            options += [(n, k) for k in SIZES if self.below(n, k)]
        return self.one(options)

    def for_loop(self) -> list[Value]:
        lower, upper = self.ends()
        trips, name = dims.shift(upper, lower), self.fresh()
        carries, constants = self.some(1, 3), self.some(0, 3)
        if self.chance(3):
            carries.append(self.emit("dim", value=self.one((0, 1, *self.names()))))
        constants += [self.one(self.counts)] if self.counts and self.chance(3) else []
        xs = [self.stack(trips) for _ in range(self.draw(st.integers(0, 2)))]
        params = self.params_for((*carries, *constants))
        params += [Value(row_type(v.type)) for v in xs]
        body = self.inner(params, {**self.ranges, name: (lower, upper)})
        body.local.add(name)
        results = [body.next(k) for k in range(len(carries))] + body.rows(trips)
        block = body.builder.block(params, results)
        reverse = self.draw(st.booleans())
        loop = ForLoop(name, lower, upper, reverse, tuple(carries), tuple(constants), tuple(xs), block)
        return list(emit(self.builder, for_op(loop)))

    def stack(self, trips: Dim) -> Value:
        """A value with so many rows."""
        x = self.pick(lambda v: v.type.rank > 0 and dims.equal(v.type.shape[0], trips))
        if x is not None and not self.chance(4):
            return x
        row = self.pick(lambda v: v.type.rank < 2 and (dims.is_known(trips) or not affine_axes(v.type)))
        row = self.scalar() if row is None else row
        return self.emit("broadcast", row, type=row.type.with_shape((trips, *row.type.shape)), axes=(0,))

    def next(self, k: int) -> Value:
        """What a carry is in the next iteration."""
        param = self.params[k]
        if self.chance(6):
            return param
        if param.type == COUNT:
            step = self.emit("constant", type=COUNT, value=self.one((1, -1, 2)))
            return self.emit(self.one(("add", "sub")), param, step)
        return self.like(param.type)

    def rows(self, trips: Dim) -> list[Value]:
        """Values that can be stacked."""

        def fits(v: Value) -> bool:
            alone = dims.is_known(trips) or not affine_axes(v.type)
            return self.closed(v.type) and v.type.rank < 2 and alone

        found = [self.pick(fits) for _ in range(self.draw(st.integers(0, 2)))]
        return [v for v in found if v is not None]

    def while_loop(self) -> list[Value]:
        start = self.emit("constant", type=COUNT, value=self.one((0, 1)))
        carries, constants = [start, *self.some(1, 2)], self.some(0, 2)
        most = self.one(TRIPS)
        test = Region(self.draw, self.params_for((*carries, *constants)), self.ranges, self.fresh, 0)
        limit = test.emit("constant", type=COUNT, value=most)
        more = test.emit("lt", test.params[0], limit)
        if self.chance(2):
            more = test.emit("and", more, test.truth())
        body = self.inner(self.params_for((*carries, *constants)), self.ranges)
        tick = body.emit("add", body.params[0], body.emit("constant", type=COUNT, value=1))
        results = [tick, *(body.next(k) for k in range(1, len(carries)))]
        name = self.fresh()
        results += body.rows(dims.index(name))
        loop = WhileLoop(
            name, tuple(carries), tuple(constants),
            test.builder.block(test.params, (more,)), body.builder.block(body.params, results),
        )  # fmt: skip
        found = emit(self.builder, while_op(loop))
        self.ranges[name] = (0, ENDLESS)
        self.local.add(name)
        return list(found)

    def cond(self) -> list[Value]:
        constants = self.some(1, 3)
        then = self.inner(self.params_for(constants), self.ranges)
        otherwise = self.inner(self.params_for(constants), self.ranges)
        types = [v.type for v in (then.pick(then.leaves) for _ in range(self.draw(st.integers(1, 3)))) if v]
        if not types:
            return []
        first, second = [then.like(t) for t in types], [otherwise.like(t) for t in types]
        made = Branch(self.truth(), tuple(constants), _block(then, first), _block(otherwise, second))
        return list(emit(self.builder, branch_op(made)))

    def leaves(self, value: Value) -> bool:
        """Whether a value may be a result of the block."""
        return self.closed(value.type)

    # ---- growing ----
    def step(self) -> None:
        """Add one op or a few."""
        control = [self.for_loop, self.for_loop, self.while_loop, self.cond] if self.depth > 0 else []
        kinds = (
            self.elementwise, self.elementwise, self.elementwise, self.constant, self.broadcast,
            self.transpose, self.flip, self.slice, self.slice, self.pad, self.update, self.writes,
            self.writes, self.reads, self.reads, self.reduce, self.product, self.number, self.gather,
            self.select, self.measure, *control, *control,
        )  # fmt: skip
        made = self.one(kinds)()
        for value in made if isinstance(made, list) else [made]:
            self._keep(value)

    def _keep(self, value: Value | None) -> None:
        if value is None or affine_axes(value.type) > 1:
            return
        if value.type == COUNT:
            self.counts.append(value)
        elif value.type.dtype == F64 and value.type.rank <= 2:
            self.pool.append(value)


def _block(region: Region, results: Sequence[Value]) -> Block:
    return region.builder.block(region.params, results)


@st.composite
def region_programs(draw: st.DrawFn, max_steps: int = 8, depth: int = 2) -> Function:
    """Functions of real params with ops that have regions, up to a depth, among ops that have none."""
    numbers = count()
    shapes = draw(st.lists(st.lists(st.sampled_from(SIZES), max_size=2), min_size=1, max_size=3))
    params = [Value(array_type(F64, *shape), "x") for shape in shapes]
    top = Region(draw, params, {}, lambda: f"i{next(numbers)}", depth)
    for _ in range(draw(st.integers(1, max_steps))):
        top.step()
    leaving = [v for v in top.pool if top.leaves(v)]
    results = draw(st.lists(st.sampled_from(leaving[-6:]), min_size=1, max_size=4))
    return Function("random", top.builder.block(params, results))
