"""What both modes share: tracers for the values of an op, and the partials of an elementwise op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symgrad.errors import InternalError, Loc, NotDifferentiableError
from symgrad.ir.core import Attr, Block, Op, Value
from symgrad.ir.opdef import Partial, Undefined
from symgrad.ir.ops import constant
from symgrad.ir.types import ArrayType
from symgrad.trace.tracer import Recorder, Tracer


def through(loc: Loc | None, step: str) -> Loc | None:
    """The location of an op that a transform derives from one at `loc`."""
    return None if loc is None else loc.through(step)


def tracers(values: tuple[Value, ...], recorder: Recorder) -> tuple[Tracer, ...]:
    """The values as rules take them."""
    return tuple(Tracer(v, recorder) for v in values)


def splat(number: float, type: ArrayType, recorder: Recorder) -> Tracer:
    """A tangent or cotangent with one number everywhere."""
    return Tracer(recorder.emit(constant, (), {"value": number}, type), recorder)


def zeros(type: ArrayType, recorder: Recorder) -> Tracer:
    """A zero tangent or cotangent."""
    return splat(0.0, type, recorder)


def scaled(partial: Partial, t: Tracer, op: Op, recorder: Recorder) -> Tracer:
    """The tangent or cotangent t times one partial derivative of an elementwise op."""
    match partial:
        case 1:
            return t
        case -1:
            return -t
        case None:
            raise InternalError(f"{op.opdef.name}: no partial derivative")
        case Undefined(reason=reason):
            raise undefined(op, reason)
        case rule:
            y, xs = Tracer(op.result, recorder), tracers(op.operands, recorder)
            return checked(rule(y, *xs) * t, t.type, op)


def checked(found: Any, expected: ArrayType, op: Op) -> Tracer:
    """What a rule returned, if it is a tracer of the right type."""
    if not isinstance(found, Tracer) or found.type != expected:
        kind = found.type if isinstance(found, Tracer) else type(found).__name__
        raise InternalError(f"the derivative rule of {op.opdef.name} gave {kind} for {expected}", loc=op.loc)
    return found


def undefined(op: Op, reason: str) -> NotDifferentiableError:
    """The error for an op without a derivative on the path from an argument to the loss."""
    return NotDifferentiableError(
        f"{op.opdef.name} has no derivative: {reason}",
        loc=op.loc,
        cure="put symgrad.stop_gradient around its operand if it is meant to be a constant",
    )


def not_before_fusion(op: Op) -> InternalError:
    """The error for a fusion group."""
    return InternalError(f"{op.opdef.name} cannot be differentiated: AD runs before fusion", loc=op.loc)


def zero(type: ArrayType) -> Attr:
    """The number 0 of an element type, as the attribute of a constant."""
    return False if type.dtype.kind == "b" else 0.0 if type.is_real else 0


def where(mask: Tracer, x: Tracer, y: Tracer) -> Tracer:
    """`np.where` on tracers."""
    found = np.where(mask, x, y)  # pyright: ignore
    if not isinstance(found, Tracer):
        raise InternalError("np.where lost its tracer")
    return found


def named(block: Block, hints: Mapping[Value, str]) -> Block:
    """The block with these hints on results of its ops that have none yet."""
    fresh = {
        v: replace(v, hint=hints[v]) for op in block.ops for v in op.results if v in hints and not v.hint
    }
    ops = [
        replace(
            op,
            operands=tuple(fresh.get(v, v) for v in op.operands),
            results=tuple(fresh.get(v, v) for v in op.results),
        )
        for op in block.ops
    ]
    return Block(block.params, tuple(ops), tuple(fresh.get(v, v) for v in block.results))
