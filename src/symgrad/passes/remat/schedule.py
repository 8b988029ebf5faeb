"""Schedules with repeats: the runs of units in order, what they cost and what is alive meanwhile.

This one representation covers keeping everything, checkpoints and anything between: a run makes some buffers
of its unit, and an instance of a buffer lives from there to its last reader before it is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgrad.passes.remat.problem import Problem, Unit


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a unit."""

    unit: int
    makes: frozenset[int]  # the buffers that it makes this time


Schedule = tuple[Run, ...]


def whole(unit: Unit) -> Run:
    """The run that makes all."""
    return Run(unit.number, frozenset(unit.makes))


def cost(problem: Problem, schedule: Sequence[Run]) -> float:
    """About how many seconds the runs take."""
    return sum(problem.cost(problem.units[run.unit], run.makes) for run in schedule)


def peak(problem: Problem, schedule: Sequence[Run]) -> int:
    """The most bytes that are alive while a run works, if places were perfect."""
    return max(profile(problem, schedule), default=0)


def profile(problem: Problem, schedule: Sequence[Run]) -> list[int]:
    """The bytes that are alive while each run works, if places were perfect."""
    sizes, ends = problem.sizes, last_reads(problem, schedule)
    alive: dict[int, int] = {}  # the run that needs each buffer last
    found: list[int] = []
    total = 0
    for k, run in enumerate(schedule):
        unit = problem.units[run.unit]
        total += sum(sizes[b] for b in run.makes if b not in alive)
        over = sum(sizes[m] for r, m in pairs_over(unit, run) if alive.get(r, -1) == k)
        found.append(total - over + unit.scratch)
        for b in run.makes:
            alive[b] = ends[k, b]
        for b in (*unit.reads, *run.makes):
            if alive.get(b, k + 1) <= k:
                total -= sizes[b]
                del alive[b]
    return found


def pairs_over(unit: Unit, run: Run) -> list[tuple[int, int]]:
    """Which buffers of a run are written over which that it reads, each once, if the latter die there."""
    found: list[tuple[int, int]] = []
    for read, made in unit.over:
        if made in run.makes and all(read != r and made != m for r, m in found):
            found.append((read, made))
    return found


def last_reads(problem: Problem, schedule: Sequence[Run]) -> dict[tuple[int, int], int]:
    """The last run that reads each instance of a buffer, itself if none does: (run, buffer) -> run."""
    found: dict[tuple[int, int], int] = {}
    maker: dict[int, int] = {}
    for k, run in enumerate(schedule):
        for b in problem.units[run.unit].reads:
            found[maker[b], b] = k
        for b in run.makes:
            maker[b] = k
            found[k, b] = k
    return found
