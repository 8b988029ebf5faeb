"""A plan: a fused program that makes some of its values more than once, what it takes, and what it gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from symgrad.ir.core import Function
from symgrad.ir.index_names import ENDLESS
from symgrad.passes.cost import seconds
from symgrad.passes.memory import arena_bytes, memory
from symgrad.passes.remat.problem import Problem
from symgrad.passes.remat.program import rebuilt
from symgrad.passes.remat.schedule import Schedule, peak
from symgrad.passes.remat.units import Units, units_of


@dataclass
class Plan:
    """A program that makes some of its values more than once."""

    units: Units
    problem: Problem
    schedule: Schedule
    seconds: float  # of a call, by the cost model
    bytes: int  # alive at once, by the simulation of the schedule

    @cached_property
    def function(self) -> Function:
        """The fused program."""
        return rebuilt(self.units, self.schedule)

    @cached_property
    def arena(self) -> int:
        """The bytes of the arena, as the memory plan has them."""
        return arena_bytes(memory(self.function))

    @property
    def repeats(self) -> int:
        """How many ops run again."""
        return len(self.schedule) - len(self.problem.first)

    @property
    def grows(self) -> bool:
        """Whether it needs memory beside the arena, nobody knows how much."""
        return self.bytes >= ENDLESS


def as_it_is(function: Function) -> Plan:
    """The plan without repeats."""
    units = units_of(function)
    problem = units.problem()
    schedule = tuple(problem.first)
    return Plan(units, problem, schedule, seconds(function), peak(problem, schedule))


def undominated(plans: Iterable[Plan]) -> list[Plan]:
    """Those of which no other takes neither more time nor more bytes, the fastest first."""
    kept: list[Plan] = []
    for plan in sorted(plans, key=lambda plan: (plan.seconds, plan.bytes)):
        if not kept or plan.bytes < kept[-1].bytes:
            kept.append(plan)
    return kept
