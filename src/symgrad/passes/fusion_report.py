"""Why a fused program has the kernels that it has: the lines in each, and what kept it from those before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from symgrad.ir import dims
from symgrad.ir.core import Block, Function, Op, Value
from symgrad.ir.dims import Shape
from symgrad.ir.opdef import ArgReduce, Flow, Gather, Reduce, Remap, Scalar, Scatter, Update, View
from symgrad.ir.regions import as_for, flow_of
from symgrad.passes.grouping import MAX_GROUP_OPS
from symgrad.passes.members import space_of


@dataclass(frozen=True, slots=True)
class Boundary:
    """A value that one kernel reads from another op at the top, and why the two are not one."""

    value: Value
    maker: int  # the number of the op that makes it
    reason: str


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One kernel of a fused program."""

    number: int  # among the ops of its block
    within: tuple[str, ...]  # the loops and branches around it, the outermost first
    space: Shape  # the points that it runs over
    ops: int
    lines: tuple[str, ...]  # of the user's source, as file:line
    boundaries: tuple[Boundary, ...]

    def __str__(self) -> str:
        size = "×".join(map(dims.format_dim, self.space)) or "one point"
        where = f" from {', '.join(self.lines)}" if self.lines else ""
        around = f" in {', '.join(self.within)}" if self.within else ""
        head = f"kernel {self.number}{around}: {self.ops} ops over {size}{where}"
        return "\n".join(
            [head, *(f"  after op {b.maker}: {b.reason} ({b.value.type})" for b in self.boundaries)]
        )


def fusion_report(function: Function) -> list[KernelReport]:
    """A report on each kernel of a fused function, in order."""
    return list(_reports(function.body, ()))


def _reports(block: Block, within: tuple[str, ...]) -> Iterator[KernelReport]:
    """A report on each kernel of a block and of the loops and branches in it."""
    makers = {v: (k, op) for k, op in enumerate(block.ops) for v in op.results}
    for k, op in enumerate(block.ops):
        if flow_of(op) is Flow.ONCE:
            boundaries = tuple(_boundaries(op, makers))
            yield KernelReport(k, within, _space(op), len(op.regions[0].ops), _lines(op), boundaries)
            continue
        for name, region in zip(_region_names(op), op.regions, strict=True):
            yield from _reports(region, (*within, f"{name} (op {k})"))


def _region_names(op: Op) -> tuple[str, ...]:
    """What the regions of a loop or branch are called."""
    match flow_of(op):
        case Flow.FOR:
            return (f"for {as_for(op).index}",)
        case Flow.WHILE:
            return ("while's test", "while")
        case Flow.BRANCH:
            return ("if", "else")
        case Flow.ONCE | Flow.AGAIN | None:
            return ()


def _space(kernel: Op) -> Shape:
    """The space of the first op that makes a result; the shape of the result for a plain copy."""
    (body,) = kernel.regions
    results = set(body.results)
    return next(
        (space_of(op) for op in body.ops if not results.isdisjoint(op.results)),
        body.results[0].type.shape if body.results else (),
    )


def _lines(kernel: Op) -> tuple[str, ...]:
    found = {(loc.file, loc.line) for op in kernel.regions[0].ops if (loc := op.loc) is not None}
    return tuple(f"{os.path.basename(file)}:{line}" for file, line in sorted(found))


def _boundaries(kernel: Op, makers: dict[Value, tuple[int, Op]]) -> Iterator[Boundary]:
    (body,) = kernel.regions
    for operand, param in zip(kernel.operands, body.params, strict=True):
        if operand not in makers:
            continue
        number, maker = makers[operand]
        source = operand
        while isinstance(maker.opdef.lowering, View) and maker.operands[0] in makers:
            source = maker.operands[0]
            number, maker = makers[source]
        readers = [op for op in body.ops if param in op.operands]
        yield Boundary(operand, number, _reason(kernel, maker, source, readers))


def _reason(kernel: Op, maker: Op, value: Value, readers: list[Op]) -> str:
    if flow_of(maker) is not Flow.ONCE:
        return f"{maker.opdef.name} is computed by itself"
    (body,) = maker.regions
    inner = (
        next(op for op in body.ops if body.results[maker.results.index(value)] in op.results)
        if body.ops
        else None
    )
    if inner is not None and isinstance(inner.opdef.lowering, Reduce | ArgReduce | Scatter | Update):
        return f"{inner.opdef.name} has to end first"
    if any(isinstance(op.opdef.lowering, Gather | Scatter) for op in readers):
        return "it is read at positions known only at run time"
    if any(isinstance(op.opdef.lowering, Remap) for op in readers):
        return "it is read at other points than it is made at"
    if not dims.same(_space(kernel), _space(maker)):
        return "its space is another one"
    if len(body.ops) + len(kernel.regions[0].ops) > MAX_GROUP_OPS:
        return f"together they would have more than {MAX_GROUP_OPS} ops"
    if all(isinstance(op.opdef.lowering, Scalar | Reduce | ArgReduce) for op in readers):
        return "something else has to run between them"
    return "it has to lie in memory"
