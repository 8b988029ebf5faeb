"""Threads: concurrent first calls trace and compile once, and concurrent calls do not disturb each other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import TracedValueError

THREADS = 8
TARGETS = ["interpreter", pytest.param("numba_cpu", marks=pytest.mark.slow)]


def together(call: Callable[[int], Any]) -> list[Any]:
    """What a call gives for each thread's number; all threads start at one moment."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> Any:
        start.wait()
        return call(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def gradient(x: Any) -> Any:
    """The gradient of the loss below by hand."""
    t = np.tanh(x)
    return 2.0 * t * (1.0 - t * t) + np.sum(x)


@pytest.mark.parametrize("target", TARGETS)
def test_first_calls_at_one_moment_compile_once(target: str, caplog: pytest.LogCaptureFixture) -> None:
    traces = 0

    @symgrad.compile_grad(target=target)
    def loss(x: Any) -> Any:
        nonlocal traces
        traces += 1  # a trace counts once
        return np.sum(np.tanh(x) ** 2) + 0.5 * np.sum(x) ** 2

    def call(number: int) -> bool:
        x = np.linspace(0.0, 1.0 + number, 50)
        value, grad = loss(x)
        np.testing.assert_allclose(value, np.sum(np.tanh(x) ** 2) + 0.5 * np.sum(x) ** 2, rtol=1e-12)
        np.testing.assert_allclose(grad, gradient(x), rtol=1e-12)
        return True

    with caplog.at_level(logging.INFO, "symgrad.compile"):
        assert all(together(call))
    assert traces == 1
    assert sum("ready in" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_calls_of_different_shapes_at_one_moment(target: str) -> None:
    scale = np.ones(1)

    @symgrad.compile_grad(target=target)
    def loss(x: Any) -> Any:
        return scale[0] * (np.sum(np.tanh(x) ** 2) + 0.5 * np.sum(x) ** 2)

    def call(number: int) -> bool:
        for k in range(100):
            size = 1 + (number + k) % 4
            x = np.linspace(0.0, 1.0 + number, 10 * size)
            value, grad = loss(x if k % 2 else x.reshape(size, 10))
            np.testing.assert_allclose(value, np.sum(np.tanh(x) ** 2) + 0.5 * np.sum(x) ** 2, rtol=1e-12)
            np.testing.assert_allclose(grad.ravel(), gradient(x), rtol=1e-12)
        return True

    assert all(together(call))


def test_traces_of_other_threads_do_not_meet() -> None:
    """Two functions traced at one moment, each with refusals and captured numbers of its own."""

    def call(number: int) -> bool:
        weights = np.full(3, float(number))

        def loss(x: Any) -> Any:
            picked = np.zeros(3)
            picked[[0, 1, 2][int(weights[0]) % 3]] = weights[0]  # needs the number: the trace starts again
            return np.sum(x * picked)

        def refused(x: Any) -> Any:
            assert x[0] > number
            return np.sum(x)

        x = np.arange(3.0)
        value, grad = symgrad.compile_grad(loss, target="interpreter")(x)
        assert value == x[number % 3] * number
        np.testing.assert_array_equal(grad, np.eye(3)[number % 3] * number)
        with pytest.raises(TracedValueError, match="`assert`"):
            symgrad.compile_grad(refused, target="interpreter")(x)
        return True

    assert all(together(call))
