"""Derivatives of running sums, sorts and quantiles: at zeros and ties, beside NaN, order 2, in loops too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad

RNG = np.random.default_rng(11)
X = RNG.normal(size=(4, 5))
W = RNG.normal(size=(4, 5))
NAN, INF = np.nan, np.inf


def sums(x: Any) -> Any:
    return np.sum(W * np.cumsum(x, axis=1) ** 2) + np.sum(np.cumsum(x[:, ::2], 0) ** 3)


def products(x: Any) -> Any:
    return np.sum(W * np.cumprod(x, axis=1)) + np.sum(W * np.cumprod(x, axis=0) ** 2)


def products_of_zeros(x: Any) -> Any:
    return np.sum(W[0] * np.cumprod(x[0] * np.array([1.0, 0.0, 1.0, 0.0, 1.0])) * x[1])


def initial(x: Any) -> Any:
    return np.sum(np.cumulative_prod(x, axis=1, include_initial=True) * np.cumulative_sum(x[0, :4])[:, None])


def extremes(x: Any) -> Any:
    return np.sum(W * np.maximum.accumulate(x, 1) ** 2) + np.sum(np.minimum.accumulate(x.T) ** 3)


def sorts(x: Any) -> Any:
    return (
        np.sum(W * np.sort(x, axis=1) ** 2) + np.sum(W * np.sort(x, axis=0) ** 3) + np.sort(x, None)[7] ** 2
    )


def orders(x: Any) -> Any:
    return np.sum(x[np.argsort(x[:, 1])] ** 2 * W) + np.sum(np.take_along_axis(x, np.argsort(W), 1) ** 2 * W)


def partitions(x: Any) -> Any:
    return np.sum(np.partition(x, 2, axis=1)[:, 2] ** 2) + np.partition(x, 3, axis=None)[3] ** 3


def medians(x: Any) -> Any:
    return np.sum(np.median(x, axis=1) ** 2) + np.sum(np.median(x, axis=0) ** 2) + np.median(x) ** 3


def medians_beside_nan(x: Any) -> Any:
    holes = np.where(W > 0.5, np.nan, x)
    return (
        np.sum(np.nanmedian(holes, axis=0) ** 2) + np.nanquantile(holes, 0.3) ** 2 + np.nansum(np.cumsum(x))
    )


def quantiles(x: Any) -> Any:
    return np.sum(np.quantile(x, [0.1, 0.77], axis=0) ** 2) + np.percentile(x, 40, method="hazen") ** 3


def phases(x: Any) -> Any:
    return np.sum(np.unwrap(9 * x, axis=1) ** 2 * W)


def a_loop(x: Any) -> Any:
    s = x[0]
    for i in range(4):
        s = np.cumsum(np.sort(x[i] * s)) + np.median(x)
    return np.sum(s**2)


def branches_and_writes(x: Any) -> Any:
    y = x.copy()
    y.sort(axis=0)
    y[1:].sort()
    z = np.cumsum(y, axis=0) if y[0, 0] < 0 else np.cumprod(y, axis=1)
    return np.sum(z * W)


def while_it_lasts(x: Any) -> Any:
    i, s = 0, x[0]
    while np.sum(s) < 50 and i < 6:
        s = np.sort(np.cumsum(np.abs(s) + 0.1) * x[1] ** 2) + np.cumprod(x[2])
        i += 1
    return np.sum(s)


LOSSES = [
    sums, products, products_of_zeros, initial, extremes, sorts, orders, partitions, medians,
    medians_beside_nan, quantiles, phases, a_loop, branches_and_writes, while_it_lasts,
]  # fmt: skip


def differences(f: Callable[..., Any], x: Any) -> Any:
    """The gradient by central differences, extrapolated to fourth order."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-4
        fine, coarse = ((f(x + k * step) - f(x - k * step)) / (2e-4 * k) for k in (1, 2))
        found[place] = (4 * fine - coarse) / 3
    return found


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_both_modes(loss: Callable[..., Any], target: str) -> None:
    value, gradient = symgrad.value_and_grad(loss, target=target)(X)
    np.testing.assert_allclose(value, loss(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, differences(loss, X), rtol=1e-6, atol=1e-6)
    _, moved = symgrad.jvp(loss, (X,), (W,), target=target)
    np.testing.assert_allclose(moved, np.vdot(gradient, W), rtol=1e-11)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_the_second_order(loss: Callable[..., Any]) -> None:
    slope = symgrad.grad(
        lambda x: np.sum(symgrad.grad(loss, target="interpreter")(x) * W), target="interpreter"
    )
    gradient = symgrad.grad(loss, target="interpreter")
    found = differences(lambda x: np.sum(gradient(x) * W), X)
    np.testing.assert_allclose(slope(X), found, rtol=1e-5, atol=1e-5)


def exact(x: Any, w: Any) -> Any:
    """The gradient of Σ w · cumprod(x), each product without its factor."""
    found = np.zeros_like(x)
    for k in range(len(x)):
        for i in range(k + 1):
            found[i] += w[k] * np.prod(np.delete(x[: k + 1], i))
    return found


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize(
    "x", [[3.0, -1.0, 0.0, 2.0], [0.0, 2.0, 0.0, 0.0], [0.0], [1.0, 0.0], [2.0, 3.0, 4.0], [0.0, 0.0], []]
)
def test_cumprod_is_exact_with_any_number_of_zeros(x: list[float], target: str) -> None:
    given, w = np.array(x), np.arange(1.0, len(x) + 1)
    gradient = symgrad.grad(lambda x: np.sum(w * np.cumprod(x)), target=target)
    np.testing.assert_array_equal(gradient(given), exact(given, w))


ABC = np.array([1.0, 10.0, 100.0])
POINTS: dict[str, tuple[Callable[[Any], Any], list[Any], list[Any]]] = {
    # Equals are in the order that they were in, so each keeps its own weight.
    "sort of equals": (lambda x: np.sum(ABC * np.sort(x)), [2.0, 2.0, 1.0], [10.0, 100.0, 1.0]),
    "sort of zeros": (lambda x: np.sum(ABC * np.sort(x)), [0.0, -0.0, 0.0], [1.0, 10.0, 100.0]),
    "sort of NaN": (lambda x: np.sum((ABC * np.sort(x))[:2]), [NAN, 2.0, 1.0], [0.0, 10.0, 1.0]),
    "sort of inf": (lambda x: np.sum(ABC * np.sort(x)), [INF, -INF, 0.0], [100.0, 1.0, 10.0]),
    "an infinite slope stays": (lambda x: np.sum(np.sqrt(np.sort(x))), [4.0, 0.0], [0.25, INF]),
    "median of three": (np.median, [3.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
    "median of four": (np.median, [1.0, 4.0, 2.0, 9.0], [0.0, 0.5, 0.5, 0.0]),
    "median of equals": (np.median, [5.0, 5.0, 5.0], [0.0, 1.0, 0.0]),
    "median of NaN": (np.median, [5.0, NAN, 1.0], [0.0, 1.0, 0.0]),
    "quantile of NaN": (lambda x: np.quantile(x, 0.3), [NAN, 2.0, 1.0], [1.0, 0.0, 0.0]),
    "median of one": (np.median, [5.0], [1.0]),
    "nanmedian": (np.nanmedian, [1.0, NAN, 2.0, 9.0], [0.0, 0.0, 1.0, 0.0]),
    "nanmedian of two": (np.nanmedian, [1.0, NAN, 2.0], [0.5, 0.0, 0.5]),
    "nancumsum": (lambda x: np.sum(np.nancumsum(x)), [1.0, NAN, 2.0], [3.0, 0.0, 1.0]),
    "nancumprod": (lambda x: np.sum(np.nancumprod(x)), [3.0, NAN, 2.0], [4.0, 0.0, 3.0]),
    "quantile": (lambda x: np.quantile(x, 0.25), [3.0, 1.0, 2.0], [0.0, 0.5, 0.5]),
    "lower": (lambda x: np.quantile(x, 0.3, method="lower"), [3.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
    "midpoint": (lambda x: np.quantile(x, 0.3, method="midpoint"), [3.0, 1.0, 2.0], [0.0, 0.5, 0.5]),
    # As maximum of two, again and again.
    "maximum.accumulate": (lambda x: np.sum(np.maximum.accumulate(x)), [2.0, 1.0, 3.0], [2.0, 0.0, 1.0]),
    "ties accumulate": (lambda x: np.maximum.accumulate(x)[2], [1.0, 1.0, 1.0], [0.25, 0.25, 0.5]),
    "minimum.accumulate": (lambda x: np.minimum.accumulate(x)[2], [1.0, 2.0, 1.0], [0.5, 0.0, 0.5]),
    "NaN accumulates": (lambda x: np.sum(np.maximum.accumulate(x)), [1.0, NAN, 3.0], [1.0, 2.0, 0.0]),
    "nothing": (lambda x: np.sum(np.cumsum(x)) + np.sum(np.sort(x)) + np.sum(np.cumprod(x)), [], []),
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_the_convention(name: str, target: str) -> None:
    loss, x, expected = POINTS[name]
    np.testing.assert_array_equal(symgrad.grad(loss, target=target)(np.array(x)), expected)


def test_quantiles_vary_with_q() -> None:
    def loss(x: Any, q: Any) -> Any:
        return np.sum(np.quantile(x, q, axis=1) ** 2)

    slope = symgrad.grad(loss, argnums=1)(X, 0.37)
    expected = (loss(X, 0.37 + 1e-6) - loss(X, 0.37 - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, expected, rtol=1e-8)


@pytest.mark.parametrize("q", [1.5, -0.1, NAN])
@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_a_traced_q_that_is_no_quantile_is_refused_when_it_runs(
    f: Callable[..., Any], q: float, target: str
) -> None:
    with pytest.raises(IndexError):
        symgrad.compile(f, target=target)(X, q)
