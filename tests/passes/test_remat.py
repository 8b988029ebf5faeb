"""Rematerialization: plans are sound, keep their budget, and give the bits of the program as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad
from passes.arena_run import run_in_arena
from passes.random_programs import arguments, numeric_programs
from passes.random_regions import region_programs
from symgrad.errors import ArgumentError, MemoryBudgetError
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import flow_of
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, optimize
from symgrad.passes.memory import memory
from symgrad.passes.pipeline import fused
from symgrad.passes.remat.frontier import fastest, frontier
from symgrad.passes.remat.problem import Problem
from symgrad.passes.remat.program import rebuilt
from symgrad.passes.remat.schedule import Run, Schedule, cost, pairs_over, peak, whole
from symgrad.passes.remat.search import improved, schedules

LAYERS, WIDTH, ROWS = 10, 64, 96


# ---- programs ----------------------------------------------------------------------------------------------
def chain(weights: list[Any], x: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w)
    return np.sum(x * x)


def skips(weights: list[Any], x: Any) -> Any:
    """Every second value is read again at the other end, and rows are mixed: there are no blocks."""
    kept = []
    for w in weights:
        x = np.sin(x @ w)
        kept.append(x)
        x = x - np.mean(x, axis=0)
    for w, early in zip(weights, reversed(kept), strict=True):
        x = np.tanh((x + early) @ w)
    return np.sum(np.exp(x))


def values(rows: int = ROWS) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((WIDTH, WIDTH)) / 8 for _ in range(LAYERS)]
    return weights, rng.standard_normal((rows, WIDTH))


def fused_gradient(loss: Callable[..., Any]) -> Function:
    return symgrad.value_and_grad(loss).program(*values()).fused


def flat(args: tuple[list[Any], Any]) -> list[Any]:
    return [*args[0], args[1]]


# ---- an independent judge ----------------------------------------------------------------------------------
def slow_peak(problem: Problem, schedule: Sequence[Run]) -> int:
    """The same as `peak`, from the definition: what is alive at each run, one instance after another."""
    alive: list[list[tuple[int, int]]] = [[] for _ in schedule]
    for k, run in enumerate(schedule):
        for b in run.makes:
            last = k
            for j in range(k + 1, len(schedule)):
                if b in problem.units[schedule[j].unit].reads:
                    last = j
                if b in schedule[j].makes:
                    break
            for j in range(k, last + 1):
                alive[j].append((k, b))
    found = 0
    for j, run in enumerate(schedule):
        unit = problem.units[run.unit]
        after = {b for _, b in alive[j + 1] if _ != j + 1} if j + 1 < len(schedule) else set[int]()
        over = sum(problem.sizes[m] for r, m in pairs_over(unit, run) if r not in after)
        found = max(found, sum(problem.sizes[b] for _, b in alive[j]) - over + unit.scratch)
    return found


def faults(problem: Problem, schedule: Sequence[Run]) -> list[str]:
    """What is wrong with a schedule; nothing if each run has what it reads, and every unit has run."""
    found: list[str] = []
    made: set[int] = set()
    ran: set[int] = set()
    for k, run in enumerate(schedule):
        unit = problem.units[run.unit]
        found += [f"run {k} reads buffer {b} before it is made" for b in unit.reads if b not in made]
        if run.unit in ran and not unit.repeatable:
            found.append(f"run {k} repeats what must not be repeated")
        made |= run.makes
        ran.add(run.unit)
    return found + [f"unit {unit.number} never runs" for unit in problem.units if unit.number not in ran]


def optimum(problem: Problem, budget: int) -> float | None:
    """The least cost of any schedule within the budget, by search over what may be alive (Dijkstra)."""
    start: tuple[int, frozenset[int]] = (0, frozenset())
    best: dict[tuple[int, frozenset[int]], float] = {start: 0.0}
    queue: list[tuple[float, int, tuple[int, frozenset[int]]]] = [(0.0, 0, start)]
    count = 0
    while queue:
        spent, _, state = heappop(queue)
        done, alive = state
        if best[state] < spent:
            continue
        if done == len(problem.units):
            return spent
        for unit in problem.units[: done + 1]:
            if not alive.issuperset(unit.reads):
                continue
            makes = frozenset(unit.makes)
            for kept in _subsets(alive):
                gone = alive - kept
                over = sum(
                    problem.sizes[m] for r, m in pairs_over(unit, Run(unit.number, makes)) if r in gone
                )
                bytes_ = sum(problem.sizes[b] for b in kept | makes | frozenset(unit.reads)) - over
                if bytes_ + unit.scratch > budget:
                    continue
                new = (max(done, unit.number + 1), kept | makes)
                total = spent + problem.cost(unit, makes)
                if total < best.get(new, np.inf):
                    best[new] = total
                    count += 1
                    heappush(queue, (total, count, new))
    return None


def _subsets(items: frozenset[int]) -> list[frozenset[int]]:
    found = [frozenset[int]()]
    for item in items:
        found += [kept | {item} for kept in found]
    return found


# ---- plans -------------------------------------------------------------------------------------------------
def assert_sound(problem: Problem, schedule: Schedule, budget: int, args: Sequence[Any]) -> None:
    """The schedule is valid, within the budget, and its program gives the same bits, in its arena too."""
    assert faults(problem, schedule) == []
    assert peak(problem, schedule) == slow_peak(problem, schedule) <= budget
    program = rebuilt(problem, schedule)
    verify(program, after="rematerialize")
    placed = memory(program)
    verify(placed, after="memory")
    with np.errstate(all="ignore"):
        expected = interpret(problem.function, *args)
        for found in (interpret(program, *args), run_in_arena(placed, list(args))):
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_array_equal(a, b)


@given(
    program=st.one_of(numeric_programs(), region_programs()), seed=st.integers(0, 3), part=st.floats(0.2, 1)
)
def test_random_programs(program: Function, seed: int, part: float) -> None:
    args = arguments(program, seed)
    problem = Problem(fused(optimize(program, PassRunner(None)), PassRunner(None)))
    start = tuple(map(whole, problem.units))
    assert_sound(problem, start, peak(problem, start), args)
    budget = int(part * peak(problem, start))
    for schedule in schedules(problem, budget):
        assert_sound(problem, schedule, budget, args)


@pytest.mark.parametrize("loss", [chain, skips])
def test_less_memory_costs_little(loss: Callable[..., Any]) -> None:
    problem = Problem(fused_gradient(loss))
    start = tuple(map(whole, problem.units))
    budget = int(0.6 * peak(problem, start))
    found = [improved(problem, schedule, budget) for schedule in schedules(problem, budget)]
    for schedule in found:
        assert_sound(problem, schedule, budget, flat(values()))
    assert min(cost(problem, schedule) for schedule in found) < 1.3 * cost(problem, start)


@pytest.mark.parametrize("loss", [chain, skips])
def test_a_smaller_budget_is_neither_faster_nor_larger(loss: Callable[..., Any]) -> None:
    plans = frontier([fused_gradient(loss)])
    least = min(plan.arena for plan in plans)
    budgets = [int(budget) for budget in np.geomspace(least, plans[0].arena, 20)]
    chosen = [plan for budget in budgets if (plan := fastest(plans, budget)) is not None]
    assert all(plan.arena <= budget for plan, budget in zip(chosen, budgets, strict=True))
    assert all(a.seconds >= b.seconds and a.arena <= b.arena for a, b in pairwise(chosen))
    assert chosen[0].repeats > 0
    assert chosen[-1].repeats == 0
    assert chosen[0].arena < 0.6 * chosen[-1].arena
    assert fastest(plans, least - 1) is None


@pytest.mark.parametrize("share", [0.95, 0.8, 0.7])
def test_near_the_optimum(share: float) -> None:
    def short(weights: list[Any], x: Any) -> Any:
        for w in weights[:3]:
            x = np.tanh(x @ w)
        return np.sum(x * x)

    problem = Problem(fused_gradient(short))
    start = tuple(map(whole, problem.units))
    budget = int(share * peak(problem, start))
    best, found = optimum(problem, budget), [cost(problem, s) for s in schedules(problem, budget)]
    if best is None:
        assert not found
    else:
        assert best * (1 - 1e-12) <= min(found) <= 1.1 * best


def test_what_is_not_needed_is_not_repeated() -> None:
    problem = Problem(fused_gradient(chain))
    start = tuple(map(whole, problem.units))
    wasteful = (start[0], *start)
    assert improved(problem, wasteful, peak(problem, wasteful)) == start


def test_what_runs_once_is_not_repeated() -> None:
    problem = Problem(fused_gradient(chain))
    start = tuple(map(whole, problem.units))
    problem.units[0].repeatable = False
    assert any("must not be repeated" in fault for fault in faults(problem, (start[0], *start)))
    assert any("before it is made" in fault for fault in faults(problem, start[1:]))
    for schedule in schedules(problem, int(0.6 * peak(problem, start))):
        assert [run.unit for run in schedule].count(0) == 1


# ---- the option --------------------------------------------------------------------------------------------
def test_a_compiled_program_keeps_its_budget() -> None:
    args = values()[0][:4], values()[1]
    plain = symgrad.value_and_grad(skips)
    expected = plain(*args)
    most = plain.memory(*args).arena
    small = symgrad.value_and_grad(skips, memory_budget=int(0.7 * most))
    found = small(*args)
    assert small.memory(*args).arena <= 0.7 * most
    np.testing.assert_array_equal(found[0], expected[0])
    for a, b in zip(found[1], expected[1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert "rematerialize" in small.explain()


def test_blocks_of_rows_save_more() -> None:
    args = values(1024)
    small = symgrad.value_and_grad(chain, memory_budget="400kB")
    assert symgrad.value_and_grad(chain).memory(*args).arena > 3_000_000
    assert small.memory(*args).arena <= 400_000
    expected = symgrad.value_and_grad(chain, target="interpreter")(*args)
    found = small.program(*args).fused
    assert any(flow_of(op) is Flow.FOR for op in found.body.ops)
    results = interpret(found, *flat(args))
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-12)
    for a, b in zip(results[1:], expected[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_an_impossible_budget_is_refused_before_anything_runs() -> None:
    with pytest.raises(MemoryBudgetError) as refused:
        symgrad.value_and_grad(chain, memory_budget=1000)(*values())
    text = str(refused.value)
    assert "no plan keeps a budget of 1,000 bytes" in text
    assert "alive at once at least: f64[" in text
    least = int(text.split("allow ")[1].split(" bytes")[0].replace(",", ""))
    assert symgrad.value_and_grad(chain, memory_budget=least).memory(*values()).arena <= least


@pytest.mark.parametrize("budget", [-1, True, 1.5, "64", "64 XB", "MiB", [64]])
def test_what_is_no_budget(budget: Any) -> None:
    with pytest.raises(ArgumentError, match="memory_budget is"):
        symgrad.value_and_grad(chain, memory_budget=budget)


@pytest.mark.parametrize(
    ("text", "size"), [("64MiB", 64 << 20), ("1.5 kB", 1500), ("10B", 10), ("2GB", 2 * 10**9)]
)
def test_sizes_with_units(text: str, size: int) -> None:
    assert symgrad.compile(np.sin, memory_budget=text).options.budget == size


@pytest.mark.parametrize("other", [{"parallel": 2}, {"target": "interpreter"}])
def test_what_a_budget_does_not_go_with(other: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="memory_budget="):
        symgrad.value_and_grad(chain, memory_budget="1MiB", **other)


def test_what_is_too_long_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMGRAD_COMPILED_LIMIT", "3")
    with pytest.raises(MemoryBudgetError, match="too many to compile"):
        symgrad.value_and_grad(chain, memory_budget="1GB")(*values())


def test_programs_of_different_budgets_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path))
    args, most = values(), 0
    for budget in (None, "500kB", None, "500kB"):  # the second time from what was kept
        compiled = symgrad.value_and_grad(chain, memory_budget=budget)
        compiled(*args)
        most = most or compiled.memory(*args).arena
        assert (compiled.memory(*args).arena <= 500_000) is (budget is not None)
    assert most > 500_000
