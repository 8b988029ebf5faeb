"""Loop-invariant code motion: what is the same in every iteration is computed once, before the loop.

A loop may run no time at all, so what could raise stays inside unless the loop certainly runs, and what may
never end stays in any case. So does what costs nothing where it is read – moves, numbers, repeats of smaller
arrays – for it would have to be stored; it is computed again outside for the ops that leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Function, Op, Value, with_body
from symgrad.ir.index_names import binds_after, bound_by, mentioned, ranges_after, ranges_inside
from symgrad.ir.opdef import (
    ArgReduce,
    Composed,
    Coordinate,
    Extent,
    Flow,
    Gather,
    Library,
    Reduce,
    Reduction,
    Remap,
    Scalar,
    Scatter,
    View,
)
from symgrad.ir.regions import as_for, as_while, flow_of
from symgrad.passes.literals import splat_of
from symgrad.passes.remade import remade, repeats

MAX_FLOPS = 8  # to compute an element of repeated values again


def hoist(function: Function) -> Function:
    """The function with what does not change in a loop computed before it."""
    body = _hoisted(function.body, {})
    return function if body is function.body else with_body(function, body)


def _hoisted(block: Block, ranges: dims.Ranges) -> Block:
    """The block with every loop in it, and in its regions, relieved; the same object if none can be."""
    ops: list[Op] = []
    changed = False
    for op in block.ops:
        inside = ranges_inside(op, ranges)
        regions = tuple(_hoisted(region, inside) for region in op.regions)
        inner = op if regions == op.regions else replace(op, regions=regions)
        before, relieved = _relieved(inner, ranges)
        changed |= relieved is not op
        ops += (*before, relieved)
        ranges = ranges_after(op, ranges)
    return Block(block.params, tuple(ops), block.results) if changed else block


# ---- one loop ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Leaving:
    """What of a region does not change from one iteration to the next."""

    moved: tuple[Op, ...]  # computed before the loop, in order
    again: frozenset[Op]  # of these, and others, what stays inside as well: it costs nothing there
    handed: tuple[Value, ...]  # results of moved ops that the region still reads, or returns


def _relieved(op: Op, ranges: dims.Ranges) -> tuple[Sequence[Op], Op]:
    """What can be computed before a loop, and the loop that is handed it; else nothing, and the op."""
    before: list[Op] = []
    for k in range(len(op.regions)) if flow_of(op) in (Flow.FOR, Flow.WHILE) else ():
        # The test of a `while` runs before its first iteration.
        certain = _certainly_runs(op, ranges) or (flow_of(op) is Flow.WHILE and k == 0)
        leaving = _leaving(op, op.regions[k], certain)
        if leaving.moved:
            ops, op = _handing(op, k, leaving)
            before += ops
    return before, op


def _constants(op: Op) -> slice:
    """The positions of the constants among the operands of a loop, and among the params of its regions."""
    if flow_of(op) is Flow.FOR:
        loop = as_for(op)
        return slice(len(loop.carries), len(loop.carries) + len(loop.constants))
    return slice(len(as_while(op).carries), len(op.operands))


def _certainly_runs(op: Op, ranges: dims.Ranges) -> bool:
    """Whether the loop has an iteration, whatever the indices around it are."""
    if flow_of(op) is not Flow.FOR:
        return False
    lower, upper = as_for(op).range
    return dims.never_above(dims.add(lower, 1), upper, ranges)


def _leaving(loop: Op, region: Block, certain: bool) -> _Leaving:
    """Which ops of a region of a loop leave it."""
    bound = {bound_by(op) for op in region.ops if binds_after(op)} | {bound_by(loop)}
    makers: dict[Value, Op] = {}
    same, free, moved = set(region.params[_constants(loop)]), set[Op](), list[Op]()
    spread = set[Value]()  # values made of repeats of smaller ones
    for op in region.ops:
        makers.update(dict.fromkeys(op.results, op))
        if not same.issuperset(op.operands) or not bound.isdisjoint(mentioned(op)):
            continue
        if binds_after(op) or not (certain or _harmless(op)) or not all(map(_ends, _with_inner(op))):
            continue
        same.update(op.results)
        moved.append(op)
        if repeats(op) or splat_of(op) is not None or (_cheap(op) and spread.issuperset(op.operands)):
            spread.update(op.results)
            free.add(op)
        elif _is_free(op) or any(remade(v, makers.get) for v in op.results):
            free.add(op)
    return _chosen(region, moved, frozenset(free))


def _chosen(region: Block, moved: Sequence[Op], free: frozenset[Op]) -> _Leaving:
    """What leaves: of the free ops, those that others read which leave."""
    wanted, kept = set[Value](), list[Op]()
    for op in reversed(moved):
        if op not in free or not wanted.isdisjoint(op.results):
            kept.append(op)
            wanted.update(op.operands)
    gone = {op for op in kept if op not in free}
    read = {v for op in region.ops if op not in gone for v in op.operands}.union(region.results)
    handed = tuple(v for op in reversed(kept) if op in gone for v in op.results if v in read)
    return _Leaving(tuple(reversed(kept)), free, handed)


def _with_inner(op: Op) -> Iterator[Op]:
    """The op and those in its regions."""
    yield op
    for region in op.regions:
        yield from walk(region)


def _is_free(op: Op) -> bool:
    """Whether the op is computed wherever it is read."""
    lowering = op.opdef.lowering
    return isinstance(lowering, Remap | View | Coordinate | Extent)


def _cheap(op: Op) -> bool:
    """Whether an element takes less to compute than to load."""
    return isinstance(op.opdef.lowering, Scalar) and op.opdef.lowering.flops <= MAX_FLOPS


def _ends(op: Op) -> bool:
    return flow_of(op) is not Flow.WHILE


def _harmless(op: Op) -> bool:
    """Whether the op, and those of its regions, can be run where they would not have been."""
    return all(_never_raises(each) for each in _with_inner(op))


def _never_raises(op: Op) -> bool:
    match op.opdef.lowering:
        case Gather() | Scatter() | Composed():
            return False
        case Library(fails=fails):
            return not fails
        case Scalar() as scalar:
            return all(scalar.demands(v.type) is None for v in op.operands)
        case Reduce(kind=kind):
            return kind not in (Reduction.MAX, Reduction.MIN) or _has_elements(op)
        case ArgReduce():
            return _has_elements(op)
        case _:
            return True


def _has_elements(op: Op) -> bool:
    return all(dims.is_known(n) and not dims.is_zero(n) for n in op.operands[0].type.shape)


def _handing(op: Op, k: int, leaving: _Leaving) -> tuple[Sequence[Op], Op]:
    """The ops that leave region k, on the operands of the loop, and the loop that is handed their results."""
    at, region = _constants(op), op.regions[k]
    builder = Builder()
    params = region.params[at]
    found = builder.inline(Block(params, leaving.moved, leaving.handed), op.operands[at])
    gone = set(leaving.moved) - leaving.again
    regions: list[Block] = []
    for number, each in enumerate(op.regions):
        new = leaving.handed if number == k else tuple(Value(v.type, v.hint) for v in leaving.handed)
        ops = tuple(inner for inner in each.ops if inner not in gone)
        regions.append(Block((*each.params[: at.stop], *new, *each.params[at.stop :]), ops, each.results))
    operands = (*op.operands[: at.stop], *found, *op.operands[at.stop :])
    return builder.ops, replace(op, operands=operands, regions=tuple(regions))
