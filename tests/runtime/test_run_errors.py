"""Errors that only the numbers show: raised when the program runs, as NumPy does, with the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad

TARGETS = ["interpreter", pytest.param("numba_cpu", marks=pytest.mark.slow)]
X = np.array([1.0, 2.0, 3.0])


def integers(*numbers: int, dtype: type = np.int64) -> Any:
    return np.array(numbers, dtype)


def refused(made: Callable[..., Any], kind: type[Exception], what: str, *args: Any) -> None:
    """The call raises the error, with the user's line."""
    with pytest.raises(kind, match=rf"(?i){what}.*\(test_run_errors\.py:\d+\)"):
        made(*args)


@pytest.mark.parametrize("target", TARGETS)
def test_positions_that_are_not_there(target: str) -> None:
    made = symgrad.value_and_grad(lambda x, i: np.sum(x[i]), target=target)
    for bad in (3, -4, 2**62, -(2**63)):
        assert made(X, integers(0, -1))[0] == 4.0
        refused(made, IndexError, "axis 0 with size 3", X, integers(0, bad))
    np.testing.assert_array_equal(made(X, integers(2, 2))[1], [0.0, 0.0, 2.0])


@pytest.mark.parametrize("target", TARGETS)
def test_positions_in_what_has_no_elements(target: str) -> None:
    made = symgrad.value_and_grad(lambda x, i: np.sum(x[i]), target=target)
    for x in (X, X[:0]):
        value, slopes = made(x, integers())
        assert (value, slopes.shape, slopes.any()) == (0.0, x.shape, False)
    refused(made, IndexError, "axis 0 with size 0", X[:0], integers(0))
