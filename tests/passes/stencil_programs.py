"""Random loops over arrays that read their old values around each place, as `double` looks for them."""

from __future__ import annotations

from hypothesis import strategies as st

from passes.random_blocks import Growing
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Function, Value
from symgrad.ir.dims import Dim
from symgrad.ir.regions import ForLoop, emit, for_op, row_type
from symgrad.ir.types import F64, ArrayType, array_type

SHAPES = ((64,), (65,), (8, 9), (66, 1))
TRIPS = (8, 9)


class Body(Growing):
    """The body of a loop over arrays of one shape, in which every value stays small."""

    def part(self, x: Value, shape: tuple[int, ...]) -> Value:
        """A block of an array, anywhere in it."""
        start = tuple(
            self.draw(st.integers(0, dims.known(n) - m)) for n, m in zip(x.type.shape, shape, strict=True)
        )
        stop = tuple(a + m for a, m in zip(start, shape, strict=True))
        return self.emit("slice", x, start=start, stop=stop, step=(1,) * len(shape))

    def values(self, shape: tuple[int, ...], arrays: list[Value], depth: int) -> Value:
        """An array of a shape, computed from parts of larger ones, or of those padded."""
        kind = self.one(("part", "part", "number", "sin", "add", "sub", "mul", "pad")) if depth else "part"
        match kind:
            case "part":
                return self.part(self.one(arrays), shape)
            case "number":
                return self.emit("constant", type=array_type(F64, *shape), value=self.one((0.0, -1.0, 0.5)))
            case "sin":
                return self.kept(self.emit("sin", self.values(shape, arrays, depth - 1)))
            case "pad":
                low = tuple(self.one((0, 1)) if n > 2 else 0 for n in shape)
                high = tuple(self.one((0, 1)) if n > 2 else 0 for n in shape)
                inside = tuple(n - a - b for n, a, b in zip(shape, low, high, strict=True))
                x = self.values(inside, arrays, depth - 1)
                return self.emit("pad", x, low=low, high=high, interior=(0,) * len(shape))
            case _:
                x, y = (self.values(shape, arrays, depth - 1) for _ in range(2))
                return self.kept(self.emit(kind, x, y))

    def kept(self, x: Value) -> Value:
        """The value, which later ones may be computed from again."""
        self.pool.append(x)
        return x

    def step(self, x: Value, arrays: list[Value]) -> Value:
        """The array with a block of it changed, or computed anew."""
        shape = tuple(map(dims.known, x.type.shape))
        sources = [*arrays, x, x]
        sources += [v for v in self.pool if v.type == x.type]
        kind = self.one(("whole", "write", "write", "add", "few"))
        if kind == "whole":
            return self.emit("sin", self.emit("add", x, self.values(shape, sources, 3)))
        lose = [self.one((0, 1, 2)) if n > 2 else 0 for n in shape]
        size = tuple(1 if kind == "few" else n - m for n, m in zip(shape, lose, strict=True))
        start = tuple(self.draw(st.integers(0, n - m)) for n, m in zip(shape, size, strict=True))
        name = "add_slice" if kind == "add" else "update_slice"
        u = (
            self.emit("sin", self.values(size, sources, 3))
            if self.chance(2)
            else self.values(size, sources, 1)
        )
        if u.type == x.type:
            self.kept(u)
        return self.emit(name, x, u, start=start, step=(1,) * len(shape))


@st.composite
def stencil_programs(draw: st.DrawFn) -> Function:
    """A program of one loop, with one or two arrays and perhaps rows, a number, and other results."""
    shape = draw(st.sampled_from(SHAPES))
    lower, trips = draw(st.sampled_from((0, 2))), draw(st.sampled_from(TRIPS))
    count = draw(st.integers(1, 2))
    types = [array_type(F64, *shape)] * count
    xs: list[ArrayType] = [array_type(F64, trips, *shape)] if draw(st.booleans()) else []
    params = [Value(t) for t in (*types, array_type(F64), *xs)]
    inner = [Value(t) for t in (*types, array_type(F64), *map(row_type, xs))]
    index: Dim = dims.index("i")
    body = Body(draw, inner, {"i": (lower, lower + trips)}, lambda: "j", 0)
    arrays = [v for v in inner if v.type.rank]
    at = body.emit("convert", body.emit("dim", value=index), type=array_type(F64))
    factor = body.emit("sin", body.emit("add", inner[count], at))
    arrays.append(body.emit("broadcast", factor, type=types[0], axes=tuple(range(len(shape)))))
    results = list(inner[:count])
    for _ in range(draw(st.integers(1, 3))):
        k = draw(st.integers(0, count - 1))
        results[k] = body.step(results[k], [*arrays, *results])
    if draw(st.booleans()):
        results.reverse()
    block = body.builder.block(inner, results)
    return _looped(params, count, len(xs), (lower, lower + trips), draw(st.booleans()), block)


def _looped(
    params: list[Value], carries: int, xs: int, ends: tuple[int, int], reverse: bool, body: Block
) -> Function:
    outer = Builder()
    first = len(params) - xs
    loop = ForLoop(
        "i",
        *ends,
        reverse,
        tuple(params[:carries]),
        tuple(params[carries:first]),
        tuple(params[first:]),
        body,
    )
    found = emit(outer, for_op(loop))
    return Function("random", outer.block(params, found))
