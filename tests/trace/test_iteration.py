"""Iterators in traced code are run over once, lists are repeated; names of loops and counts do not meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import UnsupportedError

X = np.linspace(0.31, 1.17, 40)


def two_loops_over_one_zip(x: Any) -> Any:
    pairs, s = zip(x, x[2:], strict=False), 0.0
    for a, b in pairs:
        s = s + a * b
    for _ in pairs:
        s = s + 100
    return s


def rest_of_enumerate(x: Any) -> Any:
    items, s = enumerate(x), 0.0
    for i, _ in items:
        if i == 3:
            break
    for i, v in items:
        s = s + i * v
    return s


def two_loops_over_one_reversed(x: Any) -> Any:
    places, s = reversed(range(40)), 0.0
    for i in places:
        s = s * 0.9 + x[i]
    for i in places:
        s = s * 0.7 + x[i]
    return s


@pytest.mark.parametrize("fn", [two_loops_over_one_zip, rest_of_enumerate, two_loops_over_one_reversed])
def test_a_used_iterator_is_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="used again"):
        symgrad.value_and_grad(fn, target="interpreter")(X)


def begun_with_next(x: Any) -> Any:
    pairs = enumerate(zip(x, x[2:], strict=False))
    _, (s, _) = next(pairs)
    for i, (a, b) in pairs:
        s = s * 0.9 + i * a * b
    return s


def index_called_trips(x: Any) -> Any:
    s = x.sum()
    for trips in range(40):
        t = s
        while t < 20.0:
            t = t * 1.5 + x[trips]
        s = s * 0.1 + t * 0.01
    return s


def index_called_like_a_measure(x: Any) -> Any:
    ends, s = (x * 10).astype(int), 0.0
    for n in range(40):
        s = s * 0.9 + x[n] * np.sum(x[: ends[n]])
        for n_1 in range(30):
            s = s * 0.99 + x[n_1] * np.sum(x[ends[n_1] :])
    return s


def counts_of_repeats(x: Any) -> Any:
    k = (x * 5).astype(int)[10]
    return np.sum(x[: np.full(2, k).sum()]) + 2 * np.sum(x[: np.full(3, k).sum()])


@pytest.mark.parametrize(
    "fn", [begun_with_next, index_called_trips, index_called_like_a_measure, counts_of_repeats]
)
def test_value_and_gradient(fn: Callable[..., Any]) -> None:
    value, slope = symgrad.value_and_grad(fn, target="interpreter")(X)
    assert value == pytest.approx(float(fn(X.copy())), rel=1e-12)
    way = np.cos(np.arange(40.0))
    quotient = (fn(X + 1e-6 * way) - fn(X - 1e-6 * way)) / 2e-6
    assert slope @ way == pytest.approx(float(quotient), rel=1e-6)


def lists_repeated(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        again = [s] * (i + 1)
        pair = (i % 3 + 1) * (x[i], s)
        s = s * 0.5 + x[i] + again[i] * 0.1 + pair[-1] * 0.1 + len(again) + len("ab" * i)
    return s


def test_repeating_a_sequence_is_no_product() -> None:
    value, _ = symgrad.value_and_grad(lists_repeated, target="interpreter")(X)
    assert value == pytest.approx(float(lists_repeated(X.copy())), rel=1e-12)
