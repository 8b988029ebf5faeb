"""Loops whose xs become constants, of which the body reads a row at the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Value
from symgrad.ir.ops.shapes import reshape, slice_
from symgrad.ir.regions import ForLoop, row_type


def indexed(loop: ForLoop, kept: Sequence[Value] = ()) -> ForLoop:
    """The loop with constants in the place of all xs but some, of which the body reads a row at the index.

    Its xs are those of `kept`, each once and in this order.
    """
    if len(loop.xs) == len(kept):
        return loop
    carried, constants, rows = loop.split_params()
    builder, values = Builder(), dict[Value, Value]()
    first: dict[Value, Value] = {}
    stacks: dict[Value, Value] = {}  # the param of each
    at = dims.shift(dims.index(loop.index), loop.lower)
    for x, row in zip(loop.xs, rows, strict=True):
        if x in kept:
            values[row] = first.setdefault(x, row)
        else:
            stacks.setdefault(x, Value(x.type, x.hint))
            values[row] = row_of(stacks[x], at, builder)
    for op in loop.body.ops:
        builder.append(replace(op, operands=tuple(values.get(v, v) for v in op.operands)))
    results = [values.get(v, v) for v in loop.body.results]
    params = (*carried, *constants, *stacks.values(), *(first[x] for x in kept))
    body = builder.block(params, results)
    return replace(loop, constants=(*loop.constants, *stacks), xs=tuple(kept), body=body)


def row_of(stack: Value, at: dims.Dim, builder: Builder) -> Value:
    """The row of a stack at a place."""
    sizes = stack.type.shape[1:]
    start, stop = (at, *(0 for _ in sizes)), (dims.add(at, 1), *sizes)
    part = builder.emit(slice_, (stack,), {"start": start, "stop": stop, "step": (1,) * len(start)})
    return builder.emit(reshape, (part,), {}, row_type(stack.type))
