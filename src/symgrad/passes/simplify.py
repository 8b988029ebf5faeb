"""Algebra: rewrite rules that make a program smaller and never change what it computes by more than rounding.

No rule hides a NaN, an infinity or the sign of a zero; `symgrad.passes.rules` has the rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgrad.ir.core import Function
from symgrad.ir.opdef import OpDef
from symgrad.passes.rewrite import Rule, rewrite
from symgrad.passes.rules import (
    arithmetic,
    branches,
    contractions,
    linalg,
    loops,
    marks,
    moves,
    pieces,
    reductions,
    regions,
    sizes,
)

_FAMILIES = (
    moves.RULES, arithmetic.RULES, sizes.RULES, pieces.RULES, reductions.RULES, contractions.RULES,
    linalg.RULES, loops.RULES, branches.RULES, regions.RULES, marks.RULES,
)  # fmt: skip

RULES: dict[OpDef, tuple[Rule, ...]] = {
    opdef: tuple(rule for family in _FAMILIES for rule in family.get(opdef, ()))
    for opdef in dict.fromkeys(opdef for family in _FAMILIES for opdef in family)
}


def simplify(function: Function) -> Function:
    """The function with every rule applied wherever it can be."""
    return rewrite(function, rules_for)


def rules_for(opdef: OpDef) -> Sequence[Rule]:
    """The rules that are tried on the ops of one record, in order."""
    return RULES.get(opdef, ())
