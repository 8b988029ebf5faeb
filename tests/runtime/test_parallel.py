"""Programs on several threads: the same results at each call, and errors and refusals as on one."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import ArgumentError
from symgrad.ir import dims
from symgrad.passes.memory import arena_bytes
from symgrad.runtime.blas_threads import ONE_THREAD
from symgrad.runtime.compiled import Compiled

COMPILED = pytest.param("numba_cpu", marks=pytest.mark.slow)
TARGETS = ["interpreter", COMPILED]
RNG = np.random.default_rng(0)
W, X, Y = RNG.standard_normal(5), RNG.standard_normal((41, 5)), RNG.standard_normal(41)


def loss(w: Any, x: Any, y: Any) -> Any:
    """Contractions with rows, a sum, and rows that the caller gets."""
    z = x @ w
    return np.mean(np.tanh(z) * y) + np.sum(w * w), np.exp(z)


def compiled(target: str, parallel: bool | int) -> Compiled:
    return symgrad.value_and_grad(loss, (0, 1), has_aux=True, target=target, parallel=parallel)


def leaves(found: Any) -> list[Any]:
    """The numbers and arrays of ((value, aux), (gradients))."""
    (value, aux), grads = found
    return [value, aux, *grads]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_are_those_of_one_thread(target: str, threads: int) -> None:
    on_one, shared = compiled("interpreter", False), compiled(target, threads)
    for _ in range(3):  # the slow call, and the generated one
        for a, b in zip(leaves(shared(W, X, Y)), leaves(on_one(W, X, Y)), strict=True):
            assert type(a) is type(b)
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("target", TARGETS)
def test_results_are_the_same_bits_whoever_calls(target: str) -> None:
    shared = compiled(target, 3)
    first = leaves(shared(W, X, Y))

    def call(number: int) -> bool:
        w = W + number % 2
        expected = first if number % 2 == 0 else None
        for _ in range(50):
            found = leaves(shared(w, X, Y))
            expected = found if expected is None else expected
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(8)))


def test_fresh_results_share_nothing() -> None:
    shared = compiled("interpreter", 2)
    one, two = leaves(shared(W, X, Y)), leaves(shared(W, X, Y))
    kept = [np.copy(v) for v in one]
    for v in two:
        if np.ndim(v):
            v[...] = 0.0
    for a, b in zip(one, kept, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("target", TARGETS)
def test_other_arguments_get_other_programs(target: str) -> None:
    """Chunks cut their rows from whatever they are given: they must not be given too much."""
    shared = compiled(target, 2)
    shared(W, X, Y)
    more = np.concatenate([X, X]), np.concatenate([Y, Y])
    on_one = compiled("interpreter", False)
    for args in [(W, *more), (W.astype("f4"), X.astype("f4"), Y.astype("f4")), (W, X[::-1], Y), (W, X, Y)]:
        for a, b in zip(leaves(shared(*args)), leaves(on_one(*args)), strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_a_position_that_is_not_there_is_refused(target: str) -> None:
    def picked(table: Any, index: Any) -> Any:
        return np.sum(np.exp(table[index]))

    shared = symgrad.value_and_grad(picked, target=target, parallel=2)
    index = np.arange(40) % 7
    value, _ = shared(np.ones(7), index)
    np.testing.assert_allclose(value, 40 * np.e)
    for place in (0, 39):
        wrong = index.copy()
        wrong[place] = 7
        with pytest.raises(IndexError):
            shared(np.ones(7), wrong)
    np.testing.assert_allclose(shared(np.ones(7), index)[0], 40 * np.e)


@pytest.mark.parametrize("given", [0, -1, 2.0, "auto", None, np.ones(2)], ids=str)
def test_what_is_no_number_of_threads(given: Any) -> None:
    for make in (symgrad.compile, symgrad.grad, symgrad.value_and_grad, symgrad.compile_grad):
        with pytest.raises(ArgumentError, match="parallel is") as caught:
            make(loss, parallel=given)
        assert "parallel=True" in str(caught.value.cure)


def test_options_of_one_thread_and_of_any_are_two() -> None:
    """True is 1 to Python, but not here."""

    def f(x: Any) -> Any:
        return np.sum(np.sin(x))

    x = np.ones(8)
    for parallel in (False, True, 1, 2):
        found = symgrad.jvp(f, (x,), (x,), target="interpreter", parallel=parallel)
        np.testing.assert_allclose(found, (8 * np.sin(1.0), 8 * np.cos(1.0)))
        _, pull = symgrad.vjp(f, x, target="interpreter", parallel=parallel)
        np.testing.assert_allclose(pull(2.0)[0], 2 * np.cos(x))
    assert len(f.__dict__["__symgrad__"].found) == 9


@pytest.mark.slow
def test_a_program_is_loaded_from_the_cache_with_its_parts(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path))
    first = leaves(compiled("numba_cpu", 2)(W, X, Y))
    with caplog.at_level(logging.INFO, "symgrad.compile"):
        again = compiled("numba_cpu", 2)
        for a, b in zip(first, leaves(again(W, X, Y)), strict=True):
            np.testing.assert_array_equal(a, b)
    program = again.program()
    assert "optimized" not in vars(program)
    messages = [record.getMessage() for record in caplog.records]
    assert not any(message.endswith("compiled") for message in messages)
    assert sum("loaded from the cache" in message for message in messages) == len(program.parts)


def test_looking_inside() -> None:
    shared = compiled("interpreter", 3)
    types = tuple(symgrad.spec(t) for t in ("f64[5]", "f64[41,5]", "f64[41]"))
    text = shared.explain(*types)
    assert "threads:\n  41 rows on 3 threads: " in text
    assert "  loss_vjp_rows:\n    kernel 0" in text
    scheduled = shared.ir("scheduled", *types)
    assert scheduled.count("func @loss_vjp_rows") == 2  # of 14 rows and of 13
    assert scheduled.count("func @loss_vjp_after") == 1
    assert shared.source(*types).count("generated by symgrad") == 3
    on_one = compiled("interpreter", False)
    assert "threads:\n  one\n" in on_one.explain(*types)
    assert "threads:\n  one: there is nothing to share" in compiled("interpreter", True).explain(*types)


def test_memory_is_that_of_all_chunks() -> None:
    shared = compiled("interpreter", 2)
    types = tuple(map(symgrad.spec, ("f64[5]", "f64[40,5]", "f64[40]")))
    report, program = shared.memory(*types), shared.program(*types)
    rows, after = (arena_bytes(part.scheduled) for part in program.parts)
    between = sum(dims.known(t.nbytes) for t in program.threaded.launch.between.values())
    assert report.arena == between + rows + max(rows, after)
    assert report.lower_bound <= report.arena
    assert report.inputs == 8 * (5 + 200 + 40)
    assert report.results == 8 * (1 + 40 + 5 + 200)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_has_threads_of_its_own() -> None:
    shared = compiled("interpreter", 3)
    expected = leaves(shared(W, X, Y))
    child = os.fork()
    if child == 0:
        found = leaves(shared(W, X, Y))
        os._exit(0 if all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_interpreter_ends_with_its_workers() -> None:
    code = """
