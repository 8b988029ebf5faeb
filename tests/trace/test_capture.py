"""Captured values: arrays are inputs of the program, everything else is guarded."""

from __future__ import annotations

# The samples are written as users write them, not as a type checker likes them.
# pyright: reportUnnecessaryComparison=false, reportUnnecessaryIsInstance=false
# pyright: reportAttributeAccessIssue=false, reportConstantRedefinition=false
import argparse
import contextlib
import functools
import itertools
import os
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np
import pytest

from symgrad.errors import DTypeError, ImpureError, SymgradError, UnsupportedError
from symgrad.trace.session import trace_function
from tracing import Program, agree, captured

X = np.array([1.0, 2.0, 4.0])
DATA = np.array([1.0, 10.0, 100.0])
SCALE = 2.0
MASK = np.array([True, False, True])
TABLE = {"w": DATA, "k": [1.0, DATA]}


# ---- arrays are inputs -------------------------------------------------------------------------------------
def uses_global(x: Any) -> Any:
    return np.sum(x * DATA) * SCALE


def test_global_arrays_are_inputs_and_seen_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(uses_global)
    assert program(X) == 842.0
    monkeypatch.setitem(globals(), "DATA", DATA * 2.0)
    assert program(X) == 1684.0
    DATA[0] = 4.0
    assert program(X) == uses_global(X) == 1688.0
    assert program.traces == 1
    assert captured(uses_global, X) == ["DATA"]


def test_in_place_changes_are_seen() -> None:
    data = np.ones(3)
    program = Program(lambda x: np.sum(x * data))
    assert program(X) == 7.0
    data *= 2.0
    assert program(X) == 14.0
    assert program.traces == 1


def test_an_array_of_another_shape_is_another_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(uses_global)
    program(X)
    monkeypatch.setitem(globals(), "DATA", np.array(5.0))
    assert program(X) == 70.0
    assert program.traces == 2


def test_closures_defaults_partials_and_nested_functions() -> None:
    w = np.array([1.0, 2.0, 3.0])

    def helper(x: Any, v: Any = w * 2.0, *, u: Any = w * 3.0) -> Any:
        def deepest(y: Any) -> Any:
            return y * w + v

        return deepest(x) * u

    def loss(x: Any) -> Any:
        return helper(x)

    agree(loss, X)
    assert captured(loss, X) == ["w", "v", "u"]
    agree(functools.partial(helper, v=w * 5.0), X)
    agree(functools.partial(lambda a, x: a * x, w), X)


def test_one_array_by_two_names_is_one_input_until_they_part() -> None:
    a = b = np.ones(3)

    def f(x: Any) -> Any:
        return np.sum(x * a + b)

    def part() -> None:
        nonlocal b
        b = np.zeros(3)

    program = Program(f)
    assert program(X) == 10.0
    assert len(captured(f, X)) == 1
    part()
    assert program(X) == 7.0
    assert program.traces == 2


def test_containers_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.sum(x * TABLE["w"]) + TABLE["k"][0] + np.sum(TABLE["k"][1])

    program = Program(f)
    assert program(X) == f(X)
    assert captured(f, X) == ["TABLE['w']"]
    monkeypatch.setitem(TABLE, "w", np.ones(3))
    assert program(X) == f(X)
    monkeypatch.setitem(TABLE, "k", [2.0, np.zeros(2)])
    assert program(X) == f(X)
    monkeypatch.setitem(TABLE, "new", 1.0)
    assert program(X) == f(X)


Pair = namedtuple("Pair", "a b")  # pyright: ignore[reportUntypedNamedTuple]


class Triple(NamedTuple):
    a: Any
    b: Any = 1.0

    def total(self) -> Any:
        return np.sum(self.a * DATA) + self.b


@pytest.mark.parametrize(
    ("container", "use"),
    [
        ((X, 2.0), lambda c, x: c[0] * x * c[1]),
        (Pair(X, 3.0), lambda c, x: c.a * x + c.b if isinstance(c, Pair) else x),
        (Triple(X, 3.0), lambda c, x: c.total() * x if isinstance(c, Triple) else x),
        (OrderedDict(z=X, a=2.0), lambda c, x: c["z"] * x + len(c)),
        (defaultdict(list, z=X), lambda c, x: c["z"] * x + len(c["none"])),
        (deque([X, 2.0], maxlen=2), lambda c, x: c[0] * x + c.maxlen),
        ({1, 2}, lambda c, x: x * sum(c)),
        (frozenset({1.5}), lambda c, x: x * sum(c)),
        ([[X], {"k": (X,)}], lambda c, x: c[0][0] * c[1]["k"][0] * x),
    ],
    ids=lambda v: type(v).__name__,
)
def test_every_container(container: Any, use: Callable[[Any, Any], Any]) -> None:
    if isinstance(container, defaultdict):
        with pytest.raises(ImpureError, match="container"):  # a missing key is made
            trace_function(lambda x: use(container, x), (X,))
        return
    agree(lambda x: use(container, x), X)


