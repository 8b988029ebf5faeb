"""The ops of random blocks with symbolic sizes: arithmetic, moves, reductions, and writes that meet reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Value
from symgrad.ir.dims import Dim
from symgrad.ir.ops import OPS
from symgrad.ir.types import BOOL, F64, I64, ArrayType, array_type

SIZES = (1, 2, 3, 4)
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5)
TRIPS = (0, 1, 2, 3)  # of loops whose ends are numbers, and the most of a `while`
ENDLESS = 1 << 40  # more iterations than a `while` has
SCALAR, COUNT, TRUTH = array_type(F64), array_type(I64), array_type(BOOL)

Spot = tuple[tuple[Dim, Dim, int], ...]  # start, size and step along each axis


def affine_axes(type: ArrayType) -> int:
    return sum(not dims.is_known(n) for n in type.shape)


class Growing:
    """A block that grows, with the ranges of the indices that it sees."""

    def __init__(
        self,
        draw: st.DrawFn,
        params: Sequence[Value],
        ranges: dims.Ranges,
        fresh: Callable[[], str],
        depth: int,
    ) -> None:
        self.draw, self.fresh, self.depth = draw, fresh, depth
        self.builder = Builder()
        self.ranges = dict(ranges)
        self.local: set[str] = set()  # names that this block alone has: trip counts of its `while` loops
        self.params = tuple(params)
        self.pool = [v for v in params if v.type.dtype == F64]
        self.counts = [v for v in params if v.type == COUNT]

    # ---- choosing ----
    def one(self, options: Sequence[Any]) -> Any:
        """One of some options."""
        return self.draw(st.sampled_from(list(options)))

    def chance(self, of: int) -> bool:
        """True once in a while."""
        return self.draw(st.integers(1, of)) == of

    def pick(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A real value that fits, the latest ones more often."""
        found = [v for v in self.pool if fits(v)]
        return self.one(found[-3:] * 3 + found) if found else None

    def emit(self, name: str, /, *operands: Value, type: ArrayType | None = None, **attrs: Any) -> Value:
        """The result of an op, not yet in the pool."""
        return self.builder.emit(OPS[name], operands, attrs, type)

    def below(self, a: Dim, b: Dim) -> bool:
        """Whether a ≤ b in every iteration."""
        return dims.never_above(a, b, self.ranges)

    def closed(self, type: ArrayType) -> bool:
        """Whether values of the type may leave the block."""
        return self.local.isdisjoint(dims.names(*type.shape))

    # ---- values of a wanted type ----
    def scalar(self) -> Value:
        """A real number."""
        x = self.pick(lambda v: v.type.rank == 0)
        if x is not None and not self.chance(4):
            return x
        y = self.pick()
        if y is None:
            return self.emit("constant", type=SCALAR, value=self.one(NUMBERS))
        return self.emit("tanh", self.total(y))

    def total(self, x: Value) -> Value:
        """The sum of the elements."""
        return self.emit("sum", x, axes=tuple(range(x.type.rank))) if x.type.rank else x

    def like(self, type: ArrayType) -> Value:
        """A value of a type."""
        x = self.pick(lambda v: v.type == type)
        if x is not None and not self.chance(8):
            return x
        if type.rank == 0:
            return self.scalar()
        if self.chance(3):
            return self.emit("constant", type=type, value=self.one(NUMBERS))
        return self.emit("broadcast", self.scalar(), type=type, axes=tuple(range(type.rank)))

    def shape(self) -> tuple[Dim, ...]:
        """Sizes, at most one of which changes."""
        found: list[Dim] = [self.one(SIZES) for _ in range(self.draw(st.integers(0, 2)))]
        names = [n for n in self.names() if self.below(0, n)]
        if found and names and self.chance(2):
            found[self.draw(st.integers(0, len(found) - 1))] = self.one(names)
        return tuple(found)

    def names(self) -> list[Dim]:
        """Expressions of the indices in sight."""
        found = [dims.index(name) for name in self.ranges]
        return [*found, *(dims.add(n, 1) for n in found), *(dims.shift(n, 1) for n in found)]

    def spot(self, type: ArrayType) -> Spot:
        """A place within arrays of a type."""
        found: list[tuple[Dim, Dim, int]] = []
        changes = False
        for n in type.shape:
            options: list[tuple[Dim, Dim, int]] = [(0, n, 1)]
            if isinstance(n, int):
                a = self.draw(st.integers(0, n))
                b = self.draw(st.integers(a, n))
                options += [(a, b - a, 1), (a, -(-(n - a) // 2), 2)]
            for at in self.names():
                if self.below(0, at) and self.below(dims.add(at, 1), n):
                    options += [(at, 1, 1)] * 3
                if not changes and self.below(0, at) and self.below(at, n):
                    options += [(0, at, 1), (at, dims.shift(n, at), 1)] * 2
            chosen = self.one(options)
            changes |= not dims.is_known(chosen[1])
            found.append(chosen)
        return tuple(found)

    def read(self, x: Value, spot: Spot) -> Value:
        """The slice of x at a place."""
        return self.emit(
            "slice", x,
            start=tuple(a for a, _, _ in spot),
            stop=tuple(dims.after_last(a, n, s) for a, n, s in spot),
            step=tuple(s for _, _, s in spot),
        )  # fmt: skip

    # ---- ops ----
    def elementwise(self) -> Value | None:
        x = self.pick()
        if x is None:
            return None
        y = self.like(x.type)
        name = self.one(("neg", "tanh", "sin", "add", "sub", "mul", "maximum", "add", "mul"))
        if name in ("neg", "tanh", "sin"):
            return self.emit(name, x)
        return self.emit("tanh", self.emit(name, *self.draw(st.permutations([x, y]))))

    def constant(self) -> Value | None:
        return self.emit("constant", type=array_type(F64).with_shape(self.shape()), value=self.one(NUMBERS))

    def broadcast(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank < 2)
        if x is None:
            return None
        n = self.one([*SIZES, *(n for n in self.names() if not affine_axes(x.type) and self.below(0, n))])
        axis = self.draw(st.integers(0, x.type.rank))
        shape = (*x.type.shape[:axis], n, *x.type.shape[axis:])
        return self.emit("broadcast", x, type=x.type.with_shape(shape), axes=(axis,))

    def transpose(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank == 2)
        return None if x is None else self.emit("transpose", x, perm=(1, 0))

    def flip(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0)
        return None if x is None else self.emit("flip", x, axes=(self.draw(st.integers(0, x.type.rank - 1)),))

    def slice(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0)
        return None if x is None else self.read(x, self.spot(x.type))

    def pad(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0 and all(dims.is_known(n) for n in v.type.shape))
        if x is None:
            return None
        low = tuple(self.draw(st.integers(0, 1)) for _ in x.type.shape)
        return self.emit("pad", x, low=low, high=(0,) * x.type.rank, interior=(0,) * x.type.rank)

    def update(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0)
        if x is None:
            return None
        spot = self.spot(x.type)
        u = self.like(x.type.with_shape(tuple(n for _, n, _ in spot)))
        start, step = tuple(a for a, _, _ in spot), tuple(s for _, _, s in spot)
        return self.emit(self.one(("update_slice", "add_slice")), x, u, start=start, step=step)

    def writes(self) -> Value | None:
        """Some writes one after the other, and a read, at places that meet or do not."""
        x = self.pick(lambda v: v.type.rank > 0)
        if x is None:
            return None
        x = self.emit("constant", type=x.type, value=0.0) if self.chance(3) else x
        spots = [self.spot(x.type) for _ in range(2)]
        for spot in [self.one(spots) for _ in range(self.draw(st.integers(1, 3)))]:
            u = self.like(x.type.with_shape(tuple(n for _, n, _ in spot)))
            start, step = tuple(a for a, _, _ in spot), tuple(s for _, _, s in spot)
            high = tuple(
                dims.shift(n, dims.after_last(a, k, s))
                for n, (a, k, s) in zip(x.type.shape, spot, strict=True)
            )
            padded = self.chance(3) and all(self.below(0, n) for n in high)
            if padded:
                padded_u = self.emit("pad", u, low=start, high=high, interior=tuple(s - 1 for s in step))
                x = self.emit("add", *self.draw(st.permutations([x, padded_u])))
            else:
                x = self.emit(
                    self.one(("update_slice", "update_slice", "add_slice")), x, u, start=start, step=step
                )
        return x if self.chance(3) else self.read(x, self.one([*spots, self.spot(x.type)]))

    def reads(self) -> Value | None:
        """A read of a read, or of what was put together."""
        x = self.pick(lambda v: v.type.rank > 0)
        if x is None:
            return None
        if self.chance(3) and all(map(dims.is_known, x.type.shape)):
            margin = tuple(self.draw(st.integers(0, 2)) for _ in x.type.shape)
            x = self.emit("pad", x, low=margin, high=margin, interior=(0,) * x.type.rank)
        elif self.chance(2):
            axis = self.draw(st.integers(0, x.type.rank - 1))
            x = (
                self.emit("concat", x, self.like(x.type), axis=axis)
                if dims.is_known(x.type.shape[axis])
                else x
            )
        else:
            x = self.read(x, self.spot(x.type))
        return self.read(x, self.spot(x.type))

    def reduce(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0)
        if x is None:
            return None
        axes = tuple(sorted(self.draw(st.sets(st.integers(0, x.type.rank - 1), min_size=1))))
        full = all(self.below(1, x.type.shape[axis]) for axis in axes)
        name = self.one(("sum", "sum", "max")) if full else "sum"
        return self.emit("tanh", self.emit(name, x, axes=axes))

    def product(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank == 1)
        if x is None:
            return None
        return self.emit("tanh", self.emit("einsum", x, self.like(x.type), spec="i,i->"))

    def number(self) -> Value | None:
        """An index as a number, or arithmetic on such."""
        value = self.one([*self.names(), 0, 1])
        found = self.emit("dim", value=value)
        if self.counts and self.chance(2):
            name = self.one(("add", "sub", "maximum"))
            found = self.emit(name, *self.draw(st.permutations([found, self.one(self.counts)])))
        self.counts.append(found)
        return self.emit("sin", self.emit("convert", found, type=SCALAR))

    def gather(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank == 1)
        inside = [
            n for n in self.names() if x and self.below(0, n) and self.below(dims.add(n, 1), x.type.shape[0])
        ]
        return (
            self.emit("gather", x, self.emit("dim", value=self.one(inside)), axes=(0,))
            if x and inside
            else None
        )

    def truth(self) -> Value:
        """A condition that no rounding turns around."""
        if self.counts and self.chance(3):
            limit = self.emit("dim", value=self.one((0, 1, 2, *self.names())))
            return self.emit(self.one(("lt", "eq", "ge")), self.one(self.counts), limit)
        if self.chance(8):
            return self.emit("constant", type=TRUTH, value=self.one((True, False)))
        odd = self.emit("constant", type=SCALAR, value=self.one((0.1234567, -0.2345678)))
        return self.emit(self.one(("lt", "ge")), self.scalar(), odd)

    def measure(self) -> Value | None:
        """A count that sizes are made of."""
        if not self.counts:
            return None
        name, limit = self.fresh(), self.one([0, 1, 2, *(n for n in self.names() if self.below(0, n))])
        found = self.emit("measure", self.one(self.counts), limit=limit, name=name)
        self.ranges[name] = (0, dims.add(limit, 1))
        self.local.add(name)
        self.counts.append(found)
        return None

    def select(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank == 0)
        return None if x is None else self.emit("select", self.truth(), x, self.scalar())
