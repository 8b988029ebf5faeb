"""Which operands an op may write its results over: those that it reads only where it writes.

Positions are those of the row-major order, so that axes of one entry do not count.
"""

from __future__ import annotations

from typing import assert_never, cast

from symgrad.ir import dims
from symgrad.ir.capacity import same_layout
from symgrad.ir.core import Op, Value
from symgrad.ir.dims import Dim, Ranges, Shape
from symgrad.ir.opdef import (
    ArgReduce,
    Component,
    Composed,
    Constant,
    Contract,
    Control,
    Coordinate,
    Extent,
    Flow,
    Gather,
    Library,
    Measure,
    OnPairs,
    Piece,
    Reduce,
    Remap,
    Scalar,
    Scatter,
    Update,
    View,
)
from symgrad.ir.regions import as_for, as_while, flow_of


def can_overwrite(op: Op, operand: Value, result: Value, ranges: Ranges) -> bool:
    """Whether the op reads the operand only where it writes the result, so that they may share their place.

    For a kernel, what is asked is whether its body, computed point by point, does so. A loop writes its
    carries over their first values, and a branch its results over what it is given: what happens inside is a
    question of the places there.
    """
    a, b = operand.type, result.type
    if a.dtype.itemsize != b.dtype.itemsize or not same_layout(a.shape, b.shape):
        return False
    flow = flow_of(op)
    if flow in (Flow.FOR, Flow.WHILE, Flow.BRANCH) and (a != b or not a.rank):
        return False
    match flow:
        case None:
            return _keeps_position(op, {operand}) and not _combines(op)
        case Flow.AGAIN:
            return False
        case Flow.ONCE:
            return _kernel_can(op, operand, result, ranges)
        case Flow.FOR:
            return _is_carry(op, as_for(op).carries, operand, result)
        case Flow.WHILE:
            return _is_carry(op, as_while(op).carries, operand, result)
        case Flow.BRANCH:
            return op.operands.count(operand) == 1


def _is_carry(op: Op, carries: tuple[Value, ...], operand: Value, result: Value) -> bool:
    """Whether the result is the last value of a carry whose first value is the operand, and nothing else."""
    number = op.results.index(result)
    return number < len(carries) and carries[number] is operand and op.operands.count(operand) == 1


# ---- kernels ----------------------------------------------------------------------------------------------
def _kernel_can(op: Op, operand: Value, result: Value, ranges: Ranges) -> bool:
    body = op.regions[0]
    aligned = {param for param, value in zip(body.params, op.operands, strict=True) if value is operand}
    written = {inner for inner, outer in zip(body.results, op.results, strict=True) if outer is result}
    maker = next((inner for inner in body.ops if written.intersection(inner.results)), None)
    if maker is not None and isinstance(maker.opdef.lowering, Update) and maker.operands[0] in aligned:
        return len(op.results) == 1 and _updates_in_place(body.ops, maker, aligned, ranges)
    for inner in body.ops:
        if written.intersection(inner.results) and _combines(inner):
            return False
        if aligned.isdisjoint(inner.operands):
            continue
        if not _keeps_position(inner, aligned):
            return False
        if not _combines(inner):
            aligned.update(inner.results)
    return True


def _updates_in_place(ops: tuple[Op, ...], update: Op, aligned: set[Value], ranges: Ranges) -> bool:
    """Whether what is written is computed from no element of the array that is written over before."""
    if writes_one_element(update):
        return True
    at_place: set[Value] = set()  # each element is a function of the element that is written over there
    for op in ops:
        if op is update:
            if not aligned.isdisjoint(op.operands[1:]):
                return False
        elif not aligned.isdisjoint(op.operands):
            if reads_what_it_rewrites(update, op):
                at_place.update(op.results)
            elif not reads_beside(update, op, ranges):
                return False
        elif not at_place.isdisjoint(op.operands):
            if not (isinstance(op.opdef.lowering, Scalar) or is_unit_move(op)):
                return False
            at_place.update(op.results)
    return True


def writes_one_element(update: Op) -> bool:
    """Whether an update writes a single element, which is computed before it is written."""
    return not without_units(update.operands[1].type.shape)


def reads_what_it_rewrites(update: Op, move: Op) -> bool:
    """Whether a move reads exactly the elements of the array that an update writes, in their order."""
    if not dims.same(without_units(move.result.type.shape), without_units(update.operands[1].type.shape)):
        return False
    piece = _read_of_array(update, move)
    if piece is None:
        return False
    attrs = dict(update.attrs)
    starts, steps = cast("tuple[Dim, ...]", attrs["start"]), cast("tuple[int, ...]", attrs["step"])
    sizes = update.operands[1].type.shape
    axes = iter(axis for axis, n in enumerate(move.result.type.shape) if not dims.is_one(n))
    for part, start, step, size in zip(piece.index, starts, steps, sizes, strict=True):
        if dims.is_one(size):
            single = part.axis is None or dims.is_one(move.result.type.shape[part.axis])
            if not single or part.divisor != 1 or not dims.equal(part.offset, start):
                return False
        elif part != Component(next(axes), step, start):
            return False
    return True


