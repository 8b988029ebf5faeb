"""The fastest plan for one budget, by integer programming, where the program is small enough for that."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from symgrad.errors import UnsupportedError
from symgrad.passes.remat.plan import Plan
from symgrad.passes.remat.problem import Problem
from symgrad.passes.remat.schedule import Schedule, cost, peak

MOST_UNITS = 60  # that a program may have
SECONDS = 60.0  # that are spent, all together
# Whether a buffer is made again only where it is read at once: such plans are found first, and improved upon.
LAZY = (True, False)


def check_size(forms: Sequence[Plan]) -> None:
    """Refuse a program none of whose forms is small enough."""
    least = min(len(form.problem.first) for form in forms)
    if least > MOST_UNITS:
        raise UnsupportedError(
            f'plan="optimal": the program has {least} kernels and contractions',
            why=f"integer programming takes {MOST_UNITS} at most in the time that it has",
            cure="leave out plan=: the plan that is found without it is near the optimum",
        )


def optimal(forms: Sequence[Plan], budget: int, plan: Plan | None) -> Plan | None:
    """The plan that is known already, or the fastest one of the forms, if that is faster.

    What fits by the simulation may not by its arena: then a budget is tried that is less by what is too much.
    """
    small = [form for form in forms if len(form.problem.first) <= MOST_UNITS]
    for form in small:
        allowed = budget
        for lazy in LAZY:
            below = inf if plan is None else plan.seconds - form.seconds
            limit = SECONDS / (len(LAZY) * len(small))
            schedule = _cheapest()(form.problem, allowed, lazy, below, limit) if below > 0 else None
            if schedule is None:
                continue
            problem, time = form.problem, form.seconds + cost(schedule)
            found = replace(form, schedule=schedule, seconds=time, bytes=peak(problem, schedule))
            if found.arena <= budget:
                plan = found
            else:
                allowed = 2 * budget - found.arena
    return plan


def _cheapest() -> Callable[[Problem, int, bool, float, float], Schedule | None]:
    """The function that solves the integer program, loaded now: the solver is much to import."""
    return importlib.import_module("symgrad.passes.remat.optimal").cheapest
