"""Loops that run again for the loop that reverses them: the same bits, in less memory."""

from __future__ import annotations

from collections.abc import Callable
from math import comb, isqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad
from passes.arena_run import run_in_arena
from passes.random_programs import arguments
from passes.random_regions import region_programs
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, optimize, schedule
from symgrad.passes.memory import arena_bytes
from symgrad.passes.remat import checkpoints
from symgrad.passes.remat.checkpoints import Choice, Scheme, checkpoint, checkpointed, rewritten
from symgrad.passes.remat.reversal import Reversal, reversals
from symgrad.passes.remat.segments import Segments
from symgrad.passes.remat.simplex import Simplex, pieces

N = 6


# ---- losses ------------------------------------------------------------------------------------------------
def diffusion(u: Any, k: Any, steps: int) -> Any:
    """All steps are alike."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2]) - 0.1 * u[1:-1] ** 3
    return np.sum(u * u)


def forced(u: Any, f: Any, steps: int) -> Any:
    """A row comes in at each step, and a row goes out."""
    kept = np.zeros((steps, N))
    for t in range(steps):
        u = np.sin(u) * np.cos(f[:N]) + t * 0.01
        kept[t] = u
    return np.sum(kept**2)


def filtered(u: Any, f: Any, steps: int) -> Any:
    """Rows of an argument have gradients of their own; the first of them is left out."""
    total = 0.0
    for t in range(1, steps + 1):
        u = np.tanh(u + f[t])
        total = total + np.sum(u) * t
    return total


def two_loops(u: Any, k: Any, steps: int) -> Any:
    for _ in range(steps):
        u = np.sin(u) + k
    for _ in range(steps + 1):
        u = u * np.exp(-u * u)
    return np.sum(u)


def nested(u: Any, k: Any, steps: int) -> Any:
    for _ in range(steps):
        v = u
        for _ in range(2):
            v = np.cos(v) * k
        u = u + 0.1 * v
    return np.sum(u)


LOSSES: dict[str, tuple[Callable[..., Any], Callable[[int], Any]]] = {
    "diffusion": (diffusion, lambda steps: 0.1),
    "forced": (forced, lambda steps: np.linspace(0.0, 1.0, N + 3)),
    "filtered": (filtered, lambda steps: np.random.default_rng(1).standard_normal((steps + 1, N))),
    "two_loops": (two_loops, lambda steps: 0.2),
    "nested": (nested, lambda steps: 0.7),
}


def gradient(name: str, steps: int) -> tuple[Function, list[Any]]:
    loss, parameter = LOSSES[name]
    args = [np.random.default_rng(0).standard_normal(N), parameter(steps), steps]
    program = symgrad.value_and_grad(loss, (0, 1), static_argnums=(2,)).program(*args)
    return program.optimized, args[:2]


def bounded(scheme: Callable[[Reversal], Scheme]) -> Choice:
    """The scheme for loops that have an end, and none for others."""
    return lambda pair: scheme(pair) if isinstance(pair, Reversal) else None


def assert_same_bits(function: Function, other: Function, args: list[Any]) -> None:
    verify(other, after="checkpoint")
    placed = schedule(other, PassRunner(None))
    expected = interpret(function, *args)
    for found in (interpret(other, *args), run_in_arena(placed, [np.asarray(a) for a in args])):
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_array_equal(a, b)


# ---- pairs -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "alike"),
    [("diffusion", [True]), ("forced", [False]), ("filtered", [False]), ("two_loops", [True, True]),
     ("nested", [True])],
)  # fmt: skip
def test_what_a_gradient_reverses(name: str, alike: list[bool]) -> None:
    function, _ = gradient(name, 20)
    assert [pair.is_autonomous for pair in reversals(function.body, {})] == alike


def test_few_steps_and_stacks_that_others_read_stay() -> None:
    assert not list(reversals(gradient("diffusion", 15)[0].body, {}))

    def read_twice(u: Any) -> Any:
        rows = np.zeros((20, N))
        for t in range(20):
            u = np.sin(u)
            rows[t] = u
        return np.sum(rows), u

    compiled = symgrad.value_and_grad(read_twice, has_aux=True)
    function = compiled.program(np.ones(N)).optimized
    for pair in reversals(function.body, {}):
        assert not set(pair.read) & set(function.body.results)


# ---- schemes -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("steps", [16, 23])
@pytest.mark.parametrize(("count", "length"), [(1, 16), (2, 5), (4, 4), (5, 3), (16, 1)])
def test_segments(name: str, steps: int, count: int, length: int) -> None:
    function, args = gradient(name, steps)
    other = rewritten(function, bounded(lambda pair: Segments(pair, count, length)))
    assert_same_bits(function, other, args)


@pytest.mark.parametrize("name", ["diffusion", "two_loops", "nested"])
@pytest.mark.parametrize("levels", [1, 2, 3, 4])
@pytest.mark.parametrize("steps", [16, 21, 40])
def test_simplices(name: str, levels: int, steps: int) -> None:
    function, args = gradient(name, steps)
    other = rewritten(function, bounded(lambda pair: Simplex(pair, levels)))
    assert_same_bits(function, other, args)


@given(steps=st.integers(1, 20_000), level=st.integers(1, 5))
def test_pieces(steps: int, level: int) -> None:
    found = pieces(steps, level)
    assert sum(piece.steps for piece in found) == steps
    assert all(piece.level <= level for piece in found)
    rows = max(piece.rows for piece in found)
    assert comb(rows + level - 2, level) <= steps  # one row less would not do
    if level == 2:
        assert rows <= isqrt(2 * steps) + 1


@given(program=region_programs(), seed=st.integers(0, 3))
def test_random_programs(program: Function, seed: int) -> None:
    function = optimize(program, PassRunner(None))
    args = arguments(function, seed)
    with np.errstate(all="ignore"):
        expected = interpret(function, *args)
        for other in checkpointed(function):
            verify(other, after="checkpoint")
            for a, b in zip(expected, interpret(other, *args), strict=True):
                np.testing.assert_array_equal(a, b)


def test_memory_is_that_of_the_rows() -> None:
    function, _ = gradient("diffusion", 400)

    def arena(scheme: Callable[[Reversal], Scheme]) -> int:
        return arena_bytes(schedule(rewritten(function, bounded(scheme)), PassRunner(None)))

    row, stored = 64, arena_bytes(schedule(function, PassRunner(None)))  # a row takes 48 bytes, aligned 64
    assert stored > 400 * 32
    assert arena(lambda pair: Segments(pair, 20, 20)) <= 40 * 48 + 8 * row
    assert arena(lambda pair: Simplex(pair, 2)) <= 28 * 48 + 8 * row
    assert arena(lambda pair: Simplex(pair, 3)) <= 12 * 48 + 8 * row


# ---- by default --------------------------------------------------------------------------------------------
def test_what_the_caches_hold_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    function, args = gradient("diffusion", 100)
    assert checkpoint(function) is function
    monkeypatch.setattr(checkpoints, "LARGE", 0)
    monkeypatch.setattr(checkpoints, "MIN_GAIN", 10.0)
    other = checkpoint(function)
    assert other is not function
    assert_same_bits(function, other, args)


def test_what_memory_would_hold_runs_again() -> None:
    loss = symgrad.value_and_grad(diffusion, static_argnums=(2,))
    u, stored = np.ones(500), 10_000 * 498 * 8
    report = loss.memory(u, 0.1, 10_000)
    assert report.arena < stored / 40
    assert "checkpoint" in loss.explain(u, 0.1, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("part", [70, 200])
def test_a_budget_for_a_long_loop(part: int) -> None:
    u, stored = np.sin(np.arange(500.0)), 10_000 * 498 * 8
    expected = symgrad.value_and_grad(diffusion, static_argnums=(2,))(u, 0.1, 10_000)
    small = symgrad.value_and_grad(diffusion, static_argnums=(2,), memory_budget=stored // part)
    found = small(u, 0.1, 10_000)
    assert small.memory(u, 0.1, 10_000).arena <= stored // part
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])
