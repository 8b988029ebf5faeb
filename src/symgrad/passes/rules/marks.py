"""Rules on marks: regions of checkpoints dissolve, and fences go down to arrays."""

from __future__ import annotations

from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import Constant, Coordinate, Extent, Mark, OpDef, Remap, View
from symgrad.ir.ops import checkpoint
from symgrad.ir.ops.marks import again, fence, recompute, save
from symgrad.passes.rewrite import Context, Found, Rule
from symgrad.passes.rules.inlining import inlined


def dissolved(op: Op, context: Context) -> Found:
    """checkpoint(x, y) = its region: a program is differentiated before it is made smaller"""
    return inlined(op.regions[0], op.operands, {}, context)


def behind_moves(op: Op, context: Context) -> Value | None:
    """fence(move(x)) = move(fence(x)), fence(number) = number; the same of again"""
    maker = context.maker(op.operands[0])
    if maker is None or maker.opdef.mark is Mark.SAVE:
        return None
    match maker.opdef.lowering:
        case Constant() | Coordinate() | Extent():
            operands: tuple[Value, ...] = ()
        case Remap() | View():
            operands = tuple(context.emit(op.opdef, v) for v in maker.operands)
        case _:
            return None
    return context.builder.emit(maker.opdef, operands, dict(maker.attrs), maker.result.type)


def fenced_twice(op: Op, context: Context) -> Value | None:
    """fence(fence(x)) = fence(x), fence(again(x)) = again(x)"""
    maker = context.maker(op.operands[0], fence, again)
    return None if maker is None else maker.result


def recomputed(op: Op, context: Context) -> Value | None:
    """recompute(x) = x: a program is differentiated before it is made smaller"""
    return op.operands[0]


def kept(op: Op, context: Context) -> Value | None:
    """save(x, y) = save(y): y is the x that was kept"""
    return context.emit(save, op.operands[1]) if len(op.operands) == 2 else None


RULES: dict[OpDef, tuple[Rule, ...]] = {
    checkpoint: (dissolved,),
    fence: (behind_moves, fenced_twice),
    again: (behind_moves,),
    recompute: (recomputed,),
    save: (kept,),
}
