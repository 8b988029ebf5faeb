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
    special.ndtr, special.log_expit, special.exp2, special.cbrt,
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
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.gammaln is not supported"):
        trace(special.gammaln, REAL)
