"""Objects that stand for a function are what they were: another kind around the same function is seen."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tracing import Program, agree

X = np.array([1.0, 2.0, 4.0])


def inner(x: Any) -> Any:
    return x * 3.0


def doubling(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that keeps the function where `functools.lru_cache` keeps it."""

    @functools.wraps(fn)
    def wrapper(x: Any) -> Any:
        return 2.0 * fn(x)

    return wrapper


class Scaled:
    """An object with the attributes of a partial function, which doubles."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func, self.args, self.keywords = func, (), dict[str, Any]()

    def __call__(self, x: Any) -> Any:
        return 2.0 * self.func(x)


HELD: dict[str, Any] = {"f": None}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (functools.lru_cache(inner), doubling(inner)),
        (functools.partial(inner), Scaled(inner)),
    ],
)
def test_another_object_around_the_same_function_is_seen(
    monkeypatch: pytest.MonkeyPatch, before: Any, after: Any
) -> None:
    program = Program(lambda x: np.sum(HELD["f"](x)))
    for held, expected in ((before, 21.0), (after, 42.0), (before, 21.0)):
        monkeypatch.setitem(HELD, "f", held)
        assert program(X) == expected


def test_what_a_decorator_of_a_library_holds_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def scaled(n):\n def decorate(f):\n  return lambda x: n * f(x)\n return decorate"
    library = types.ModuleType("library")
    exec(compile(text, "/usr/lib/site-packages/library.py", "exec"), vars(library))
    program = Program(lambda x: np.sum(HELD["f"](x)))
    for n in (2.0, 3.0):
        monkeypatch.setitem(HELD, "f", library.scaled(n)(inner))
        assert program(X) == 21.0 * n


def test_a_name_that_a_module_lacked_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = types.ModuleType("settings")
    monkeypatch.setitem(HELD, "f", settings)
    program = Program(lambda x: np.sum(x) * getattr(HELD["f"], "factor", 1.0))
    assert program(X) == 7.0
    vars(settings)["factor"] = 2.0
    assert program(X) == 14.0


class Pair(NamedTuple):
    """A named tuple with a method."""

    left: Any
    right: Any

    def mixed(self) -> Any:
        return self.left * self.right


def test_a_method_of_a_named_tuple_is_called() -> None:
    agree(lambda p: np.sum(p.mixed()), Pair(X, 2.0))
