"""Short axes unrolled: the same results, and one loop for all pairs of points."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad
from passes.random_programs import arguments, numeric_programs
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Flow
from symgrad.ir.regions import flow_of
from symgrad.ir.verifier import verify
from symgrad.passes import PASSES, PassRunner, schedule
from symgrad.passes.memory import arena_bytes


@pytest.fixture(autouse=True, scope="module")
def small_is_large() -> Generator[None]:
    """Arrays of any size are worth it."""
    with mock.patch.dict(PASSES["unroll"].__globals__, {"LARGE": 1}):
        yield


def assert_kept(function: Function, args: Any) -> Function:
    """Unrolled, the function gives the same."""
    found = PASSES["unroll"](function)
    verify(found, after="unroll")
    for a, b in zip(interpret(function, *args), interpret(found, *args), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        limit = 1e-5 if a.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(b, a, rtol=limit, atol=limit)
    return found


@given(function=numeric_programs(), seed=st.integers(0, 3))
def test_random_programs(function: Function, seed: int) -> None:
    assert_kept(function, arguments(function, seed))


def charges(x: Any, q: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sum(q[:, None] * q[None, :] / np.sqrt(np.sum(d * d, axis=2) + 0.1))


def farthest(x: Any, q: Any) -> Any:
    return np.sum(q * np.max(np.abs(x[:, None, :] - x[None, :, :]), axis=(1, 2)))


def weighted(x: Any, q: Any) -> Any:
    return np.sum(
        np.sum(np.sin(x[:, None, :] + q[None, :, None]) * np.prod(x, axis=1)[:, None, None], axis=0) ** 2
    )


def inside(x: Any, q: Any) -> Any:
    near = np.all(np.abs(x[:, None, :] - x[None, :, :]) < 0.5, axis=2)
    return np.sum(np.where(near, q[:, None], 0.0) ** 2)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("loss", [charges, farthest, weighted, inside], ids=lambda loss: loss.__name__)
def test_losses_of_pairs(loss: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    args = [rng.standard_normal((7, 3)).astype(dtype), rng.standard_normal(7).astype(dtype)]
    function = symgrad.value_and_grad(loss, argnums=(0, 1)).program(*args).optimized
    found = assert_kept(function, args)
    assert found is not function


def test_all_pairs_of_points_are_one_loop_and_no_array() -> None:
    types = symgrad.spec("f64[400,3]"), symgrad.spec("f64[400]")
    function = symgrad.value_and_grad(charges).program(*types).optimized
    scheduled = schedule(function, PassRunner(None))
    assert arena_bytes(scheduled) < 400 * 400
    wide = [op for op in scheduled.body.ops if flow_of(op) is Flow.ONCE and len(op.regions[0].ops) > 20]
    assert len(wide) == 1


def test_what_is_needed_whole_stays() -> None:
    function = (
        symgrad.compile(lambda x: np.exp(x[:, None, :] - x[None, :, :])).program(np.ones((7, 3))).optimized
    )
    assert PASSES["unroll"](function) is function
