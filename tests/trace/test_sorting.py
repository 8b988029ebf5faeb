"""Running sums, sorting and quantiles on tracers give what NumPy gives: dtypes, shapes and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from numpy_samples import check_expression, trace
from symgrad.errors import DTypeError, ShapeError, TracedValueError, UnsupportedError

SCANS = """
np.cumsum(x)
np.cumsum(x, axis=0)
x.cumsum(1)
x.cumsum(axis=-2, dtype=np.float32)
np.cumsum(B, axis=1)
np.cumsum(e, axis=0)
np.cumsum(e, 1)
np.cumsum(e)
np.cumsum(n, axis=1)
np.cumsum(n, dtype=float)
np.cumsum(x, dtype=int)
np.cumsum(b)
np.cumsum(i8)
np.cumsum(i8, dtype=np.int8)
np.cumsum(i8.astype(np.uint8))
np.cumsum(i8.astype(np.uint64))
np.cumsum(i8 * np.int8(3), dtype=np.uint16)
np.cumsum(h, axis=0)
np.cumsum(H)
np.cumsum(q)
np.cumsum(s)
np.cumsum(s, axis=0)
np.cumsum(x.T, axis=0)
np.cumsum(x[::2, ::-1], axis=1)
np.cumprod(x)
np.cumprod(x, axis=1)
x.cumprod(0)
np.cumprod(B, 1)
np.cumprod(n)
np.cumprod(b)
np.cumprod(i8, dtype=np.int8)
np.cumprod(i8.astype(np.uint32))
np.cumprod(q)
np.cumprod(e, 0)
np.cumprod(H)
np.nancumsum(q)
np.nancumsum(x, axis=1)
np.nancumsum(n, 0)
np.nancumprod(q)
np.nancumprod(i8)
np.nancumsum(np.where(b, x, np.nan), axis=0)
np.cumulative_sum(v)
np.cumulative_sum(x, axis=1, include_initial=True)
np.cumulative_sum(i8, include_initial=True)
np.cumulative_sum(v, dtype=np.float32, include_initial=True)
np.cumulative_sum(s, include_initial=True)
np.cumulative_sum(e, axis=0, include_initial=True)
np.cumulative_prod(x, axis=0)
np.cumulative_prod(v, include_initial=True)
np.cumulative_prod(b[0], include_initial=True)
np.add.accumulate(x)
np.add.accumulate(x, axis=1)
np.add.accumulate(v, axis=None)
np.add.accumulate(b)
np.add.accumulate(i8, dtype=np.float32)
np.multiply.accumulate(x, 1)
np.multiply.accumulate(b)
np.maximum.accumulate(x)
np.maximum.accumulate(x, axis=1)
np.maximum.accumulate(q)
np.maximum.accumulate(i8)
np.maximum.accumulate(i8.astype(np.uint64))
np.maximum.accumulate(b, axis=1)
np.maximum.accumulate(H)
np.maximum.accumulate(e, axis=0)
np.minimum.accumulate(B, axis=2)
np.minimum.accumulate(q[::-1])
np.minimum.accumulate(i8.astype(np.uint8))
np.minimum.accumulate(n, dtype=float)
np.unwrap(t * 4)
np.unwrap(x * 9, axis=0)
np.unwrap(t * 4, discont=5.0)
np.unwrap(n * 3, period=4)
np.unwrap(n * 3, period=5)
np.unwrap(h * 9, period=3.0)
np.unwrap(e, axis=0)
np.unwrap(np.array([0.0, np.pi, 2 * np.pi]) + v[0] * 0)
"""

SORTS = """
np.sort(x)
np.sort(x, axis=0)
np.sort(x, axis=None)
np.sort(x, 1, "stable")
np.sort(x, kind="heapsort")
np.sort(x, stable=True)
np.sort(B, axis=1)
np.sort(n, axis=-2)
np.sort(i8)
np.sort(i8.astype(np.uint64))
np.sort(b, axis=0)
np.sort(h)
np.sort(H[::-1])
np.sort(q)
np.sort(e)
np.sort(e, axis=0)
np.sort(e, axis=None)
np.sort(s, axis=None)
np.sort(x[:, ::-1])
np.sort(x.T, axis=0)
np.sort(t)
np.argsort(x)
np.argsort(x, axis=0)
np.argsort(x, axis=None)
np.argsort(n, axis=1, kind="stable")
np.argsort(m, stable=True)
np.argsort(b, axis=None, kind="mergesort")
np.argsort(i8.astype(np.uint64))
np.argsort(q)
np.argsort(e, axis=0)
np.argsort(s)
x.argsort(0)
t.argsort()
x[np.argsort(x[:, 0])]
np.take_along_axis(x, np.argsort(x, axis=0), axis=0)
np.partition(x, 2)[:, 2]
np.partition(x, 1, axis=0)[1]
np.partition(t, (3, 7))[[3, 7]]
np.partition(x, -1, axis=None)[-1]
np.partition(e, 5, axis=0)
np.take_along_axis(x, np.argpartition(x, 2), axis=1)[:, 2]
v[v.argpartition(1)[1]]
np.argpartition(s, 0)
np.lexsort((n[0], n[1]))
np.lexsort(n)
np.lexsort((x, n), axis=0)
np.lexsort((s,))
np.searchsorted(np.sort(v), q)
np.searchsorted(np.sort(q), q)
np.searchsorted(np.sort(q), q, side="right")
np.digitize(x, [-1.0, 0.0, 1.0])
np.digitize(x, [1.0, 0.0, 0.0, -1.0])
np.digitize(n, [-2, 0, 3], right=True)
np.digitize(n, [3, 0, -2], right=True)
np.digitize(q, [-1.0, 0.0, 1.0])
np.digitize(s, [0.0, 1.0])
"""

METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
    "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip

QUANTILES = """
np.median(x)
np.median(x, axis=0)
np.median(x, axis=1, keepdims=True)
np.median(B, axis=(0, 2))
np.median(B, axis=(0, -1), keepdims=True)
np.median(x, keepdims=True)
np.median(n)
np.median(n, axis=0)
np.median(b)
np.median(i8)
np.median(h, axis=1)
np.median(H)
np.median(q)
np.median(q[2:])
np.median(s)
np.median(e)
np.median(e, axis=0)
np.median(e, axis=1)
np.median(np.where(b, x, np.nan), axis=0)
np.nanmedian(x)
np.nanmedian(q)
np.nanmedian(np.where(b, x, np.nan), axis=0)
np.nanmedian(np.where(b, x, np.nan), axis=1, keepdims=True)
np.nanmedian(np.where(b, B, np.nan), axis=(0, 2))
np.nanmedian(n, axis=1)
np.nanmedian(h * np.float32(np.nan), axis=0)
np.nanmedian(e)
np.nanmedian(e, axis=0)
np.quantile(x, 0.3)
np.quantile(x, 0.3, axis=0)
np.quantile(x, [0.1, 0.5, 1.0], axis=1)
np.quantile(x, [0.1, 0.5], axis=1, keepdims=True)
np.quantile(B, [[0.2, 0.9], [0.0, 1.0]], axis=(0, 2), keepdims=True)
np.quantile(h, 0.3, axis=1)
np.quantile(h, [0.3], axis=1)
np.quantile(h, np.float64(0.3))
np.quantile(h, np.float32([0.3, 0.7]), axis=0)
np.quantile(H, 0.3)
np.quantile(n, 0.3)
np.quantile(n, 1)
np.quantile(n, [0, 1], axis=0)
np.quantile(x, 0)
np.quantile(x, True)
np.quantile(q, 0.2)
np.quantile(q[2:], 0.2)
np.quantile(q[2:], 0.8)
np.quantile(e, 0.5, axis=1)
np.quantile(s, 0.5)
np.quantile(x, s)
np.quantile(h, s, axis=0)
np.quantile(x, np.abs(np.tanh(w)), axis=1)
np.quantile(v, p / 10)
np.quantile(h, np.abs(np.tanh(w)), axis=0)
np.percentile(x, 30)
np.percentile(x, [10, 90], axis=0)
np.percentile(h, 30.0, axis=1, keepdims=True)
np.percentile(x, np.abs(w), axis=1)
np.nanquantile(x, 0.3, axis=0)
np.nanquantile(q, [0.2, 0.9])
np.nanquantile(np.where(b, x, np.nan), 0.4, axis=0)
np.nanquantile(np.where(b, x, np.nan), [0.4, 0.8], axis=1, keepdims=True)
np.nanquantile(np.where(b, B, np.nan), [0.4, 0.8], axis=(0, 1))
np.nanquantile(n, 0.4)
np.nanquantile(e, 0.4, axis=0)
np.nanquantile(np.where(b, x, np.nan), np.abs(np.tanh(w)), axis=0)
np.nanpercentile(np.where(b, x, np.nan), 40)
np.nanpercentile(np.where(b, h, np.float32(np.nan)), 40, axis=1)
"""


@pytest.mark.parametrize("expression", (SCANS + SORTS + QUANTILES).split("\n"))
def test_as_numpy(expression: str) -> None:
    if expression:
        check_expression(expression)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "call",
    [
        "np.quantile(x, 0.3, method=M)",
        "np.quantile(x, 0.5, axis=1, method=M)",
        "np.quantile(x, [0.0, 0.125, 0.25, 0.5, 1 / 3, 1.0], axis=1, method=M)",
        "np.quantile(n, [0.2, 0.5, 1.0], axis=0, method=M)",
        "np.quantile(n, 1, method=M)",
        "np.quantile(n, [0, 1], axis=1, method=M)",
        "np.quantile(h, 0.4, axis=0, method=M)",
        "np.quantile(t, np.abs(np.tanh(w)), method=M)",
        "np.quantile(s, 0.4, method=M)",
        "np.percentile(B, [30, 75], axis=(0, 2), method=M)",
        "np.nanquantile(np.where(b, x, np.nan), [0.4, 0.5, 1.0], axis=0, method=M)",
        "np.nanquantile(np.where(b, x, np.nan), 0.7, axis=1, method=M)",
        "np.nanpercentile(np.where(b, h, np.float32(np.nan)), 70, axis=1, method=M)",
        "np.nanquantile(n, 0.4, method=M)",
    ],
)
def test_every_method_of_quantiles(call: str, method: str) -> None:
    check_expression(call.replace("M)", f"{method!r})"))


# Types of NumPy know that some of these are wrong.
numpy: Any = np
OTHERS: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (lambda x: numpy.sort(x, kind="bubble"), ShapeError, "kind='bubble'"),
    (lambda x: numpy.sort(x, kind="stable", stable=True), ShapeError, "not given together"),
    (lambda x: numpy.argsort(x, order="a"), ShapeError, "array with fields"),
    (lambda x: numpy.sort(x, axis=2), ShapeError, "axis 2 is out of bounds"),
    (lambda x: numpy.sort(x[0, 0]), ShapeError, "out of bounds"),
    (lambda x: numpy.partition(x, 4), ShapeError, "out of bounds"),
    (lambda x: numpy.partition(x, [0, -5]), ShapeError, "out of bounds"),
    (lambda x: numpy.partition(x, 0, kind="quick"), ShapeError, "introselect"),
    (lambda x: numpy.partition(x, np.argmax(x)), TracedValueError, "np.partition at a traced place"),
    (lambda x: numpy.cumsum(x, dtype=bool), UnsupportedError, "np.cumsum with dtype=bool"),
    (lambda x: numpy.cumsum(x, 0, None, np.empty((3, 4))), UnsupportedError, "out="),
    (lambda x: numpy.cumulative_sum(x), ShapeError, "axis= has to be given"),
    (lambda x: numpy.add.accumulate(x[0, 0]), DTypeError, "on a scalar"),
    (lambda x: numpy.add.accumulate(x, axis=None), ShapeError, "multiple axes"),
    (lambda x: numpy.subtract.accumulate(x), UnsupportedError, "np.subtract.accumulate"),
    (lambda x: numpy.unwrap(x, period=x[0, 0]), UnsupportedError, "traced period"),
    (lambda x: numpy.quantile(x, 1.5), ShapeError, r"range \[0, 1\]"),
    (lambda x: numpy.percentile(x, [50, 101]), ShapeError, r"range \[0, 100\]"),
    (lambda x: numpy.quantile(x, np.nan), ShapeError, r"range \[0, 1\]"),
    (lambda x: numpy.quantile(x, 0.5, method="best"), UnsupportedError, "method='best'"),
    (lambda x: numpy.quantile(x, 0.5, weights=x, method="inverted_cdf"), UnsupportedError, "weights="),
    (lambda x: numpy.quantile(x[:0], 0.5), IndexError, "of no elements"),
    (lambda x: numpy.quantile(x, np.zeros((1, 1, 1))), ShapeError, "scalar or 1d"),
    (lambda x: numpy.digitize(x, [0, 2, 1]), ShapeError, "monotonically"),
    (lambda x: numpy.digitize(x, x[0]), TracedValueError, "np.digitize with traced bins"),
    (lambda x: numpy.digitize(x, [[0, 1]]), ShapeError, "2 axes"),
    (lambda x: numpy.lexsort((x, x[0])), ShapeError, "one shape"),
]


@pytest.mark.parametrize(("fn", "kind", "message"), OTHERS)
def test_what_numpy_or_symgrad_refuses(fn: Callable[..., Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        trace(fn, np.ones((3, 4)))


def test_lists_of_traced_numbers() -> None:
    def lists(x: Any) -> Any:
        row = [x[2], x[0] * x[1], x[1]]
        return np.sort(row), np.cumsum([x, x], axis=1), np.lexsort([x, x[::-1]]), np.median(row)

    x = np.random.default_rng(5).normal(size=4)
    for found, expected in zip(symgrad.compile(lists)(x), lists(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_writes() -> None:
    def writes(x: Any) -> Any:
        y, z, out = x.copy(), np.array([3.0, 1.0, 2.0]), np.empty(4)
        y.sort()
        y[:, 1:3].sort(0)
        y[::-1, 0].partition(1)
        z.sort()
        z[0] = x[0, 0]
        z.sort()
        np.cumsum(x[0], out=out)
        np.add.accumulate(x[1], out=out[::-1])
        return y, z, out

    x = np.random.default_rng(6).normal(size=(3, 4))
    for found, expected in zip(symgrad.compile(writes)(x), writes(x), strict=True):
        np.testing.assert_array_equal(found, expected)
