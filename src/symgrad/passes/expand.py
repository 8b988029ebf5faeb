"""Ops that are composed of others give way to them, once nothing is differentiated any more.

Until then such an op stands for what it means: rules may know a cheaper way to the same, as to solve with a
triangular matrix. Afterwards, what several of them are made of is computed once, as a factorisation is.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgrad.ir.core import Function, Op, Value
from symgrad.ir.opdef import Composed, OpDef
from symgrad.passes.autodiff.rules import checked, tracers
from symgrad.passes.rewrite import Context, Rule, rewrite
from symgrad.trace.dispatch import NUMPY
from symgrad.trace.tracer import Recorder


def expand(function: Function) -> Function:
    """The function with each composed op replaced by the ops that it is made of."""
    return rewrite(function, _rules_for)


def _rules_for(opdef: OpDef) -> Sequence[Rule]:
    return (composed,) if isinstance(opdef.lowering, Composed) else ()


def composed(op: Op, context: Context) -> Value | None:
    """op(x) = its NumPy code on x"""
    if not isinstance(op.opdef.lowering, Composed):
        return None
    recorder = Recorder(NUMPY)
    with recorder.located(op.loc):
        made = op.opdef.lowering.of(*tracers(op.operands, recorder), **op.keywords())
    found = checked(made, op.result.type, op)
    for each in recorder.ops:
        context.builder.append(each)
    return found.value
