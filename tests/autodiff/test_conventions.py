"""What a derivative is where it does not exist, and that nothing singular leaks from where it is not used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad

NAN, INF = np.nan, np.inf
POINTS: dict[str, tuple[Callable[[Any], Any], list[Any], list[Any]]] = {
    "abs": (lambda x: np.sum(np.abs(x)), [-2.0, 0.0, 3.0], [-1.0, 0.0, 1.0]),
    "maximum of equals": (lambda x: np.sum(np.maximum(x, x[::-1])), [1.0, 1.0], [1.0, 1.0]),
    "maximum tie": (lambda x: np.maximum(x[0], x[1]), [3.0, 3.0], [0.5, 0.5]),
    "minimum tie": (lambda x: np.minimum(x[0], 2.0 * x[1]), [4.0, 2.0], [0.5, 1.0]),
    "max tie": (lambda x: np.max(x), [3.0, 1.0, 3.0], [0.5, 0.0, 0.5]),
    "min tie": (lambda x: np.min(x), [1.0, 1.0, 3.0], [0.5, 0.5, 0.0]),
    "relu": (lambda x: np.sum(np.maximum(x, 0)), [-1.0, 2.0, -3.0], [0.0, 1.0, 0.0]),
    "clip": (lambda x: np.sum(np.clip(x, -1.0, 1.0)), [-2.0, -1.0, 0.5, 1.0], [0.0, 0.5, 1.0, 0.5]),
    "norm at 0": (lambda x: np.linalg.norm(x), [0.0, 0.0], [0.0, 0.0]),
    "norm squared at 0": (lambda x: np.linalg.norm(x) ** 2 + np.sum(x), [0.0, 0.0], [1.0, 1.0]),
    "norm squared at 0, alone": (lambda x: np.linalg.norm(x) ** 2, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    "prod with one zero": (np.prod, [0.0, 4.0, 5.0], [20.0, 0.0, 0.0]),
    "prod with two zeros": (np.prod, [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]),
    "prods of rows with zeros": (
        lambda x: np.sum(np.prod(x.reshape(2, 2), axis=1)),
        [0.0, 4.0, 0.0, 0.0],
        [4.0, 0.0, 0.0, 0.0],
    ),
    "cumprod with two zeros": (
        lambda x: np.sum(np.cumprod(x)),
        [2.0, 0.0, 3.0, 0.0, 5.0],
        [1.0, 8.0, 0.0, 0.0, 0.0],
    ),
    "sort of equals": (
        lambda x: np.sort(x) @ np.array([1.0, 10.0, 100.0]),
        [3.0, 3.0, 1.0],
        [10.0, 100.0, 1.0],
    ),
    "places named twice": (lambda x: np.sum(x[[0, 0, 1]] ** 2), [3.0, 4.0, 5.0], [12.0, 8.0, 0.0]),
    "places written twice": (lambda x: np.bincount([0, 0, 1], x**2)[0], [3.0, 4.0, 5.0], [6.0, 8.0, 0.0]),
    "logaddexp of -inf": (lambda x: np.logaddexp(x[0], x[1]), [-INF, -INF], [0.5, 0.5]),
    "logaddexp of -inf and a number": (lambda x: np.logaddexp(x[0], x[1]), [-INF, 1.0], [0.0, 1.0]),
    "logaddexp of inf": (lambda x: np.logaddexp(x[0], x[1]), [INF, INF], [0.5, 0.5]),
    "logaddexp2 of -inf": (lambda x: np.logaddexp2(x[0], x[1]), [-INF, -INF], [0.5, 0.5]),
    "logaddexp of several -inf": (np.logaddexp.reduce, [-INF, -INF, -INF, -INF], [0.25, 0.25, 0.25, 0.25]),
    "where log of nothing": (
        lambda x: np.sum(np.where(x > 0, np.log(x), 0)),
        [-1.0, 0.0, 2.0],
        [0.0, 0.0, 0.5],
    ),
    "sqrt at 0": (lambda x: np.sum(np.sqrt(x)), [0.0, 4.0], [INF, 0.25]),
    "power 0 at 0": (lambda x: np.sum(x**0), [0.0, 2.0], [0.0, 0.0]),
    "power of array 0 at 0": (lambda x: np.sum(x ** np.array([0.0, 1.0])), [0.0, 0.0], [0.0, 1.0]),
    # The branch not taken never makes a NaN.
    "where log": (lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), [-1.0, 2.0], [0.0, 0.5]),
    "where nested": (lambda x: np.sum(np.where(x > 1, np.sqrt(np.log(x)), x)), [0.5, 1.0], [1.0, 1.0]),
    "where through sums": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(np.sum(x * x) * x), 0.0)),
        [0.0, 0.0],
        [0.0, 0.0],
    ),
    "maximum not taken": (lambda x: np.sum(np.sqrt(np.maximum(x, 0.0))), [-1.0, 4.0], [0.0, 0.25]),
    "minimum not taken": (lambda x: np.sum(np.minimum(np.exp(x), 1.0)), [1e3, -1e3], [0.0, 0.0]),
    "max in its own entry": (
        lambda x: np.sum(np.sqrt(np.max(np.stack([x, x - 1.0]), axis=0))),
        [0.0, 4.0],
        [INF, 0.25],
    ),
    "rows of an infinite slope": (
        lambda x: np.sum(np.sqrt(np.max(np.reshape(x, (2, 2)), axis=1))),
        [0.0, -1.0, 4.0, 1.0],
        [INF, 0.0, 0.25, 0.0],
    ),
    # A NaN is as extreme as it gets.
    "max of NaN": (
        lambda x: np.sum(np.max(np.reshape(x, (2, 2)), axis=1)),
        [NAN, 1.0, 2.0, 1.0],
        [1, 0, 1, 0],
    ),
    "maximum of NaN": (lambda x: np.sum(np.maximum(x, 0.0)), [NAN, 1.0], [1.0, 1.0]),
    "square of NaN": (lambda x: np.sum(x**2), [NAN, 1.0], [NAN, 2.0]),
}


@pytest.mark.parametrize("name", POINTS)
def test_the_convention(name: str) -> None:
    loss, x, expected = POINTS[name]
    found = symgrad.grad(loss, target="interpreter")(np.array(x))
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0.0)


@pytest.mark.parametrize(
    "name", [n for n in POINTS if "NaN" not in n and "slope" not in n and "sqrt" not in n]
)
def test_both_modes_agree(name: str) -> None:
    loss, x, expected = POINTS[name]
    for k, e in enumerate(np.eye(len(x))):
        _, slope = symgrad.jvp(loss, (np.array(x),), (e,), target="interpreter")
        # A tangent of 0 times an infinite slope is NaN: only reverse mode keeps entries apart.
        if np.isfinite(slope):
            np.testing.assert_allclose(slope, expected[k], rtol=1e-14, atol=0.0)


def test_the_second_derivative_of_a_product_with_two_zeros() -> None:
    hessian = symgrad.grad(lambda x: symgrad.grad(np.prod)(x)[0], target="interpreter")
    np.testing.assert_array_equal(hessian(np.array([0.0, 0.0, 5.0])), [0.0, 5.0, 0.0])


def test_the_second_derivative_of_logaddexp() -> None:
    """It is that of the softmax at equals too, unless they are infinite."""
    slope = symgrad.grad(lambda x: symgrad.grad(np.logaddexp)(x, 1.0), target="interpreter")
    assert slope(1.0) == pytest.approx(0.25, rel=1e-14)
    assert slope(-INF) == 0.0


def test_a_guarded_branch_is_guarded_in_every_order() -> None:
    def loss(x):
        return np.where(x > 0.0, x**1.5, 0.0)

    derivative = symgrad.grad(loss, target="interpreter")
    for _ in range(3):
        assert derivative(-4.0) == 0.0
        derivative = symgrad.grad(derivative, target="interpreter")


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_integer_powers_raise_where_numpy_does(target: str) -> None:
    power = symgrad.compile(lambda n, k: n**k, target=target)
    assert power(np.array([2, 3]), np.array([0, 2])).tolist() == [1, 9]
    with pytest.raises(ValueError, match="negative integer powers"):
        power(np.array([2, 3]), np.array([1, -1]))
    assert power(np.array([2, 3]), np.array([3, 1])).tolist() == [8, 3]
    with pytest.raises(symgrad.errors.DTypeError, match="negative"):
        symgrad.compile(lambda n: n**-1, target=target)(np.array([2, 3]))
