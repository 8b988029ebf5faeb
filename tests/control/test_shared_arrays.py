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


# ---- variables that hold other arrays after a branch than before, which writes into them ------------------
def exchanged_and_written(x, t):
    a, b, c = np.sin(x), x * t, np.zeros(10)
    if x[0] < t:
        a, b, c = c, a, b
        b[0] = c[1]
        a[0] = 7.0
    return np.sum(a * np.arange(1, 11)) + np.sum(b * c)


def exchanged_again_and_again(x, t):
    a, b, c = np.sin(x), x * t, np.zeros(10)
    if x[0] < t:
        for _ in range(4):
            a, b, c = c, a, b
            b[[0, 0, 2]] = c[:3]
    return np.sum(a * np.arange(10)) + np.sum(b * c)


def written_in_one_exchanged_in_the_other(x, t):
    a, b = np.sin(x), x * t
    if x[0] < t:
        a, b = b, a
    else:
        a[0] = 7.0
    return np.sum(a * np.arange(1, 11)) + b[0] ** 2


def another_view_or_what_it_shows(x, t):
    a, b = np.sin(x), x * t
    v = a[1:]
    if x[0] < t:
        v = b[1:]
    else:
        a[1] = 7.0
    return np.sum(v * np.arange(1, 10)) + a[1] * b[2]


def _written_and_returned(a, x, t):
    if x[0] < t:
        a[0] = 7.0 * x[1]
        return a
    a[1] = 5.0
    return a[::-1]


def written_and_returned(x, t):
    return np.sum(_written_and_returned(np.sin(x), x, t) * np.arange(1, 11))


def in_a_branch_of_a_branch(x, t):
    a, b = np.sin(x), x * t
    if x[0] < t:
        a[0] = 2.0
        if x[1] < t:
            a, b = b, a
        else:
            b[2] = a[0] * x[3]
    return np.sum(a * np.arange(1, 11)) + np.sum(b**3)


def in_a_branch_of_a_loop(x, t):
    a, b = np.sin(x), x * t
    for i in range(10):
        if x[i] < t:
            a, b = b * 1.0, a * 1.0
            a[i] += 1.0
        else:
            b = a * 0.5
            b[0] = a[i]
    return np.sum(a * np.arange(1, 11)) + np.sum(b**3)


@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 2.0])
@pytest.mark.parametrize(
    "fn",
    [
        exchanged_and_written, exchanged_again_and_again, written_in_one_exchanged_in_the_other,
        another_view_or_what_it_shows, written_and_returned, in_a_branch_of_a_branch, in_a_branch_of_a_loop,
    ],
)  # fmt: skip
def test_a_branch_leaves_what_it_has_written(fn: Callable[..., Any], t: float) -> None:
    x = np.random.default_rng(0).uniform(0.1, 1.0, 10)
    value, gradient = symgrad.value_and_grad(fn, target="interpreter")(x, t)
    np.testing.assert_allclose(value, fn(x.copy(), t), rtol=1e-12)
    step = 1e-6 * np.random.default_rng(1).standard_normal(10)
    np.testing.assert_allclose(gradient @ step, (fn(x + step, t) - fn(x - step, t)) / 2, rtol=1e-6)


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