# ---- numbers and text are guarded --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new"),
    [(2.0, 3.0), (2, 2.0), (True, 1), (0.0, -0.0), ("a", "b"), (None, 0), (2.0, np.float64(2.0)),
     (np.float32(1.0), np.float32(2.0)), ((1, 2), (1, 2.0)), ([1.0], [1.0, 2.0]), ({"a": 1}, {"a": 2}),
     ({1}, {1.0}), (np.float64, np.float32), (len, sum), (slice(0, 1), slice(0, 2)), (1j, 2j)],
)  # fmt: skip
def test_a_changed_constant_is_seen(old: Any, new: Any) -> None:
    value = old

    def f(x: Any) -> Any:
        return x, repr(value).count("0"), type(value) is not None

    def change() -> None:
        nonlocal value
        value = new

    program = Program(f)
    program(X)
    program(X)
    assert program.traces == 1
    change()
    program(X)
    assert program.traces == 2
    program(X)
    assert program.traces == 2


def test_nan_is_equal_to_itself() -> None:
    value, values = float("nan"), [float("nan"), 1.0]

    def change() -> None:
        nonlocal value, values
        value, values = float("nan"), [float("nan"), 1.0]

    program = Program(lambda x: x * value * values[1])
    for _ in range(3):
        program(X)
        change()
    assert program.traces == 1


def test_a_global_that_appears_takes_the_place_of_a_builtin() -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(x):\n    return x * len([1, 2])\n", space)
    program = Program(space["f"])
    assert program(2.0) == 4.0
    space["len"] = lambda x: 10
    assert program(2.0) == 20.0
    assert program.traces == 2


def make_power(p: int) -> Callable[[Any], Any]:
    return lambda x: np.sum(x**p)


def test_closures_of_one_factory_are_apart() -> None:
    programs = [Program(make_power(p)) for p in (2, 3, 1)]
    for _ in range(2):
        for p, program in zip((2, 3, 1), programs, strict=True):
            np.testing.assert_allclose(program(X), np.sum(X**p))


def test_a_replaced_helper_is_seen() -> None:
    space: dict[str, Any] = {"np": np}
    exec("def helper(x):\n    return x * 2.0\ndef f(x):\n    return helper(x)\n", space)
    program = Program(space["f"])
    assert program(3.0) == 6.0
    exec("def helper(x):\n    return x * 5.0\n", space)
    assert program(3.0) == 15.0


# ---- functions of every make -------------------------------------------------------------------------------
def doubled(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs) * SCALE

    return wrapper


@contextlib.contextmanager
def scaled() -> Generator[Any]:
    yield DATA * 2.0


@functools.lru_cache
def cached(x: float) -> float:
    return x * SCALE


def test_functions_of_every_make() -> None:
    space: dict[str, Any] = {"np": np, "w": X}
    exec("def f(x):\n    y = x * x * w\n    return np.sum(y) + np.prod(x)\n", space)
    agree(space["f"], X)
    agree(eval("lambda x: np.sum(np.cos(x * w))", space), X)
    agree(doubled(lambda x: x * DATA), X)
    assert captured(doubled(lambda x: x * DATA), X) == ["DATA"]

    def with_context(x: Any) -> Any:
        with scaled() as y:
            return x * y

    agree(with_context, X)
    assert captured(with_context, X) == ["DATA"]
    agree(lambda x: x * cached(2.0), X)
    agree(lambda x: functools.reduce(lambda a, b: a * b * DATA, [x, x]), X)
    method = DATA.dot
    agree(lambda x: method(x), X)
    agree(lambda x: np.sum(x), X)


def test_recursion_and_mutual_recursion() -> None:
    def power(x: Any, n: int) -> Any:
        return DATA if n == 0 else x * other(x, n - 1)

    def other(x: Any, n: int) -> Any:
        return power(x, n)

    agree(lambda x: power(x, 3), X)


