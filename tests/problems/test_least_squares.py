"""The test problems of Moré, Garbow and Hillstrom: residuals as published, Jacobians in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad
from control.differences import derivative
from problems import least_squares_large, least_squares_small
from problems.complex_step import complex_step
from problems.problem import Problem

PROBLEMS = (*least_squares_small.PROBLEMS, *least_squares_large.PROBLEMS)
COMPILED = ("beale", "helical_valley", "osborne_1", "watson", "discrete_integral_equation", "chebyquad")
EXACT, DIFFERENCES = 1e-12, 1e-8  # of the largest entry of a row: the tolerance of the references

every = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)


def points(problem: Problem) -> list[Any]:
    """The standard start, and a point beside it."""
    start = np.array(problem.start)
    rng = np.random.default_rng(len(start))
    return [start, start + 0.1 * rng.uniform(0.5, 1.0, len(start)) * np.maximum(np.abs(start), 0.1)]


def forward(problem: Problem, x: Any, target: str) -> Any:
    """The Jacobian by columns."""
    columns = [symgrad.jvp(problem.fn, (x,), (unit,), target=target)[1] for unit in np.eye(len(x))]
    return np.stack(columns, axis=-1)


def reverse(problem: Problem, x: Any, target: str) -> Any:
    """The Jacobian by rows."""
    residuals, pull = symgrad.vjp(problem.fn, x, target=target)
    return np.stack([pull(unit)[0] for unit in np.eye(len(residuals))])


def reference(problem: Problem, x: Any) -> tuple[Any, float]:
    """The Jacobian of the plain function, and what may be asked of it."""
    if not problem.compares:
        return complex_step(problem.fn, x), EXACT
    return by_differences(problem.fn, x), DIFFERENCES


def by_differences(fn: Any, x: Any) -> Any:
    """The Jacobian by differences, an entry at a time."""

    def entry(row: int, unit: Any) -> float:
        return derivative(lambda step: fn(x + step * unit)[row])

    return np.array([[entry(row, unit) for unit in np.eye(len(x))] for row in range(len(fn(x)))])


def check(problem: Problem, target: str) -> None:
    """Fail unless residuals and both Jacobians are those of the plain function."""
    for x in points(problem):
        value, _ = symgrad.vjp(problem.fn, x, target=target)
        plain = problem.fn(x)
        np.testing.assert_allclose(value, plain, rtol=1e-12, atol=1e-12 * np.max(np.abs(plain)))
        wanted, tolerance = reference(problem, x)
        scale = np.max(np.abs(wanted), axis=1, keepdims=True) + 1e-300
        for found in (forward(problem, x, target), reverse(problem, x, target)):
            np.testing.assert_allclose(found / scale, wanted / scale, atol=tolerance, rtol=0)


@every
def test_published(problem: Problem) -> None:
    if problem.published is not None:
        residuals = problem.fn(np.array(problem.start))
        np.testing.assert_allclose(residuals @ residuals, problem.published, rtol=2e-6)


@every
def test_jacobians(problem: Problem) -> None:
    check(problem, "interpreter")


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.name in COMPILED], ids=lambda p: p.name)
def test_compiled(problem: Problem) -> None:
    check(problem, "numba_cpu")


def test_each_is_there() -> None:
    assert len({p.name for p in PROBLEMS}) == 35
    assert {p.name for p in PROBLEMS} >= set(COMPILED)
