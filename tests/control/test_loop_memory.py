"""Reverse mode of programs that write entries needs memory for the entries written, not for whole arrays."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from benchmarks.loops import cholesky_loss, gauss_seidel_loss
from symgrad import value_and_grad

FEW = 3  # times what is written, and the arguments: stacks, and copies that sweep backwards


@pytest.mark.parametrize("sweeps", [4, 16])
def test_gauss_seidel(sweeps: int) -> None:
    A, b = np.random.default_rng(0).standard_normal((2, 12, 12))
    arena = (
        value_and_grad(partial(gauss_seidel_loss, np), (0, 1), target="interpreter")
        .memory(A, b, sweeps)
        .arena
    )
    written = 10 * 10 * sweeps
    assert arena <= FEW * 8 * (written + A.size + b.size)


def cubic(A, sweeps):
    """Gauss-Seidel sweeps whose adjoint reads what was overwritten."""
    n, m = A.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]
                A[i, j] = 0.25 * around - 0.01 * A[i, j] ** 3
    return np.sum(A**2)


@pytest.mark.parametrize(("n", "sweeps"), [(12, 4), (12, 16), (22, 16)])
def test_what_is_overwritten_is_kept_once(n: int, sweeps: int) -> None:
    A = np.random.default_rng(0).standard_normal((n, n))
    arena = value_and_grad(cubic, target="interpreter").memory(A, sweeps).arena
    assert arena <= 1.05 * 8 * (n - 2) ** 2 * sweeps


@pytest.mark.parametrize("n", [12, 48])
def test_cholesky(n: int) -> None:
    B = np.random.default_rng(0).standard_normal((n, n))
    arena = value_and_grad(partial(cholesky_loss, np), target="interpreter").memory(B @ B.T + np.eye(n)).arena
    assert arena <= FEW * 8 * (n * n + n * n)  # every entry is written once
