"""The cheapest schedule within a budget, by integer programming (Checkmate: Jain and others, MLSys 2020).

Stage t makes some buffers again, in the order of their units, and then runs unit t for the first time. What
is to be found: which buffers are made again in a stage, which are kept from one stage to the next, and after
which run of a stage one is thrown away. It is the optimum of the schedules of this form: one that makes a
buffer twice before the same unit is not among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import optimize
from scipy.sparse import csr_array

from symgrad.passes.remat.problem import Problem, Run
from symgrad.passes.remat.schedule import Schedule

GAP = 1e-4  # part of the cost of the repeats by which the schedule may miss the optimum


def cheapest(problem: Problem, budget: int, lazy: bool, below: float, limit: float) -> Schedule | None:
    """The cheapest schedule within the budget that is found in so many seconds.

    None if none is found whose repeats take less than `below`.
    """
    model = _Model(problem, max(budget, 1), lazy)
    for t in range(len(problem.first)):
        model.stage(t)
    chosen = model.solved(below, limit)
    if chosen is None:
        return None
    schedule: list[Run] = []
    for t, run in enumerate(problem.first):
        schedule += [problem.again((b,)) for b in model.order[t] if chosen[model.remade[t, b]]]
        schedule.append(run)
    return tuple(schedule)


@dataclass(slots=True)
class _Model:
    """The variables, which are 0 or 1 but for the bytes that are alive, and the rows of the constraints."""

    problem: Problem
    budget: int
    lazy: bool  # whether a buffer is made again in no stage but one that reads it
    costs: list[float] = field(default_factory=lambda: list[float]())
    whole: list[int] = field(default_factory=lambda: list[int]())  # 1 for what is 0 or 1
    entries: list[tuple[int, int, float]] = field(default_factory=lambda: list[tuple[int, int, float]]())
    highest: list[float] = field(default_factory=lambda: list[float]())  # what each row is at most
    order: list[list[int]] = field(
        default_factory=lambda: list[list[int]]()
    )  # of each stage: what it may make
    kept: dict[tuple[int, int], int] = field(default_factory=lambda: dict[tuple[int, int], int]())
    remade: dict[tuple[int, int], int] = field(default_factory=lambda: dict[tuple[int, int], int]())

    def stage(self, t: int) -> None:
        """Add what happens before and while a unit runs for the first time."""
        problem = self.problem
        after = self._useful(t + 1)
        for b in after:
            self.kept[t + 1, b] = self._variable()
        self.order.append([b for b in self._useful(t) if problem.single[b] is not None])
        steps: list[tuple[int | None, Run]] = []
        for b in self.order[t]:
            run = problem.again((b,))
            self.remade[t, b] = self._variable(run.seconds)
            steps.append((self.remade[t, b], run))
        steps.append((None, problem.first[t]))
        for variable, run in steps:
            for r in run.reads:
                self._at_most(0.0 if variable is not None else -1.0, {variable: 1.0}, self._there(t, r))
        for b in self.order[t] if self.lazy else ():
            if b not in problem.first[t].reads:
                readers = {self.remade[t, c]: -1.0 for c in self.order[t] if b in self._reads(c)}
                self._at_most(0.0, {self.remade[t, b]: 1.0}, readers)
        for b in after:
            if problem.makers[b] != t:
                self._at_most(0.0, {self.kept[t + 1, b]: 1.0}, self._there(t, b))
        self._bytes(t, steps)

    def _reads(self, b: int) -> tuple[int, ...]:
        """The buffers that must be there to make one again."""
        run = self.problem.single[b]
        return () if run is None else run.reads

    def _there(self, t: int, b: int) -> dict[int | None, float]:
        """Minus one if a buffer is there in a stage once what is made again has been made."""
        found = (table.get((t, b)) for table in (self.kept, self.remade))
        return {variable: -1.0 for variable in found if variable is not None}

    def _useful(self, t: int) -> list[int]:
        """The buffers made before a stage that it or a later one may read, in the order of their units."""
        problem = self.problem
        found = {b for b, uses in enumerate(problem.uses) if uses and uses[-1] >= t and problem.makers[b] < t}
        pending = [b for run in problem.first[t:] for b in run.reads]
        seen = set(pending)
        while pending:
            for r in self._reads(pending.pop()):
                if r not in seen:
                    seen.add(r)
                    pending.append(r)
        found |= {b for b in seen if problem.makers[b] < t}
        return sorted(found, key=lambda b: (problem.makers[b], b))

    # ---- bytes ----
    def _bytes(self, t: int, steps: Sequence[tuple[int | None, Run]]) -> None:
        """Bound the bytes that are alive while each run of a stage works."""
        sizes = self.problem.sizes
        alive = self._variable(whole=0)
        held = {self.kept[t, b]: self._part(sizes[b]) for b in self._useful(t) if (t, b) in self.kept}
        self._at_most(0.0, {alive: -1.0}, held)
        for k, (variable, run) in enumerate(steps):
            made = sum(sizes[b] for b in run.makes)
            freed = self._freed(t, steps, k)
            over = self._over(run, freed)
            if variable is None:
                self._at_most(1.0 - self._part(made + run.scratch), {alive: 1.0}, over)
                return
            self._at_most(1.0, {alive: 1.0, variable: self._part(made + run.scratch)}, over)
            following = self._variable(whole=0)
            less = {f: -self._part(sizes[b]) for b, f in freed.items()}
            self._at_most(0.0, {alive: 1.0, following: -1.0, variable: self._part(made)}, less)
            alive = following

    def _freed(self, t: int, steps: Sequence[tuple[int | None, Run]], k: int) -> dict[int, int]:
        """Whether each buffer of a run is thrown away after it: nothing later reads it, nor is it kept."""
        variable, run = steps[k]
        found: dict[int, int] = {}
        for b in (*run.reads, *run.makes):
            if variable is not None and b in steps[-1][1].reads:
                continue
            found[b] = f = self._variable()
            if variable is not None:
                self._at_most(0.0, {f: 1.0, variable: -1.0})
            if (t + 1, b) in self.kept:
                self._at_most(1.0, {f: 1.0, self.kept[t + 1, b]: 1.0})
            for later, other in steps[k + 1 :]:
                if b in other.reads and later is not None:
                    self._at_most(1.0, {f: 1.0, later: 1.0})
        return found

    def _over(self, run: Run, freed: Mapping[int, int]) -> dict[int | None, float]:
        """Minus the bytes that are written over what dies there."""
        found: dict[int | None, float] = {}
        shared: dict[tuple[bool, int], list[int]] = {}
        for read, made in run.over:
            if made < 0 or read not in freed or not run.may(read, made):
                continue
            w = self._variable()
            self._at_most(0.0, {w: 1.0, freed[read]: -1.0})
            shared.setdefault((False, read), []).append(w)
            shared.setdefault((True, made), []).append(w)
            found[w] = -self._part(self.problem.sizes[made])
        for several in shared.values():
            if len(several) > 1:
                self._at_most(1.0, dict.fromkeys(several, 1.0))
        return found

    def _part(self, nbytes: int) -> float:
        return nbytes / self.budget

    # ---- variables and rows ----
    def _variable(self, cost: float = 0.0, whole: int = 1) -> int:
        self.costs.append(cost)
        self.whole.append(whole)
        return len(self.costs) - 1

    def _at_most(self, highest: float, *parts: Mapping[Any, float]) -> None:
        """Add a row: the sum of the variables, each times its number, is at most so much."""
        row = len(self.highest)
        self.entries += [(row, v, number) for part in parts for v, number in part.items() if v is not None]
        self.highest.append(highest)

    def solved(self, below: float, limit: float) -> Sequence[bool] | None:
        """The values of the variables; None if no solution costs less, or none is found in time."""
        unit = max(max(self.costs), 1e-300)
        costs = [cost / unit for cost in self.costs]
        if below < np.inf:
            self._at_most(below / unit * (1 - GAP), {v: cost for v, cost in enumerate(costs) if cost})
        rows, columns, numbers = zip(*self.entries, strict=True)
        shape = len(self.highest), len(costs)
        matrix = csr_array((numbers, (rows, columns)), shape=shape)
        solver: Any = optimize
        found = solver.milp(
            costs,
            integrality=self.whole,
            bounds=solver.Bounds(0.0, 1.0),
            constraints=solver.LinearConstraint(matrix, -np.inf, self.highest),
            options={"time_limit": limit, "mip_rel_gap": GAP},
        )
        return None if found.x is None else [bool(x > 0.5) for x in found.x]
