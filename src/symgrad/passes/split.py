"""Splitting for threads: what comes before a region of rows, the region for each chunk, and what comes after.

Each is a function of its own, compiled like any other. A chunk reads some rows of its operands along their
first axis, makes its rows of the results, and its shares of the sums over rows, which are added up afterwards
in the order of the chunks. What costs nothing where it is read is made again in each part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.index_names import mentioned_in
from symgrad.ir.launch import How
from symgrad.ir.opdef import Reduce, Scalar
from symgrad.ir.ops.reductions import sum_
from symgrad.ir.ops.shapes import transpose
from symgrad.ir.types import ArrayType
from symgrad.passes.dce import dce
from symgrad.passes.row_loop import emit_rows
from symgrad.passes.row_region import RowRegion, escaping, is_free, row_region

LIGHT = 4096  # bytes: an op on arrays that small is done again where its result is read


@dataclass(frozen=True, slots=True)
class Chunks:
    """A region of rows in chunks: one function for each number of rows that they have."""

    bounds: tuple[int, ...]  # the first row of each chunk, and at last the number of rows
    functions: dict[int, Function]  # by the number of rows
    operands: tuple[tuple[Value, How], ...]  # params of the split function, or results of what comes before
    results: tuple[tuple[Value, How], ...]  # params of what comes after

    @property
    def sizes(self) -> list[int]:
        """The rows of each chunk."""
        return [stop - start for start, stop in pairwise(self.bounds)]


_Rows: TypeAlias = (
    "tuple[Value, int | None]"  # a value and the axis of its rows; None if it is whole, or a sum
)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A region for some rows."""

    function: Function
    operands: list[_Rows]  # for each param
    results: list[_Rows]


@dataclass(frozen=True, slots=True)
class Split:
    """A function as three parts, whose params are params of the function or results of earlier parts."""

    before: Function
    chunks: Chunks
    after: Function
    results: tuple[Value, ...]  # those of the split function, each a param or a result of some part

    @property
    def ops(self) -> int:
        """The number of ops in a chunk."""
        return len(next(iter(self.chunks.functions.values())).body.ops)


def split(function: Function, size: int, count: int) -> Split | None:
    """The function with its region of so many rows in chunks; None if it cannot be cut so."""
    region = row_region(function.body, size)
    if not region.members or not 1 < count <= size:
        return None
    found = _Splitting(function, region, count).split()
    whole = all(
        dims.is_known(n)
        for f in _parts(found)
        for v in (*f.body.params, *f.body.results)
        for n in v.type.shape
    )
    return found if whole and not any(mentioned_in(f.body) for f in _parts(found)) else None


def _parts(found: Split) -> tuple[Function, ...]:
    return found.before, *found.chunks.functions.values(), found.after


def even_bounds(size: int, count: int) -> tuple[int, ...]:
    """Where chunks begin whose sizes differ by at most one row, the larger ones first, and the end."""
    rows, more = divmod(size, count)
    return tuple(k * rows + min(k, more) for k in range(count + 1))


