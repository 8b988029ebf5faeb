"""Who sees a write: names, containers, helpers and views do; the caller, and what lives outside, does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import symgrad
from mutation import agree, function_of, results_of
from symgrad.errors import ArgumentError, DTypeError, ImpureError, ShapeError, UnsupportedError
from symgrad.ir.printer import format_function
from symgrad.trace.session import trace_function

X = np.array([0.7, -1.2, 2.5])
A = np.arange(12.0).reshape(3, 4)
TABLE = np.array([1.0, 2.0, 3.0])
HELD: dict[str, Any] = {"rows": [np.ones(2)]}


@dataclass
class Pair:
    """An object that holds arrays."""

    u: Any
    v: Any

    def grow(self, by: Any) -> None:
        """Write into an attribute."""
        self.u += by
        self.v[1:] *= by


def _scale(u: Any, k: Any) -> Any:
    u[k] *= 2.0
    return u


def _sweep(u: Any) -> None:
    u[1:] += u[:-1]


# ---- inside the function -----------------------------------------------------------------------------------
def helpers(x: Any) -> Any:
    y = x * 1.0
    same = _scale(y, 0)
    _sweep(y[::-1])
    return y, same


def containers(x: Any) -> Any:
    y = x * 1.0
    held: dict[str, Any] = {"y": y, "parts": [y[:2], np.zeros(3)]}
    held["parts"][0][1] = x[2]
    held["parts"][1][0] = y[1]
    held["y"] -= 1.0
    return y, held["parts"][1]


def objects(x: Any) -> Any:
    pair = Pair(x * 1.0, np.ones(3))
    view = pair.u[1:]
    pair.grow(x[0])
    view[0] = 0.5
    return pair.u, pair.v, view


def closures(x: Any) -> Any:
    total = np.zeros(2)

    def add(value: Any) -> None:
        total[0] += value
        total[1] = value

    for value in (x[0], x[1] * 2.0):
        add(value)
    return total


def copies(x: Any) -> Any:
    y = x * 1.0
    shallow, deep = copy.copy(y), copy.deepcopy([y, y])
    y[0] = 5.0
    deep[0][1] = x[0]
    return y, shallow, deep[0], deep[1]


def default_argument(x: Any) -> Any:
    def inner(y: Any, z: Any = x) -> Any:
        y[0] = 3.0
        return y + z

    return inner(x * 1.0)


def rows_of_a_list(x: Any) -> Any:
    rows = [np.zeros(3), x * 1.0]
    for row in rows:
        row[1] += x[0]
    return np.array(rows)


@pytest.mark.parametrize(
    "fn", [helpers, containers, objects, closures, copies, default_argument, rows_of_a_list]
)
def test_sharing(fn: Callable[..., Any]) -> None:
    agree(fn, X)


def test_a_value_that_was_read_does_not_change() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        first, scalar, plus = y[0], y[1] + 0.0, y + 0.0
        y[:] = 9.0
        return first, scalar, plus, y

    agree(f, X)


# ---- outside -----------------------------------------------------------------------------------------------
def writes_global(x: Any) -> Any:
    TABLE[0] = 1.0
    return np.sum(x)


def writes_through_a_view(x: Any) -> Any:
    view = TABLE[1:].reshape(2, 1)
    view[0] += x[0]
    return np.sum(x)


def writes_with_a_helper(x: Any) -> Any:
    _scale(HELD["rows"][0], 0)
    return np.sum(x)


def writes_at(x: Any) -> Any:
    np.add.at(TABLE, [0], x[0])
    return np.sum(x)


def writes_out(x: Any) -> Any:
    np.exp(x, out=TABLE)
    return np.sum(x)


@pytest.mark.parametrize(
    "fn", [writes_global, writes_through_a_view, writes_with_a_helper, writes_at, writes_out]
)
def test_captured_arrays_are_not_written(fn: Callable[..., Any]) -> None:
    before = (TABLE.copy(), HELD["rows"][0].copy())
    with pytest.raises(ImpureError, match="writes to"):
        trace_function(fn, (X,))
    np.testing.assert_array_equal(TABLE, before[0])
    np.testing.assert_array_equal(HELD["rows"][0], before[1])


def test_a_copy_of_a_captured_array_is_written() -> None:
    def f(x: Any) -> Any:
        table = TABLE.copy()
        table[0] = x[0]
        return np.sum(table * table)

    assert symgrad.value_and_grad(f, target="interpreter")(X)[0] == pytest.approx(f(X))


# ---- arguments ---------------------------------------------------------------------------------------------
def _product(a: Any, b: Any) -> Any:
    a[0] = 5.0
    return np.sum(a * b)


def test_written_leaves_are_told() -> None:
    def f(p: dict[str, Any], q: Any) -> Any:
        p["b"][1:] *= 2.0
        return np.sum(p["a"] * p["b"]) + q

    assert trace_function(f, ({"a": X, "b": X.copy()}, 1.0)).written == {1}
    assert trace_function(np.sum, (X,)).written == frozenset()


def test_arguments_that_share_elements_are_refused_where_one_is_written() -> None:
    compiled = symgrad.value_and_grad(_product, (0, 1), target="interpreter")
    for _ in range(2):  # slowly, then by the generated function
        assert compiled(X, X.copy())[0] == pytest.approx(_product(X.copy(), X))
        for pair in ((X, X), (X, X[::-1]), (X.copy()[:], X)):
            if pair[0].base is None or np.shares_memory(*pair):
                with pytest.raises(ArgumentError, match="writes into `a`, which shares elements with `b`"):
                    compiled(*pair)
    assert X[0] == 0.7


def test_arguments_that_share_no_element_are_fine() -> None:
    both = np.arange(6.0)
    compiled = symgrad.value_and_grad(_product, target="interpreter")
    assert compiled(both[::2], both[1::2])[0] == pytest.approx(_product(both[::2].copy(), both[1::2]))


def test_arguments_that_share_elements_and_are_only_read_are_fine() -> None:
    assert symgrad.value_and_grad(np.dot, (0, 1), target="interpreter")(X, X)[0] == pytest.approx(X @ X)


def test_a_captured_array_that_is_an_argument_too() -> None:
    def f(x: Any) -> Any:
        x[0] = 0.0
        return np.sum(x * TABLE)

    compiled = symgrad.value_and_grad(f, target="interpreter")
    assert compiled(X)[0] == pytest.approx(np.sum(X[1:] * TABLE[1:]))
    with pytest.raises(ArgumentError, match="`TABLE`"):
        compiled(TABLE)


# ---- what cannot be told -----------------------------------------------------------------------------------
def test_a_write_where_only_the_layout_knows_who_sees_it() -> None:
    deciding = (
        "v = A.reshape(-1); v[0] = 1.0; y = A", "v = A.T.ravel(); A[0] = 1.0; y = v",
        "v = A.reshape(-1); w = v[1:]; A[0] = w[0]; y = w",
        "u = A.reshape(-1); v = A.ravel(); v[0] = 1.0; y = (A, u)",
    )  # fmt: skip
    for text in (*deciding, "v = np.einsum('ij->ji', A); v[0] = 1.0; y = A"):
        with pytest.raises(UnsupportedError, match="may change another array, or not"):
            results_of(function_of(text, "A"), np.asfortranarray(A))
    for text in deciding:
        agree(function_of(text, "A"), A)
    for text in (
        "y = A.reshape(-1); y = y * 2; y[0] = 1.0", "v = A.reshape(-1).sum(); A[0] = v; y = A",
        "v = A[0].reshape(2, 2); v[0] = 1.0; y = A", "A = A.copy(); v = A.reshape(-1); v[0] = 1.0; y = A",
        "v = A.reshape(3, 2, 2); v[0] = 1.0; y = A", "v = A[:, None]; v[0] = 1.0; y = A",
    ):  # fmt: skip
        agree(function_of(text, "A"), A)


def test_a_program_that_relies_on_the_layout_of_an_argument_is_not_used_for_others() -> None:
    def f(a: Any) -> Any:
        flat = a.ravel()
        flat[0] = 5.0
        return np.sum(a * a)

    compiled = symgrad.value_and_grad(f, target="interpreter")
    for _ in range(2):
        assert compiled(A)[0] == pytest.approx(f(A.copy()))
    with pytest.raises(UnsupportedError, match="may change another array, or not"):
        compiled(A.T)
    assert compiled(A)[0] == pytest.approx(f(A.copy()))


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("np.broadcast_to(x, (2, 3))[0] = 1.0", UnsupportedError, "read-only"),
        ("np.diagonal(A)[0] = 1.0", UnsupportedError, "read-only"),
        ("x[0][0] = 1.0", DTypeError, "does not support item assignment"),
        ("x[:2] = x", ShapeError, r"could not broadcast input array from shape \(3,\) into shape \(2,\)"),
        ("x[0] = x", ShapeError, "with a sequence"),
        ("x += A.T", ShapeError, "non-broadcastable output"),
        ("i += x", DTypeError, "Cannot cast ufunc 'add' output from dtype.'float64'. to dtype.'int64'"),
        ("np.add(x, 1.0, out=i)", DTypeError, "Cannot cast ufunc 'add'"),
        ("np.copyto(i, x)", DTypeError, "Cannot cast array data"),
        ("np.add.at(i, [0], x[0])", DTypeError, "Cannot cast ufunc 'add'"),
        ("x[3] = 1.0", IndexError, "out of bounds"),
        ("x.byteswap(True)", UnsupportedError, "ndarray.byteswap"),
        ("np.nan_to_num(x, copy=False)", UnsupportedError, "copy=False"),
        ("x[x > 0] = x", UnsupportedError, "several values at a traced mask"),
        ("np.maximum.at(x, i, 1.0)", UnsupportedError, "with traced indices"),
        ("np.maximum.at(x, [0] * 100, 1.0)", UnsupportedError, "100 times"),
        ("len(x[x > 0])", TypeError, "len()"),
        ("x[x > 0] + x[x > 1]", UnsupportedError, "two traced masks"),
        ("np.sort(x[x > 0])", TypeError, "np.sort, of elements at a traced mask"),
        ("y = np.zeros(2); y[:] = x[x > 0]", UnsupportedError, "at a traced mask are written"),
    ],
)
def test_refusals(text: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        trace_function(function_of(text, "x, A, i", "np.sum(x)"), (X, A, np.array([0, 1, 1])))


# ---- programs ----------------------------------------------------------------------------------------------
def _ops(fn: Callable[..., Any], *args: Any) -> list[str]:
    text = format_function(trace_function(fn, args).function)
    return [row.split(" = ")[1].split()[0] for row in text.splitlines() if " = " in row]


def test_a_write_through_a_view_is_one_update() -> None:
    assert _ops(function_of("x[1:] += 1.0", "x", "x"), X) == ["slice", "constant", "add", "update_slice"]
    assert _ops(function_of("x[0] = x[1]", "x", "x"), X) == ["slice", "reshape", "reshape", "update_slice"]
    assert _ops(function_of("y = x.T; z = y.reshape(1, 3)[0]", "x", "z.sum()"), X)[-1] == "sum"


def test_numbers_stay_numbers_until_a_traced_value_is_written() -> None:
    def f(x: Any) -> Any:
        steps = np.array([0, 2, 1])
        steps[0] = 1
        table = np.zeros(3)
        for k in range(int(steps.max())):
            table[k] = k + 1.0
        assert table.sum() == 3.0
        assert 2.0 in table
        assert f"{table[1]:.1f}" == "2.0"
        assert isinstance(table, np.ndarray)
        return np.sum(x[steps] * table)

    traced = trace_function(f, (X,))
    assert not traced.notes
    agree(f, X)
