"""State in places that are easy to miss: a staged loop or branch that changes it is right, or is refused.

A body is traced once for all iterations, and so are both branches: a change that nobody noticed would have
been made once, or in any case, and the number would be wrong without a sign.
"""

from __future__ import annotations

import array
import collections
import functools
import itertools
import linecache
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import InternalError, SymgradError

# What holds a number; the statement that changes it; the number. Statements are separated by `|`.
PLACES = """
n = 1 ; n += 1 ; n
n = [1] ; n[0] += 1 ; n[0]
n = [[1]] ; n[0][0] += 1 ; n[0][0]
n = ([1], 2) ; n[0][0] += 1 ; n[0][0]
n = [1] ; n.append(1) ; len(n)
n = [1, 2, 3] * 30 ; n.pop() ; len(n)
n = {"a": 1} ; n["a"] += 1 ; n["a"]
n = {"a": 1} ; n.setdefault("b", 5) ; len(n)
n = collections.Counter(a=1) ; n["a"] += 1 ; n["a"]
n = collections.OrderedDict(a=1) ; n["a"] += 1 ; n["a"]
n = collections.defaultdict(int) | n["a"] = 1 ; n["a"] += 1 ; n["a"]
n = collections.deque([1, 2, 3]) ; n.rotate(1) | n[0] += 1 ; n[0]
n = collections.ChainMap({"a": 1}) ; n["a"] += 1 ; n["a"]
n = {1} ; n.add(2) ; len(n)
n = types.SimpleNamespace(a=1) ; n.a += 1 ; n.a
n = Plain() ; n.a += 1 ; n.a
n = Plain() ; setattr(n, "a", n.a + 1) ; n.a
n = Plain() ; vars(n)["a"] += 1 ; n.a
n = Plain() ; n.b = 1 ; hasattr(n, "b") + 1
n = Plain() ; n.bump() ; n.a
n = Plain().bump ; n() ; n.__self__.a
n = Plain() ; n.next ; n.a
n = Slots() ; n.a += 1 ; n.a
n = Both() ; n.a += 1 | n.b += 1 ; n.a * n.b
n = Listed([1]) | n.a = 1 ; n.a += 1 ; n.a
n = Mapped(a=1) | n.b = 1 ; n.b += 1 ; n.b
n = Tupled([1]) | n.a = 1 ; n.a += 1 ; n.a
class C: a = 1 ; C.a += 1 ; C.a
class B: a = 1 | class C(B): pass | n = C() ; type(n).a += 1 ; C.a
class C: a = 1 | n = [C] ; n[0].a += 1 ; C.a
class C: a = [1] | n = C() ; n.a[0] += 1 ; C.a[0]
n = lambda: 0 | n.a = 1 ; n.a += 1 ; n.a
def n(v=[1]): v[0] += 1; return v[0] ; n() ; n()
def n(*, v=[1]): v[0] += 1; return v[0] ; n() ; n()
n = functools.partial(bump, [1]) ; n() ; n()
n = functools.partial(Plain().bump) ; n() ; n()
n = counting() ; n() ; n()
n = [counting()] ; n[0]() ; n[0]()
n = [1] | m = n.__setitem__ ; m(0, n[0] + 1) ; n[0]
n = [1] | m = n.append ; m(1) ; len(n)
n = array.array("d", [1.0]) ; n[0] += 1 ; n[0]
n = bytearray([1]) ; n[0] += 1 ; n[0]
n = np.zeros(3) ; n[0] += 1 ; n[0]
n = np.zeros(3) | m = n[1:] ; m[0] += 1 ; n[1] + 1
n = np.zeros(3) | m = [n] ; m[0][:] += 1 ; n[1] + 1
n = np.ones((2, 2)) | m = n.T ; m[0, 1] += 1 ; n[1, 0]
n = np.cumsum(np.ones(3)) ; n[0] += 1 ; n[0]
n = np.sort(np.ones(3)) ; n[0] += 1 ; n[0]
n = np.linalg.inv(np.eye(2)) ; n[0, 0] += 1 ; n[0, 0]
n = np.arange(3) ; n[0] += 1 ; n[0]
n = itertools.count(1) ; next(n) ; next(n)
n = iter(range(100)) ; next(n) ; next(n) + 1
n = Plain() | n.a = iter(range(100)) ; next(n.a) ; next(n.a) + 1
n = (k for k in range(1, 100)) ; next(n) ; next(n)
n = x * 1.0 ; n[0] += 1 ; n[0]
n = x * 1.0 | m = functools.partial(bump, n) ; m() ; n[0]
n = Slots() | n.a = x * 1.0 ; n.a[0] += 1 ; n.a[0]
def n(v=x * 1.0): v[0] += 1; return v[0] ; n() ; n()
class C: a = 1.0 ; C.a = C.a * x[0] ; C.a
n = lambda: 0 | n.a = 1.0 ; n.a = n.a * x[0] ; n.a
n = [1] | m = functools.lru_cache(lambda k: bump(n)) ; m(1) ; n[0]
n = np.random.default_rng(0).normal(size=3) ; n[0] += 1 ; n[0]
n = {Plain()} ; next(iter(n)).bump() ; next(iter(n)).a
n = {Plain(): 1} ; next(iter(n)).bump() ; next(iter(n)).a
LIST[0] = 1 ; LIST[0] += 1 ; taken(LIST)
OBJECT.a = 1 ; OBJECT.a += 1 ; OBJECT.taken()
""".strip().splitlines()