class _Splitting:
    """One function on its way to be split."""

    def __init__(self, function: Function, region: RowRegion, count: int) -> None:
        self.function = function
        self.region = region
        self.bounds = even_bounds(region.size, count)
        self.free = {op.result: op for op in region.before if is_free(op) or _is_light(op)}  # in order
        self.turned = Builder()  # before the chunks: moves the rows of their operands to the first axis
        self._first: dict[tuple[Value, int], Value] = {}  # values with the rows along that axis first

    def split(self) -> Split:
        """The three parts."""
        rows = sorted({stop - start for start, stop in pairwise(self.bounds)})
        made = [self._chunk(n) for n in rows]
        stored = {v: self._stored(v, axis) for v, axis in made[0].results}
        operands = tuple(
            (self._slot(v, axis), How.WHOLE if axis is None else How.ROWS) for v, axis in made[0].operands
        )
        results = tuple((stored[v], How.SHARE if axis is None else How.ROWS) for v, axis in made[0].results)
        early = _needed([*self.region.before, *self.turned.ops], {v for v, _ in operands})
        after = self._after(stored, early)
        wanted = {v for v, _ in operands}.union(after.body.params)
        passed = [v for op in early for v in op.results if v in wanted]
        functions = {n: chunk.function for n, chunk in zip(rows, made, strict=True)}
        chunks = Chunks(self.bounds, functions, operands, results)
        return Split(self._part("before", early, passed), chunks, _own_results(after), after.body.results)

    # ---- one chunk ----------------------------------------------------------------------------------------
    def _chunk(self, rows: int) -> _Chunk:
        """The region for so many rows."""
        builder, params, given = Builder(), dict[_Rows, Value](), dict[_Rows, Value]()

        def source(v: Value, axis: int | None) -> Value:
            """Some rows of a value from outside, or all of it."""
            if (v, axis) in given:
                return given[v, axis]
            op = self.free.get(v) if axis is None else None
            if op is not None:
                operands = tuple(source(x, None) for x in op.operands)
                found = replace(v)
                builder.append(replace(op, operands=operands, results=(found,)))
            else:
                found = params[v, axis] = Value(_rows_first(v.type, axis, rows), v.hint)
                if axis:
                    found = _moved(found, 0, axis, builder)
            given[v, axis] = found
            return found

        made = emit_rows(self.region, rows, builder, source)
        results: list[_Rows] = [(v, self.region.rows[v]) for v in escaping(self.region, self.function.body)]
        results += [(v, None) for v in self.region.sums]
        outs = [_moved(made[v], axis, 0, builder) if axis else made[v] for v, axis in results]
        body = dce(Function(f"{self.function.name}_rows", builder.block(list(params.values()), outs))).body
        read = {v for op in body.ops for v in op.operands}
        operands = [key for key, param in params.items() if param in read]
        body = replace(body, params=tuple(params[key] for key in operands))
        return _Chunk(Function(f"{self.function.name}_rows", body), operands, results)

    # ---- between the parts --------------------------------------------------------------------------------
    def _slot(self, v: Value, axis: int | None) -> Value:
        """What chunks read rows of, or read whole: the value, with the axis of its rows first."""
        if not axis:
            return v
        if (v, axis) not in self._first:
            self._first[v, axis] = _moved(v, axis, 0, self.turned)
        return self._first[v, axis]

    def _stored(self, v: Value, axis: int | None) -> Value:
        """What the chunks together make of a value of the region."""
        if axis is None:
            return Value(v.type.with_shape((len(self.bounds) - 1, *v.type.shape)), v.hint)
        return Value(_rows_first(v.type, axis, self.region.size), v.hint) if axis else v

    def _after(self, stored: dict[Value, Value], early: Sequence[Op]) -> Function:
        """What comes after the chunks, and all that they do not wait for."""
        builder, values, done = Builder(), dict[Value, Value](), set(early)
        builder.ops += (op for op in self.region.before if op not in done)
        for v, whole in stored.items():
            if v in self.region.sums:
                values[v] = builder.emit(sum_, (whole,), {"axes": (0,)}, hint=v.hint)
            elif whole is not v:
                values[v] = _moved(whole, 0, self.region.rows[v], builder)
        for op in self.region.after:
            operands = tuple(values.get(v, v) for v in op.operands)
            builder.append(op if operands == op.operands else replace(op, operands=operands))
        return self._part("after", builder.ops, [values.get(v, v) for v in self.function.body.results])

    def _part(self, name: str, ops: Sequence[Op], results: Sequence[Value]) -> Function:
        """A part, with what it reads as params, but for what costs nothing, which it makes again."""
        made = {v for op in ops for v in op.results}
        wanted = {v for op in ops for v in op.operands}.union(results).difference(made)
        again: list[Op] = []
        for v, op in reversed(self.free.items()):
            if v in wanted:
                again.append(op)
                wanted.update(op.operands)
        body = Block((), (*reversed(again), *ops), tuple(results))
        return _with_params(dce(Function(f"{self.function.name}_{name}", body)))


def _is_light(op: Op) -> bool:
    """Whether it takes no time to do an op again in every part."""
    if not isinstance(op.opdef.lowering, Scalar | Reduce):
        return False
    sizes = [v.type.nbytes for v in (*op.operands, *op.results)]
    return all(dims.is_known(n) and dims.known(n) <= LIGHT for n in sizes)


def _own_results(function: Function) -> Function:
    """The function without results that are its params, and without params that it does not need then."""
    body = function.body
    results = tuple(v for v in dict.fromkeys(body.results) if v not in body.params)
    return _with_params(with_body(function, Block((), body.ops, results)))


def _with_params(function: Function) -> Function:
    """The function with what it reads as params, in order."""
    body = function.body
    made = {v for op in body.ops for v in op.results}
    read = dict.fromkeys((*(v for op in body.ops for v in op.operands), *body.results))
    return with_body(function, replace(body, params=tuple(v for v in read if v not in made)))


def _needed(ops: Sequence[Op], wanted: set[Value]) -> list[Op]:
    """The ops that the wanted values depend on, in order."""
    found: list[Op] = []
    for op in reversed(ops):
        if not wanted.isdisjoint(op.results):
            found.append(op)
            wanted = wanted.union(op.operands)
    return found[::-1]


def _rows_first(type: ArrayType, axis: int | None, rows: int) -> ArrayType:
    """The type of so many rows of an array, their axis first."""
    if axis is None:
        return type
    return type.with_shape((rows, *type.shape[:axis], *type.shape[axis + 1 :]))


def _moved(value: Value, source: int, goal: int, builder: Builder) -> Value:
    """The value with one axis in another place."""
    perm = [k for k in range(value.type.rank) if k != source]
    perm.insert(goal, source)
    return builder.emit(transpose, (value,), {"perm": tuple(perm)}, hint=value.hint)
