"""What the public functions refuse before anything is traced: no function, and options that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import ArgumentError

X = np.array([1.0, 2.0])


def loss(x: Any, y: Any = 1.0) -> Any:
    """A loss of one argument or two."""
    return np.sum(x * y)


TAKES_FUNCTION: dict[str, Callable[[Any], Any]] = {
    "compile": symgrad.compile,
    "compile_grad": symgrad.compile_grad,
    "grad": symgrad.grad,
    "value_and_grad": symgrad.value_and_grad,
    "jvp": lambda fn: symgrad.jvp(fn, (X,), (X,)),
    "vjp": lambda fn: symgrad.vjp(fn, X),
    "check_grads": lambda fn: symgrad.check_grads(fn, (X,)),
    "trace": lambda fn: symgrad.trace(fn, X),
}


@pytest.mark.parametrize("name", TAKES_FUNCTION)
@pytest.mark.parametrize("given", [1, "loss", X], ids=lambda given: type(given).__name__)
def test_no_function(name: str, given: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        TAKES_FUNCTION[name](given)
    assert caught.value.what == f"{name} is given an object of type {type(given).__name__}, not a function"
    assert caught.value.cure is not None
    assert f"{name}(loss" in caught.value.cure


@pytest.mark.parametrize("option", ["argnums", "static_argnums"])
@pytest.mark.parametrize("given", [1.0, True, (0, 1.5), None, {0}, (False,)], ids=repr)
def test_argnums(option: str, given: Any) -> None:
    makers: list[Callable[..., Any]] = [symgrad.compile_grad, symgrad.value_and_grad, symgrad.grad]
    for make in makers + ([symgrad.compile] if option == "static_argnums" else []):
        with pytest.raises(ArgumentError, match=f"^{option}") as caught:
            make(loss, **{option: given})
        assert caught.value.cure is not None
        assert f"{option}=(0, 1)" in caught.value.cure


@pytest.mark.parametrize("make", [symgrad.compile_grad, symgrad.value_and_grad])
def test_argnums_by_position(make: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(make(loss, 1, target="interpreter")(2.0 * X, X)[1], 2.0 * X)
    with pytest.raises(ArgumentError, match="has_aux is 1") as caught:
        make(loss, 0, 1)
    assert caught.value.cure == "to differentiate several arguments, write argnums=(0, 1)"


@pytest.mark.parametrize(("primals", "tangents", "named"), [(X, X, "primals"), ((X,), X, "tangents")])
def test_jvp_takes_tuples(primals: Any, tangents: Any, named: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        symgrad.jvp(loss, primals, tangents)
    assert caught.value.what.startswith(f"jvp: {named} is of type ndarray, and must be a tuple")
    assert caught.value.cure == "for one argument write jvp(f, (x,), (x_dot,))"


def test_keys_of_tangents_are_those_of_the_argument() -> None:
    """Leaves that only stand in the same order would give another derivative."""

    def weighted(p: Any) -> Any:
        return 2.0 * p["a"] + 3.0 * p["b"]

    at = {"a": 1.0, "b": 1.0}
    assert symgrad.jvp(weighted, (at,), ({"b": 0.0, "a": 1.0},), target="interpreter")[1] == 2.0
    with pytest.raises(ArgumentError, match=r"the tangent of `p` is a dict with the keys 'b', 'c', and must"):
        symgrad.jvp(weighted, (at,), ({"b": 1.0, "c": 0.0},), target="interpreter")
