"""Ops that are composed of others give way to them, once nothing is differentiated any more.

Until then such an op stands for what it means: rules may know a cheaper way to the same, as to solve with a
triangular matrix. Afterwards, what several of them are made of is computed once, as a factorisation is; and
so is what is part of something larger that is computed anyway, as eigenvalues are where vectors are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symgrad.ir.core import Function, Op, Value
from symgrad.ir.opdef import Composed, OpDef
from symgrad.passes.autodiff.rules import checked, tracers
from symgrad.passes.rewrite import Context, Rule, rewrite
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder


def expand(function: Function) -> Function:
    """The function with each composed op replaced by the ops that it is made of."""
    # A part has the operands of the whole as long as neither has been replaced.
    return rewrite(rewrite(function, _parts), _compositions)


def _parts(opdef: OpDef) -> Sequence[Rule]:
    return (taken,) if opdef.part is not None else ()


def _compositions(opdef: OpDef) -> Sequence[Rule]:
    return (composed,) if isinstance(opdef.lowering, Composed) else ()


def taken(op: Op, context: Context) -> Value | None:
    """part(x) = what is taken of whole(x), if that is in the block"""
    part = op.opdef.part
    if part is None or not any(
        user.opdef is part.whole and (user.operands, user.attrs) == (op.operands, op.attrs)
        for user in context.users.get(op.operands[0], ())
    ):
        return None
    return _written(op, context, lambda *xs, **attrs: part.take(part.whole(*xs, **attrs)))


def composed(op: Op, context: Context) -> Value | None:
    """op(x) = its NumPy code on x"""
    if not isinstance(op.opdef.lowering, Composed):
        return None
    return _written(op, context, op.opdef.lowering.of)


def _written(op: Op, context: Context, code: Callable[..., Any]) -> Value:
    """The result of NumPy code on the operands and attributes of an op, in its place."""
    recorder = Recorder(NUMPY)
    with recorder.located(op.loc):
        made = code(*tracers(op.operands, recorder), **op.keywords())
    found = checked(made, op.result.type, op)
    for each in recorder.ops:
        context.builder.append(each)
    return found.value
