"""Stable forms in the place of those that overflow or cancel, before anything is differentiated.

Afterwards it would be too late: the slope of log(1 + exp(x)) at 800 is inf/inf, and no algebra on that
quotient knows better. `symgrad.passes.rules.stability` has the rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgrad.ir.core import Function
from symgrad.ir.opdef import OpDef
from symgrad.passes.cse import cse
from symgrad.passes.rewrite import Rule, rewrite
from symgrad.passes.rules.stability import RULES


def stabilize(function: Function) -> Function:
    """The function with every such form replaced; the same object if there is none."""
    merged = cse(function)  # exp(x) / sum(exp(x)) may have two exponentials of one x
    found = rewrite(merged, _rules_for)
    return function if found is merged else found


def _rules_for(opdef: OpDef) -> Sequence[Rule]:
    return RULES.get(opdef, ())
