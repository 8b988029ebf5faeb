"""Products of matrices through cuBLAS."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpu.hand_programs import matrices, product
from gpu.over_standin.support import Ready, floats
from gpu.standin.harness import StandIn
from symgrad.codegen.calls import Blas
from symgrad.ir.affine import Affine
from symgrad.passes.blas_form import Steps


def _entries(array: Any, steps: Steps, offset: int, shape: tuple[int, int, int]) -> Any:
    """The matrices that lie in a flat array."""
    strides = tuple(s * array.itemsize for s in (steps.batch, steps.row, steps.column))
    return np.lib.stride_tricks.as_strided(array[offset:], shape, strides)


def _checked(ready: Ready, call: Blas, dtype: Any) -> None:
    sizes = [int(at.const) + last + 1 for at, last in zip(call.at, call.last, strict=True)]
    program = ready(product(call, np.dtype(dtype), (sizes[0], sizes[1], sizes[2])))
    for seed in range(3):  # eager, captured, launched
        a, b, start = (floats(size, dtype=dtype, seed=seed + 10 * k) for k, size in enumerate(sizes))
        shapes = [(call.batch, call.m, call.k), (call.batch, call.k, call.n), (call.batch, call.m, call.n)]
        wanted = start.astype(np.float64)
        left, right, into = (
            _entries(array, steps, int(at.const), shape)
            for array, steps, at, shape in zip((a, b, wanted), call.steps, call.at, shapes, strict=True)
        )
        into[...] = call.alpha * (left.astype(np.float64) @ right.astype(np.float64)) + call.beta * into
        if call.beta == 0.0:
            held = _entries(start, call.steps[2], int(call.at[2].const), shapes[2])
            held[...] = np.nan  # it must not be read
        (c,) = program.run([a, b, start])
        tolerance = 1e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(c, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize(
    ("batch", "m", "n", "k"),
    [(1, 3, 4, 5), (3, 2, 5, 4), (1, 1, 4, 3), (2, 4, 1, 3), (1, 1, 1, 6), (1, 5, 4, 1)],
)
def test_products(
    ready: Ready, dtype: Any, trans_a: bool, trans_b: bool, batch: int, m: int, n: int, k: int
) -> None:
    call = matrices("f64", batch, m, n, k, trans_a, trans_b)
    _checked(ready, call, dtype)
    _checked(ready, replace(call, alpha=-0.5, beta=1.0), dtype)


STRIDED = {
    "rows of larger matrices": Blas(
        2, 3, 4, 5, "a", "b", "c", (Steps(40, 7, 1), Steps(60, 9, 1), Steps(50, 11, 1)), None,
        (Affine(2), Affine(3), Affine(1)),
    ),
    "one matrix for all": Blas(
        3, 2, 4, 5, "a", "b", "c", (Steps(0, 5, 1), Steps(20, 4, 1), Steps(8, 4, 1)), None,
    ),
    "a vector with a step": Blas(
        1, 3, 1, 4, "a", "b", "c", (Steps(12, 4, 1), Steps(8, 2, 1), Steps(9, 3, 1)), None,
    ),
    "a row with a step": Blas(
        1, 1, 3, 4, "a", "b", "c", (Steps(8, 8, 2), Steps(12, 3, 1), Steps(9, 9, 3)), None,
    ),
    "matrices interleaved": Blas(
        2, 3, 4, 5, "a", "b", "c", (Steps(5, 10, 1), Steps(4, 8, 1), Steps(4, 8, 1)), None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STRIDED)
def test_strided_products(ready: Ready, name: str) -> None:
    _checked(ready, STRIDED[name], np.float64)
    _checked(ready, replace(STRIDED[name], alpha=2.0, beta=1.0), np.float32)


def test_products_have_a_workspace_in_the_memory_of_the_call(ready: Ready, standin: StandIn) -> None:
    _checked(ready, matrices("f64", 1, 3, 4, 5, False, False), np.float64)
    assert standin.blas.standin_products() > 0
    assert standin.blas.standin_products_without_workspace() == 0
