"""Marks in a trace: calls that become regions, and values that are to be kept or made again.

A region is recorded like any other code, so it may do what other code does. What is outside of it has values
that it made: what it returned, or left in arrays and variables. All its values are results of the region at
first; those that nothing outside uses are dropped when the trace is over.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from symgrad.errors import ArgumentError, Loc, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.index_names import binds_after, bound_by
from symgrad.ir.opdef import Flow, OpDef
from symgrad.ir.ops.marks import fence
from symgrad.ir.ops.marks import recompute as recompute_op
from symgrad.ir.ops.marks import save as save_op
from symgrad.ir.regions import checkpoint_op, flow_of
from symgrad.trace.open_regions import OpenRegion, closed
from symgrad.trace.places import caller
from symgrad.trace.raised import raised
from symgrad.trace.running import running_recorder
from symgrad.trace.storage import View
from symgrad.trace.tracer import Recorder, Tracer
from symgrad.trace.trees import flatten, tree_map


# ---- regions ----------------------------------------------------------------------------------------------
@contextmanager
def marked_region() -> Generator[None]:
    """What is traced within becomes the region of a `checkpoint`; outside of a trace, nothing happens."""
    recorder = running_recorder()
    if recorder is None:
        yield
        return
    loc, region = caller(), OpenRegion()
    recorder.outer.append(recorder.ops)
    recorder.ops = region.ops
    try:
        yield
    finally:
        recorder.ops = recorder.outer.pop()
        _close(recorder, region, loc)


def _close(recorder: Recorder, region: OpenRegion, loc: Loc | None) -> None:
    """Append the op of a region; its results are the values that the region has made."""
    made = region.results = tuple(v for op in region.ops for v in op.results)
    if not made:
        return
    captured, (block,) = closed(region)
    recorder.behind.update(_behind(region.ops, captured))
    builder = Builder()
    builder.loc = loc
    params = [Value(v.type, v.hint) for v in captured]
    results = builder.inline(block, [builder.emit(fence, (p,)) for p in params])
    recorder.append(checkpoint_op(captured, builder.block(params, results), loc, made))


def _behind(ops: Sequence[Op], captured: Sequence[Value]) -> dict[Value, tuple[Value, ...]]:
    """By each value that ops make, those of the captured ones that it depends on."""
    found: dict[Value, dict[Value, None]] = {v: {v: None} for v in captured}
    for op in ops:
        roots = {root: None for v in op.operands for root in found.get(v, ())}
        found.update(dict.fromkeys(op.results, roots))
    return {v: tuple(found[v]) for op in ops for v in op.results}


def settled(block: Block) -> Block:
    """The block with no results of `checkpoint` ops but those that are used; they must not change in size."""
    used = {v for op in block.ops for v in op.operands}.union(block.results)
    ops: list[Op] = []
    for op in block.ops:
        regions = tuple(map(settled, op.regions))
        if flow_of(op) is Flow.AGAIN:
            if used.isdisjoint(op.results):
                continue
            op, regions = _settled(op, used)
        ops.append(op if regions == op.regions else replace(op, regions=regions))
    return Block(block.params, tuple(ops), block.results) if tuple(ops) != block.ops else block


def _settled(op: Op, used: set[Value]) -> tuple[Op, tuple[Block, ...]]:
    """The op with those of its results that are used, and its settled region."""
    (body,) = op.regions
    kept = [k for k, v in enumerate(op.results) if v in used]
    names = {bound_by(inner) for inner in body.ops if binds_after(inner)}
    for k in kept:
        if not names.isdisjoint(dims.names(*op.results[k].type.shape)):
            raise raised(UnsupportedError(
                f"an array of type {op.results[k].type} leaves a function under symgrad.checkpoint",
                loc=op.loc, why="its size is counted in the function, and known nowhere else",
                cure="take that part outside: of what is passed, or of what is returned",
            ))  # fmt: skip
    results = tuple(op.results[k] for k in kept)
    block = Block(body.params, body.ops, tuple(body.results[k] for k in kept))
    return replace(op, results=results), (settled(block),)


# ---- values -----------------------------------------------------------------------------------------------
def save(x: Any) -> Any:
    """x, which is kept for the reverse sweep."""
    return _marked("save", x, save_op)


def recompute(x: Any) -> Any:
    """x, which is not kept for the reverse sweep."""
    return _marked("recompute", x, recompute_op)


def _marked(name: str, tree: Any, opdef: OpDef) -> Any:
    """The tree with a mark on each traced array of it; the very tree if there is none."""
    leaves, _ = flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tracer | np.ndarray | np.generic | bool | int | float | complex):
            raise ArgumentError(
                f"symgrad.{name} is given an object of type {type(leaf).__name__}, not an array",
                loc=caller(),
                cure="pass arrays, numbers, and dicts, lists, tuples and dataclasses of them",
            )
    traced = any(isinstance(leaf, Tracer) and leaf.known is None for leaf in leaves)
    return tree_map(lambda leaf: _view(leaf, opdef), tree) if traced else tree


def _view(x: Any, opdef: OpDef) -> Any:
    """A leaf with a mark; of an array, a view: what is written into it is written into the array."""
    if not isinstance(x, Tracer) or x.known is not None:
        return x
    recorder, root = x.lift(x).recorder, x.value
    value = recorder.emit(opdef, (root,), loc=x.here())
    if not x.array:
        return Tracer(value, recorder, x.weak)
    view = View(x, lambda y: _view(y, opdef), (recorder.ops[-1],), root)
    view.remember(value, recorder)
    return Tracer.viewing(view, x.type)
