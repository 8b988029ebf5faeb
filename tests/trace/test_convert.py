"""Converted code does what Python does: each construct with concrete operands, against the plain function."""

# ruff: noqa: B007, B012, F821, RET507 - what Python does is the point
# pyright: reportPossiblyUnboundVariable=false, reportUnboundVariable=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Any

from converting import as_converted, both, see


# ---- branches and loops ------------------------------------------------------------------------------------
def _branches(x: Any) -> Any:
    """Documented."""
    y = 0
    if x > 2:
        y = see(1)
    elif x == 1:
        see(x)
        del y
    elif x == 0:
        raise ValueError(x)
    else:
        z = y
    return (y, z) if x < 0 else y


def test_branches() -> None:
    both(_branches, (3,), (2,), (1,), (0,), (-1,))
    assert as_converted(_branches).__doc__ == "Documented."


def _targets(n: Any) -> Any:
    class Box:
        pass

    box, items = Box(), [0, 0, 0]
    for box.value in range(n):
        see(box.value)
    for items[see(1)] in "ab":
        see(list(items))
    for a, (b, *c) in [(1, (2, 3, 4)), (5, "x")]:
        see((a, b, c))
    for [d, e] in zip(range(2), "yz", strict=True):
        see((d, e))
    return a, b, c, d, e, box.value


def _loops(n: Any) -> Any:
    found = []
    for i in range(n):
        if i == 1:
            continue
        for j in range(n):
            if j > i:
                break
            if i + j == 5:
                return found
            found.append((i, j))
        else:
            found.append("all")
    else:
        found.append("end")
    while n:
        n -= 1
        if n == 1:
            continue
        found.append(see(n))
        if n == 5:
            break
    else:
        return found, n
    return n, found


def _jumps(n: Any) -> Any:
    for i in range(4):
        if n > i:
            if n == i + 1:
                see("deep")
                continue
            elif n == 7:
                break
            see("on")
        else:
            if i == 2:
                return "found"
            see("else")
        see(i)
    if n == 2:
        if see(True):
            return "early"
        see("never")
    while True:
        n += 1
        if n > 9:
            return n


def test_loops() -> None:
    both(_targets, (2,), (0,), (1.5,))
    both(_loops, (0,), (1,), (2,), (3,), (4,), (7,))
    both(_jumps, *((n,) for n in range(9)))
    both(_iterates, (5,), ([],), ("ab",))


def _iterates(items: Any) -> Any:
    last = None
    for last in items:
        pass
    return last


def test_a_generator_that_a_loop_leaves_is_closed() -> None:
    def items() -> Iterator[int]:
        try:
            yield from range(5)
        finally:
            see("closed")

    def f() -> None:
        for i in items():
            if i == 2:
                break
        see("after")

    both(f, ())


# ---- expressions -------------------------------------------------------------------------------------------
def _expressions(a: Any, b: Any, c: Any) -> Any:
    first = see(a) and see(b) and see(c), see(a) or see(b) or see(c), not see(a)
    second = see(a) < see(b) < see(c), see(a) == see(b) is not see(c) in [1, 2]
    third = see(b) if see(a) else see(c) if b else see(3)
    fourth = [see(x) if x else -1 for x in (a, b, c) if x or a]
    fifth = {k: v or k for k, v in zip("ab", (a, b), strict=True)}, {not x for x in (a, b)}
    return first, second, third, fourth, fifth, (lambda x=a or 5: x and b)()


def _walrus(a: Any) -> Any:
    if (y := see(a)) > 1 and (z := y + 1) > 3:
        y += 1
    while (w := see(a)) > 0:
        a -= 1
    x = [q := i for i in range(2) if i or a]
    return (y, w, x, q, z) if (v := y) else v


def test_expressions() -> None:
    both(_expressions, *((a, b, c) for a in (0, 1) for b in (0, 1, 2) for c in (0, 2)), ("a", 1, 2))
    both(_walrus, (0,), (1,), (2,), (3,))


def test_what_is_not_needed_is_not_evaluated() -> None:
    def f(a: Any) -> Any:
        return a or 1 / a, a and 1 / a, (1 / a if a else 2), 0 < a < 1 / a

    both(f, (0,), (0.5,), (2,))


# ---- try and with ------------------------------------------------------------------------------------------
def _tries(n: Any) -> Any:
    for i in range(5):
        try:
            if i == n:
                break
            if i == n - 1:
                continue
            if n == 7:
                return see("returned")
            see(1 // (n - i - 2))
        except ZeroDivisionError as error:
            see(str(error))
            if n == 4:
                raise
        else:
            see("else")
        finally:
            see("finally")
    else:
        see("end")
    return n


def _abandons(n: Any) -> Any:
    for i in range(3):
        try:
            return see(i)
        finally:
            if n > i:
                continue
    for _ in range(2):
        with contextlib.suppress(KeyError), _exits(n):
            see("in")
            if n:
                return "out"
        see("after")
    with _exits(0):
        if n == 5:
            return "five"
    return "end"


@contextlib.contextmanager
def _exits(n: int) -> Generator[None]:
    yield
    if n == 4:
        raise KeyError(n)
    see("exit")


def _matches(x: Any) -> Any:
    while True:
        match x:
            case 0 | 1:
                return "small"
            case [a, *rest] if a or rest:
                if a:
                    x = 0
                    continue
                x = rest
            case {"k": k, **others}:
                see(others)
                break
            case _:
                raise TypeError(x)
    return k


def test_jumps_out_of_try_and_with() -> None:
    both(_tries, *((n,) for n in range(9)))
    both(_abandons, *((n,) for n in range(6)))
    both(_matches, (0,), ([0, 1],), ([2],), ({"k": 3, "j": 4},), ([],))


def test_the_error_of_a_handler_is_raised_again() -> None:
    def f(n: Any) -> Any:
        try:
            if n:
                return 1 // (n - 1)
        except ZeroDivisionError as error:
            if n == 1:
                raise
            see(error)
        if n == 0:
            return error  # deleted, or never bound
        return None

    both(f, (0,), (1,), (2,))
