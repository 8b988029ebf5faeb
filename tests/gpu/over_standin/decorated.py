"""Decorated functions on the stand-in: value and gradient, as a user calls for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import symgrad
from gpu.patterns import PATTERNS, Pattern
from gpu.standin.harness import StandIn
from gpu.test_patterns import numbers
from symgrad.codegen.cuda.build import Cubin
from symgrad.codegen.cuda.device import DeviceModule
from symgrad.runtime.cuda import loading


@pytest.fixture(autouse=True)
def _taught(standin: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """The stand-in knows each program that is loaded; the cache is empty."""
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path))
    load = loading._executable

    def taught(module: DeviceModule, cubins: Sequence[Cubin], types: loading.Types) -> Any:
        standin.teach(module, cubins)
        return load(module, cubins, types)

    monkeypatch.setattr(loading, "_executable", taught)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.name)
def test_value_and_gradient(pattern: Pattern, standin: StandIn) -> None:
    args = numbers(pattern)
    on_gpu = symgrad.value_and_grad(pattern.loss, argnums=pattern.wrt, target="cuda")
    wanted = symgrad.value_and_grad(pattern.loss, argnums=pattern.wrt, target="interpreter")(*args)
    for _ in range(3):  # eager, captured, replayed
        value, gradients = on_gpu(*args)
        rtol = 1e-12 if args[0].dtype == np.float64 else 1e-5
        np.testing.assert_allclose(value, wanted[0], rtol=rtol)
        for found, want in zip(gradients, wanted[1], strict=True):
            np.testing.assert_allclose(found, want, rtol=rtol, atol=rtol)
    assert standin.faults == []


def test_another_function_finds_the_program_in_the_cache(standin: StandIn) -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.sin(x) @ np.ones(7))

    x = np.arange(7.0)
    for _ in range(2):
        value, gradient = symgrad.value_and_grad(loss, target="cuda")(x)
        np.testing.assert_allclose(value, loss(x), rtol=1e-13)
        np.testing.assert_allclose(gradient, np.cos(x), rtol=1e-13)
    assert standin.faults == []


def test_what_the_program_refuses_is_raised() -> None:
    def loss(x: Any, k: Any) -> Any:
        return np.sum(x[k] ** 2)

    on_gpu = symgrad.value_and_grad(loss, target="cuda")
    value, _ = on_gpu(np.arange(5.0), np.array([0, -1]))
    assert value == 16.0
    with pytest.raises(IndexError, match="out of range for axis 0 with size 5"):
        on_gpu(np.arange(5.0), np.array([0, 5]))
    value, _ = on_gpu(np.arange(5.0), np.array([1, 2]))
    assert value == 5.0


def test_products_of_matrices() -> None:
    rng = np.random.default_rng(0)
    x, w, v = rng.standard_normal((30, 20)), rng.standard_normal((20, 25)), rng.standard_normal((25, 12))

    def loss(w: Any, v: Any) -> Any:
        return np.sum(np.tanh(np.tanh(x @ w) @ v) ** 2)

    value, (w_bar, v_bar) = symgrad.value_and_grad(loss, argnums=(0, 1), target="cuda")(w, v)
    wanted, (w_want, v_want) = symgrad.value_and_grad(loss, argnums=(0, 1))(w, v)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(w_bar, w_want, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(v_bar, v_want, rtol=1e-11, atol=1e-12)


def test_auto_takes_the_gpu() -> None:
    f = symgrad.grad(lambda x: np.sum(x * x), target="auto")
    assert f.options.target == "numba_cuda"
    np.testing.assert_array_equal(f(np.arange(3.0)), 2 * np.arange(3.0))
