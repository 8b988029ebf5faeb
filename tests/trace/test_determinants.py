"""Determinants and their derivatives at matrices of every rank."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import prod
from typing import Any

import numpy as np
import pytest

import symgrad

RNG = np.random.default_rng(3)
TARGETS = ["interpreter", "numba_cpu"]


def of_rank(n: int, rank: int) -> Any:
    """A matrix of small whole numbers."""
    return RNG.integers(-3, 4, (n, rank)) @ RNG.integers(-3, 4, (rank, n)) * 1.0


def minor(a: Any, rows: list[int], columns: list[int]) -> float:
    """The determinant of what is left without rows and columns, by Leibniz' formula in whole numbers."""
    left = [[Fraction(float(x)) for x in row] for row in np.delete(np.delete(a, rows, 0), columns, 1)]
    total = Fraction(0)
    for order in permutations(range(len(left))):
        swaps = sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))
        total += (-1) ** swaps * prod((left[i][k] for i, k in enumerate(order)), start=Fraction(1))
    return float(total)


def cofactors(a: Any) -> Any:
    """The derivatives of the determinant."""
    return np.array(
        [[(-1) ** (i + j) * minor(a, [i], [j]) for j in range(len(a))] for i in range(len(a))]
    ).reshape(a.shape)


CASES = {
    "regular": of_rank(4, 4),
    "rank n - 1": of_rank(4, 3),
    "rank n - 2": of_rank(4, 2),
    "zero": np.zeros((3, 3)),
    "whole numbers": np.arange(1.0, 10.0).reshape(3, 3),
    "a zero column": np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 4.0], [5.0, 0.0, 7.0]]),
    "a permutation": np.eye(4)[[2, 0, 3, 1]],
    "one": np.array([[0.0]]),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_cofactors(name: str, target: str) -> None:
    a = CASES[name]
    value, bar = symgrad.value_and_grad(lambda a: np.linalg.det(a), target=target)(a)
    np.testing.assert_allclose(value, np.linalg.det(a), rtol=1e-12, atol=1e-12 * np.abs(a).max())
    np.testing.assert_allclose(bar, cofactors(a), rtol=1e-11, atol=1e-13 * max(1, np.abs(a).max()) ** len(a))


@pytest.mark.parametrize("target", TARGETS)
def test_a_stack_of_every_rank_in_both_precisions(target: str) -> None:
    a = np.stack([of_rank(4, rank) for rank in (4, 3, 2, 1, 0)])
    expected = np.stack([cofactors(each) for each in a])
    for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 1e-3)):
        bar = symgrad.grad(lambda a: np.sum(np.linalg.det(a)), target=target)(a.astype(dtype))
        assert bar.dtype == dtype
        np.testing.assert_allclose(bar, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_are_minors_without_two_rows(name: str) -> None:
    a = CASES[name]
    n = len(a)
    hessian = symgrad.grad(
        lambda a, e: np.sum(symgrad.grad(np.linalg.det)(a) * e), argnums=0, target="interpreter"
    )
    for i, j in np.ndindex(a.shape):
        step = np.zeros_like(a)
        step[i, j] = 1.0
        expected = np.zeros_like(a)
        for k, m in np.ndindex(a.shape):
            if k != i and m != j:
                sign = (-1) ** (i + j + k + m) * (1 if (k > i) == (m > j) else -1)
                expected[k, m] = sign * minor(a, [i, k], [j, m])
        np.testing.assert_allclose(hessian(a, step), expected, atol=1e-12 * max(1, np.abs(a).max()) ** n)


def test_all_orders_at_regular_matrices_and_two_at_the_others() -> None:
    a = CASES["regular"]
    symgrad.check_grads(np.linalg.det, (a,), order=3, target="interpreter")
    first = symgrad.grad(np.linalg.det)
    second = symgrad.grad(lambda a: np.sum(first(a) * a.T))
    third = symgrad.grad(lambda a: np.sum(second(a) * a), target="interpreter")
    third(a)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        third(CASES["zero"])


@pytest.mark.parametrize("target", TARGETS)
def test_determinants_that_underflow(target: str) -> None:
    for dtype, small, large in ((np.float64, 1e-200, 1e150), (np.float32, 1e-30, 1e20)):
        a = np.diag([small, small, large]).astype(dtype)
        bar = symgrad.grad(lambda a: np.linalg.det(a), target=target)(a)
        np.testing.assert_allclose(np.diag(bar), [small * large, small * large, 0.0], rtol=1e-5)


def test_a_determinant_is_factored_once() -> None:
    made = symgrad.compile_grad(lambda a: np.linalg.det(a), target="interpreter")
    made(CASES["regular"])
    assert made.ir("optimized").count("= lu ") == 1


def test_slogdet_at_singular_matrices_is_an_error() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        symgrad.grad(lambda a: np.linalg.slogdet(a).logabsdet, target="interpreter")(np.zeros((2, 2)))
