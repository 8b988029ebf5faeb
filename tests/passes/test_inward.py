"""Inner loops that run again where the reverse of the outer one reads their rows: the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from passes.arena_run import run_in_arena
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, schedule
from symgrad.passes.memory import arena_bytes
from symgrad.passes.remat.checkpoints import checkpointed
from symgrad.passes.remat.inward import inward
from symgrad.passes.remat.reversals import pairs_within

N = 6


# ---- losses ------------------------------------------------------------------------------------------------
def alike(u: Any, k: Any) -> Any:
    """The inner loop begins with what the outer one carries, and reads nothing else that changes."""
    for _ in range(20):
        v = u
        for _ in range(18):
            v = np.sin(v) * k[0]
        u = u + v
    return np.sum(u)


def different(u: Any, k: Any) -> Any:
    """It reads the indices, a row of an argument, and a value that the outer body has made."""
    for i in range(20):
        s, v = np.cos(u), u * k[i]
        for j in range(17):
            v = np.sin(v) * s + k[i] * j - 0.01 * i
        u = 0.5 * u + v
    return np.sum(u)


def deep(u: Any, k: Any) -> Any:
    for _ in range(17):
        for _ in range(16):
            for _ in range(16):
                u = np.sin(u) * k[0]
            u = u + 0.1
        u = u * u
    return np.sum(u)


def endless(u: Any, k: Any) -> Any:
    while np.sum(u * u) > 1.0:
        for _ in range(17):
            u = np.sin(u) * k[0]
    return np.sum(u)


def two(u: Any, k: Any) -> Any:
    """Two inner loops, of which the second begins with what the first one leaves."""
    for _ in range(20):
        for _ in range(18):
            u = np.sin(u) * k[0]
        for j in range(19):
            u = u + 0.01 * u**2 * j * k[1]
    return np.sum(u)


def in_a_branch(u: Any, k: Any) -> Any:
    """One branch has a loop, and the other one another."""
    s = np.cos(u)
    if np.sum(k) > 0:
        v = u * s
        for _ in range(20):
            v = np.sin(v) * k[0] + 0.1 * s
    else:
        v = u
        for j in range(17):
            v = np.cos(v) * k[j]
    return np.sum(v)


def in_a_branch_in_a_loop(u: Any, k: Any) -> Any:
    for i in range(20):
        if np.sum(u) > 20.0 * k[i]:
            v = u + i
            for _ in range(18):
                v = np.sin(v) * k[i]
            u = u + v
        else:
            u = u * k[i]
    return np.sum(u)


BRANCHES = (in_a_branch, in_a_branch_in_a_loop)
LOSSES = (*BRANCHES, alike, different, deep, endless, two)


def gradient(loss: Callable[..., Any]) -> tuple[Function, list[Any]]:
    args = [np.linspace(1.0, 3.0, N), np.linspace(0.9, 0.8, 20)]
    return symgrad.value_and_grad(loss, (0, 1)).program(*args).optimized, args


def assert_same_bits(function: Function, other: Function, args: list[Any]) -> None:
    verify(other, after="checkpoint")
    expected = interpret(function, *args)
    for found in (interpret(other, *args), run_in_arena(schedule(other, PassRunner(None)), args)):
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_array_equal(a, b)


def arena(function: Function) -> int:
    return arena_bytes(schedule(function, PassRunner(None)))


# ---- what is moved -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", [alike, different, endless, two])
def test_the_same_bits(loss: Callable[..., Any]) -> None:
    function, args = gradient(loss)
    moved = inward(function)
    assert len(list(pairs_within(moved.body, {}))) > len(list(pairs_within(function.body, {})))
    assert_same_bits(function, moved, args)


def test_the_rows_are_what_the_inner_loop_begins_with() -> None:
    function, _ = gradient(alike)
    moved = inward(function)
    row = N * 8
    assert arena(function) >= 20 * 18 * row
    assert arena(moved) <= (20 + 18 + 25) * row


@pytest.mark.parametrize("loss", BRANCHES)
def test_loops_in_branches(loss: Callable[..., Any]) -> None:
    function, args = gradient(loss)
    moved = inward(function)
    before, after = (len(list(pairs_within(f.body, {}))) for f in (function, moved))
    assert after == before + (2 if loss is in_a_branch else 1)
    assert_same_bits(function, moved, args)
    assert_same_bits(function, moved, [args[0], -args[1]])


def test_what_saves_nothing_stays() -> None:
    def small_rows(u: Any, k: Any) -> Any:
        """A row has a few numbers, and the inner loop reads a whole array."""
        s = 0.0
        for _ in range(20):
            for j in range(3):
                s = np.sin(s) + u[j]
            u = np.cos(u) * s
        return s + np.sum(u)

    function, _ = gradient(small_rows)
    assert inward(function) is function
    one_loop, _ = gradient(lambda u, k: np.sum(u * k[0]))
    assert inward(one_loop) is one_loop


@pytest.mark.nightly
@pytest.mark.parametrize("loss", LOSSES)
def test_every_plan_of_each(loss: Callable[..., Any]) -> None:
    function, args = gradient(loss)
    plans = list(checkpointed(function))[:: 3 if loss is deep else 1]
    for other in plans:
        assert_same_bits(function, other, args)
    assert loss is endless or min(map(arena, plans)) < arena(function) / 1.5