def test_a_long_chain_of_closures_needs_no_recursion() -> None:
    def compose(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: x * 2.0 if inner is None else inner

    outer: Any = None
    for _ in range(3 * sys.getrecursionlimit()):
        outer = compose(outer)
    agree(lambda x: x * (2.0 if callable(outer) else 1.0), X)


def test_class_bodies_and_imports_inside() -> None:
    def f(x: Any) -> Any:
        import math as m
        from math import cos

        class Local:
            factor = SCALE

            def apply(self, y: Any) -> Any:
                return y * self.factor * np.sum(DATA)

        return Local().apply(m.sin(x)) + cos(x)

    agree(f, 0.5)


def test_user_modules() -> None:
    module = types.ModuleType("user_module")
    exec("import numpy as np\nw = np.ones(3)\nk = 2.0\ndef f(x):\n    return x * w * k\n", module.__dict__)
    program = Program(lambda x: module.f(x) + module.k)
    np.testing.assert_allclose(program(X), X * 2.0 + 2.0)
    module.w = np.full(3, 5.0)  # type: ignore[attr-defined]
    np.testing.assert_allclose(program(X), X * 10.0 + 2.0)
    assert program.traces == 1
    module.k = 3.0  # type: ignore[attr-defined]
    np.testing.assert_allclose(program(X), X * 15.0 + 3.0)
    assert program.traces == 2


# ---- concrete on demand ------------------------------------------------------------------------------------
def test_a_captured_mask_is_fixed_when_its_elements_are_needed() -> None:
    mask, n = MASK.copy(), np.array(2)

    def f(x: Any) -> Any:
        return np.sum(x[mask]) * (2.0 if n > 1 else 3.0)

    program = Program(f)
    assert program(X) == 10.0
    assert program(X) == 10.0
    assert program.traces == 1
    assert program.traced is not None
    assert any(note.startswith("`mask` is fixed in the program") for note in program.traced.notes)
    mask[1] = True
    assert program(X) == 14.0
    n[...] = 0
    assert program(X) == 21.0


# ---- what cannot be captured -------------------------------------------------------------------------------
def test_values_that_cannot_be_captured_are_refused_where_they_are_used() -> None:
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    objects = np.array([None, 1], dtype=object)
    iterator = iter([1.0, 2.0])

    @functools.singledispatch
    def dispatched(x: Any) -> Any:
        return x * DATA

    agree(lambda x: x if masked is not None and objects is not None else x * 2.0, X)
    for fn, error in (
        (lambda x: np.sum(masked) * x, DTypeError),
        (lambda x: masked.sum() * x, DTypeError),
        (lambda x: objects[1] * x, DTypeError),
        (lambda x: next(iterator) * x, UnsupportedError),
        (lambda x: dispatched(x), UnsupportedError),
    ):
        with pytest.raises(error) as found:
            trace_function(fn, (X,))
        assert isinstance(found.value, SymgradError)
    assert next(iterator) == 1.0


def test_a_condition_on_an_input_fixes_nothing() -> None:
    fn = lambda x: x if np.sum(x * DATA) > 0 else -x
    traced = agree(fn, X)
    agree(fn, -X)
    assert captured(fn, X) == ["DATA"]
    assert traced.notes == ()


def test_bags_of_attributes_and_read_only_dicts() -> None:
    bag = types.SimpleNamespace(w=X, k=2.0)
    proxy = types.MappingProxyType({"w": X.copy()})
    namespace = argparse.Namespace(lr=0.5)
    program = Program(lambda x: x * bag.w * bag.k * proxy["w"] * namespace.lr)
    np.testing.assert_allclose(program(X), X**3)
    bag.w = X * 2.0
    np.testing.assert_allclose(program(X), X**3 * 2.0)
    assert program.traces == 1
    namespace.lr = 1.0
    np.testing.assert_allclose(program(X), X**3 * 4.0)
    add = DATA.__add__
    agree(lambda x: add(x), X)
    with pytest.raises(ImpureError, match="writes to `bag`"):
        trace_function(lambda x: setattr(bag, "w", x) or x, (X,))


@pytest.mark.parametrize(
    "value",
    [weakref.ref(os), itertools.count(), bytearray(3), np.poly1d([1.0, 2.0])],
    ids=lambda v: type(v).__name__,
)
def test_library_objects_are_refused_when_used(value: Any) -> None:
    agree(lambda x: x if value is not None else x * 2.0, X)
    with pytest.raises(UnsupportedError, match="`value` is a"):
        trace_function(lambda x: x * value.anything, (X,))
