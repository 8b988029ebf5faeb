"""Loops without a known end that run again for the loop that reverses them: same bits, in fixed memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad
from passes.arena_run import run_in_arena
from symgrad.codegen.lower import lower
from symgrad.errors import MemoryBudgetError
from symgrad.ir import interpreter
from symgrad.ir.analysis import walk
from symgrad.ir.core import Block, Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, schedule
from symgrad.passes.literals import is_room
from symgrad.passes.memory import grown
from symgrad.passes.memory_report import memory_report
from symgrad.passes.pipeline import fused
from symgrad.passes.remat.binomial import Course, distance
from symgrad.passes.remat.checkpoints import Choice, checkpointed, rewritten
from symgrad.passes.remat.doubling import Doubling
from symgrad.passes.remat.unbounded import Unbounded, unbounded
from symgrad.runtime.memory_tables import memory_text

FEW = (0, 1, 2, 3, 15, 16, 17, 33)
MANY = (*range(34), 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 1000)


# ---- losses ------------------------------------------------------------------------------------------------
def settled(u: Any, k: Any, most: Any) -> Any:
    """One array, and a count that the derivative does not need."""
    n = 0
    while n < most:
        u = u + 0.1 * np.sin(u) * k
        n += 1
    return np.sum(u)


def mixed(u: Any, k: Any, most: Any) -> Any:
    """Arrays of two shapes, a number, a whole number, and a truth value that the body reads."""
    n, up, w, s = 0, np.sum(u) > 0, np.outer(u, u), 0.5
    while n < most:
        w = 0.5 * w + np.where(up, np.outer(np.cos(u), u), 0.1)
        u = np.sin(w @ u) + k * n
        s = s * np.cos(s) + u[0]
        up = np.logical_not(up)
        n += 1
    return np.sum(u) * s + np.sum(w)


def written(u: Any, k: Any, most: Any) -> Any:
    """An array of which each step writes a part."""
    u, n = u.copy(), 0
    while n < most:
        u[1:] += k * np.tanh(u[:-1])
        u[n % 3] = u[n % 3] ** 2 - 0.5
        n += 1
    return np.sum(u**2)


LOSSES: dict[str, Callable[..., Any]] = {"settled": settled, "mixed": mixed, "written": written}


def gradient(loss: Callable[..., Any], *args: Any) -> Function:
    return symgrad.value_and_grad(loss, (0, 1)).program(*args).optimized


def in_slots(slots: int, rows: int) -> Choice:
    """So many slots and rows for loops without a known end, and other loops as they are."""
    return lambda pair: Doubling(pair, slots, rows) if isinstance(pair, Unbounded) else None


def assert_same_bits(expected: Any, found: Any) -> None:
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- gradients ---------------------------------------------------------------------------------------------
def check_steps(name: str, slots: int, rows: int, numbers: Sequence[int]) -> None:
    u, k = np.array([0.3, -0.4, 1.1]), np.asarray(0.2)
    function = gradient(LOSSES[name], u, k, 3)
    other = rewritten(function, in_slots(slots, rows))
    verify(other, after="checkpoint")
    placed = schedule(other, PassRunner(None))
    verify(placed, after="memory")
    assert any(grown(fused(function, PassRunner(None))))
    assert not any(grown(placed))
    for trips in numbers:
        args = [u, k, np.asarray(trips)]
        expected = interpret(function, *args)
        assert_same_bits(expected, interpret(other, *args))
        if trips < 20:
            assert_same_bits(expected, run_in_arena(placed, args))


@pytest.mark.parametrize(("name", "slots", "rows"), [("settled", 8, 1), ("mixed", 8, 3), ("written", 12, 2)])
def test_some_numbers_of_steps(name: str, slots: int, rows: int) -> None:
    check_steps(name, slots, rows, FEW)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("slots", "rows"), [(8, 1), (8, 5), (12, 2), (32, 8)])
def test_any_number_of_steps(name: str, slots: int, rows: int) -> None:
    check_steps(name, slots, rows, MANY)


def test_thousands_of_steps() -> None:
    args = np.array([0.3, -0.4, 1.1]), np.asarray(0.001), np.asarray(1025)
    function = gradient(settled, *args)
    assert_same_bits(interpret(function, *args), interpret(rewritten(function, in_slots(32, 64)), *args))


def test_steps_run_as_often_as_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    args = np.array([0.3, -0.4, 1.1]), np.asarray(0.001)
    program = rewritten(gradient(settled, *args, 3), in_slots(8, 4))
    counted, run = [0], interpreter.run_block

    def counting(block: Block, *given: Any) -> Any:
        counted[0] += any(op.opdef.name == "sin" for op in block.ops)
        return run(block, *given)

    monkeypatch.setattr(interpreter, "run_block", counting)
    for trips in (4, 32, 36, 100):
        counted[0] = 0
        interpret(program, *args, np.asarray(trips))
        work = Course.of(trips, 8, 4).reversing
        assert counted[0] == 2 * trips + 4 * (work.run + work.again)


# ---- how often steps run -----------------------------------------------------------------------------------
def fewest(pieces: int, slots: int) -> int:
    """How many pieces run at least, if it is known how many there are (Griewank and Walther)."""
    passes = 0
    while comb(slots + passes, passes) < pieces:
        passes += 1
    return passes * pieces - comb(slots + passes, passes - 1) if passes else 0


@given(pieces=st.integers(1, 50_000), slots=st.sampled_from([8, 12, 16, 64, 256]), rows=st.integers(1, 9))
def test_nearly_as_few_steps_as_if_their_number_were_known(pieces: int, slots: int, rows: int) -> None:
    work = Course.of(pieces * rows, slots, rows).reversing
    if pieces <= slots:
        assert work.run == work.again == 0
    first, known = pieces, fewest(pieces, slots)
    backward = 2 * pieces
    assert first + pieces + work.run + work.again + backward <= 1.25 * (known + pieces + backward) + 2


@given(pieces=st.integers(2, 5_000), free=st.integers(1, 40))
def test_distances_leave_what_fewer_slots_can_do(pieces: int, free: int) -> None:
    first = distance(pieces, free)
    passes = next(r for r in range(1, pieces) if comb(free + r + 1, r) >= pieces)
    assert 1 <= first < pieces
    assert comb(free + passes, passes - 1) >= first
    assert comb(free + passes, passes) >= pieces - first


# ---- loops in loops and branches ---------------------------------------------------------------------------
def in_a_for(u: Any, k: Any) -> Any:
    for i in range(20):
        v = u
        while np.sum(v * v) > 0.5:
            v = np.sin(v) * k
        u = u + v * i
    return np.sum(u)


def around_a_for(u: Any, k: Any) -> Any:
    while np.sum(u * u) > 1.0:
        for _ in range(17):
            u = np.sin(u) * k
    return np.sum(u)


def in_a_while(u: Any, k: Any) -> Any:
    while np.sum(u * u) > 1.0:
        v = u
        while np.sum(v * v) > 0.5:
            v = np.sin(v) * k
        u = u * 0.9 + v * 0.01
    return np.sum(u)


def in_a_branch(u: Any, k: Any) -> Any:
    if np.sum(u) > 0:
        while np.sum(u * u) > 1.0:
            u = np.sin(u) * k
    return np.sum(u)


def beside_growing_sizes(u: Any, k: Any) -> Any:
    for i in range(17):
        v = u[:3] + 0.5
        while np.sum(v * v) > 0.3:
            v = np.sin(v) * k + 0.01 * np.sum(u[:i])
        u = 0.9 * u + 0.01 * v[0]
    return np.sum(u)


INSIDE = (in_a_for, around_a_for, in_a_while, in_a_branch, beside_growing_sizes)


@pytest.mark.parametrize("loss", INSIDE)
def test_loops_inside(loss: Callable[..., Any]) -> None:
    args = [np.linspace(0.05, 0.3, 20) if loss is beside_growing_sizes else np.linspace(1.0, 3.0, 3), 0.9]
    function = gradient(loss, *args)
    other = rewritten(function, in_slots(8, 2))
    verify(other, after="checkpoint")
    placed = schedule(other, PassRunner(None))
    assert any(grown(fused(function, PassRunner(None))))
    assert not any(grown(placed))
    expected = interpret(function, *args)
    assert_same_bits(expected, interpret(other, *args))
    assert_same_bits(expected, run_in_arena(placed, [np.asarray(a) for a in args]))


@pytest.mark.nightly
@pytest.mark.parametrize("loss", INSIDE)
def test_every_plan_of_loops_inside(loss: Callable[..., Any]) -> None:
    args = [np.linspace(0.05, 0.3, 20) if loss is beside_growing_sizes else np.linspace(1.0, 3.0, 3), 0.9]
    function = gradient(loss, *args)
    expected = interpret(function, *args)
    for other in checkpointed(function):
        verify(other, after="checkpoint")
        placed = schedule(other, PassRunner(None))
        assert_same_bits(expected, interpret(other, *args))
        assert_same_bits(expected, run_in_arena(placed, [np.asarray(a) for a in args]))


# ---- what grows --------------------------------------------------------------------------------------------
READ_TWICE = """
func @read_twice(%x: f64[], %limit: f64[]) -> (f64[], f64[]) {
  %0, %1, %2 = while_loop %x, %limit {carries=1, trips="n"} : (f64[], i64[], f64[n])
    test (%x: f64[], %limit: f64[]) {
      %0 = lt %x, %limit : bool[]
      yield %0
    }
    body (%x: f64[], %limit: f64[]) {
      %0 = add %x, %x : f64[]
      yield %0, %x
    }
  %3 = for_loop %0, %2 {carries=1, index="k", lower=0, reverse=True, upper=n, xs=1} : f64[]
    body (%s: f64[], %x: f64[]) {
      %0 = mul %s, %x : f64[]
      yield %0
    }
  %4 = sum %2 {axes=(0,)} : f64[]
  return %3, %4
}
"""


def test_nothing_is_stored_where_nothing_is_read() -> None:
    args = np.ones(3), 0.5, 10
    placed = schedule(rewritten(gradient(settled, *args), in_slots(8, 4)), PassRunner(None))
    rooms = [op for op in walk(placed.body) if is_room(op)]
    assert len({dict(op.attrs)["room"] for op in rooms}) == len(rooms) == 2
    assert sum(kernel.body == () for kernel in lower(placed).kernels) == 2


def test_rows_that_others_read_stay() -> None:
    function = parse_function(READ_TWICE)
    assert not list(unbounded(function.body, {}))
    alone = parse_function(READ_TWICE.replace("sum %2 {axes=(0,)}", "neg %0"))
    (pair,) = unbounded(alone.body, {})
    assert (pair.state_bytes, pair.row_bytes) == (8, 8)
    args = np.asarray(1.0), np.asarray(1e30)
    assert_same_bits(interpret(alone, *args), interpret(rewritten(alone, in_slots(8, 3)), *args))


def test_what_grows_is_reported() -> None:
    report = memory_report(schedule(parse_function(READ_TWICE), PassRunner(None)))
    assert [str(each) for each in report.grown] == ["f64[n] (8 bytes an iteration)"]
    assert "beside it f64[n] (8 bytes an iteration)" in str(report)
    assert "grows        f64[n] (8 bytes an iteration), -" in memory_text(report)
    compiled = symgrad.value_and_grad(settled)
    (found,) = compiled.memory(np.ones(3), 0.5, 10).grown
    assert found.row == 24
    assert found.loc is not None
    plans = compiled.memory_plans(np.ones(3), 0.5, 10)
    assert [plan.grows for plan in plans] == [True] + [False] * (len(plans) - 1)


def test_no_budget_has_room_for_what_grows() -> None:
    def slope(x: Any) -> Any:
        s = x
        while s < 100.0:
            s = s + 0.1 * np.sin(s) * x
        return s

    with pytest.raises(MemoryBudgetError) as refused:
        symgrad.value_and_grad(symgrad.grad(slope), memory_budget="1GiB")(1.5)
    text = str(refused.value)
    assert "no plan keeps a budget of 1,073,741,824 bytes: f64[trips] (8 bytes an iteration) grows" in text
    assert "while s < 100.0" in text
    assert "leave memory_budget= out" in text


def test_a_budget_for_a_long_while() -> None:
    def newton(a: Any, tolerance: Any) -> Any:
        x = 1.0
        while np.abs(x * x - a) > tolerance:
            x = x - 1e-4 * (x * x - a) / (2.0 * x)
        return x

    plain = symgrad.value_and_grad(newton)
    small = symgrad.value_and_grad(newton, memory_budget="2kB")
    assert small(3.0, 1e-4) == plain(3.0, 1e-4)
    report = small.memory(3.0, 1e-4)
    assert report.arena <= 2000
    assert report.grown == ()
