"""What a staged body does not know: sizes, integers of any length, which arrays are one object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import SymgradError


def of_a_slice(x):
    s = 0.0
    for i in range(1, 30):
        part = x[:i]
        s += part.sum() / part.shape[0] + part.size * 0.5 + np.sum(np.ones(len(part)) * part) / len(part)
        s += np.zeros(part.shape[0] + 1).sum() + (1 + part.shape[0]) * x[0]
    return s


def compared(x):
    s = 0.0
    for i in range(1, 30):
        part = x[:i]
        if part.shape[0] > 4:
            s += part[0]
        if len(part) == 7:
            s += 100 * x[1]
        if part.size == 0:
            s += 1000.0
    return s


ENDS = np.array([0, 2, 2, 30])


def from_data(x):
    s, ends = 0.0, ENDS
    for i in range(3):
        part = x[ends[i] : ends[i + 1]]
        s += part.sum() / (part.size + 1)
    return s


def powers(x):
    s = 0.0
    for i in range(30_000, 30_030):
        s += x[i % 10] * (i * i * i * i * i % 11)
    return s


def small_powers(x):
    s = 0.0
    for i in range(40):
        s += x[i % 10] * (i * i * i % 11) + i**3 // 7
    return s


def identity(x):
    a = x.copy()
    b = a
    s = 0.0
    for i in range(9):
        s += a[i] if a is b else 2 * b[i]
        a = a * 0.9
    return s if a is not b else 0.0


def raises_on_the_right(x):
    return x[0] if x[0] > 5 and x[1] < 1 / 0 else x[1]


@pytest.mark.parametrize("fn", [of_a_slice, compared, from_data, powers, small_powers, identity])
def test_as_python(fn: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).uniform(0.1, 1.0, 30)
    value, gradient = symgrad.value_and_grad(fn, target="interpreter")(x)
    np.testing.assert_allclose(value, fn(x), rtol=1e-12)
    step = 1e-6 * np.random.default_rng(1).standard_normal(30)
    np.testing.assert_allclose(gradient @ step, (fn(x + step) - fn(x - step)) / 2, rtol=1e-6)


def test_small_integers_are_staged_and_large_ones_unrolled() -> None:
    x = np.ones(30)
    staged = symgrad.value_and_grad(small_powers, target="interpreter")
    staged(x)
    assert "for_loop: i from 0 to 40" in staged.explain()
    unrolled = symgrad.value_and_grad(powers, target="interpreter")
    unrolled(x)
    assert "beyond 64 bits" in unrolled.explain()


def test_a_right_side_that_raises() -> None:
    with pytest.raises(SymgradError, match="ZeroDivisionError"):
        symgrad.value_and_grad(raises_on_the_right, target="interpreter")(np.ones(3))
