"""Search for schedules within a budget: what to throw away is decided looking ahead, as Belady's rule does.

The units run in their order. Where the next one does not fit, buffers are thrown away that cost little to
make again, are large, and are read late: least cost / (bytes^beta · distance^alpha). A buffer that is missing
is made again where it is read, from what is there, and so on down to the params. It is the rule of dynamic
tensor rematerialization (Kirisame and others, ICLR 2021) with the future known; several exponents are tried.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from symgrad.passes.remat.problem import Problem
from symgrad.passes.remat.schedule import Run, Schedule, last_reads, pairs_over, profile, whole

# Exponents of the distance and of the bytes.
RULES = ((1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (0.0, 1.0), (1.0, 0.5), (1.0, 1.5))
# A plan that runs more units than so many times their number is given up.
MOST_RUNS = 4
# What it costs to make a buffer again is added up over at most so many units.
MOST_ADDED = 16


def schedules(problem: Problem, budget: int) -> Iterator[Schedule]:
    """Schedules whose peak is at most the budget, as far as the rules find any."""
    seen: set[Schedule] = set()
    for alpha, beta in RULES:
        found = _Search(problem, budget, alpha, beta).run()
        if found is not None and found not in seen:
            seen.add(found)
            yield found


def improved(problem: Problem, schedule: Schedule, budget: int) -> Schedule:
    """The schedule without the repeats that it can do without, the dearest tried first."""
    runs = dict(enumerate(schedule))  # those that are left, by their first number
    repeats = _repeats(schedule)
    repeats.sort(key=lambda k: -problem.cost(problem.units[schedule[k].unit], schedule[k].makes))
    alive = _Alive(problem, tuple(runs.values()))
    for k in repeats:
        place = list(runs).index(k)
        if alive.most_without(place) > budget:
            continue
        run = runs.pop(k)
        tried = _Alive(problem, tuple(runs.values()))
        if max(tried.bytes) <= budget:
            alive = tried
        else:
            runs = dict(sorted({**runs, k: run}.items()))
    return tuple(runs.values())


def _repeats(schedule: Schedule) -> list[int]:
    """The numbers of the runs whose unit has run before."""
    first: dict[int, int] = {}
    return [k for k, run in enumerate(schedule) if first.setdefault(run.unit, k) < k]


class _Alive:
    """How many bytes are alive while each run of a schedule works, and why."""

    def __init__(self, problem: Problem, schedule: Schedule) -> None:
        self.problem = problem
        self.schedule = schedule
        self.bytes = profile(problem, schedule)
        self.ends = last_reads(problem, schedule)

    def most_without(self, place: int) -> int:
        """The most bytes alive before a repeat if what it makes were kept until then in its stead."""
        run, most = self.schedule[place], 0
        for b in run.makes:
            before = next(k for k in range(place - 1, -1, -1) if b in self.schedule[k].makes)
            gap = self.bytes[self.ends[before, b] : place]
            most = max(most, max(gap, default=0) + self.problem.sizes[b])
        return most


class _OverBudgetError(Exception):
    """Nothing more can be thrown away."""


@dataclass(slots=True)
class _Search:
    """One pass over the units."""

    problem: Problem
    budget: int
    alpha: float
    beta: float
    alive: dict[int, int] = field(default_factory=lambda: dict[int, int]())  # buffers, with their bytes
    pinned: dict[int, int] = field(default_factory=lambda: dict[int, int]())  # how many runs wait for each
    bytes: int = 0
    now: int = 0
    runs: list[Run] = field(default_factory=lambda: list[Run]())

    def run(self) -> Schedule | None:
        """The schedule; None if the rule does not stay within the budget."""
        try:
            for unit in self.problem.units:
                self.now = unit.number
                self._do(whole(unit))
                self._forget_dead()
        except (_OverBudgetError, RecursionError):
            return None
        return tuple(self.runs)

    def _do(self, run: Run) -> None:
        """Run a unit: with what it reads made again, and room made for what it makes."""
        problem, unit = self.problem, self.problem.units[run.unit]
        if len(self.runs) > MOST_RUNS * len(problem.units):
            raise _OverBudgetError
        for b in unit.reads:
            self.pinned[b] = self.pinned.get(b, 0) + 1
        for b in unit.reads:
            if b not in self.alive:
                if not problem.can_repeat(b):
                    raise _OverBudgetError
                self._do(Run(problem.makers[b], frozenset((b,))))
        over = dict(pairs_over(unit, run))
        written = {r: m for r, m in over.items() if self._is_last(r)}
        new = [b for b in run.makes if b not in self.alive]
        room = sum(problem.sizes[b] for b in new if b not in written.values()) + unit.scratch
        self._make_room(room)
        for b in unit.reads:
            self.pinned[b] -= 1
        for r in written:
            self._drop(r)
        for b in new:
            self.alive[b] = problem.sizes[b]
            self.bytes += problem.sizes[b]
        self.runs.append(run)

    def _is_last(self, b: int) -> bool:
        """Whether nothing reads a buffer after the run that now works."""
        return self._next(b) is None and self.pinned[b] == 1

    def _next(self, b: int) -> int | None:
        """The first unit after the present one that reads a buffer."""
        uses = self.problem.uses[b]
        k = bisect_right(uses, self.now)
        return uses[k] if k < len(uses) else None

    def _make_room(self, room: int) -> None:
        """Throw buffers away until so many bytes are free."""
        while self.bytes + room > self.budget:
            free = [b for b in self.alive if not self.pinned.get(b) and self.problem.sizes[b]]
            if not free:
                raise _OverBudgetError
            self._drop(min(free, key=self._price))

    def _price(self, b: int) -> float:
        """What it costs to throw a buffer away, by the bytes and the time that it would be kept."""
        following = self._next(b)
        if following is None:
            return -1.0
        if not self.problem.can_repeat(b):
            return float("inf")
        return self._again(b) / (self.problem.sizes[b] ** self.beta * (following - self.now) ** self.alpha)

    def _again(self, b: int) -> float:
        """What it costs to make a buffer again, with those that are missing for it."""
        total, pending, seen = 0.0, [b], {b}
        while pending and len(seen) <= MOST_ADDED:
            made = pending.pop()
            unit = self.problem.units[self.problem.makers[made]]
            total += self.problem.cost(unit, (made,))
            for r in unit.reads:
                if r not in self.alive and r not in seen:
                    seen.add(r)
                    pending.append(r)
        return total

    def _drop(self, b: int) -> None:
        self.bytes -= self.alive.pop(b)

    def _forget_dead(self) -> None:
        """Drop what no unit reads any more."""
        for b in [b for b in self.alive if self._next(b) is None]:
            self._drop(b)
