"""`jvp` and `vjp`: what they keep with a function is of that very function."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest

import symgrad


def square(x: float) -> float:
    """The function that the others are made from."""
    return x * x


class Times:
    """A callable object."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: float) -> float:
        return self.factor * x

    def squared(self, x: float) -> float:
        """A method."""
        return self.factor * x * x


def slope(fn: Callable[..., Any], x: float) -> float:
    """The derivative, the same by both modes."""
    forward = symgrad.jvp(fn, (x,), (1.0,), target="interpreter")[1]
    (backward,) = symgrad.vjp(fn, x, target="interpreter")[1](1.0)
    assert forward == backward
    return float(forward)


def test_a_wrapper_is_not_what_it_wraps() -> None:
    """`functools.wraps` copies the attributes of a function."""
    assert slope(square, 2.0) == 4.0

    @functools.wraps(square)
    def thrice(x: float) -> float:
        return 3.0 * square(x)

    assert slope(thrice, 2.0) == 12.0
    assert slope(square, 2.0) == 4.0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_callable_object_is_another_function(copied: Callable[[Times], Times]) -> None:
    first = Times(2.0)
    assert slope(first, 1.0) == 2.0
    second = copied(first)
    second.factor = 5.0
    assert slope(second, 1.0) == 5.0
    assert slope(first, 1.0) == 2.0
    assert slope(second.squared, 1.0) == 10.0


def test_what_a_compiled_gradient_wraps_is_not_it() -> None:
    assert slope(square, 2.0) == 4.0
    assert slope(symgrad.grad(square, target="interpreter"), 2.0) == 2.0
