"""NumPy's tools that go through arrays in Python, its classes of numbers, and what is refused."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import TracedValueError, UnsupportedError

X = np.array([1.0, 2.0, 3.0])
N = np.array([1, 2, 3])


@np.vectorize
def kinked(y: Any) -> Any:
    return y * y if y > 1.5 else 3.0 * y


two_results = np.vectorize(lambda y, z: (y * z, y + z))
narrow = np.vectorize(lambda y: 2 * y, otypes=[np.float32])


def same(fn: Callable[..., Any], *args: Any) -> None:
    """Check values, dtypes and shapes against those of NumPy."""
    found, wanted = symgrad.compile(fn, target="interpreter")(*args), fn(*args)
    for one, other in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else ((found, wanted),):
        assert (np.asarray(one).dtype, np.shape(one)) == (np.asarray(other).dtype, np.shape(other))
        np.testing.assert_allclose(one, other, rtol=1e-14)


def slope(fn: Callable[..., Any], *args: Any) -> Any:
    return symgrad.grad(lambda *xs: np.sum(fn(*xs)), target="interpreter")(*args)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "vectorize": (lambda x: kinked(x), [3.0, 4.0, 6.0]),
    "vectorize inside": (lambda x: np.vectorize(lambda y: y**3)(x), [3.0, 12.0, 27.0]),
    "fromiter": (lambda x: np.fromiter((v * v for v in x), float), [2.0, 4.0, 6.0]),
    "fromiter of some": (lambda x: np.fromiter((v * v for v in x), float, 2), [2.0, 4.0, 0.0]),
    "ndenumerate": (lambda x: sum(v * i[0] for i, v in np.ndenumerate(x)), [0.0, 1.0, 2.0]),
    "ndindex": (lambda x: sum(x[i] * 2 for i in np.ndindex(x.shape)), [2.0, 2.0, 2.0]),
    "fromfunction": (lambda x: np.fromfunction(lambda i, j: x[0] * i + j, (2, 3)), [3.0, 0.0, 0.0]),
    "require": (lambda x: np.require(x, np.float64, "C") * 2, [2.0, 2.0, 2.0]),
    "float64": (lambda x: np.float64(x[0]) * np.float64(x), [7.0, 1.0, 1.0]),
    "float32": (lambda x: np.float32(x[1]) * 2, [0.0, 2.0, 0.0]),
    "int64": (lambda x: np.int64(x[1]) * x, [2.0, 2.0, 2.0]),
    "sliding windows": (
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2).sum(axis=1) ** 2,
        [6.0, 16.0, 10.0],
    ),
    "polyint": (lambda x: np.polyint([1.0, 2.0], k=x[0]), [1.0, 0.0, 0.0]),
    "polyint of two": (lambda x: np.polyint([1.0, 2.0], 2, k=[x[0], 3.0]), [1.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_slopes(name: str) -> None:
    fn, wanted = FUNCTIONS[name]
    same(fn, X)
    np.testing.assert_allclose(slope(fn, X), wanted, rtol=1e-6 if "32" in name else 1e-14)


def test_vectorize() -> None:
    """Several operands and results, given types, broadcast shapes, and what is not traced."""
    same(lambda x: two_results(x, x[:, None]), X)
    same(lambda x: two_results(x, 2.0), X)
    same(lambda x: narrow(x), X)
    same(lambda x: np.vectorize(lambda y: y + 1)(N) * x, X)
    same(lambda x: np.vectorize(lambda y, z: y * z)(x.reshape(1, 3), N), X)


def test_windows_of_several_axes() -> None:
    windows = np.lib.stride_tricks.sliding_window_view
    a = np.arange(20.0).reshape(4, 5)
    same(lambda x: windows(x, (2, 3)), a)
    same(lambda x: windows(x, 2, axis=0), a)
    same(lambda x: windows(x, (2, 2), axis=(1, 1)), a)


def test_classes_of_numbers_are_themselves() -> None:
    def loss(x):
        assert isinstance(x[0], np.float64)
        assert issubclass(np.float64, float)
        assert np.float64 == x.dtype
        assert x.dtype.type == np.float64
        assert {np.float64: 1}[x.dtype.type] == 1
        assert np.zeros(2, np.float32).dtype == np.float32
        return np.sum(x.astype(np.float64)) + np.float64(2.0) + np.zeros(1, dtype=np.float64)[0]

    assert symgrad.compile(loss, target="interpreter")(X) == 8.0


REFUSED: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "nditer": (lambda x: [v * 2 for v in np.nditer(x)], "np.nditer of a traced array", "np.ndindex"),
    "a method of a class": (lambda x: np.ndarray.sum(x), "doesn't apply to a traced value", "np.sum"),
    "statistics": (lambda x: statistics.mean(x), "can't convert a traced value", "np.mean"),
    "its deviation": (lambda x: statistics.stdev(x), "can't convert a traced value", "np.mean"),
    "checked": (lambda x: np.asarray_chkfinite(x), "needs the number behind", "leave the value"),
    "signature": (
        lambda x: np.vectorize(np.sum, signature="(n)->()")(x),
        "takes no keywords, excluded= or signature=",
        "np.stack",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_line_and_cure(name: str) -> None:
    fn, message, cure = REFUSED[name]
    with pytest.raises((UnsupportedError, TracedValueError), match=message) as caught:
        symgrad.compile(fn, target="interpreter")(X)
    assert caught.value.loc is not None
    assert caught.value.loc.file == __file__
    assert cure in str(caught.value)


def test_a_long_vectorize_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="of 501 elements") as caught:
        symgrad.compile(lambda x: kinked(x), target="interpreter")(np.ones(501))
    assert "np.where" in str(caught.value)


def test_windows_that_do_not_fit() -> None:
    for size in (4, -1):
        with pytest.raises(symgrad.errors.ShapeError, match="window shape"):
            symgrad.compile(lambda x, size=size: np.lib.stride_tricks.sliding_window_view(x, size))(X)
