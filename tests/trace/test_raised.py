"""What is refused stays refused, though NumPy or the user's code catches the error on its way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symgrad.errors import ImpureError, TracedValueError, UnsupportedError
from symgrad.trace.session import trace_function

X = np.arange(6.0).reshape(2, 3) + 0.5


def _store_element(a: Any, x: Any) -> Any:
    a[0, 0] = x[0, 0]
    return a


def _store_row(a: Any, x: Any) -> Any:
    a[0] = x[0]
    return a


def _store_scattered(a: Any, x: Any) -> Any:
    a[[0, 1], [0, 1]] = x[0, :2]
    return a


def _store_everywhere(a: Any, x: Any) -> Any:
    a[:] = x[0, 0]
    return a


@pytest.mark.parametrize("fn", [_store_element, _store_row, _store_scattered, _store_everywhere])
def test_a_traced_value_stored_in_a_plain_array(fn: Callable[..., Any]) -> None:
    for sample in (X, X.astype(np.float32)):
        with pytest.raises(UnsupportedError, match="written into a plain NumPy array") as caught:
            trace_function(lambda x: fn(np.ndarray((2, 3)), x * 2.0), (sample,))
        assert caught.value.loc is not None
        assert caught.value.loc.function == fn.__name__
        assert "np.stack" in str(caught.value)
        assert "^" in str(caught.value)


def test_a_captured_number_stored_in_an_array() -> None:
    captured = np.array([1.0, 2.0])

    def f(x: Any) -> Any:
        a = np.zeros(2)
        a[0] = captured[1]
        a[1:] = captured[:1]
        return x[0, :2] * a

    traced = trace_function(f, (X,))
    assert not traced.notes  # it stays an input


def test_a_refusal_that_is_caught_stays_one() -> None:
    def truth(x: Any) -> Any:
        try:
            assert x[0, 0] > 0
            return x
        except TypeError:
            return 0.0 * x

    def unsupported(x: Any) -> Any:
        try:
            return np.unique(x)
        except Exception:
            return np.sum(x)

    def draws(x: Any) -> Any:
        try:
            return x * np.random.normal()
        except RuntimeError:
            return x

    def stores(x: Any) -> Any:
        a = np.ndarray(1)
        try:
            a[0] = x[0, 0]
        except ValueError:
            return x
        return a

    kinds = (TracedValueError, UnsupportedError, ImpureError, UnsupportedError)
    for fn, kind in zip((truth, unsupported, draws, stores), kinds, strict=True):
        with pytest.raises(kind):
            trace_function(fn, (X,))


def test_what_numpy_raises_too_may_be_caught() -> None:
    def shapes(x: Any) -> Any:
        try:
            return x @ x
        except ValueError:
            return x @ x.T

    def several(x: Any) -> Any:
        try:
            return float(x)
        except TypeError:
            return x

    for fn in (shapes, several):
        trace_function(fn, (X,))
