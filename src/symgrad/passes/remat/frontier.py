"""What memory costs: the plans of a program, and the one that a budget of bytes chooses.

The plans do not depend on the budget that is asked for: they are those for a fixed scale of budgets, from
what the program takes as it is down to what it cannot do without. A budget takes the first one that fits in
their order by time. So a smaller budget never gives a faster program, nor a larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from symgrad.errors import MemoryBudgetError
from symgrad.ir.core import Function
from symgrad.ir.launch import Budget
from symgrad.passes.cost import seconds
from symgrad.passes.memory import arena_bytes, grown, memory
from symgrad.passes.memory_report import MemoryReport, memory_report
from symgrad.passes.remat.exact import check_size, optimal
from symgrad.passes.remat.plan import Plan, as_it_is, undominated
from symgrad.passes.remat.sweep import sweep

LISTED = 4  # values that block a smaller budget, as the error names them


def within(function: Function, budget: Budget, others: Callable[[], Iterable[Function]]) -> Function:
    """The fused function, or the fastest plan for it or for `others` whose arena is within a budget of bytes.

    Raises MemoryBudgetError, which names the least budget that a plan was found for, if there is none, and
    UnsupportedError if the optimum is asked for a program that is too large for that.
    """
    if arena_bytes(memory(function)) <= budget.bytes and not any(grown(function)):
        return function
    forms = _forms([function, *others()])
    plans = _frontier(forms, seconds(function))
    plan = fastest(plans, budget.bytes)
    if budget.optimal:
        check_size(forms)
        plan = optimal(forms, budget.bytes, plan)
    if plan is None:
        raise _impossible(budget.bytes, min(plans, key=lambda plan: (plan.grows, plan.arena)))
    return plan.function


def fastest(plans: Iterable[Plan], budget: int) -> Plan | None:
    """The first of the plans whose arena is within the budget."""
    return next((plan for plan in plans if not plan.grows and plan.arena <= budget), None)


def frontier(candidates: Sequence[Function]) -> list[Plan]:
    """The plans of which no other is both faster and smaller, the fastest first.

    The candidates are fused forms of one program, the first being the one that is best without a budget: no
    plan is said to take less time than that one.
    """
    return _frontier(_forms(candidates), seconds(candidates[0]))


def _forms(candidates: Iterable[Function]) -> list[Plan]:
    """The plans without repeats, those left out that take more time and more bytes than another one."""
    return undominated(map(as_it_is, candidates))


def _frontier(forms: Sequence[Plan], least: float) -> list[Plan]:
    found = [plan for form in forms for plan in (form, *_smaller(form))]
    for plan in found:
        plan.seconds = max(plan.seconds, least)
    return undominated(found)


def _smaller(form: Plan) -> Iterator[Plan]:
    """The plans of one form of the program that repeat some of its ops."""
    for found in sweep(form.problem):
        yield replace(form, schedule=found.schedule, seconds=form.seconds + found.cost, bytes=found.peak)


def _impossible(budget: int, least: Plan) -> MemoryBudgetError:
    """The error of a budget below the least one."""
    if least.grows:
        return _endless(budget, least.function)
    report = memory_report(memory(least.function))
    return MemoryBudgetError(
        f"no plan keeps a budget of {budget:,} bytes: the least one found takes {least.arena:,}",
        loc=None if report.peak_op is None else report.peak_op.loc,
        why=f"alive at once at least: {_listed(report)}",
        cure=f"allow {least.arena:,} bytes, or call with fewer rows at a time",
    )


def _endless(budget: int, function: Function) -> MemoryBudgetError:
    """The error of a budget for a program that no number of bytes is enough for."""
    found = next(grown(function))
    return MemoryBudgetError(
        f"no plan keeps a budget of {budget:,} bytes: {found} grows as long as a loop runs",
        loc=found.loc,
        why="a loop without a known end keeps something of each iteration for the derivative, and cannot run"
        " again where that is read",
        cure="give the loop a number of iterations (`for`), or leave memory_budget= out",
    )


def _listed(report: MemoryReport) -> str:
    shown = [f"{r.value.type} ({r.nbytes:,} bytes{_line(r.loc)})" for r in report.peak[:LISTED]]
    more = len(report.peak) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _line(loc: object) -> str:
    return "" if loc is None else f", {loc}"
