"""x[mask] is an array of its own: what changes it in a loop or branch changes it for all who hold it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad

X = np.linspace(0.31, 1.17, 12)


def grown_in_a_loop(x: Any) -> Any:
    y = x[x > 0.55]
    for i in range(60):
        y += x[i % 12] * 0.1
    return y.sum()


def changed_in_a_branch(x: Any) -> Any:
    y = x[x > 0.55]
    if x[0] > 0.1:
        y *= 2
    if x[0] > 5.0:
        y -= 7
    return (y * y).sum()


def held_twice(x: Any) -> Any:
    y = x[x > 0.55]
    same, other = y, y.copy()
    same *= 2
    other -= 1
    return y.sum() + 3 * other.sum() + 5 * same.max()


def written_back(x: Any) -> Any:
    u, m = x.copy(), x > 0.55
    y = u[m]
    for i in range(40):
        y += u[i % 12] * 0.01
        u[m] = y * 0.9
        u[m] -= 0.01 * y
    return (u * u).sum() + y.sum()


def masks_computed_alike(x: Any) -> Any:
    def often(y: Any) -> Any:
        for _ in range(3):
            for _ in range(3):
                for _ in range(3):
                    y = y * (1.5 - y)
        return y

    u = x.copy()
    u[often(x) < 0.51] = (2 * x)[often(x) < 0.51]
    return (u * u).sum()


@pytest.mark.parametrize(
    "fn", [grown_in_a_loop, changed_in_a_branch, held_twice, written_back, masks_computed_alike]
)
def test_value_and_gradient(fn: Callable[..., Any]) -> None:
    value, slope = symgrad.value_and_grad(fn, target="interpreter")(X)
    assert value == pytest.approx(float(fn(X.copy())), rel=1e-12)
    way = np.cos(np.arange(12.0))
    quotient = (fn(X + 1e-6 * way) - fn(X - 1e-6 * way)) / 2e-6
    assert slope @ way == pytest.approx(float(quotient), rel=1e-6)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?"])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.var, np.std, np.linalg.norm])
def test_the_dtype_of_a_reduction(function: Callable[..., Any], dtype: str) -> None:
    """It is NumPy's: the number of elements, an integer of 64 bits, does not widen a mean."""

    def reduced(x: Any, y: Any) -> Any:
        return function(x[y > 0.55])

    x = np.arange(12).astype(dtype)
    if dtype == "?" and function in (np.var, np.std, np.linalg.norm):
        x = x.astype("i8")
    found, wanted = symgrad.compile(reduced, target="interpreter")(x, X), reduced(x, X)
    assert np.asarray(found).dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
