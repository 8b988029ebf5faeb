"""Converted functions keep their variables, their classes, their names and their lines."""

# ruff: noqa: B008, B023, F821, F841, RUF034, SIM222 - what Python does is the point
# pyright: reportPossiblyUnboundVariable=false, reportUndefinedVariable=false, reportConstantRedefinition=false
# pyright: reportFunctionMemberAccess=false, reportGeneralTypeIssues=false, reportUnusedVariable=false

from __future__ import annotations

import functools
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from converting import LOG, as_converted, both, codes_within, defined, is_converted, outcome, see

# ---- variables ---------------------------------------------------------------------------------------------
COUNT = 0


def _globals(n: Any) -> Any:
    if n:
        global COUNT
        COUNT = n
        from math import e as m
    else:
        COUNT += 1
        from math import pi as m
    return COUNT, m > 2


def _unbound(n: Any) -> Any:
    if n == 1:
        x = 1
    if n == 2:
        del x
    for _ in range(n - 2):
        x = n
    if n > 4:
        return y
        y = 1  # never reached, and makes y a variable of the function
    return x


def _closures(n: Any) -> Any:
    total, adders = 0, []

    def add(k: Any) -> Any:
        nonlocal total
        if k:
            total += k
        return total

    for i in range(n):
        if i % 2:
            adders.append(lambda: i)
            adders.append(lambda j=i: j or total)
            kept = i

            def own() -> Any:
                return kept if kept else total

            adders.append(own)
        see(add(i))
    return [f() for f in adders], total


def test_variables() -> None:
    both(_globals, (3,))
    for fn in (_globals, as_converted(_globals)):
        assert (fn(3), fn(0)) == ((3, True), (4, True))
    both(_unbound, *((n,) for n in range(6)))
    both(_closures, *((n,) for n in range(5)))


def test_a_closure_shares_its_variables_with_converted_code() -> None:
    kept = 1

    def f(n: Any) -> Any:
        nonlocal kept
        if n:
            kept += n
        return kept

    assert as_converted(f)(2) == kept == 3


def test_private_names() -> None:
    class Cell:
        def __init__(self) -> None:
            self.__held = 3

        def f(self, n: Any) -> Any:
            __kept = 1
            if n:
                __kept = self.__held
            for __i in range(n):
                __kept += __i
            return __kept

    both(Cell.f, (Cell(), 0), (Cell(), 3))


# ---- functions, classes and methods ------------------------------------------------------------------------
class Base:
    def f(self, n: Any) -> Any:
        return n + 1


class Child(Base):
    def f(self, n: Any) -> Any:
        if n:
            return super().f(n) if n > 1 else __class__.__name__
        for _ in range(2):
            n += super().f(n)
        return n

    @classmethod
    def g(cls, n: Any) -> Any:
        return not n and (cls.__name__, super().__name__ if n else 1)  # type: ignore[attr-defined]


def test_methods_with_super() -> None:
    both(Child.f, (Child(), 0), (Child(), 1), (Child(), 2))
    both(Child.g.__func__, (Child, 0), (Child, 1))


def test_classes_inside() -> None:
    def f(n: Any) -> Any:
        flag = n > 1
        if n:

            class Inner:
                label = "a" if n > 1 else "b"
                twice = label if flag else label * 2
                both = flag and label

                def get(self) -> Any:
                    return self.label if self.both else n

            return Inner.twice, Inner().get(), Inner.__qualname__, Inner.get.__qualname__
        return None

    both(f, (0,), (1,), (2,))


def _decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def around(*args: Any) -> Any:
        return function(*args) if args else None

    return around


@_decorated
@_decorated
def _marked(n: Any, *, k: Any = (lambda: 3 if LOG else 3)()) -> Any:
    return k if n else -k


def test_decorated_functions_and_defaults() -> None:
    both(_marked, (1,), (0,), ())
    both(_marked.__wrapped__.__wrapped__, (1,), (0,))


def _recursive(n: Any) -> Any:
    if n <= 0:
        return 0
    return n + _recursive(n - 1) if n % 2 else _recursive(n - 1)


