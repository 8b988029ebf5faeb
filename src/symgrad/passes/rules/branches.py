"""Rules on branches: one that is decided is inlined, and what both sides agree on is had without them."""

from __future__ import annotations

from dataclasses import replace

from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import cond
from symgrad.ir.regions import Branch, as_branch, branch_op
from symgrad.passes.rewrite import Context, Found, Rule
from symgrad.passes.rules.inlining import inlined
from symgrad.passes.rules.regions import fresh


def decided(op: Op, context: Context) -> Found:
    """cond(True, f, g)(x) = f(x), cond(False, f, g)(x) = g(x)"""
    branch = as_branch(op)
    number = context.splat(branch.predicate)
    if number is None:
        return None
    return inlined(branch.then if number else branch.otherwise, branch.constants, {}, context)


def agreed(op: Op, context: Context) -> Found:
    """a result for which both sides return one operand = that operand; what comes twice comes once"""
    branch = as_branch(op)
    first, second = branch.then, branch.otherwise
    pairs = list(zip(first.results, second.results, strict=True))
    operand_of = [_operand(branch, a, b) for a, b in pairs]
    kept: dict[tuple[Value, Value], int] = {}
    for pair, operand in zip(pairs, operand_of, strict=True):
        if operand is None:
            kept.setdefault(pair, len(kept))
    if len(kept) == len(pairs):
        return None
    new = branch_op(
        Branch(
            branch.predicate,
            branch.constants,
            replace(first, results=tuple(a for a, _ in kept)),
            replace(second, results=tuple(b for _, b in kept)),
        ),
        op.loc,
        fresh([op.results[pairs.index(pair)] for pair in kept]),
    )
    context.builder.append(new)
    return tuple(
        new.results[kept[pair]] if operand is None else operand
        for pair, operand in zip(pairs, operand_of, strict=True)
    )


def _operand(branch: Branch, a: Value, b: Value) -> Value | None:
    """What is handed to both sides and comes back as their results a and b."""
    params = zip(branch.constants, branch.then.params, branch.otherwise.params, strict=True)
    return next((operand for operand, p, q in params if p is a and q is b), None)


RULES: dict[OpDef, tuple[Rule, ...]] = {cond: (decided, agreed)}
