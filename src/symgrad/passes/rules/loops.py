"""Rules on loops: what is the same in each iteration does not go round, and one trip is no loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from symgrad.ir import dims
from symgrad.ir.analysis import defs
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Op, Value
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Constant, Coordinate, OpDef
from symgrad.ir.ops import constant, dim, for_loop, iota, while_loop
from symgrad.ir.ops.elementwise import add, convert, sub
from symgrad.ir.ops.shapes import broadcast, reshape
from symgrad.ir.regions import ForLoop, as_for, for_op, row_type
from symgrad.ir.types import I64, ArrayType, array_type
from symgrad.passes.literals import Number, splat_of
from symgrad.passes.remade import repeats
from symgrad.passes.rewrite import Context, Found, Rule
from symgrad.passes.rules.inlining import inlined
from symgrad.passes.rules.moves import ints
from symgrad.passes.rules.regions import fresh, rebuilt
from symgrad.passes.rules.sizes import SMALL, size_of


# ---- trips ------------------------------------------------------------------------------------------------
def no_trip(op: Op, context: Context) -> Found:
    """a loop that never runs = its operands, and stacks without rows"""
    loop = as_for(op)
    if not isinstance(loop.trips, int) or loop.trips > 0:
        return None
    stacks = op.results[len(loop.carries) :]
    return (*loop.carries, *(context.number(0, v.type) for v in stacks))


def one_trip(op: Op, context: Context) -> Found:
    """a loop that runs once = its body"""
    loop = as_for(op)
    if not dims.is_one(loop.trips):
        return None
    rows = tuple(context.emit(reshape, x, type=row_type(x.type)) for x in loop.xs)
    found = inlined(loop.body, (*loop.carries, *loop.constants, *rows), {loop.index: loop.lower}, context)
    a = len(loop.carries)
    stacks = zip(found[a:], op.results[a:], strict=True)
    return (*found[:a], *(context.emit(broadcast, y, type=v.type, axes=(0,)) for y, v in stacks))


# ---- carries ----------------------------------------------------------------------------------------------
def unchanged_carries(op: Op, context: Context) -> Found:
    """a carry that its body returns as it is = a constant"""
    carries, bodies = _carries(op)
    body = bodies[-1]
    still = [k for k in range(len(carries)) if body.results[k] is body.params[k]]
    if not still:
        return None
    new = _without_carries(op, still, [{} for _ in bodies], [carries[k] for k in still], context)
    return _filled(op, still, new, [carries[k] for k in still])


def equal_carries(op: Op, context: Context) -> Found:
    """two carries that begin and go on alike = one carry"""
    carries, bodies = _carries(op)
    keys = list(zip(carries, bodies[-1].results, strict=False))
    again = [k for k, key in enumerate(keys) if key in keys[:k]]
    if not again:
        return None
    first = [keys.index(keys[k]) for k in again]
    values = [{body.params[k]: body.params[j] for j, k in zip(first, again, strict=True)} for body in bodies]
    new = _without_carries(op, again, values, [], context)
    kept = [k for k in range(len(carries)) if k not in again]
    return _filled(op, again, new, [new[kept.index(j)] for j in first])


def _carries(op: Op) -> tuple[Sequence[Value], tuple[Block, ...]]:
    """The carries of a loop, and its regions, the body last."""
    return op.operands[: cast(int, dict(op.attrs)["carries"])], op.regions


def _without_carries(
    op: Op,
    gone: Sequence[int],
    values: Sequence[dict[Value, Value]],
    constants: Sequence[Value],
    context: Context,
) -> tuple[Value, ...]:
    """The results of the loop without some carries; the first params of `constants` become constants."""
    carries, _ = _carries(op)
    kept = [k for k in range(len(op.results)) if k not in gone]
    xs = cast(int, dict(op.attrs).get("xs", 0))
    regions: list[Block] = []
    for region, own in zip(op.regions, values, strict=True):
        end = len(region.params) - xs
        moved = [region.params[k] for k in gone[: len(constants)]]
        params = [p for k, p in enumerate(region.params[:end]) if k not in gone]
        block = rebuilt(region, (*params, *moved, *region.params[end:]), own)
        regions.append(block)
    body = regions[-1]
    results = [v for k, v in enumerate(body.results) if k >= len(carries) or k not in gone]
    regions[-1] = replace(body, results=tuple(results))
    end = len(op.operands) - xs
    operands = [v for k, v in enumerate(op.operands[:end]) if k not in gone]
    attrs = {**dict(op.attrs), "carries": len(carries) - len(gone)}
    new = replace(
        op,
        operands=(*operands, *constants, *op.operands[end:]),
        results=fresh([op.results[k] for k in kept]),
        attrs=tuple(sorted(attrs.items())),
        regions=tuple(regions),
    )
    context.builder.append(new)
    return new.results


def _filled(op: Op, gone: Sequence[int], new: Sequence[Value], instead: Sequence[Value]) -> tuple[Value, ...]:
    """The values for all results: those of the new op, with others where the old one had more."""
    others = dict(zip(gone, instead, strict=True))
    left = iter(new)
    return tuple(others[k] if k in others else next(left) for k in range(len(op.results)))


# ---- counters ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Counter:
    """A carried number that changes by the same step in each iteration."""

    carry: int
    step: int


def counters(op: Op, context: Context) -> Found:
    """a carry n with n' = n + step = n + step · (i - lower)"""
    loop = as_for(op)
    trips = max(0, loop.trips) if isinstance(loop.trips, int) else loop.trips
    found = _counter(loop)
    if found is None or not context.never_above(0, trips):
        return None
    k, step = found.carry, found.step
    done = dims.shift(loop.upper, 1) if loop.reverse else dims.index(loop.index)
    gone = dims.index(loop.index) if loop.reverse else loop.lower
    passed = dims.mul(dims.shift(done, gone), step)
    start = loop.carries[k]
    known = size_of(start, context)
    inside = Builder()
    inside.loc = op.loc
    param = loop.body.params[k]
    moved = Value(param.type, param.hint)
    now = _advanced(moved, known, passed, inside)
    body = rebuilt(
        loop.body, [moved if p is param else p for p in loop.body.params], {param: now}, inside.ops
    )
    handed = replace(op, regions=(body,))
    new = _without_carries(handed, [k], [{}], [start], context)
    after = _advanced(start, known, dims.mul(trips, step), context.builder)
    return _filled(op, [k], new, [after])


