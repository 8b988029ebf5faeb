"""Rematerialization: plans are sound, keep their budget, and give the bits of the program as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrad
from passes.arena_run import run_in_arena
from passes.random_nets import Layer, gradient, nets
from passes.random_programs import arguments, numeric_programs
from passes.random_regions import region_programs
from passes.remat_judge import faults, slow_peak
from symgrad.errors import ArgumentError, MemoryBudgetError, UnsupportedError
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.launch import Budget
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import flow_of
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, optimize
from symgrad.passes.memory import lower_bound, memory
from symgrad.passes.pipeline import fused
from symgrad.passes.remat.exact import optimal
from symgrad.passes.remat.frontier import fastest, frontier
from symgrad.passes.remat.improve import improved
from symgrad.passes.remat.plan import Plan, as_it_is
from symgrad.passes.remat.schedule import peak
from symgrad.passes.remat.search import OverBudgetError, Rule, found_by
from symgrad.passes.remat.sweep import RULES

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


# ---- plans -------------------------------------------------------------------------------------------------
def assert_sound(plan: Plan, args: Sequence[Any]) -> None:
    """The schedule is valid, its program takes what the simulation says, and gives the same bits."""
    problem, schedule = plan.problem, plan.schedule
    assert faults(problem, schedule) == []
    assert plan.bytes == peak(problem, schedule) == slow_peak(problem, schedule)
    verify(plan.function, after="rematerialize")
    placed = memory(plan.function)
    verify(placed, after="memory")
    assert plan.bytes == lower_bound(placed)
    assert plan.arena <= 1.25 * plan.bytes
    with np.errstate(all="ignore"):
        # BLAS gives other bits where arrays lie otherwise, so that each way to run is compared with itself.
        assert_same(interpret(plan.units.function, *args), interpret(plan.function, *args))
        as_it_was = run_in_arena(memory(plan.units.function), list(args))
        assert_same(as_it_was, run_in_arena(placed, list(args)))


def assert_same(expected: Sequence[Any], found: Sequence[Any]) -> None:
    """The arrays have the same bits."""
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


def smaller(form: Plan, part: float, rule: Rule) -> list[Plan]:
    """What a rule finds within a part of the peak, as it is and improved."""
    budget = int(part * form.bytes)
    try:
        schedule = found_by(rule, form.problem, budget)
    except OverBudgetError:
        return []
    found = [schedule, improved(form.problem, schedule, budget)]
    plans = [replace(form, schedule=s, bytes=peak(form.problem, s)) for s in found]
    assert all(plan.bytes <= budget for plan in plans)
    return plans


@given(program=st.one_of(numeric_programs(), region_programs()), seed=st.integers(0, 3))
@settings(max_examples=20)
def test_random_programs(program: Function, seed: int) -> None:
    form = as_it_is(fused(optimize(program, PassRunner(None)), PassRunner(None)))
    assert_sound(form, arguments(program, seed))


@given(layers=nets(), part=st.floats(0.4, 0.95), rule=st.sampled_from(RULES))
@settings(max_examples=8)
def test_random_nets(layers: list[Layer], part: float, rule: Rule) -> None:
    function, args = gradient(layers)
    for plan in smaller(as_it_is(function), part, rule):
        assert_sound(plan, args)


@pytest.mark.nightly
@given(layers=nets(), part=st.floats(0.4, 0.95), rule=st.sampled_from(RULES))
@settings(max_examples=200)
def test_more_random_nets(layers: list[Layer], part: float, rule: Rule) -> None:
    function, args = gradient(layers)
    for plan in smaller(as_it_is(function), part, rule):
        assert_sound(plan, args)


def test_a_loop_that_runs_again_makes_what_is_wanted_alone() -> None:
    form = as_it_is(gradient([("tanh", 0), ("loop", 0), ("tanh", 1), ("sin", 0)])[0])
    loops = [k for k, op in enumerate(form.units.ops) if flow_of(op) is Flow.FOR]
    carry, rows = next(makes for k in loops if len(makes := form.problem.first[k].makes) == 2)
    again = form.problem.again((carry,))
    assert again.makes == (carry,)
    assert [v.type for v in form.units.only(again).results] == [form.units.buffers[carry].type]
    assert form.problem.again((rows,)).makes == (carry, rows)  # each row is made from the carry


# ---- budgets -----------------------------------------------------------------------------------------------
def loops(weights: list[Any], x: Any) -> Any:
    """Layers with a loop in each, whose rows are mixed."""
    for w in weights[:4]:
        x = np.tanh(x @ w)
        for _ in range(20):
            x = 0.9 * np.sin(x) + np.mean(x, axis=0)
    return np.sum(x * x)


def attention(weights: list[Any], x: Any) -> Any:
    for a, b, c in zip(weights[::3], weights[1::3], weights[2::3], strict=False):
        scores = np.exp((x @ a) @ (x @ b).T / 8.0)
        x = x + (scores / np.sum(scores, axis=1, keepdims=True)) @ np.tanh(x @ c)
    return np.mean(x * x)


@pytest.mark.parametrize("loss", [chain, skips, loops, attention])
def test_twenty_budgets(loss: Callable[..., Any]) -> None:
    """A smaller budget is neither faster nor larger, and all of them give the same bits."""
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
    assert next(plan.seconds for plan in plans if plan.arena < 0.7 * plans[0].arena) < 1.35 * plans[0].seconds
    for plan in {id(plan): plan for plan in chosen[::9]}.values():
        assert_sound(plan, flat(values()))


def test_plans_are_the_same_each_time() -> None:
    first, second = ([(plan.seconds, plan.bytes) for plan in frontier([fused_gradient(chain)])] for _ in "ab")
    assert first == second


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


def test_forward_mode_keeps_a_budget() -> None:
    x = values()[1]
    with pytest.raises(MemoryBudgetError, match="no plan keeps a budget of 64 bytes"):
        symgrad.jvp(lambda x: np.sum(np.sin(x @ x.T) @ x), (x,), (x,), memory_budget=64)


@pytest.mark.parametrize("budget", [-1, True, 1.5, "64", "64 XB", "MiB", [64]])
def test_what_is_no_budget(budget: Any) -> None:
    with pytest.raises(ArgumentError, match="memory_budget is"):
        symgrad.value_and_grad(chain, memory_budget=budget)


@pytest.mark.parametrize(
    ("text", "size"), [("64MiB", 64 << 20), ("1.5 kB", 1500), ("10B", 10), ("2GB", 2 * 10**9)]
)
def test_sizes_with_units(text: str, size: int) -> None:
    assert symgrad.compile(np.sin, memory_budget=text).options.budget == Budget(size)


@pytest.mark.parametrize("plan", ["best", True, 1])
def test_what_is_no_plan(plan: Any) -> None:
    with pytest.raises(ArgumentError, match=r"plan is .*, not 'optimal'"):
        symgrad.value_and_grad(chain, memory_budget="1MiB", plan=plan)


def test_a_plan_needs_a_budget() -> None:
    with pytest.raises(ArgumentError, match="how a memory budget is kept, and there is none"):
        symgrad.compile_grad(plan="optimal")(chain)


def test_the_optimal_plan_is_at_least_as_fast() -> None:
    args = values()[0][:3], values()[1]
    function = symgrad.value_and_grad(chain).program(*args).fused
    plans = frontier([function])
    budget = plans[-1].arena
    form = as_it_is(function)
    found = optimal([form], budget, None)
    assert found is not None
    assert found.arena <= budget
    assert found.seconds <= plans[-1].seconds * (1 + 1e-9)
    assert_sound(found, [*args[0], args[1]])
    assert optimal([form], budget, replace(found, seconds=form.seconds)) is not found
    compiled = symgrad.value_and_grad(chain, memory_budget=budget, plan="optimal")
    assert compiled.options.budget == Budget(budget, optimal=True)
    assert compiled.memory(*args).arena <= budget


def test_a_program_that_is_too_large_for_the_optimal_plan() -> None:
    with pytest.raises(UnsupportedError, match=r'plan="optimal": the program has \d+ kernels') as refused:
        symgrad.value_and_grad(skips, memory_budget=1000, plan="optimal")(*values())
    assert "leave out plan=" in str(refused.value)


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
