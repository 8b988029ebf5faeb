"""The entry of a compiled program: what it takes, what it refuses, and what it gives."""

from __future__ import annotations

import gc
import platform
import threading
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numpy.linalg import LinAlgError

import symgrad
from symgrad.errors import ArgumentError, SymgradError
from symgrad.ir.types import DType

Array = np.ndarray[Any, Any]
DTYPES = [np.dtype(name) for name in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")]


def entry_of(fn: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The entry of a compiled function for arguments like these."""
    return symgrad.compile(fn, target="numba_cpu").program(*args).executable.entry


@pytest.fixture(scope="module")
def scaled() -> Callable[..., Any]:
    """run(s, x[2,3], y[2,3]): y = s x, and the sum of x is returned."""

    def fn(s: Any, x: Any) -> Any:
        return s * x, np.sum(x)

    return entry_of(fn, 2.0, np.ones((2, 3)))


X = np.arange(6.0).reshape(2, 3)


def test_a_call(scaled: Callable[..., Any]) -> None:
    y = np.empty((2, 3))
    assert scaled(2.0, X, y) == 15.0
    np.testing.assert_array_equal(y, 2 * X)


class Special(np.ndarray):
    """An array of a class of its own."""


def readonly(a: Array) -> Array:
    """An array that nobody may write to."""
    a = a.copy()
    a.flags.writeable = False
    return a


def unaligned(a: Array) -> Array:
    """The same elements at an odd address."""
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
    made = raw.view(a.dtype).reshape(a.shape)
    made[...] = a
    return made


@pytest.mark.parametrize(
    "bad",
    [
        X.T, X[:, ::-1], np.asfortranarray(X), X[:1], X[None], X.ravel(), X.astype(np.float32),
        X.astype(np.int64), X.astype(X.dtype.newbyteorder()), X.view(Special), unaligned(X), X.tolist(), None,
        1.0, np.float64(1.0), "x", object(), X.astype(object), X.astype(complex), X.view("M8[s]"),
        np.ma.array(X),
    ],
    ids=lambda bad: f"{type(bad).__name__}-{getattr(bad, 'dtype', '')}",
)  # fmt: skip
def test_what_is_no_such_array(scaled: Callable[..., Any], bad: Any) -> None:
    with pytest.raises(TypeError, match="not of the type that this is compiled for"):
        scaled(2.0, bad, np.empty((2, 3)))
    with pytest.raises(TypeError, match="not of the type that this is compiled for"):
        scaled(2.0, X, bad)


def test_a_result_must_be_writeable_and_a_param_need_not(scaled: Callable[..., Any]) -> None:
    assert scaled(2.0, readonly(X), np.empty((2, 3))) == 15.0
    with pytest.raises(TypeError, match="not of the type"):
        scaled(2.0, X, readonly(X))


@pytest.mark.parametrize("count", [0, 1, 2, 4, 9])
def test_the_number_of_arguments(scaled: Callable[..., Any], count: int) -> None:
    with pytest.raises(TypeError, match="not of the type"):
        scaled(*([2.0, X, np.empty((2, 3)), X] * 3)[:count])
    with pytest.raises(TypeError, match="no keyword arguments"):
        scaled(2.0, X, y=X)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_is_no_number(dtype: DType) -> None:
    run = entry_of(lambda a: a, dtype.type(1))
    bad: list[Any] = [None, "2", X, 1j, [1.0], object()]
    if dtype.kind in "iu":
        bad += [2.5, 2**64, np.iinfo(dtype).max + 1, np.iinfo(dtype).min - 1]
    if dtype.kind == "b":
        bad += [1, 0, 1.0, 2]
    for value in bad:
        with pytest.raises(TypeError, match="not of the type that this is compiled for"):
            run(value)
    assert run(dtype.type(1)) == 1


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_unaligned_arrays_are_copied(target: str) -> None:
    x = unaligned(np.arange(5.0))
    record = np.ones(1, dtype=[("b", "u1"), ("v", "f8", (5,))])["v"][0]
    f = symgrad.value_and_grad(lambda x: np.sum(x**2), target=target)
    for given in (x, record, x):
        value, gradient = f(given)
        assert value == np.sum(given**2)
        np.testing.assert_array_equal(gradient, 2 * given)
    captured = symgrad.compile(lambda y: np.sum(y * x), target=target)
    assert captured(np.ones(5)) == captured(np.ones(5)) == 10.0


def test_an_array_that_changes_while_a_number_is_converted(scaled: Callable[..., Any]) -> None:
    x = X.copy()

    class Sly:
        def __float__(self) -> float:
            x.resize((1, 3), refcheck=False)
            return 2.0

    with pytest.raises(TypeError, match="not of the type"):
        scaled(Sly(), x, np.empty((2, 3)))


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_a_number_that_does_not_fit_is_traced_anew(target: str) -> None:
    f = symgrad.compile(lambda x, k: np.sum(x) * k, target=target)
    assert f(X, 3) == 45.0
    assert f(X, 2**70) == 15.0 * 2.0**70


def test_minus_one_is_a_number(scaled: Callable[..., Any]) -> None:
    y = np.empty((2, 3))
    scaled(-1.0, X, y)
    np.testing.assert_array_equal(y, -X)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_of_every_type(dtype: DType) -> None:
    def fn(a: Any, b: Any) -> Any:
        return a, b, a

    run = entry_of(fn, dtype.type(1), dtype.type(1))
    if dtype.kind == "f":
        ends = [np.finfo(dtype).max, np.finfo(dtype).tiny, -1.0, np.inf, -0.0]
    elif dtype.kind == "b":
        ends = [True, False]
    else:
        ends = [np.iinfo(dtype).max, np.iinfo(dtype).min, 1, 0]
    for end in map(dtype.type, ends):
        for given in (end, end.item()):
            found = run(given, dtype.type(1), *[])
            assert found == (end.item(), 1, end.item())
            assert type(found[0]) is type(end.item())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_every_type_and_of_both_names_of_one(dtype: DType) -> None:
    run = entry_of(lambda x: x[::-1], np.ones(3, dtype))
    codes = [code for code in "?bBhHiIlLqQfd" if np.dtype(code) == dtype]
    for code in codes:
        x = np.array([0, 1, 1], code)
        y = np.empty(3, code)
        assert run(x, y) is None
        np.testing.assert_array_equal(y, x[::-1])


def test_refusals_are_the_errors_that_they_stand_for() -> None:
    x, i = np.arange(3.0), np.array([0, 3])
    run = entry_of(lambda x, i: x[i], x, i)
    with pytest.raises(IndexError, match=r"axis 0 .*test_entry\.py"):
        run(x, i, np.empty(2))
    run = entry_of(np.linalg.cholesky, np.eye(2))
    with pytest.raises(LinAlgError, match=r"positive definite .*test_entry\.py"):
        run(-np.eye(2), np.empty((2, 2)))


def test_other_threads_run_meanwhile() -> None:
    def fn(x: Any) -> Any:
        return np.sum(np.exp(np.sin(x)))

    x = np.linspace(0.0, 1.0, 4_000_000)
    run = entry_of(fn, x)
    stop, counted = threading.Event(), [0]

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        while counted[0] == before:
            time.sleep(0)
        run(x)
        started = counted[0]
        for _ in range(5):
            run(x)
        assert counted[0] > started
    finally:
        stop.set()
        thread.join()


def test_code_lasts_as_long_as_the_function() -> None:
    def make(k: int) -> Callable[..., Any]:
        return entry_of(lambda x: np.sum(x * x) + k, np.ones(5))

    kept = [make(k) for k in range(8)]
    for k in range(20):
        make(100 + k)
    gc.collect()
    for k, run in enumerate(kept):
        assert run(np.ones(5)) == 5.0 + k


def test_results_are_fresh_objects() -> None:
    run = entry_of(lambda x: np.sum(x), np.ones(2))
    found = [run(np.array([k, 0.5])) for k in range(1000)]
    assert found == [k + 0.5 for k in range(1000)]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of this kind")
@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3"])
def test_another_processor(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SYMGRAD_CPU", name)
    loss = symgrad.compile_grad(lambda x: np.sum(np.exp(np.sin(x)) @ x), target="numba_cpu")
    x = np.linspace(0.0, 1.0, 37)
    value, gradient = loss(x)
    np.testing.assert_allclose(value, np.exp(np.sin(x)) @ x, rtol=1e-14)
    np.testing.assert_allclose(gradient, np.exp(np.sin(x)) * (1 + x * np.cos(x)), rtol=1e-14)
    assert "zmm" not in loss.ir("asm")


@pytest.mark.parametrize(
    ("name", "features"), [("nonsense", ""), ("", "+nonsense"), ("x86-64", "-sse,nonsense")]
)
def test_a_processor_that_llvm_has_not(monkeypatch: pytest.MonkeyPatch, name: str, features: str) -> None:
    """It is refused by name, where LLVM would end the process or leave out what it does not know."""
    monkeypatch.setenv("SYMGRAD_CPU", name)
    monkeypatch.setenv("SYMGRAD_CPU_FEATURES", features)
    loss = symgrad.compile_grad(lambda x: np.sum(x), target="numba_cpu")
    with pytest.raises(symgrad.errors.ArgumentError, match="nonsense"):
        loss(np.ones(3))


def test_the_module_for_numba() -> None:
    @symgrad.compile_grad(target="numba_cpu")
    def loss(x: Any, w: Any) -> Any:
        return np.sum(np.tanh(x @ w) ** 2)

    x, w = np.linspace(-1, 1, 12).reshape(4, 3), np.ones(3)
    value, gradient = symgrad.value_and_grad(loss.fn, argnums=0)(x, w)
    module = loss.numba_module(x, w)
    run = module.run

    @numba.njit
    def twice(x: Any, w: Any) -> Any:
        out = np.empty_like(x)
        return 2 * run(x, w, out), out

    found, written = twice(x, w)
    np.testing.assert_allclose(found, 2 * value, rtol=1e-14)
    np.testing.assert_allclose(written, gradient, rtol=1e-13)
    np.testing.assert_allclose(module.call(x, w)[1], gradient, rtol=1e-13)
    loss(x, w)
    assert loss.numba_module(x, w) is loss.numba_module()
    for out in (np.empty((3, 3)), np.empty((5, 3))):
        with pytest.raises(ValueError, match="not of the shape"):
            run(x, w, out)
    shared = symgrad.compile_grad(loss.fn, parallel=2, target="numba_cpu")
    with pytest.raises((ArgumentError, SymgradError), match="several threads"):
        shared.numba_module(x, w)
