"""The ufuncs of scipy.special give what SciPy gives, in its dtypes and at its edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import symgrad
from numpy_samples import agree, trace
from symgrad.errors import UnsupportedError

REAL = np.array([-2.5, -1.0, -0.3, 0.0, 0.2, 0.7, 1.0, 3.0])
EDGES = np.array([0.0, 1.0, 2.5, np.inf, np.nan, -1.0, -np.inf])
ONE: list[Callable[..., Any]] = [
    special.expit, special.erf, special.erfc, special.log1p, special.expm1, special.logit, special.entr,
    special.ndtr, special.log_expit, special.exp2, special.cbrt, special.gammaln, special.gamma, special.psi,
    special.digamma, special.loggamma, special.softplus,
]  # fmt: skip
TWO: list[Callable[..., Any]] = [special.xlogy, special.xlog1py, special.rel_entr, special.kl_div]


@pytest.mark.parametrize("fn", ONE, ids=lambda fn: fn.__name__)
def test_of_one_number(fn: Callable[..., Any]) -> None:
    for x in (REAL, REAL.astype(np.float32), np.array([0, 1, 2]), 0.3):
        agree(fn, x, rtol=1e-12)


@pytest.mark.parametrize("fn", TWO, ids=lambda fn: fn.__name__)
def test_of_two_numbers(fn: Callable[..., Any]) -> None:
    agree(fn, *np.meshgrid(EDGES, EDGES), rtol=1e-12)
    agree(fn, np.abs(REAL).astype(np.float32), 0.5)
    agree(lambda x: fn(x, 2), np.abs(REAL))


def test_slopes_at_the_edges() -> None:
    """Infinite where the slope is: an entropy at 0, and never a NaN beside it."""

    def slopes(fn: Callable[..., Any], *args: Any) -> Any:
        made = symgrad.grad(lambda *xs: np.sum(fn(*xs)), tuple(range(len(args))), target="interpreter")
        with np.errstate(all="ignore"):
            return [np.asarray(g).tolist() for g in made(*map(np.array, args))]

    assert slopes(special.entr, [0.0, 1.0, -1.0]) == [[np.inf, -1.0, 0.0]]
    assert slopes(lambda x: special.xlogy(x, x), [0.0, 1.0]) == [[-np.inf, 1.0]]
    assert slopes(special.xlogy, [0.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, -1.0])[0][:3] == [
        -np.inf,
        0.0,
        -np.inf,
    ]
    assert slopes(special.xlogy, [0.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, -1.0])[1] == [0.0, 0.0, np.inf, 0.0]
    assert slopes(special.xlog1py, [0.0, 2.0], [-1.0, 1.0]) == [[-np.inf, np.log1p(1.0)], [0.0, 1.0]]
    assert slopes(special.rel_entr, [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]) == [
        [-np.inf, 1.0, 0.0],
        [0.0, -1.0, 0.0],
    ]
    assert slopes(special.kl_div, [0.0, 1.0], [1.0, 1.0]) == [[-np.inf, 0.0], [1.0, 0.0]]


def test_another_function_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.hyp2f1 is not supported"):
        trace(lambda x: special.hyp2f1(1.0, 2.0, 3.0, x), REAL)


@pytest.mark.parametrize("order", range(5))
def test_derivatives_of_digamma(order: int) -> None:
    traced = symgrad.compile(lambda x: special.polygamma(order, x), target="interpreter")
    for x in (REAL, REAL.astype(np.float32), np.array([0.3, np.inf, np.nan])):
        with np.errstate(all="ignore"):
            got, expected = traced(x), special.polygamma(order, x)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6 if x.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("fn", [special.gammaln, special.gamma, special.psi], ids=lambda fn: fn.__name__)
def test_derivatives_are_closed(fn: Callable[..., Any]) -> None:
    """The fourth derivative of a sum is still a program, and right."""

    def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: symgrad.grad(f, target="interpreter")(x)

    fourth = derivative(derivative(derivative(derivative(fn))))
    expected = {
        "gammaln": special.polygamma(3, 2.3),
        "gamma": special.gamma(2.3) * _bell(*(special.polygamma(n, 2.3) for n in range(4))),
        "psi": special.polygamma(4, 2.3),
    }[fn.__name__]
    np.testing.assert_allclose(fourth(2.3), expected, rtol=1e-9)


def _bell(a: float, b: float, c: float, d: float) -> float:
    """The fourth derivative of exp(f) over exp(f), from those of f."""
    return a**4 + 6 * a * a * b + 4 * a * c + 3 * b * b + d


def test_an_order_that_is_not_known_is_refused() -> None:
    for order in (-1, 171, 1.5, np.array([1, 2])):
        with pytest.raises(UnsupportedError, match="takes an order from 0 to 170"):
            symgrad.compile(lambda x, order=order: special.polygamma(order, x))(REAL)
    with pytest.raises(UnsupportedError, match="not a traced"):
        symgrad.compile(lambda n, x: special.polygamma(n, x))(1.0, REAL)
