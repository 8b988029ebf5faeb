"""`free_memory`: what calls leave for the next ones is given back, whatever other threads are about."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import symgrad

N = 40_000  # arrays of 320 KB: arenas that are lent, results that are held back


pytestmark = pytest.mark.usefixtures("compiled_apart")


def loss(x: Any) -> Any:
    return np.sum(np.sin(np.cumsum(x)) * x)


def pool(made: Any, x: Any) -> list[Any]:
    return made.program(x).executable.pool.free


def test_arenas_and_results_are_given_back() -> None:
    made, x = symgrad.compile_grad(loss), np.linspace(0.0, 1e-3, N)
    made.free_memory()  # before there is any
    expected = made(x)
    made(x)
    result = weakref.ref(made(x)[1])
    assert result() is not None  # held back for the next call
    (arena,) = pool(made, x)
    kept = weakref.ref(arena)
    del arena
    made.free_memory()
    assert pool(made, x) == []
    assert kept() is None
    assert result() is None
    for a, b in zip(expected, made(x), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(pool(made, x)) == 1


def test_every_signature_gives_back() -> None:
    made = symgrad.compile_grad(loss)
    args = [np.linspace(0.0, 1e-3, N + k) for k in range(2)]
    for x in args:
        made(x)
    made.free_memory()
    assert [pool(made, x) for x in args] == [[], []]


def test_programs_for_threads_give_back() -> None:
    made = symgrad.compile_grad(lambda w, x: np.mean(np.tanh(np.exp(x @ w) @ w.T) ** 2), parallel=2)
    rng = np.random.default_rng(0)
    args = rng.standard_normal((6, 5)), rng.standard_normal((400, 6))
    expected = made(*args)
    entry: Any = made.program(*args).executable.entry
    workspaces = entry.__self__._free
    assert len(workspaces) == 1
    made.free_memory()
    assert workspaces == []
    np.testing.assert_array_equal(made(*args)[1], expected[1])


def test_complex_programs_give_back() -> None:
    made = symgrad.compile(lambda x: np.cumsum(np.exp(np.cumsum(x)))[::-1])
    x = np.linspace(0.0, 1e-3, N) * (1 + 1j)
    expected = made(x)
    assert len(pool(made, x)) == 1
    made.free_memory()
    assert pool(made, x) == []
    np.testing.assert_array_equal(made(x), expected)


def test_other_threads_are_not_disturbed() -> None:
    made, done = symgrad.compile_grad(loss), threading.Event()
    inputs = [np.linspace(0.0, 1e-3 * (k + 1), N) for k in range(4)]
    expected = [made(x)[1] for x in inputs]

    def call(k: int) -> bool:
        return all(np.array_equal(made(inputs[k])[1], expected[k]) for _ in range(20))

    def free() -> None:
        while not done.is_set():
            made.free_memory()

    with ThreadPoolExecutor(5) as threads:
        freeing = threads.submit(free)
        right = list(threads.map(call, range(4)))
        done.set()
        freeing.result()
    assert all(right)
    assert len(pool(made, inputs[0])) <= 4
