"""Loops and branches taken apart: which operands, params and results of their regions belong together.

A loop has carries, constants and, if it is a `for_loop`, xs, of which each iteration sees one row. Its body
returns the carries of the next iteration and one row of each of its ys. The row of iteration i is i - lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from symgrad.errors import Loc
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Attr, Block, Op, Value, sorted_attrs
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Control, Flow
from symgrad.ir.ops import checkpoint, cond, for_loop, while_loop
from symgrad.ir.types import BOOL, I64, ArrayType, array_type

Values = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ForLoop:
    """The parts of a `for_loop`."""

    index: str
    lower: Dim
    upper: Dim
    reverse: bool  # from upper - 1 down to lower
    carries: Values
    constants: Values
    xs: Values
    body: Block

    @property
    def trips(self) -> Dim:
        """How often the body runs."""
        return dims.shift(self.upper, self.lower)

    @property
    def range(self) -> tuple[Dim, Dim]:
        """The values of the index, the upper end excluded."""
        return self.lower, self.upper

    def split_params(self) -> tuple[Values, Values, Values]:
        """The params of the body: carries, constants, rows of xs."""
        a, b = len(self.carries), len(self.carries) + len(self.constants)
        return self.body.params[:a], self.body.params[a:b], self.body.params[b:]

    def split_results(self) -> tuple[Values, Values]:
        """The results of the body: carries, rows of ys."""
        return self.body.results[: len(self.carries)], self.body.results[len(self.carries) :]


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """The parts of a `while_loop`; both regions have the carries and constants as params."""

    trips: str  # the name that the trip count has in sizes
    carries: Values
    constants: Values
    test: Block
    body: Block
    expected: int | None = None  # about how often it runs; None: nobody knows

    def split_results(self) -> tuple[Values, Values]:
        """The results of the body: carries, rows of ys."""
        return self.body.results[: len(self.carries)], self.body.results[len(self.carries) :]


@dataclass(frozen=True, slots=True)
class Branch:
    """The parts of a `cond`; both regions have the constants as params."""

    predicate: Value
    constants: Values
    then: Block
    otherwise: Block


def flow_of(op: Op) -> Flow | None:
    """How the op runs its regions; None if it has none."""
    return op.opdef.lowering.flow if isinstance(op.opdef.lowering, Control) else None


# ---- taking apart -----------------------------------------------------------------------------------------
def as_for(op: Op) -> ForLoop:
    """The parts of an op whose flow is FOR."""
    attrs = dict(op.attrs)
    a = cast(int, attrs["carries"])
    b = len(op.operands) - cast(int, attrs["xs"])
    return ForLoop(
        cast(str, attrs["index"]), cast(Dim, attrs["lower"]), cast(Dim, attrs["upper"]),
        cast(bool, attrs["reverse"]), op.operands[:a], op.operands[a:b], op.operands[b:], op.regions[0],
    )  # fmt: skip


def as_while(op: Op) -> WhileLoop:
    """The parts of an op whose flow is WHILE."""
    attrs = dict(op.attrs)
    a = cast(int, attrs["carries"])
    test, body = op.regions
    expected = cast("int | None", attrs.get("expected"))
    return WhileLoop(cast(str, attrs["trips"]), op.operands[:a], op.operands[a:], test, body, expected)


def as_branch(op: Op) -> Branch:
    """The parts of an op whose flow is BRANCH."""
    then, otherwise = op.regions
    return Branch(op.operands[0], op.operands[1:], then, otherwise)


# ---- types ------------------------------------------------------------------------------------------------
def row_type(stack: ArrayType) -> ArrayType:
    """The type of a row."""
    return stack.with_shape(stack.shape[1:])


def stack_type(row: ArrayType, rows: Dim) -> ArrayType:
    """The type of stacked rows."""
    return row.with_shape((rows, *row.shape))


def result_types(op: Op) -> tuple[ArrayType, ...]:
    """The types that the results of an op with regions must have."""
    match flow_of(op):
        case Flow.FOR:
            loop = as_for(op)
            carried, rows = loop.split_results()
            return (*(v.type for v in carried), *(stack_type(v.type, loop.trips) for v in rows))
        case Flow.WHILE:
            loop = as_while(op)
            carried, rows = loop.split_results()
            trips = dims.index(loop.trips)
            stacks = (stack_type(v.type, trips) for v in rows)
            return (*(v.type for v in carried), array_type(I64), *stacks)
        case Flow.BRANCH | Flow.ONCE | Flow.AGAIN | None:
            return tuple(v.type for v in op.regions[0].results)


def carries_of(op: Op) -> int:
    """How many of the results of an op are carries of a loop."""
    match flow_of(op):
        case Flow.FOR:
            return len(as_for(op).carries)
        case Flow.WHILE:
            return len(as_while(op).carries)
        case Flow.BRANCH | Flow.ONCE | Flow.AGAIN | None:
            return 0


# ---- making -----------------------------------------------------------------------------------------------
def for_op(loop: ForLoop, loc: Loc | None = None, results: Sequence[Value] | None = None) -> Op:
    """The op with these parts, and these results if they exist already."""
    attrs: dict[str, Attr] = {
        "index": loop.index, "lower": loop.lower, "upper": loop.upper, "reverse": loop.reverse,
        "carries": len(loop.carries), "xs": len(loop.xs),
    }  # fmt: skip
    made = Op(
        for_loop, (*loop.carries, *loop.constants, *loop.xs), (), sorted_attrs(attrs), (loop.body,), loc
    )
    return _with_results(made, loop.body.results, results)


def while_op(loop: WhileLoop, loc: Loc | None = None, results: Sequence[Value] | None = None) -> Op:
    """The op with these parts, and these results if they exist already."""
    attrs: dict[str, Attr] = {"trips": loop.trips, "carries": len(loop.carries)}
    if loop.expected is not None:
        attrs["expected"] = loop.expected
    regions = (loop.test, loop.body)
    made = Op(while_loop, (*loop.carries, *loop.constants), (), sorted_attrs(attrs), regions, loc)
    n = len(loop.carries)
    count = Value(array_type(I64), loop.trips)
    return _with_results(made, (*loop.body.results[:n], count, *loop.body.results[n:]), results)


def branch_op(branch: Branch, loc: Loc | None = None, results: Sequence[Value] | None = None) -> Op:
    """The op with these parts, and these results if they exist already."""
    regions = (branch.then, branch.otherwise)
    made = Op(cond, (branch.predicate, *branch.constants), (), (), regions, loc)
    return _with_results(made, branch.then.results, results)


def checkpoint_op(
    operands: Sequence[Value], body: Block, loc: Loc | None = None, results: Sequence[Value] | None = None
) -> Op:
    """The op of a region of which reverse mode keeps nothing, with these results if they exist already."""
    made = Op(checkpoint, tuple(operands), (), (), (body,), loc)
    return _with_results(made, body.results, results)


def _with_results(op: Op, named_as: Sequence[Value], results: Sequence[Value] | None) -> Op:
    if results is None:
        types = result_types(op)
        results = [Value(t, v.hint) for t, v in zip(types, named_as, strict=True)]
    return Op(op.opdef, op.operands, tuple(results), op.attrs, op.regions, op.loc)


def emit(builder: Builder, op: Op) -> Values:
    """The results of an op, appended; it gets the location of the builder if it has none."""
    if op.loc is None:
        op = Op(op.opdef, op.operands, op.results, op.attrs, op.regions, builder.loc)
    builder.append(op)
    return op.results


# ---- what regions must be ---------------------------------------------------------------------------------
def misfits(op: Op) -> list[str]:
    """How the regions of a loop or branch miss its operands; nothing if they fit."""
    match flow_of(op):
        case Flow.FOR:
            loop = as_for(op)
            rows = [row_type(v.type) if v.type.rank else v.type for v in loop.xs]
            given = [*(v.type for v in (*loop.carries, *loop.constants)), *rows]
            found = _differ("operands, rows of xs taken", given, "params", _types(loop.body.params))
            for v in loop.xs:
                if not v.type.rank or not dims.equal(v.type.shape[0], loop.trips):
                    found.append(f"xs of type {v.type} for {dims.format_dim(loop.trips)} iterations")
            carried, stacked = loop.split_results()
            found += _differ("carries", _types(loop.carries), "next carries", _types(carried))
            return found + [
                f"a row of type {v.type} has a size that changes from one iteration to the next"
                for v in stacked
                if loop.index in dims.names(*v.type.shape)
            ]
        case Flow.WHILE:
            loop = as_while(op)
            given = _types((*loop.carries, *loop.constants))
            found = _differ("operands", given, "params of the test", _types(loop.test.params))
            found += _differ("operands", given, "params of the body", _types(loop.body.params))
            found += _differ("test", _types(loop.test.results), "truth value", [array_type(BOOL)])
            return found + _differ(
                "carries", _types(loop.carries), "next carries", _types(loop.split_results()[0])
            )
        case Flow.BRANCH:
            branch = as_branch(op)
            given = _types(branch.constants)
            found = _differ("predicate", [branch.predicate.type], "truth value", [array_type(BOOL)])
            for block in (branch.then, branch.otherwise):
                found += _differ("operands", given, "params", _types(block.params))
            return found + _differ(
                "results of one branch", _types(branch.then.results),
                "results of the other", _types(branch.otherwise.results),
            )  # fmt: skip
        case Flow.AGAIN:
            return _differ("operands", _types(op.operands), "params", _types(op.regions[0].params))
        case Flow.ONCE | None:
            return []


def _types(values: Sequence[Value]) -> list[ArrayType]:
    return [v.type for v in values]


def _differ(a: str, left: list[ArrayType], b: str, right: list[ArrayType]) -> list[str]:
    """The fault of two lists of types that should be the same."""
    return [] if left == right else [f"the {a} are {_listed(left)}; the {b} are {_listed(right)}"]


def _listed(types: list[ArrayType]) -> str:
    return ", ".join(map(str, types)) or "none"
