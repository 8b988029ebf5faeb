"""Exponents, fractions and neighbours are NumPy's to the last bit, in every dtype, on every target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad

DTYPES = (np.float64, np.float32, np.float16)


def numbers(dtype: Any) -> Any:
    """Numbers of every size, powers of two and what stands beside them, and those that are none."""
    limits = np.finfo(dtype)
    rng = np.random.default_rng(0)
    powers = np.ldexp(dtype(1), np.arange(limits.minexp - limits.nmant, limits.maxexp)).astype(dtype)
    special = np.array([0.0, np.inf, np.nan, limits.max, limits.smallest_subnormal, limits.tiny], dtype)
    with np.errstate(all="ignore"):
        beside = [np.nextafter(powers, dtype(np.inf)), np.nextafter(powers, dtype(0))]
        any_bits = rng.integers(0, 2 ** (8 * limits.dtype.itemsize - 1), 500, dtype=np.uint64)
        random = any_bits.astype(f"u{limits.dtype.itemsize}").view(dtype)
        found = np.concatenate([powers, *beside, special, random])
        return np.concatenate([found, -found])


def same(fn: Callable[..., Any], target: str, *args: Any) -> None:
    """Fail unless the results are NumPy's in every bit; NaNs may differ in theirs."""
    with np.errstate(all="ignore"):
        wanted, found = fn(*args), symgrad.compile(fn, target=target)(*args)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        if b.dtype.kind == "f":
            number = ~np.isnan(b)
            np.testing.assert_array_equal(np.signbit(a[number]), np.signbit(b[number]))


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_every_bit(dtype: Any, target: str) -> None:
    if dtype == np.float16 and target != "interpreter":
        pytest.skip("no target compiles float16")
    x = numbers(dtype)
    same(np.frexp, target, x)
    same(np.spacing, target, x)
    rng = np.random.default_rng(1)
    for y in (rng.permutation(x), np.zeros_like(x), -x, np.full_like(x, np.inf)):
        same(np.nextafter, target, x, y)
    for k in (0, -1, 40, 1100, -1080, 2500, -2500):
        same(lambda x, k=k: np.ldexp(x, k), target, x)
    same(np.ldexp, target, x, rng.integers(-60, 60, x.shape))


def test_slopes() -> None:
    def slope(fn: Callable[..., Any], *args: Any) -> Any:
        return symgrad.grad(fn, tuple(range(len(args))), target="interpreter")(*args)

    assert slope(lambda x: np.ldexp(x, 5), 0.7) == (32.0,)
    assert slope(lambda x: np.frexp(x)[0], 6.0) == (0.125,)
    assert slope(lambda x: np.spacing(x) * x, 6.0) == (np.spacing(6.0),)
    assert slope(lambda x, y: np.nextafter(x, y), 6.0, 7.0) == (1.0, 0.0)
    assert slope(lambda x: math.ldexp(x, 3), 0.7) == (8.0,)