def test_recursion() -> None:
    both(_recursive, (50,))
    space = defined("def f(n):\n    if n:\n        return f(n - 1) + 1\n    return 0\n")
    space["f"] = as_converted(space["f"])
    assert space["f"](300) == 300


def test_generators_and_functions_that_look_at_their_variables_stay_as_they_are() -> None:
    def generator(n: Any) -> Any:
        if n:
            yield n

    async def coroutine(n: Any) -> Any:
        return n if n else 0

    def looks(n: Any) -> Any:
        if n:
            x = 1
        return locals()

    def runs(n: Any) -> Any:
        return eval("n") if n else 0

    for fn in (generator, coroutine):
        assert not is_converted(fn)
    for fn in (looks, runs):
        assert "__symgrad__" not in as_converted(fn).__code__.co_names
        assert outcome(as_converted(fn), 2) == outcome(fn, 2)

    def holds(n: Any) -> Any:
        return [*generator(n)] if n else looks(n)

    both(holds, (0,), (1,))


def test_functions_that_decide_nothing_stay_as_they_are() -> None:
    def f(x: Any) -> Any:
        y = x + 1
        return [y, abs(y)]

    assert not is_converted(f)
    assert not is_converted(lambda x: x**2)


# ---- what the user sees of it ------------------------------------------------------------------------------
def _fails(n: Any) -> Any:
    total = 0
    for i in range(3):
        if i == 1:
            total += (
                1
                // n
            )  # fmt: skip
    return total


def test_a_traceback_shows_the_lines_of_the_file_and_the_function() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        as_converted(_fails)(0)
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__][1:]
    assert {frame.name for frame in frames} == {"_fails"}
    assert [frame.line for frame in frames][:2] == ["for i in range(3):", "if i == 1:"]
    assert frames[-1].line in ("1", "total += (")
    with pytest.raises(ZeroDivisionError) as plain:
        _fails(0)
    last = traceback.extract_tb(plain.value.__traceback__)[-1]
    positions = (frames[-1].lineno, frames[-1].colno, frames[-1].end_lineno, frames[-1].end_colno)
    assert positions == (last.lineno, last.colno, last.end_lineno, last.end_colno)


def test_names_are_those_of_the_users_code() -> None:
    def outer(n: Any) -> Any:
        if n:

            def inner() -> Any:
                return (lambda: n if n else 0) if n else None

            return inner
        return (lambda: n) or None

    made = as_converted(outer)
    assert made.__code__.co_qualname == outer.__code__.co_qualname
    assert made(1).__qualname__ == outer(1).__qualname__
    assert made(1)().__qualname__ == outer(1)().__qualname__
    assert made(0).__qualname__ == outer(0).__qualname__
    names = {code.co_name for code in codes_within(made.__code__)}
    assert names == {"outer", "inner", "<lambda>"}
    assert made.__code__.co_varnames[:1] == ("n",)
    assert made.__code__.co_filename == __file__


def test_no_name_of_the_runtime_is_the_users() -> None:
    space = defined("def f(n):\n    return dir() if n else sorted(globals())\n\ndef g(n):\n    if n: x = 1\n")
    assert outcome(as_converted(space["g"]), 1) == outcome(space["g"], 1)
    assert not re.search("@", " ".join(as_converted(space["g"]).__code__.co_names))


def test_a_profiler_or_debugger_sees_the_lines_in_order() -> None:
    def f(n: Any) -> Any:
        a = 1
        if n:
            a = 2
        return a

    lines: list[int] = []

    def trace(frame: Any, event: str, arg: object) -> Any:
        if frame.f_code.co_filename == __file__ and event == "line":
            lines.append(frame.f_lineno - f.__code__.co_firstlineno)
        return trace

    made, before = as_converted(f), sys.gettrace()
    sys.settrace(trace)
    try:
        made(1)
    finally:
        sys.settrace(before)
    assert [line for line in lines if line in (1, 4)] == [1, 4]
    assert 3 in lines
