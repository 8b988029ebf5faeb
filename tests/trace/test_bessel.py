"""The modified Bessel functions: values of SciPy, and derivatives as accurate as they."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import symgrad
from numpy_samples import agree

NEAR = np.array([0.0, -0.0, 1e-300, 1e-8, 0.3, 1.0, -2.5, 7.9, 8.1, 15.0, 19.999, 20.0, 20.001, -31.0, 100.0])
FAR = np.append(NEAR, [700.0, -709.7])
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    special.i0: special.i1,
    special.i1: lambda x: (special.i0(x) + special.iv(2, x)) / 2,
    special.i0e: lambda x: special.i1e(x) - np.sign(x) * special.i0e(x),
    special.i1e: lambda x: (special.i0e(x) + special.ive(2, x)) / 2 - np.sign(x) * special.i1e(x),
}


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_values(fn: Callable[..., Any]) -> None:
    agree(fn, FAR, rtol=2e-13)
    agree(fn, NEAR.astype(np.float32))
    agree(fn, np.array([0, 3]))
    agree(fn, 0.5)


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_slopes(fn: Callable[..., Any], target: str) -> None:
    slope = symgrad.grad(lambda x: np.sum(fn(x)), target=target)
    np.testing.assert_allclose(slope(FAR), FUNCTIONS[fn](FAR), rtol=1e-12, atol=1e-14)


def test_of_numpy() -> None:
    for x in (FAR, NEAR.astype(np.float32), np.array([0, 3]), np.array(2.0)):
        agree(np.i0, x, rtol=2e-13)
    found = symgrad.compile(np.i0, target="interpreter")(2.0)
    np.testing.assert_allclose(found, np.i0(2.0), rtol=1e-14)


def test_second_derivative() -> None:
    """I₀'' = (I₀ + I₂) / 2, with no digit lost."""
    bend = symgrad.grad(lambda x: np.sum(symgrad.grad(lambda y: np.sum(np.i0(y)))(x)), target="interpreter")
    np.testing.assert_allclose(bend(FAR), (special.i0(FAR) + special.iv(2, FAR)) / 2, rtol=1e-12)


def test_beyond_the_largest_number() -> None:
    """Value and slope overflow together: neither is NaN. Of infinity NumPy makes NaN, and SciPy infinity."""
    x = np.array([720.0, -800.0, np.inf, np.nan])
    both = symgrad.value_and_grad(
        lambda x: np.sum(np.where(np.isnan(x), 0.0, np.i0(x))), target="interpreter"
    )
    with np.errstate(over="ignore", invalid="ignore"):
        _, slope = both(x[:2])
        value = symgrad.compile(np.i0, target="interpreter")(x)
        of_scipy = symgrad.compile(special.i0, target="interpreter")(x)
    np.testing.assert_array_equal(slope, [np.inf, -np.inf])
    np.testing.assert_array_equal(value, [np.inf, np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(of_scipy, [np.inf, np.inf, np.inf, np.nan])
