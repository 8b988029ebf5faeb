"""Judges of schedules that share nothing with the search: what is alive, what is wrong, what is best."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf

from symgrad.passes.remat.problem import ELSEWHERE, Problem, Run


def slow_peak(problem: Problem, schedule: Sequence[Run]) -> int:
    """The same as `peak`, from the definition: at each run, the bytes of all instances that are alive."""
    last: dict[tuple[int, int], int] = {}
    for k, run in enumerate(schedule):
        for b in run.makes:
            last[k, b] = k
            for j in range(k + 1, len(schedule)):
                if b in schedule[j].reads:
                    last[k, b] = j
                if b in schedule[j].makes:
                    break
    shares: dict[tuple[int, int], tuple[int, int]] = {}  # an instance -> the one that it is written over
    results: set[tuple[int, int]] = set()  # instances that a result is written over
    for k, run in enumerate(schedule):
        given: set[int] = set()
        taken: set[int] = set()
        for read, made in run.over:
            source = max(j for j, b in last if b == read and j < k)
            if made in given or read in taken or last[source, read] != k or not run.may(read, made):
                continue
            given.add(made)
            taken.add(read)
            if made <= ELSEWHERE:
                results.add((source, read))
            else:
                shares[k, made] = source, read
    while True:  # what is written over by what a result is written over
        more = {shares[instance] for instance in results if instance in shares} - results
        if not more:
            break
        results |= more
    found = 0
    for j, run in enumerate(schedule):
        alive = {(k, b) for (k, b), end in last.items() if k <= j <= end and (k, b) not in results}
        own = [instance for instance in alive if shares.get(instance) not in alive]
        found = max(found, sum(problem.sizes[b] for _, b in own) + run.scratch)
    return found


def faults(problem: Problem, schedule: Sequence[Run]) -> list[str]:
    """What is wrong with a schedule; nothing if each run has what it reads, and every unit has run."""
    found: list[str] = []
    made: set[int] = set()
    ran: set[int] = set()
    for k, run in enumerate(schedule):
        found += [f"run {k} reads buffer {b} before it is made" for b in run.reads if b not in made]
        if run.unit in ran and not problem.repeatable[run.unit]:
            found.append(f"run {k} repeats what must not be repeated")
        if run.unit not in ran and run is not problem.first[run.unit]:
            found.append(f"run {k} is the first of its unit, and does not make all")
        made |= set(run.makes)
        ran.add(run.unit)
    return found + [f"unit {k} never runs" for k in range(len(problem.first)) if k not in ran]


State = tuple[int, frozenset[int]]  # how many units have run, and what is alive


def optimum(problem: Problem, budget: int) -> float:
    """The least cost of the repeats of any schedule within the budget, by search over what may be alive."""
    start: State = (0, frozenset())
    best: dict[State, float] = {start: 0.0}
    queue: list[tuple[float, int, State]] = [(0.0, 0, start)]
    again = [run for run in problem.single if run is not None]
    while queue:
        spent, _, state = heappop(queue)
        done, alive = state
        if best[state] < spent:
            continue
        if done == len(problem.first):
            return spent
        for run in (problem.first[done], *(run for run in again if run.unit < done)):
            if not alive.issuperset(run.reads):
                continue
            for kept in _subsets(alive):
                if _bytes(problem, run, alive, kept) > budget:
                    continue
                new = done + (run is problem.first[done]), kept | frozenset(run.makes)
                if spent + run.seconds < best.get(new, inf):
                    best[new] = spent + run.seconds
                    heappush(queue, (best[new], len(best), new))
    return inf


def _bytes(problem: Problem, run: Run, alive: frozenset[int], kept: frozenset[int]) -> int:
    """The bytes that are alive while a run works, if some of what is alive is kept after it."""
    over: dict[int, int] = {}
    for read, made in run.over:
        if read in alive - kept and made not in over and read not in over.values() and run.may(read, made):
            over[made] = read
    there = kept | frozenset(run.reads) | frozenset(run.makes)
    return sum(problem.sizes[b] for b in there - frozenset(over)) + run.scratch


def _subsets(items: frozenset[int]) -> list[frozenset[int]]:
    found = [frozenset[int]()]
    for item in items:
        found += [kept | {item} for kept in found]
    return found