import atexit, numpy as np, symgrad
f = symgrad.value_and_grad(lambda x: np.sum(np.exp(x)), target="interpreter", parallel=4)
# What is registered first runs last: then there are no workers any more.
atexit.register(lambda: print(f(np.zeros(8))[0]))
import symgrad.runtime.workers
print(f(np.zeros(8))[0])
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert (ran.stdout, ran.stderr) == ("8.0\n8.0\n", "")


@pytest.mark.slow
def test_blas_is_as_it_was_after_a_call() -> None:
    setting = ONE_THREAD.setting
    if setting is None:
        pytest.skip("this BLAS does not say how many threads it uses")
    before = setting.get()
    compiled("numba_cpu", 2)(W, X, Y)
    assert setting.get() == before
    assert threading.active_count() < 20


def test_parts_whose_arenas_are_of_different_sizes() -> None:
    rng = np.random.default_rng(0)
    stack, x = rng.standard_normal((6, 64, 64)) / 8, rng.standard_normal((256, 64))

    def loss(stack: Any, x: Any) -> Any:
        for k in range(6):
            x = np.tanh(x @ stack[k])
        return np.sum(x * x)

    value, gradient = symgrad.value_and_grad(loss, parallel=2)(stack, x)
    wanted, slope = symgrad.value_and_grad(loss)(stack, x)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)