def _counter(loop: ForLoop) -> _Counter | None:
    makers = defs(loop.body)
    for k, (param, result) in enumerate(zip(loop.body.params, loop.body.results, strict=False)):
        maker = makers.get(result)
        if k >= len(loop.carries) or maker is None or param.type != array_type(I64):
            continue
        for sign, opdef in ((1, add), (-1, sub)):
            if maker.opdef is not opdef or param not in maker.operands:
                continue
            x, y = maker.operands
            step = makers.get(y if x is param else x)
            number = None if step is None else splat_of(step)
            if number is not None and (x is param or sign > 0) and abs(number) < SMALL:
                return _Counter(k, sign * int(number))
    return None


def _advanced(start: Value, known: Dim | None, by: Dim, builder: Builder) -> Value:
    """start + by, as a size where the start is known as one."""
    if known is not None:
        return builder.emit(dim, (), {"value": dims.add(known, by)})
    return builder.emit(add, (start, builder.emit(dim, (), {"value": by})))


# ---- rows -------------------------------------------------------------------------------------------------
def rows_inside(op: Op, context: Context) -> Found:
    """a row of x, where x is one number, a ramp, or repeats of a row = that row, made inside or a constant"""
    loop = as_for(op)
    carried, constants, rows = loop.split_params()
    inside, values, kept = Builder(), dict[Value, Value](), dict[Value, Value]()
    more: dict[Value, Value] = {}  # new constants, by the operand
    inside.loc = op.loc
    for x, row in zip(loop.xs, rows, strict=True):
        maker = context.maker(x)
        if maker is not None and repeats(maker) and 0 in ints(maker, "axes"):
            values[row] = more.setdefault(_repeated(maker, context), row)
        elif maker is not None and _is_ramp(maker):
            values[row] = _row_of_ramp(maker, row.type, loop, inside)
        else:
            values[row] = kept.setdefault(x, row)
    if len(kept) == len(rows):
        return None
    body = rebuilt(loop.body, (*carried, *constants, *more.values(), *kept.values()), values, inside.ops)
    new = for_op(
        replace(loop, constants=(*loop.constants, *more), xs=tuple(kept), body=body),
        op.loc,
        fresh(op.results),
    )
    context.builder.append(new)
    return new.results