def reads_beside(update: Op, move: Op, ranges: Ranges) -> bool:
    """Whether a move reads nothing of the array that an update writes, whatever the indices are."""
    piece = _read_of_array(update, move)
    if piece is None:
        return False
    attrs = dict(update.attrs)
    starts, steps = cast("tuple[Dim, ...]", attrs["start"]), cast("tuple[int, ...]", attrs["step"])
    for part, start, step, size in zip(
        piece.index, starts, steps, update.operands[1].type.shape, strict=True
    ):
        count = dims.ONE if part.axis is None else move.result.type.shape[part.axis]
        if part.divisor != 1 or (part.scale < 1 and not dims.is_one(count)):
            continue
        stop, read_stop = dims.after_last(start, size, step), dims.after_last(part.offset, count, part.scale)
        if dims.never_above(stop, part.offset, ranges) or dims.never_above(read_stop, start, ranges):
            return True
        between = dims.shift(part.offset, start)
        if dims.is_known(between) and part.scale == step and dims.known(between) % step:
            return True
    return False


def _read_of_array(update: Op, move: Op) -> Piece | None:
    """What a move reads of the array that an update writes over, which it sees under the same shape."""
    if len(move.operands) != 1 or not dims.same(move.operands[0].type.shape, update.operands[0].type.shape):
        return None
    return only_piece(move)


def is_unit_move(op: Op) -> bool:
    """Whether the op only takes away or inserts axes of one entry."""
    if len(op.operands) != 1:
        return False
    (x,) = op.operands
    if not dims.same(without_units(x.type.shape), without_units(op.result.type.shape)):
        return False
    if isinstance(op.opdef.lowering, View):
        return True
    piece = only_piece(op)
    if piece is None:
        return False
    axes = iter(axis for axis, n in enumerate(op.result.type.shape) if not dims.is_one(n))
    return all(
        dims.is_one(n) or part == Component(next(axes))
        for part, n in zip(piece.index, x.type.shape, strict=True)
    )


def is_alias(op: Op) -> bool:
    """Whether the op gives the elements of an array another shape and leaves them where they lie."""
    if not isinstance(op.opdef.lowering, View):
        return False
    before, after = op.operands[0].type.shape, op.result.type.shape
    return len(before) > 0 and len(after) > 0 and same_layout(before, after)


def without_units(shape: Shape) -> Shape:
    """The sizes that are not certainly 1."""
    return tuple(n for n in shape if not dims.is_one(n))


def only_piece(op: Op) -> Piece | None:
    """The one piece that a move of one operand reads everywhere."""
    if not isinstance(op.opdef.lowering, Remap):
        return None
    pieces = op.opdef.lowering.pieces(tuple(v.type for v in op.operands), op.result.type, dict(op.attrs))
    return pieces[0] if len(pieces) == 1 and not pieces[0].within else None


# ---- single ops -------------------------------------------------------------------------------------------
def _combines(op: Op) -> bool:
    """Whether an element of the result comes from many positions of the operand."""
    return isinstance(op.opdef.lowering, Reduce | ArgReduce)


def _keeps_position(op: Op, aligned: set[Value]) -> bool:
    """Whether the op, at each point, reads its aligned operands at that point alone."""
    match op.opdef.lowering:
        case Scalar() | Reduce() | ArgReduce() | Constant() | Coordinate() | Extent():
            return True
        case View():
            return same_layout(op.operands[0].type.shape, op.result.type.shape)
        case Remap(pieces):
            types = tuple(v.type for v in op.operands)
            read = [
                p for p in pieces(types, op.result.type, dict(op.attrs)) if op.operands[p.operand] in aligned
            ]
            return all(p.index == tuple(map(Component, range(op.result.type.rank))) for p in read)
        case Scatter() | Update():
            return aligned.isdisjoint(op.operands[1:])
        case Contract(adds=True):
            return aligned.isdisjoint(op.operands[1:])
        case Library(over=over):
            return all(k == over or v not in aligned for k, v in enumerate(op.operands))
        case Contract() | Composed() | OnPairs() | Gather() | Control() | Measure():
            return False
        case _:
            assert_never(op.opdef.lowering)
