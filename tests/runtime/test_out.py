"""`out=`: results are written into the arrays that a call gives, or the call is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import ArgumentError, DTypeError, ShapeError, SymgradError

X = np.arange(1.0, 4.0)
TARGETS = pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])


def square(x: Any) -> Any:
    """A loss."""
    return np.sum(x**2)


def layer(p: Any, x: Any) -> Any:
    """A loss of a dict with a number in it."""
    return np.sum(p["w"] * x) * p["b"]


@TARGETS
def test_the_gradient_is_the_array_that_was_given(target: str) -> None:
    loss, out = symgrad.value_and_grad(square, target=target), np.empty(3)
    for k in range(3):
        value, gradient = loss(X + k, out=out)
        assert gradient is out
        assert value == square(X + k)
        np.testing.assert_array_equal(out, 2 * (X + k))
    for fresh in (loss(X)[1], loss(X, out=None)[1]):
        assert not np.shares_memory(fresh, out)
        np.testing.assert_array_equal(fresh, 2 * X)
    assert loss(X[::-1], out=out)[1] is out  # a layout that the fast function was not made for
    np.testing.assert_array_equal(out, 2 * X[::-1])


@TARGETS
def test_out_has_the_structure_of_what_it_stands_for(target: str) -> None:
    w, y = np.empty(3), np.empty(3)
    both = symgrad.value_and_grad(layer, argnums=(0, 1), target=target)
    p = {"w": X, "b": 2.0}
    for out in (({"w": w, "b": None}, y), ({"b": None, "w": w}, None), (None, y), (None, None)):
        for _ in range(2):
            _, (by_p, by_x) = both(p, X, out=out)
            assert out[0] is None or by_p["w"] is w
            assert out[1] is None or by_x is y
            np.testing.assert_array_equal(by_p["w"], 2 * X)
            assert by_p["b"] == np.sum(X * X)
            np.testing.assert_array_equal(by_x, 2 * X)
    assert symgrad.grad(square, target=target)(X, out=w) is w
    made = symgrad.compile(lambda x: (x + 1, np.sum(x), [x * 2]), target=target)
    first, _, (last,) = made(X, out=(w, None, [y]))
    assert first is w
    assert last is y
    np.testing.assert_array_equal((w, y), (X + 1, X * 2))


@TARGETS
def test_the_rest_of_a_loss_with_aux_is_fresh(target: str) -> None:
    out = np.empty(3)
    loss = symgrad.value_and_grad(lambda x: (np.sum(x), {"twice": 2 * x}), has_aux=True, target=target)
    for _ in range(2):
        (_, aux), gradient = loss(X, out=out)
        assert gradient is out
        np.testing.assert_array_equal(aux["twice"], 2 * X)


@dataclass
class Pair:
    """A structure."""

    left: Any
    right: Any


def test_dataclasses_and_registered_classes() -> None:
    pair = symgrad.grad(lambda p: np.sum(p.left * p.right), target="interpreter")
    out = Pair(np.empty(3), None)
    found = pair(Pair(X, X + 1), out=out)
    assert found.left is out.left
    np.testing.assert_array_equal(found.left, X + 1)


def _read_only(n: int) -> Any:
    found = np.empty(n)
    found.flags.writeable = False
    return found


UNFIT: list[tuple[Callable[[], Any], type[SymgradError], str]] = [
    (lambda: np.empty(4), ShapeError, "`out` has shape (4,), and the result (3,)"),
    (lambda: np.empty((3, 1)), ShapeError, "has shape (3, 1)"),
    (lambda: np.empty(3, np.float32), DTypeError, "has dtype float32"),
    (lambda: np.empty(3, ">f8"), DTypeError, "has dtype >f8"),
    (lambda: [0.0] * 3, ArgumentError, "is a list, not an array"),
    (lambda: (np.empty(3),), ArgumentError, "is a tuple, not an array"),
    (lambda: np.ma.masked_array(np.empty(3)), ArgumentError, "is a MaskedArray"),
    (lambda: np.empty(6)[::2], ArgumentError, "not C-contiguous"),
    (lambda: _read_only(3), ArgumentError, "read-only"),
    (lambda: np.empty(25, np.uint8)[1:].view(np.float64), ArgumentError, "not aligned"),
    (lambda: X, ArgumentError, "shares elements with an input"),
    (lambda: X[:], ArgumentError, "shares elements with an input"),
]


@pytest.mark.parametrize(("make", "error", "text"), UNFIT)
def test_what_does_not_fit_is_refused(make: Callable[[], Any], error: type[SymgradError], text: str) -> None:
    loss = symgrad.value_and_grad(square, target="interpreter")
    before = X.copy()
    for _ in range(2):
        with pytest.raises(error) as caught:
            loss(X, out=make())
        assert text in str(caught.value)
        assert caught.value.cure is not None
        assert caught.value.__context__ is None
        loss(X)
    np.testing.assert_array_equal(X, before)


def test_structures_that_do_not_fit_are_refused() -> None:
    both = symgrad.value_and_grad(layer, argnums=(0, 1), target="interpreter")
    p, a = {"w": X, "b": 2.0}, np.empty(3)
    for out, text in (
        (a, "`out` is a ndarray, and must have the structure"),
        ([None, a], "`out` is a list"),
        ((None,), "`out` is a tuple"),
        (({"w": a}, None), "`out[0]` is a dict"),
        (({"w": a, "b": a}, None), "`out[0]['b']` stands for a number"),
        (({"w": a, "b": None}, a), "`out[1]` shares elements with `out[0]['w']`"),
    ):
        with pytest.raises(ArgumentError) as caught:
            both(p, X, out=out)
        assert text in str(caught.value)


DATA = np.arange(3.0)


def test_a_captured_array_is_an_input() -> None:
    loss = symgrad.value_and_grad(lambda x: np.sum(x * DATA), target="interpreter")
    with pytest.raises(ArgumentError, match="shares elements with an input"):
        loss(X, out=DATA)
    np.testing.assert_array_equal(DATA, np.arange(3.0))


def test_a_number_has_no_array() -> None:
    loss = symgrad.value_and_grad(lambda x: x * x, target="interpreter")
    for _ in range(2):
        with pytest.raises(ArgumentError, match="`out` stands for a number"):
            loss(2.0, out=np.empty(()))
        assert loss(2.0, out=None)[1] == 4.0


def test_an_argument_of_the_function_itself_comes_first() -> None:
    named = symgrad.compile(lambda x, out: x + out, target="interpreter")
    collected = symgrad.compile(lambda x, **more: x + more["out"], target="interpreter")
    for _ in range(2):
        np.testing.assert_array_equal(named(X, out=X), 2 * X)
        np.testing.assert_array_equal(collected(X, out=X), 2 * X)


def test_in_a_trace_there_is_nothing_to_write_into() -> None:
    inner = symgrad.grad(square, target="interpreter")
    with pytest.raises(ArgumentError, match="out= was passed where the call is traced"):
        symgrad.compile(lambda x: inner(x, out=np.empty(3)), target="interpreter")(X)


@TARGETS
def test_an_array_of_another_call_may_be_given_again(target: str) -> None:
    loss = symgrad.value_and_grad(square, target=target)
    out = loss(X)[1]
    assert loss(X, out=out)[1] is out
    # Neighbours in memory share nothing.
    rows = np.zeros((2, 3))
    rows[0] = X
    assert loss(rows[0], out=rows[1])[1] is not None
    np.testing.assert_array_equal(rows, [X, 2 * X])


@TARGETS
def test_a_call_with_out_of_another_shape_is_one_for_another_program(target: str) -> None:
    doubled = symgrad.compile(lambda x: 2.0 * x, target=target)
    for n in (3, 4, 3, 5):
        into = np.empty(n)
        assert doubled(np.ones(n), out=into) is into
        assert into.tolist() == [2.0] * n
    with pytest.raises(SymgradError, match="`out` has shape"):
        doubled(np.ones(3), out=np.empty(4))
