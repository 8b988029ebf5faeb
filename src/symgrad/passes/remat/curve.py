"""The curve of memory against time: what budgets give, from all that a program takes down to the least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgrad.ir.core import Function
from symgrad.passes.cost import seconds
from symgrad.passes.memory import arena_bytes, memory
from symgrad.passes.remat.frontier import Plan, fastest

POINTS = 10


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What a budget gives."""

    budget: int  # bytes that the arena may have
    arena: int  # that it has
    seconds: float  # of a call, by the cost model
    ratio: float  # of them to those of the program without a budget
    repeats: int  # how many ops run again


def curve(fused: Function, plans: Sequence[Plan], points: int = POINTS) -> list[CurvePoint]:
    """What budgets give from the arena of the fused program down to the least that a plan was found for.

    Each budget is the same part of the one before; a program that fits is left as it is, as `within` does.
    """
    most, time = arena_bytes(memory(fused)), seconds(fused)
    found = [CurvePoint(most, most, time, 1.0, 0)]
    for budget in _budgets(most, min((plan.arena for plan in plans), default=most), points)[1:]:
        plan = fastest(plans, budget)
        if plan is not None:
            found.append(CurvePoint(budget, plan.arena, plan.seconds, plan.seconds / time, plan.repeats))
    return found


def _budgets(most: int, least: int, points: int) -> list[int]:
    """Budgets from the most to the least, which is the last one."""
    if least >= most or points < 2:
        return [most]
    ratio = max(least, 1) / most
    between = [int(most * ratio ** (k / (points - 1))) for k in range(points - 1)]
    return [most, *between[1:], least]
