"""NumPy's functions on lists of traced numbers, warnings, and what a program relies on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symgrad.trace.session import trace_function
from tracing import agree

X = np.array([1.0, 2.0, 4.0])
K = np.array([0, 2, 1])
RATE = 0.5
CONFIG = {"name": "relu", "scale": 2.0}
ACTIVATIONS = {np.tanh: 2.0}


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: np.sum([x[0], x[1] ** 2]),
        lambda x: np.exp([x[0], 1.0]),
        lambda x: np.mean([[x[0], 2], [3, x[1]]], axis=0),
        lambda x: np.linalg.norm([x[0], x[1], 1.0]),
        lambda x: np.maximum([x[0], x[1]], 1.5),
        lambda x: np.add.reduce([x[0], x[1]]),
        lambda x: np.multiply.outer([x[0], x[1]], [1.0, x[2]]),
        lambda x: np.dot([1.0, 2.0], [x[0], x[1]]),
        lambda x: x * np.shape([x[0], x[1]])[0],
        lambda x: x * np.take([3.0, 4.0, 5.0], K),
    ],
)
def test_lists_of_traced_numbers(fn: Callable[..., Any]) -> None:
    agree(fn, X)


def test_indices_may_be_traced() -> None:
    agree(lambda x, k: x * np.take(np.array([3.0, 4.0, 5.0]), k), X, K)


def test_a_list_of_sizes_is_fixed() -> None:
    traced = trace_function(lambda x, n: np.broadcast_to(1.0, [n, 2]) * x, (2.0, 3), differentiated=(0,))
    assert any("`n` is fixed" in note for note in traced.notes)


def test_ufuncs_stay_what_they_are() -> None:
    def f(x: Any) -> Any:
        kind: Any = np.tanh
        same = isinstance(kind, np.ufunc) and np.tanh in ACTIVATIONS and np.tanh == np.tanh
        return x * same * ACTIVATIONS[np.tanh] * np.tanh.nin

    agree(f, X)


def test_warnings_are_no_writes() -> None:
    def f(x: Any) -> Any:
        c = np.array([0.0, 1.0])
        warnings.warn("told", UserWarning, stacklevel=1)
        return np.sum(x) + np.sum(np.nan_to_num(c / c))

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        trace_function(f, (X,))
    assert [w.category for w in told] == [UserWarning, RuntimeWarning]


class Model:
    """Something with attributes."""

    def __init__(self) -> None:
        self.w = np.ones(3)
        self.power = 3

    def loss(self, x: Any, flag: bool = True, other: Any = None) -> Any:
        return np.sum(self.w * x**self.power) * RATE * CONFIG["scale"] if flag and other is None else x


def test_fixed_numbers_are_told() -> None:
    assert trace_function(Model().loss, (X,)).notes == (
        "`flag` is True: a change traces again",
        "`self.power` is 3: a change traces again",
        "`RATE` is 0.5: a change traces again",
        "`CONFIG` is {'name': 'relu', 'scale': 2.0}: a change traces again",
    )


def test_fixed_numbers_are_told_up_to_a_limit() -> None:
    numbers = [np.float64(i) for i in range(40)]
    notes = trace_function(lambda x: x * sum(numbers), (X,)).notes
    assert len(notes) == 13
    assert notes[-1] == "28 more captured values: a change traces again"


def test_a_lambda_keeps_its_name() -> None:
    assert trace_function(lambda x: x, (X,)).name == "<lambda>"
