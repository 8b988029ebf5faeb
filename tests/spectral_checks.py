"""What tests of spectral functions ask of each: its value, its derivatives, compiled as interpreted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import symgrad

# Results may be complex, named tuples of NumPy's, or numbers.
np: Any = numpy


def weighted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of the squares of a result, with weights so that no two elements are alike."""

    def loss(*args: Any) -> Any:
        y = fn(*args)
        return np.sum(np.cos(np.arange(y.size).reshape(y.shape)) * y * y)

    return loss


def assert_value(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """The interpreted value and its shape are NumPy's."""
    expected = fn(*args)
    found = symgrad.compile(fn, target="interpreter")(*args)
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def assert_compiled_as_interpreted(loss: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Value and gradient are the same, compiled and interpreted."""
    value, bar = symgrad.value_and_grad(loss)(*args)
    expected, expected_bar = symgrad.value_and_grad(loss, target="interpreter")(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(bar, expected_bar, rtol=1e-7, atol=1e-8 * np.abs(expected_bar).max())
