"""Rules that put a stable form in the place of one that overflows or cancels, before differentiation.

Each equation holds for real numbers. Where both sides are finite and in range they differ by roundoff: of
what the left side rounds, as 1 + x, or of half a unit in the last place of x, where it takes exp(x). Where
the left side has overflowed, underflowed to 0 or become NaN on the way, the right side is what it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator

from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import OpDef, Reduce, Reduction, Remap, Scalar, View
from symgrad.ir.ops.elementwise import (
    abs_,
    add,
    div,
    exp,
    expm1,
    isfinite,
    log,
    log1p,
    logaddexp,
    mul,
    neg,
    select,
    sigmoid,
    sqrt,
    stop_gradient,
    sub,
)
from symgrad.ir.ops.reductions import max_, sum_
from symgrad.ir.ops.shapes import broadcast, reshape
from symgrad.ir.ops.special import softplus
from symgrad.passes.rewrite import Context, Rule
from symgrad.passes.rules.moves import ints

_REACH = 30  # how many ops above an exponential are searched for a maximum that is taken off already


def _either_order(op: Op) -> Iterator[tuple[Value, Value]]:
    x, y = op.operands
    yield x, y
    yield y, x


def _argument(value: Value, context: Context, opdef: OpDef) -> Value | None:
    """The x of a value that is f(x)."""
    maker = context.maker(value, opdef)
    return None if maker is None else maker.operands[0]


def _beside_one(value: Value, context: Context) -> Value | None:
    """The x of a value that is 1 + x."""
    maker = context.maker(value, add)
    if maker is None:
        return None
    return next((x for x, y in _either_order(maker) if context.splat(y) == 1), None)


# ---- logarithms -------------------------------------------------------------------------------------------
def log_of_exp(op: Op, context: Context) -> Value | None:
    """log(exp(x)) = x"""
    return _argument(op.operands[0], context, exp)


def log_of_one_plus(op: Op, context: Context) -> Value | None:
    """log(1 + x) = log1p(x)"""
    x = _beside_one(op.operands[0], context)
    return None if x is None else context.emit(log1p, x)


def log_of_one_minus(op: Op, context: Context) -> Value | None:
    """log(1 - x) = log1p(-x)"""
    maker = context.maker(op.operands[0], sub)
    if maker is None or context.splat(maker.operands[0]) != 1:
        return None
    return context.emit(log1p, context.emit(neg, maker.operands[1]))


def log_of_sigmoid(op: Op, context: Context) -> Value | None:
    """log(sigmoid(x)) = -softplus(-x)"""
    x = _argument(op.operands[0], context, sigmoid)
    return None if x is None else context.emit(neg, context.emit(softplus, context.emit(neg, x)))


def log_of_quotient(op: Op, context: Context) -> Value | None:
    """log(exp(x) / y) = x - log(y)"""
    maker = context.maker(op.operands[0], div)
    x = None if maker is None else _argument(maker.operands[0], context, exp)
    if maker is None or x is None:
        return None
    below = maker.operands[1]
    fewest = _unmoved(below, context, (reshape, broadcast))  # of a sum there is one logarithm a row
    return context.emit(sub, x, _moved(below, fewest, context.emit(log, fewest), context))


def log_of_two(op: Op, context: Context) -> Value | None:
    """log(exp(x) + exp(y)) = logaddexp(x, y)"""
    maker = context.maker(op.operands[0], add)
    if maker is None:
        return None
    x, y = (_argument(v, context, exp) for v in maker.operands)
    return None if x is None or y is None else context.emit(logaddexp, x, y)


def log_of_total(op: Op, context: Context) -> Value | None:
    """log(sum(exp(x))) = m + log(sum(exp(x - m))), m the largest x"""
    total = _unmoved(op.operands[0], context, (reshape,))
    maker = context.maker(total, sum_)
    x = None if maker is None else _argument(maker.operands[0], context, exp)
    if maker is None or x is None or not _unshifted(maker, x, context):
        return None
    peak, shifted = _shifted(maker, x, context)
    rest = context.emit(sum_, context.emit(exp, shifted), axes=ints(maker, "axes"))
    found = context.emit(add, peak, context.emit(log, rest))
    return found if found.type == op.result.type else context.emit(reshape, found, type=op.result.type)


def log1p_of_exp(op: Op, context: Context) -> Value | None:
    """log1p(exp(x)) = softplus(x)"""
    x = _argument(op.operands[0], context, exp)
    return None if x is None else context.emit(softplus, x)


def log1p_of_minus_sigmoid(op: Op, context: Context) -> Value | None:
    """log1p(-sigmoid(x)) = -softplus(x)"""
    inner = _argument(op.operands[0], context, neg)
    x = None if inner is None else _argument(inner, context, sigmoid)
    return None if x is None else context.emit(neg, context.emit(softplus, x))


# ---- quotients --------------------------------------------------------------------------------------------
def logistic(op: Op, context: Context) -> Value | None:
    """exp(x) / (1 + exp(x)) = sigmoid(x), else a / (1 + exp(x)) = a · sigmoid(-x)"""
    above, below = op.operands
    inner = _beside_one(below, context)
    x = None if inner is None else _argument(inner, context, exp)
    if x is None:
        return None
    if _argument(above, context, exp) is x:
        return context.emit(sigmoid, x)
    found = context.emit(sigmoid, context.emit(neg, x))
    return found if context.splat(above) == 1 else context.emit(mul, above, found)


def inverse_of_exp(op: Op, context: Context) -> Value | None:
    """1 / exp(x) = exp(-x)"""
    x = _argument(op.operands[1], context, exp)
    if x is None or context.splat(op.operands[0]) != 1:
        return None
    return context.emit(exp, context.emit(neg, x))


def share_of_total(op: Op, context: Context) -> Value | None:
    """exp(x) / sum(exp(x)) = exp(x - m) / sum(exp(x - m)), m the largest x"""
    above, below = op.operands
    x = _argument(above, context, exp)
    maker = context.maker(_unmoved(below, context, (reshape, broadcast)), sum_)
    if x is None or maker is None or _argument(maker.operands[0], context, exp) is not x:
        return None
    if not _unshifted(maker, x, context):
        return None
    _, shifted = _shifted(maker, x, context)
    power = context.emit(exp, shifted)
    total = context.emit(sum_, power, axes=ints(maker, "axes"))
    return context.emit(div, power, _moved(below, maker.result, total, context))


# ---- differences and roots --------------------------------------------------------------------------------
def exp_less_one(op: Op, context: Context) -> Value | None:
    """exp(x) - 1 = expm1(x), 1 - exp(x) = -expm1(x)"""
    x, y = op.operands
    inner = _argument(x, context, exp)
    if inner is not None and context.splat(y) == 1:
        return context.emit(expm1, inner)
    inner = _argument(y, context, exp)
    if inner is not None and context.splat(x) == 1:
        return context.emit(neg, context.emit(expm1, inner))
    return None


def exp_and_minus_one(op: Op, context: Context) -> Value | None:
    """exp(x) + (-1) = expm1(x)"""
    for x, y in _either_order(op):
        inner = _argument(x, context, exp)
        if inner is not None and context.splat(y) == -1:
            return context.emit(expm1, inner)
    return None


def root_of_square(op: Op, context: Context) -> Value | None:
    """√(x · x) = |x|"""
    maker = context.maker(op.operands[0], mul)
    if maker is None or maker.operands[0] is not maker.operands[1]:
        return None
    return context.emit(abs_, maker.operands[0])


# ---- the largest of what is summed ------------------------------------------------------------------------
def _unmoved(value: Value, context: Context, moves: tuple[OpDef, ...]) -> Value:
    """What a value is that is only moved and repeated."""
    while (maker := context.maker(value, *moves)) is not None:
        value = maker.operands[0]
    return value


def _moved(value: Value, old: Value, new: Value, context: Context) -> Value:
    """`value`, which is `old` moved, with `new` in the place of `old`."""
    if value is old:
        return new
    maker = context.makers[value]
    inner = _moved(maker.operands[0], old, new, context)
    return context.builder.emit(maker.opdef, (inner,), dict(maker.attrs), value.type)


def _unshifted(total: Op, x: Value, context: Context) -> bool:
    """Whether there is a largest x in each sum, and it is not taken off already."""
    sizes = [x.type.shape[axis] for axis in ints(total, "axes")]
    if not all(isinstance(size, int) and size > 1 for size in sizes):
        return False
    pending, seen = [x], set[Value]()
    while pending and len(seen) < _REACH:
        value = pending.pop(0)
        maker = context.maker(value)
        if maker is None or value in seen:
            continue
        seen.add(value)
        match maker.opdef.lowering:
            case Reduce(kind=Reduction.MAX):
                return False
            case Scalar() | Remap() | View():
                pending.extend(maker.operands)
            case _:
                pass
    return True


def _shifted(total: Op, x: Value, context: Context) -> tuple[Value, Value]:
    """The largest x, or 0 where that is not finite, as a constant for differentiation; and x less it."""
    axes = ints(total, "axes")
    top = context.emit(max_, x, axes=axes)
    zero = context.number(0.0, top.type)
    finite = context.emit(select, context.emit(isfinite, top), top, zero)
    peak = context.emit(stop_gradient, finite)
    return peak, context.emit(sub, x, context.emit(broadcast, peak, type=x.type, axes=axes))


RULES: dict[OpDef, tuple[Rule, ...]] = {
    log: (
        log_of_exp, log_of_one_plus, log_of_one_minus, log_of_sigmoid, log_of_quotient, log_of_two,
        log_of_total,
    ),
    log1p: (log1p_of_exp, log1p_of_minus_sigmoid),
    div: (logistic, inverse_of_exp, share_of_total),
    sub: (exp_less_one,),
    add: (exp_and_minus_one,),
    sqrt: (root_of_square,),
}  # fmt: skip
