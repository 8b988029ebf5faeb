"""The call path: later calls mean what they say, however the calls before them were written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import ArgumentError
from symgrad.runtime import compiled
from symgrad.trace.trees import flatten

Call = tuple[tuple[Any, ...], dict[str, Any]]
X = np.arange(3.0)


def call(*args: Any, **kwargs: Any) -> Call:
    """A call to be made."""
    return args, kwargs


def agree(fn: Callable[..., Any], *calls: Call, target: str = "interpreter") -> None:
    """One compiled function gives at each of the calls what the plain one gives."""
    made = symgrad.compile(fn, target=target)
    for args, kwargs in calls:
        found, structure = flatten(made(*args, **kwargs))
        wanted, expected = flatten(fn(*args, **kwargs))
        assert structure == expected
        for got, want in zip(found, wanted, strict=True):
            assert np.asarray(got).dtype == np.asarray(want).dtype
            np.testing.assert_array_equal(got, want)


def optional(x: Any, y: Any = 2.0, z: Any = 3.0) -> Any:
    """A function that tells its arguments apart."""
    return x + 10 * y + 100 * z


def keywords(x: Any, *, scale: Any = 1.0, shift: Any = 0.0) -> Any:
    """A function with keyword-only parameters."""
    return x * scale + 10 * shift


def collected(x: Any, *rest: Any, **more: Any) -> Any:
    """A function of any number of arguments."""
    found = x
    for number, y in enumerate(rest, 2):
        found = found + number * y
    return found + sum(10 * y for y in more.values())


def collecting(*rest: Any) -> Any:
    """A function that takes any number of arguments, none among them."""
    return sum(rest)


# ---- parameters that some calls pass and some do not ------------------------------------------------------
def test_an_argument_that_the_call_before_left_out() -> None:
    agree(optional, call(X), call(X, 5.0), call(X, z=5.0), call(X, 5.0, 7.0), call(z=1.0, x=X), call(X))


def test_a_position_is_that_of_the_function_not_of_the_call_before() -> None:
    agree(optional, call(X, z=5.0), call(X, 7.0), call(X, z=6.0), call(X, 6.0))


def test_keyword_only_arguments_that_the_call_before_left_out() -> None:
    agree(keywords, call(X), call(X, shift=2.0), call(X, scale=3.0), call(X, scale=3.0, shift=1.0), call(X))


def test_more_arguments_than_in_the_call_before() -> None:
    agree(
        collected, call(X), call(X, 1.0), call(X, 1.0, X), call(X, a=1.0), call(X, 2.0, b=X, a=1.0), call(X)
    )
    agree(collecting, call(), call(X), call(X, X), call())


def test_what_does_not_fit_is_refused_in_the_words_of_the_function() -> None:
    made = symgrad.compile(optional, target="interpreter")
    made(X)
    for args, kwargs in (call(), call(X, 1.0, 2.0, 3.0), call(X, w=1.0)):
        with pytest.raises(ArgumentError, match="optional"):
            made(*args, **kwargs)
    with pytest.raises(TypeError, match="optional"):
        made(X, x=X)
    made(X)


# ---- names ------------------------------------------------------------------------------------------------
NAMES = (
    "self", "args", "kwargs", "absent", "rest", "more", "again", "x", "out", "arena", "run", "call", "slow",
    "take", "give", "fetch", "owner", "captured", "scalars", "leaves", "empty", "ndarray", "t", "k0", "k9",
    "v1", "r0", "TreeMismatch", "GuardFailed", "type", "len", "np", "total", "i", "j", "θ", "_", "__x",
    "status", "taken", "self_", "k0_", "r0_", "v1_", "w1",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_parameter(name: str) -> None:
    fn = eval(f"lambda {name}, y_: [{name} * 2 + y_, {name}.sum()]", {"np": np})
    agree(fn, call(X, 1.0), call(X, 2.0), call(y_=3.0, **{name: X}), call(X + 1, y_=4.0))


@pytest.mark.parametrize("name", ["w1", "x0", "b12", "k0", "lambda_"])
def test_usual_names_have_a_generated_call(name: str) -> None:
    made = symgrad.compile(eval(f"lambda {name}: 2.0 * {name}"), target="interpreter")
    made(X)
    assert type(made).__call__.__code__.co_filename == "<symgrad call path>"


@pytest.mark.slow
def test_any_names_in_generated_code() -> None:
    """All of them in one function, compiled."""
    named = [name for name in NAMES if name != "__x"]
    source = ", ".join(f"{name} * {k} + {name}.sum()" for k, name in enumerate(named))
    fn = eval(f"lambda {', '.join(named)}: ({source})", {"np": np})
    agree(fn, call(*(X + k for k in range(len(named)))), target="numba_cpu")


# ---- errors -----------------------------------------------------------------------------------------------
def test_an_error_of_a_later_call_has_no_other_behind_it() -> None:
    made = symgrad.compile(optional, target="interpreter")
    made(X)
    for other in (call("text"), call(X, 1.0, 2.0, 3.0)):
        with pytest.raises(TypeError) as caught:
            made(*other[0])
        assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
def test_the_order_in_which_a_dict_was_filled_counts(target: str) -> None:
    first = symgrad.compile(lambda p: next(iter(p.values())) * 2.0, target=target)
    keywords = symgrad.compile(lambda **p: next(iter(p.values())) * 2.0, target=target)
    for _ in range(2):
        assert first({"a": 1.0, "b": 2.0}) == keywords(a=1.0, b=2.0) == 2.0
        assert first({"b": 2.0, "a": 1.0}) == keywords(b=2.0, a=1.0) == 4.0


@pytest.mark.parametrize("captured", [False, True])
def test_arrays_in_a_file_take_the_short_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, captured: bool
) -> None:
    """np.memmap is a class of its own, of which the entry knows nothing."""
    data = np.memmap(tmp_path / "data", np.float64, "w+", shape=(3,))
    data[:] = [1.0, 2.0, 4.0]

    def loss(x: Any) -> Any:
        return np.sum(x * data)

    def given(x: Any, y: Any) -> Any:
        return np.sum(x * y)

    made = symgrad.compile_grad(loss if captured else given, target="numba_cpu")
    args = (X,) if captured else (X, data)
    made(*args)

    def slow(*_: Any) -> Any:
        raise AssertionError("a call went the slow way")

    with monkeypatch.context() as patch:
        patch.setattr(compiled, "input_values", slow)
        value, gradient = made(*args)
    assert value == 10.0
    assert gradient.tolist() == [1.0, 2.0, 4.0]
    if not captured:  # and arrays in memory are taken too
        assert made(X, np.ones(3))[0] == made(X, np.ones(3))[0] == 3.0
