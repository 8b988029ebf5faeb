"""One array in two places of a loop, one of them written into; and bodies that catch what numbers raise."""

# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import UnsupportedError


def rebound_beside_its_alias(x):
    a = x.copy()
    b = a
    for i in range(10):
        b[i] = a[i - 1] * 0.5
        a = a * 1.1
    return a.sum() + b.sum()


def bound_to_what_is_written(x):
    a, b = x.copy(), x * 2
    for i in range(10):
        b[i] = a[i - 1] * 0.5 + i
        a = b
    return a.sum() + b.sum()


def rebound_beside_its_view(x):
    a = x.copy()
    v = a[2:]
    for i in range(10):
        a[i] = v[i % 5] * 0.5
        v = v * 1.1
    return a.sum() + v.sum()


def written_by_a_function(x):
    def write(u, i):
        u[i] = u[i] * 0.5 + 1

    a = x.copy()
    b = a
    for i in range(10):
        write(b, i)
        a = a * 1.1
    return a.sum() + b.sum()


def swapped_with_an_argument(u):
    new = u.copy()
    for _ in range(20):
        new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, new = new, u
    return np.sum(u**2)


def caught(x):
    s = 0.0
    for i in range(10):
        try:
            v = 1 / (i - 3)
        except ZeroDivisionError:
            v = 7.0
        s += v * x[i % 3]
    return s


@pytest.mark.parametrize(
    "fn",
    [
        rebound_beside_its_alias, bound_to_what_is_written, rebound_beside_its_view, written_by_a_function,
        swapped_with_an_argument, caught,
    ],
)  # fmt: skip
def test_as_python(fn: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).uniform(0.1, 1.0, 10)
    before = x.copy()
    value, gradient = symgrad.value_and_grad(fn, target="interpreter")(x)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(value, fn(x.copy()), rtol=1e-12)
    step = 1e-6 * np.random.default_rng(1).standard_normal(10)
    np.testing.assert_allclose(gradient @ step, (fn(x + step) - fn(x - step)) / 2, rtol=1e-6)


# ---- where it depends on numbers whether two places hold one array ----------------------------------------
def perhaps_bound_in_an_inner_loop(x, t):
    a, c = np.sin(x), np.zeros(10)
    for _ in range(4):
        c[1:] += 0.2
        for _ in range(4):
            if t > 5:
                break
            c = a
    return np.sum(a)


def perhaps_bound_in_a_branch(x, t):
    a, c = np.sin(x), np.zeros(10)
    for _ in range(4):
        c[1:] += 0.2
        if t < 5:
            c = a
    return np.sum(a)


def perhaps_bound_in_a_while(x, t):
    a, c = np.sin(x), np.zeros(10)
    while t < 5:
        c[1:] += 0.2
        for _ in range(4):
            if t > 4:
                break
            c = a
        t = t + 1
    return np.sum(a)


def perhaps_a_view(x, t):
    a, c = np.sin(x), np.zeros(5)
    for _ in range(4):
        c[1:] += 0.2
        for _ in range(4):
            if t > 5:
                break
            c = a[2:7]
    return np.sum(a)


def perhaps_two_of_three(x, t):
    a, b, c = np.sin(x), np.cos(x), np.zeros(10)
    for _ in range(4):
        c[1:] += 0.2
        for _ in range(4):
            if t > 5:
                break
            c, b = b, a
    return np.sum(a) + np.sum(b)


@pytest.mark.parametrize(
    "fn",
    [
        perhaps_bound_in_an_inner_loop, perhaps_bound_in_a_branch, perhaps_bound_in_a_while, perhaps_a_view,
        perhaps_two_of_three,
    ],
)  # fmt: skip
def test_right_or_refused(fn: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).uniform(0.1, 1.0, 10)
    value = value_or_refusal(fn, x)
    assert value is None or abs(value - fn(x.copy(), 0.5)) < 1e-12


def value_or_refusal(fn: Callable[..., Any], x: Any) -> Any:
    """The value; None where the program is refused because arrays may be shared."""
    try:
        return symgrad.compile(fn, target="interpreter")(x, 0.5)
    except UnsupportedError as error:
        if "may change another array" in error.what or "shares its elements" in error.what:
            return None
        raise
