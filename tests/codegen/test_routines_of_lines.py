"""Runs and sorts as machine code and as Python: lines of every length, layout and dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from running import compiled, generated, ways
from symgrad.errors import UnsupportedError
from symgrad.ir.core import Function
from symgrad.ir.types import array_type
from symgrad.passes import optimize, schedule
from symgrad.trace.session import trace_function

DTYPES = ["f64", "f32", "i64"]
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100]
LAYOUTS = [((), ()), ((3,), ()), ((), (4,)), ((2,), (3,)), ((0,), (2,)), ((2,), (0,))]


def lines(n: int, before: tuple[int, ...], after: tuple[int, ...], dtype: str) -> Any:
    """Numbers with many equals; of floats, some zeros are negative, some elements infinite or NaN."""
    rng = np.random.default_rng(n)
    x = rng.integers(-3, 4, size=(*before, n, *after)).astype(array_type(dtype).dtype)
    if dtype != "i64":
        for value in (-0.0, np.nan, np.inf, -np.inf):
            x[rng.random(x.shape) < 0.05] = value
    return x


def scheduled(fn: Callable[..., Any], *args: Any) -> Function:
    types = tuple(array_type(x.dtype, *x.shape) for x in args)
    return schedule(optimize(trace_function(fn, types).function))


def same(found: Any, expected: Any) -> None:
    """To the last bit, zeros with their signs."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_lines_of_every_length(n: int, dtype: str) -> None:
    for before, after in LAYOUTS:
        x, axis = lines(n, before, after, dtype), len(before)

        def each(x: Any, axis: int = axis) -> Any:
            return (
                np.cumsum(x, axis),
                np.cumprod(x, axis),
                np.maximum.accumulate(x, axis),
                np.minimum.accumulate(x, axis),
                np.sort(x, axis, stable=True),
                np.argsort(x, axis, stable=True),
            )

        with np.errstate(all="ignore"):
            for call in ways(scheduled(each, x)):
                sums, products, largest, smallest, *sorts = zip(call(x), each(x), strict=True)
                for found, expected in (sums, products, *sorts):
                    same(found, expected)
                # Of zeros of two signs, NumPy's maximum gives either one.
                for found, expected in (largest, smallest):
                    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["sorted", "reversed", "equal", "random", "saw"])
@pytest.mark.parametrize("n", [999, 1024, 5000])
def test_long_lines(n: int, kind: str) -> None:
    rng = np.random.default_rng(0)
    x = {
        "sorted": np.arange(n), "reversed": -np.arange(n), "equal": np.zeros(n),
        "random": rng.normal(size=n), "saw": np.arange(n) % 17,
    }[kind].astype(float)  # fmt: skip

    def both(x: Any) -> Any:
        return np.sort(x), np.argsort(x, kind="stable"), np.cumsum(x)

    call = symgrad.compile(both)
    for found, expected in zip(call(x), both(x), strict=True):
        same(found, expected)


@pytest.mark.parametrize("dtype", [np.uint64, np.int8, np.uint8, np.int32, np.bool_, np.uint32])
def test_other_integers(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    limits = (0, 2) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = rng.integers(*limits, size=(4, 9), dtype=np.uint64 if dtype is np.uint64 else np.int64).astype(dtype)
    x[:, 2], x[:, 5] = limits

    def each(x: Any) -> Any:
        found = (np.sort(x), np.argsort(x, kind="stable"), np.maximum.accumulate(x, 1), np.cumsum(x, 1))
        return (*found, np.cumprod(x), np.median(x, axis=0))

    for call in ways(scheduled(each, x)):
        with np.errstate(all="ignore"):
            for found, expected in zip(call(x), each(x), strict=True):
                same(found, expected)


def test_what_is_not_contiguous() -> None:
    x = np.random.default_rng(2).normal(size=(6, 8))
    for f in (np.sort, lambda x: np.cumsum(x, axis=0), lambda x: np.cumprod(x, axis=1), np.median):
        for given in (x[::2], x.T, x[:, ::-1], np.asfortranarray(x)):
            np.testing.assert_array_equal(symgrad.compile(f)(given), f(given))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_by_numba(dtype: str) -> None:
    x = lines(33, (2,), (3,), dtype)

    def each(x: Any) -> Any:
        return np.cumsum(x, 1), np.cumprod(x, 1), np.maximum.accumulate(x, 1), np.sort(x, 1), np.argsort(x, 1)

    with np.errstate(all="ignore"):
        found = compiled(generated(scheduled(each, x)))(x)
        expected = (*each(x)[:4], np.argsort(x, 1, kind="stable"))
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "f", [np.sort, np.argsort, np.cumsum, np.cumprod, np.median, np.unwrap, np.nanmedian]
)
def test_a_size_that_changes_in_a_loop_is_refused_by_name(f: Callable[..., Any]) -> None:
    def growing(x: Any) -> Any:
        return symgrad.fori_loop(1, 9, lambda i, total: total + np.sum(f(x[:i])), 0.0)

    with pytest.raises(UnsupportedError, match=rf"np\.{f.__name__} of f64\[i\], whose size changes"):
        symgrad.compile(growing)(np.ones(9))
