"""Random programs of few shapes, so that ops meet: arithmetic, moves, reductions, contractions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.ops import OPS
from symgrad.ir.types import BOOL, F64, I64, ArrayType

Array = np.ndarray[Any, Any]
Draw = st.DrawFn

SIZES = (1, 2, 3)
UNARY = ("neg", "abs", "tanh", "sin", "stop_gradient", "sigmoid")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0)


class Growing:
    """A program that grows; every value stays small, so that rounding is all that passes may change."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.builder = Builder()
        shapes = draw(st.lists(st.lists(st.sampled_from(SIZES), max_size=3), min_size=1, max_size=3))
        self.params = [Value(ArrayType(F64, tuple(map(dims.make, shape))), "x") for shape in shapes]
        self.pool = list(self.params)

    def pick(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A real value that fits, the latest ones more often."""
        found = [v for v in self.pool if fits(v)]
        if not found:
            return None
        return self.draw(st.sampled_from(found[-3:] * 4 + found))

    def emit(self, name: str, *operands: Value, type: ArrayType | None = None, **attrs: Any) -> Value:
        """The result of an op, not yet in the pool."""
        return self.builder.emit(OPS[name], operands, attrs, type)

    def elementwise(self) -> Value | None:
        x = self.pick()
        assert x is not None
        y = self.pick(lambda v: v.type == x.type)
        if y is None or self.draw(st.booleans()):
            return self.emit(self.draw(st.sampled_from(UNARY)), x)
        return self.emit("tanh", self.emit(self.draw(st.sampled_from(BINARY)), x, y))

    def constant(self) -> Value | None:
        x = self.pick()
        assert x is not None
        c = self.emit("constant", type=x.type, value=self.draw(st.sampled_from(NUMBERS)))
        if self.draw(st.booleans()):
            return c
        return self.emit(
            self.draw(st.sampled_from(("mul", "add", "sub"))), *self.draw(st.permutations([x, c]))
        )

    def select(self) -> Value | None:
        x = self.pick()
        assert x is not None
        y = self.pick(lambda v: v.type == x.type)
        assert y is not None
        condition = self.emit(self.draw(st.sampled_from(("lt", "ge", "eq"))), x, y)
        if self.draw(st.booleans()):
            condition = self.emit("not", condition)
        return self.emit("select", condition, y, x)

    def broadcast(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank < 3)
        if x is None:
            return None
        axis = self.draw(st.integers(0, x.type.rank))
        n = self.draw(st.sampled_from(SIZES))
        shape = (*x.type.shape[:axis], dims.make(n), *x.type.shape[axis:])
        return self.emit("broadcast", x, type=x.type.with_shape(shape), axes=(axis,))

    def transpose(self) -> Value | None:
        x = self.pick()
        assert x is not None
        return self.emit("transpose", x, perm=tuple(self.draw(st.permutations(range(x.type.rank)))))

    def reshape(self) -> Value | None:
        x = self.pick()
        assert x is not None
        kept = [n for n in x.type.shape if not dims.is_one(n)]
        shape = self.draw(st.permutations(kept)) if self.draw(st.booleans()) else [dims.product(kept)]
        if len(shape) < 3 and self.draw(st.booleans()):
            shape.insert(self.draw(st.integers(0, len(shape))), dims.ONE)
        return self.emit("reshape", x, type=x.type.with_shape(tuple(shape)))

    def flip(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0)
        return None if x is None else self.emit("flip", x, axes=(self.draw(st.integers(0, x.type.rank - 1)),))

    def slice(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0)
        if x is None:
            return None
        sizes = list(map(dims.known, x.type.shape))
        start = tuple(self.draw(st.integers(0, n - 1)) for n in sizes)
        return self.emit("slice", x, start=start, stop=tuple(sizes), step=(1,) * len(sizes))

    def pad(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0 and all(dims.known(n) <= 2 for n in v.type.shape))
        if x is None:
            return None
        low = tuple(self.draw(st.integers(0, 1)) for _ in x.type.shape)
        return self.emit("pad", x, low=low, high=(0,) * x.type.rank, interior=(0,) * x.type.rank)

    def concat(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0)
        if x is None:
            return None
        axis = self.draw(st.integers(0, x.type.rank - 1))
        y = self.pick(lambda v: v.type == x.type)
        assert y is not None
        both = self.emit("concat", x, y, axis=axis)
        n = dims.known(x.type.shape[axis])
        cut = self.draw(st.integers(0, n))
        start = tuple(cut if k == axis else 0 for k in range(x.type.rank))
        stop = tuple(cut + n if k == axis else dims.known(m) for k, m in enumerate(x.type.shape))
        return self.emit("slice", both, start=start, stop=stop, step=(1,) * x.type.rank)

    def update(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank > 0)
        if x is None:
            return None
        y = self.pick(lambda v: v.type == x.type)
        assert y is not None
        start = tuple(self.draw(st.integers(0, dims.known(n) - 1)) for n in x.type.shape)
        stop, step = tuple(map(dims.known, x.type.shape)), (1,) * x.type.rank
        return self.emit(
            "update_slice",
            x,
            self.emit("slice", y, start=start, stop=stop, step=step),
            start=start,
            step=step,
        )

    def reduce(self) -> Value | None:
        x = self.pick()
        assert x is not None
        axes = self.draw(st.sets(st.integers(0, x.type.rank - 1))) if x.type.rank else set[int]()
        name = self.draw(st.sampled_from(("sum", "max", "min", "sum")))
        return self.emit(name, x, axes=tuple(sorted(axes)))

    def einsum(self) -> Value | None:
        """A contraction of two or three operands with whatever axes can be shared."""
        operands = [self.pick(lambda v: v.type.rank <= 2) for _ in range(self.draw(st.integers(2, 3)))]
        found = [v for v in operands if v is not None]
        if len(found) < 2:
            return None
        sizes: dict[str, dims.Dim] = {}
        terms: list[str] = []
        for v in found:
            term = ""
            for n in v.type.shape:
                free = [name for name, m in sizes.items() if dims.equal(m, n) and name not in term]
                fresh = "abcdefgh"[len(sizes)]
                name = self.draw(st.sampled_from([*free, fresh]))
                sizes[name] = n
                term += name
            terms.append(term)
        shared = [name for name in sizes if sum(name in term for term in terms) > 1]
        summed = self.draw(st.sets(st.sampled_from(shared))) if shared else set[str]()
        result = "".join(self.draw(st.permutations([name for name in sizes if name not in summed])))
        if len(result) > 3:
            return None
        return self.emit("tanh", self.emit("einsum", *found, spec=",".join(terms) + "->" + result))

    def gather(self) -> Value | None:
        x = self.pick(lambda v: v.type.rank == 1)
        if x is None:
            return None
        ramp = self.emit("iota", type=ArrayType(I64, x.type.shape), axis=0)
        found = self.emit("gather", x, ramp, axes=(0,))
        return self.emit("scatter_add", found, x, ramp, axes=(0,)) if self.draw(st.booleans()) else found

    def spread(self) -> Value:
        """A value that does not vary along some of its axes, or along any."""
        x = self.pick(lambda v: v.type.rank <= 1)
        if x is None or self.draw(st.booleans()):
            number = self.draw(st.sampled_from(NUMBERS))
            x = self.emit("constant", type=ArrayType(F64, ()), value=number)
        axes = tuple(range(self.draw(st.integers(1, 2))))
        sizes = tuple(dims.make(self.draw(st.sampled_from(SIZES))) for _ in axes)
        wide = self.emit("broadcast", x, type=x.type.with_shape((*sizes, *x.type.shape)), axes=axes)
        return self.emit("transpose", wide, perm=tuple(self.draw(st.permutations(range(wide.type.rank)))))

    def step(self) -> None:
        """Add one op or a few."""
        kinds = (
            self.elementwise, self.elementwise, self.elementwise, self.constant, self.select, self.broadcast,
            self.broadcast, self.transpose, self.reshape, self.flip, self.slice, self.pad, self.concat,
            self.update, self.reduce, self.reduce, self.einsum, self.einsum, self.gather, self.transpose,
        )  # fmt: skip
        made = self.draw(st.sampled_from(kinds))()
        if made is not None and dims.known(made.type.size) <= 200:
            self.pool.append(made)


@st.composite
def numeric_programs(draw: Draw, max_steps: int = 20) -> Function:
    """Functions of real params whose ops are chained on each other's results."""
    growing = Growing(draw)
    for _ in range(draw(st.integers(1, max_steps))):
        growing.step()
        if draw(st.integers(0, 5)) == 0:
            # Something for the rules on what does not vary.
            growing.pool.append(growing.spread())
    results = draw(st.lists(st.sampled_from(growing.pool[-6:]), min_size=1, max_size=4))
    return Function("random", growing.builder.block(growing.params, results))


SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.0, -2.5, 1e308)


def arguments(function: Function, seed: int, *, special: bool = False) -> list[Array]:
    """Arguments in [-1, 1], or drawn from numbers that break careless algebra."""
    rng = np.random.default_rng(seed)
    found: list[Array] = []
    for param in function.body.params:
        assert param.type.dtype != BOOL
        shape = tuple(map(dims.known, param.type.shape))
        found.append(np.asarray(rng.choice(SPECIAL, shape) if special else rng.uniform(-1, 1, shape)))
    return found
