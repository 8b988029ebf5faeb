"""What memory costs: the plans of a program, and the one that a budget of bytes chooses.

The plans do not depend on the budget that is asked for: they are those for a fixed scale of budgets, from
what the program takes as it is down to what it cannot do without. A budget takes the first one that fits in
their order by time. So a smaller budget never gives a faster program, nor a larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from symgrad.errors import MemoryBudgetError
from symgrad.ir.core import Function
from symgrad.passes.cost import seconds
from symgrad.passes.memory import arena_bytes, memory
from symgrad.passes.memory_report import MemoryReport, memory_report
from symgrad.passes.remat.problem import Problem
from symgrad.passes.remat.program import rebuilt
from symgrad.passes.remat.schedule import Schedule, cost, peak, whole
from symgrad.passes.remat.search import improved, schedules

RATIO = 0.9  # of a budget that is tried to the one before
MISSES = 3  # budgets in a row that no plan keeps, after which none is tried
LISTED = 4  # values that block a smaller budget, as the error names them


@dataclass
class Plan:
    """A program that makes some of its values more than once."""

    problem: Problem
    schedule: Schedule
    seconds: float  # of a call, by the cost model
    bytes: int  # alive at once, by the simulation of the schedule

    @cached_property
    def function(self) -> Function:
        """The fused program."""
        return rebuilt(self.problem, self.schedule)

    @cached_property
    def arena(self) -> int:
        """The bytes of the arena, as the memory plan has them."""
        return arena_bytes(memory(self.function))

    @property
    def repeats(self) -> int:
        """How many ops run again."""
        return len(self.schedule) - len(self.problem.units)


def within(function: Function, budget: int, others: Callable[[], Iterable[Function]]) -> Function:
    """The fused function, or the fastest plan for it or for `others` whose arena is within a budget of bytes.

    Raises MemoryBudgetError, which names the least budget that a plan was found for, if there is none.
    """
    if arena_bytes(memory(function)) <= budget:
        return function
    plans = frontier([function, *others()])
    plan = fastest(plans, budget)
    if plan is None:
        raise _impossible(budget, min(plans, key=lambda plan: plan.arena))
    return plan.function


def fastest(plans: Iterable[Plan], budget: int) -> Plan | None:
    """The first of the plans whose arena is within the budget."""
    return next((plan for plan in plans if plan.arena <= budget), None)


def frontier(candidates: Sequence[Function]) -> list[Plan]:
    """The plans of which no other is both faster and smaller, the fastest first.

    The candidates are fused forms of one program, the first being the one that is best without a budget: no
    plan is said to take less time than that one.
    """
    forms = _undominated([_as_it_is(f) for f in candidates])
    least = seconds(candidates[0])
    found = _undominated([plan for form in forms for plan in (form, *_smaller(form))])
    found = _undominated(map(_improved, found))
    for plan in found:
        plan.seconds = max(plan.seconds, least)
    return _undominated(found)


def _undominated(plans: Iterable[Plan]) -> list[Plan]:
    """Those of which no other takes neither more time nor more bytes, the fastest first."""
    kept: list[Plan] = []
    for plan in sorted(plans, key=lambda plan: (plan.seconds, plan.bytes)):
        if not kept or plan.bytes < kept[-1].bytes:
            kept.append(plan)
    return kept


def _as_it_is(function: Function) -> Plan:
    problem = Problem(function)
    schedule = tuple(map(whole, problem.units))
    return Plan(problem, schedule, seconds(function), peak(problem, schedule))


def _smaller(form: Plan) -> Iterator[Plan]:
    """The plans of one form of the program that repeat some of its ops."""
    budget, misses = float(form.bytes), 0
    while misses < MISSES and budget > 1:
        budget *= RATIO
        misses += 1
        for schedule in schedules(form.problem, int(budget)):
            misses = 0
            yield _changed(form, schedule)


def _improved(plan: Plan) -> Plan:
    return _changed(plan, improved(plan.problem, plan.schedule, plan.bytes)) if plan.repeats else plan


def _changed(plan: Plan, schedule: Schedule) -> Plan:
    """The plan with another schedule of the same program."""
    problem = plan.problem
    time = plan.seconds + cost(problem, schedule) - cost(problem, plan.schedule)
    return Plan(problem, schedule, time, peak(problem, schedule))


def _impossible(budget: int, least: Plan) -> MemoryBudgetError:
    """The error of a budget below the least one."""
    report = memory_report(memory(least.function))
    return MemoryBudgetError(
        f"no plan keeps a budget of {budget:,} bytes: the least one found takes {least.arena:,}",
        loc=None if report.peak_op is None else report.peak_op.loc,
        why=f"alive at once at least: {_listed(report)}",
        cure=f"allow {least.arena:,} bytes, or call with fewer rows at a time",
    )


def _listed(report: MemoryReport) -> str:
    shown = [f"{r.value.type} ({r.nbytes:,} bytes{_line(r.loc)})" for r in report.peak[:LISTED]]
    more = len(report.peak) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _line(loc: object) -> str:
    return "" if loc is None else f", {loc}"