class Plain:
    def __init__(self) -> None:
        self.a: Any = 1

    def bump(self) -> Any:
        self.a += 1
        return self.a

    def taken(self) -> Any:
        found, self.a = self.a, 1
        return found

    @property
    def next(self) -> Any:
        return self.bump()


class Slots:
    __slots__ = ("a",)

    def __init__(self) -> None:
        self.a: Any = 1


class Both(Slots):
    def __init__(self) -> None:
        super().__init__()
        self.b: Any = 1


class Listed(list[Any]): ...


class Mapped(dict[str, Any]): ...


class Tupled(tuple[Any, ...]): ...


def bump(v: Any) -> Any:
    v[0] += 1
    return v[0]


def taken(v: Any) -> Any:
    found, v[0] = v[0], 1
    return found


def counting() -> Callable[[], int]:
    n = 1

    def more() -> int:
        nonlocal n
        n += 1
        return n

    return more


LOOP = """\
def f(x, t):
    {before}
    s = 0.0
    for v in x:
        {change}
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * ({result})
"""
WHILE = """\
def f(x, t):
    {before}
    s = t
    while s < 20.0:
        {change}
        s = 1.2 * s + x[0] ** 2
    return s * ({result})
"""
BRANCH = """\
def f(x, t):
    {before}
    if t > 1.0:
        {change}
    return np.sum(x) * ({result})
"""
SPACE = {
    "array": array, "bump": bump, "collections": collections, "counting": counting, "functools": functools,
    "itertools": itertools, "np": np, "types": types, "taken": taken, "LIST": [1], "OBJECT": Plain(),
    **{cls.__name__: cls for cls in (Plain, Slots, Both, Listed, Mapped, Tupled)},
}  # fmt: skip


def _function(place: str, template: str) -> Callable[..., Any]:
    before, change, result = (part.strip() for part in place.split(" ; "))
    rows = {"before": before.replace(" | ", "\n    "), "change": change.replace(" | ", "\n        ")}
    source = template.format(**rows, result=result)
    file = f"<{place}>{len(template)}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {**SPACE, "__name__": __name__}
    exec(compile(source, file, "exec"), space)
    return space["f"]


def _right_or_refused(place: str, template: str) -> None:
    x = np.cos(1.7 * np.arange(40) + 0.4) * 1.3 + 0.11
    for t in (1.7, 0.6):
        wanted = _function(place, template)(x.copy(), t)
        found = _value_or_error(_function(place, template), x, t)
        if isinstance(found, SymgradError):
            assert not isinstance(found, InternalError), found
            assert found.loc is not None
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def _value_or_error(fn: Callable[..., Any], x: Any, t: float) -> Any:
    try:
        return symgrad.value_and_grad(fn, (0, 1), target="interpreter")(x, t)[0]
    except SymgradError as error:
        return error


TEMPLATES = {"for": LOOP, "while": WHILE, "if": BRANCH}


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("place", PLACES)
def test_change(place: str, kind: str) -> None:
    _right_or_refused(place, TEMPLATES[kind])


@pytest.mark.parametrize("place", PLACES[:2])
def test_what_is_seen_is_staged(place: str) -> None:
    program = symgrad.trace(_function(place, LOOP), np.ones(40), 0.5)
    assert "for_loop" in [op.opdef.name for op in program.body.ops]