def _repeated(maker: Op, context: Context) -> Value:
    """One row of a value that is the same in all rows."""
    left = tuple(axis - 1 for axis in ints(maker, "axes") if axis)
    if not left:
        return maker.operands[0]
    return context.emit(broadcast, maker.operands[0], type=row_type(maker.result.type), axes=left)


def _is_ramp(maker: Op) -> bool:
    return isinstance(maker.opdef.lowering, Coordinate) or splat_of(maker) is not None


def _row_of_ramp(maker: Op, type: ArrayType, loop: ForLoop, builder: Builder) -> Value:
    """The row of a ramp, or of one number in every place, at the index."""
    if isinstance(maker.opdef.lowering, Constant):
        return builder.emit(constant, (), dict(maker.attrs), type)
    axis = cast(int, dict(maker.attrs)["axis"])
    if axis:
        return builder.emit(iota, (), {"axis": axis - 1}, type)
    row = builder.emit(dim, (), {"value": dims.shift(dims.index(loop.index), loop.lower)})
    if row.type.dtype != type.dtype:
        row = builder.emit(convert, (row,), {}, type.with_shape(()))
    return builder.emit(broadcast, (row,), {"axes": tuple(range(type.rank))}, type) if type.rank else row


def rows_outside(op: Op, context: Context) -> Found:
    """stacked rows that are all the same = repeats of one; rows of x = x; rows that come twice come once"""
    carries, regions = _carries(op)
    body, first = regions[-1], len(carries)
    rows = body.results[first:]
    stacks = op.results[len(op.results) - len(rows) :]
    makers = defs(body)
    handed = dict(zip(body.params[first:], op.operands[first:], strict=True))
    xs = body.params[len(body.params) - cast(int, dict(op.attrs).get("xs", 0)) :]
    number = {row: splat_of(makers[row]) for row in rows if row in makers}
    kept: dict[Value, Value] = {}
    for row, stack in zip(rows, stacks, strict=True):
        if row not in handed and number.get(row) is None:
            kept.setdefault(row, stack)
    if len(kept) == len(rows):
        return None
    held = (*op.results[: len(op.results) - len(rows)], *kept.values())
    left = (*regions[:-1], replace(body, results=(*body.results[:first], *kept)))
    new = replace(op, results=fresh(held), regions=left)
    context.builder.append(new)
    found = dict(zip(kept, new.results[len(new.results) - len(kept) :], strict=True))
    outside = [
        found[row] if row in found
        else handed[row] if row in xs
        else context.emit(broadcast, handed[row], type=stack.type, axes=(0,)) if row in handed
        else context.number(cast(Number, number[row]), stack.type)
        for row, stack in zip(rows, stacks, strict=True)
    ]  # fmt: skip
    return (*new.results[: len(new.results) - len(kept)], *outside)


_ROUND: tuple[Rule, ...] = (unchanged_carries, equal_carries, rows_outside)

RULES: dict[OpDef, tuple[Rule, ...]] = {
    for_loop: (no_trip, one_trip, *_ROUND, counters, rows_inside),
    while_loop: _ROUND,
}
