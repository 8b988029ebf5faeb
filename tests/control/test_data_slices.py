"""Slices with ends from data: written in place, and read and written at indices that they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad

COLUMNS = np.array([0, 2, 1, 3, 4, 0, 2, 1, 4, 3])
ROWS = ([0, 3, 6, 8, 10], [0, 0, 5, 5, 10], [0, 10, 10, 10, 10], [0, 0, 0, 0, 0])


def scaled(val, x, col, row):
    for i in range(len(row) - 1):
        val[row[i] : row[i + 1]] *= x[i]
    return np.sum(val * val)


def written_once(val, x, col, row):
    val[row[0] : row[1]] *= x[0]
    return np.sum(val * val)


def smoothed(val, x, col, row):
    y = np.zeros(len(val))
    for i in range(len(row) - 1):
        a, b = row[i], row[i + 1]
        y[a:b] = x[i]
        y[a:b] += val[a:b]
        y[a:b] = y[a:b] * val[a:b] + np.sum(y[a:b])
    return np.sum(y * y)


def scattered(val, x, col, row):
    y = x.copy()
    for i in range(len(row) - 1):
        y[col[row[i] : row[i + 1]]] += val[row[i] : row[i + 1]] * y[i]
    return np.sum(y * y)


def placed(val, x, col, row):
    y = np.zeros(len(x))
    for i in range(len(row) - 1):
        y[col[row[i] : row[i + 1]]] = val[row[i] : row[i + 1]] + x[i]
    return np.sum(y * y)


@pytest.mark.parametrize("row", ROWS, ids=["some", "empty rows", "one full row", "none"])
@pytest.mark.parametrize("fn", [scaled, written_once, smoothed, scattered, placed], ids=lambda f: f.__name__)
def test_value_and_gradient(fn: Callable[..., Any], row: list[int]) -> None:
    rng = np.random.default_rng(0)
    args = rng.standard_normal(10), rng.standard_normal(5), COLUMNS, np.array(row)
    value, bars = symgrad.value_and_grad(fn, (0, 1), target="interpreter")(*args)
    np.testing.assert_allclose(value, fn(args[0].copy(), *args[1:]), rtol=1e-12)
    dots = rng.standard_normal(10), rng.standard_normal(5)
    ends = [fn(args[0] + h * dots[0], args[1] + h * dots[1], *args[2:]) for h in (1e-6, -1e-6)]
    found = sum(np.sum(bar * dot) for bar, dot in zip(bars, dots, strict=True))
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-6)
