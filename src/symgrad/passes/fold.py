"""Constant folding: an op whose operands are constants is computed now."""

from __future__ import annotations

import numpy as np

from symgrad.ir import dims
from symgrad.ir.core import Function, Op, Value
from symgrad.ir.index_names import binds_after, mentioned
from symgrad.ir.opdef import Scalar
from symgrad.ir.ops import DENSE_LIMIT, constant
from symgrad.ir.types import ArrayType
from symgrad.passes.literals import is_constant, literal_of, splat_of
from symgrad.passes.rewrite import Context, rewrite


def fold(function: Function) -> Function:
    """The function with ops on constants alone replaced by constants, where those are small or uniform."""
    return rewrite(function, lambda opdef: (evaluate_now,))


def evaluate_now(op: Op, context: Context) -> Value | None:
    """op(constants) = constant."""
    makers = [context.maker(v) for v in op.operands]
    constants = [maker for maker in makers if maker is not None and is_constant(maker)]
    if op.regions or binds_after(op) or not op.operands or len(constants) != len(op.operands):
        return None
    if isinstance(op.opdef.lowering, Scalar) and all(splat_of(maker) is not None for maker in constants):
        return _evaluate(op, constants, context, scalar=True)
    if any(mentioned(each) for each in (op, *constants)):
        # Its elements, or how many there are, change in a loop.
        return None
    if any(dims.known(v.type.size) > DENSE_LIMIT for v in (*op.operands, op.result)):
        return None
    return _evaluate(op, constants, context, scalar=False)


def _evaluate(op: Op, constants: list[Op], context: Context, *, scalar: bool) -> Value | None:
    """The constant that the op makes of constants: of one element for all, or of each."""

    def sized(type: ArrayType) -> ArrayType:
        return type.with_shape(()) if scalar else type

    arrays = [
        maker.opdef.evaluate(value=dict(maker.attrs)["value"], type=sized(maker.result.type))
        for maker in constants
    ]
    keywords = op.keywords()
    if "type" in keywords:
        keywords["type"] = sized(op.result.type)
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(op.opdef.evaluate(*arrays, **keywords))
    except (ValueError, IndexError):
        # NumPy refuses, as it does a negative power of an integer; it is left to the run.
        return None
    value = literal_of(found.astype(op.result.type.dtype))
    return None if value is None else context.emit(constant, type=op.result.type, value=value)
