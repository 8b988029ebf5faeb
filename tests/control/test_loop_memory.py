"""Reverse mode of programs that write entries needs memory for the entries written, not for whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.loop_programs import cholesky_loss, gauss_seidel_loss
from symgrad import value_and_grad

FEW = 3  # times what is written, and the arguments: stacks, and copies that sweep backwards


@pytest.mark.parametrize("sweeps", [4, 16])
def test_gauss_seidel(sweeps: int) -> None:
    A, b = np.random.default_rng(0).standard_normal((2, 12, 12))
    arena = value_and_grad(gauss_seidel_loss, (0, 1), target="interpreter").memory(A, b, sweeps).arena
    written = 10 * 10 * sweeps
    assert arena <= FEW * 8 * (written + A.size + b.size)


@pytest.mark.parametrize("n", [12, 48])
def test_cholesky(n: int) -> None:
    B = np.random.default_rng(0).standard_normal((n, n))
    arena = value_and_grad(cholesky_loss, target="interpreter").memory(B @ B.T + np.eye(n)).arena
    assert arena <= FEW * 8 * (n * n + n * n)  # every entry is written once
