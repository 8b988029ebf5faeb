"""Counting: a number that a function only counts is counted once a trace, and never gets into a program."""

from __future__ import annotations

# The samples are written as users write them, not as a type checker likes them.
# pyright: reportConstantRedefinition=false, reportFunctionMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportUnnecessaryIsInstance=false
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import ImpureError, SymgradError
from symgrad.trace.session import trace_function
from tracing import Program

X = np.array([1.0, 2.0, 4.0])


class Counter:
    made = 0

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.5
        self.lock = threading.Lock()
        self.log: dict[str, int] = {"calls": 0, "other": 7}

    def tick(self) -> None:
        with self.lock:
            self.n += 1


@dataclass(slots=True)
class Slotted:
    n: int = 0


class Checked:
    def __init__(self) -> None:
        self.n = 0

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


N = 0
STATS: dict[str, Any] = {"calls": 0, "nested": {"rows": [0, 10]}}
MIXED: dict[str, Any] = {"calls": 0, "w": np.ones(3)}
BY_NAME: defaultdict[str, int] = defaultdict(int, {"f": 0})


def counts_global(x: Any) -> Any:
    global N
    N = N + 1
    return np.sum(x * x)


def counts_on_itself(x: Any) -> Any:
    counts_on_itself.calls += 1
    return np.sum(x * x)


counts_on_itself.calls = 0


def _twice(fn: Callable[[Any], Any], count: Callable[[], Any], step: Any = 1) -> None:
    """A function traced once counts once; its program is used again."""
    before = count()
    program = Program(fn)
    assert program(X) == 21.0
    assert program(X) == 21.0
    assert program.traces == 1
    assert count() == before + step
    assert program.traced is not None
    assert any("is counted once a trace, not once a call" in note for note in program.traced.notes)


def test_attributes() -> None:
    counter, slotted, checked = Counter(), Slotted(), Checked()

    def f(x: Any) -> Any:
        counter.tick()
        counter.tick()
        return np.sum(x * x)

    def g(x: Any) -> Any:
        slotted.n += 1
        return np.sum(x * x)

    def h(x: Any) -> Any:
        checked.n += 1
        return np.sum(x * x)

    def of_class(x: Any) -> Any:
        Counter.made += 1
        return np.sum(x * x)

    _twice(f, lambda: counter.n, 2)
    _twice(g, lambda: slotted.n)
    _twice(h, lambda: checked.n)
    _twice(of_class, lambda: Counter.made)
    _twice(counts_on_itself, lambda: counts_on_itself.calls)


def test_globals_and_closures() -> None:
    n = 0

    def f(x: Any) -> Any:
        nonlocal n
        n += 1
        return np.sum(x * x)

    _twice(counts_global, lambda: N)
    _twice(f, lambda: n)


def test_items() -> None:
    calls = [5]

    def f(x: Any) -> Any:
        calls[0] += 1
        STATS["calls"] += 1
        STATS["nested"]["rows"][1] += 2
        MIXED["calls"] += 1
        BY_NAME["f"] += 1
        return np.sum(x * x * MIXED["w"])

    _twice(f, lambda: np.array([calls[0], STATS["calls"], MIXED["calls"], BY_NAME["f"]]).sum(), 4)
    assert STATS == {"calls": 1, "nested": {"rows": [0, 12]}}


def test_any_sum_or_product() -> None:
    counter = Counter()

    def f(x: Any) -> Any:
        counter.total = 2 * (1 + counter.total) - x.shape[0] * 0.5
        counter.n -= -1
        counter.n *= 3
        return np.sum(x * x)

    _twice(f, lambda: (counter.total * 0, counter.n)[1], 3)
    assert counter.total == 1.5


def test_a_method_of_an_object() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = np.ones(3)
            self.calls = 0

        @symgrad.compile_grad(target="interpreter")
        def loss(self, x: Any, w: Any) -> Any:
            self.calls += 1
            return np.sum(w * x * self.w)

    model = Model()
    for _ in range(3):
        value, grad = model.loss(X, X)
        assert value == 21.0
        np.testing.assert_array_equal(grad, X)
    assert model.calls == 1


def test_an_attribute_of_a_compiled_function() -> None:
    @symgrad.compile_grad(target="interpreter")
    def f(x: Any) -> Any:
        f.calls += 1
        return np.sum(x * x)

    @symgrad.compile_grad(target="interpreter")
    def g(x: Any) -> Any:
        g.calls = 1
        return np.sum(x * x)

    f.calls = 3
    f(X)
    f(X)
    assert f.calls == 4
    with pytest.raises(ImpureError, match="writes to `g`"):
        g(X)


def test_a_new_attribute_is_refused_however_it_is_made() -> None:
    counter = Counter()

    def f(x: Any) -> Any:
        object.__setattr__(counter, "fresh", 1)
        return np.sum(x)

    with pytest.raises(ImpureError, match="writes to `counter`"):
        trace_function(f, (X,))
    assert not hasattr(counter, "fresh")


def test_a_returned_count_is_refused() -> None:
    counter = Counter()

    def f(x: Any) -> Any:
        counter.n += 1
        return np.sum(x), counter.n

    with pytest.raises(ImpureError, match=r"counts `counter.n`, and uses the count"):
        trace_function(f, (X,))
    assert counter.n == 0


def test_a_count_reached_in_another_way_is_the_same_count() -> None:
    inner = {"calls": 1000}  # beyond the integers that Python keeps
    outer: dict[str, Any] = {"a": inner, "b": (3, [inner])}

    def reads(x: Any) -> Any:
        inner["calls"] += 1
        return np.sum(x) * outer["a"]["calls"]

    def reads_first(x: Any) -> Any:
        found = outer["b"][1][0]
        inner["calls"] += 1
        return np.sum(x) * found["calls"]

    def changes_back(x: Any) -> Any:
        inner["calls"] += 1
        found = np.sum(x) * outer["a"]["calls"]
        inner["calls"] -= 1
        return found

    for fn in (reads, reads_first):
        with pytest.raises(ImpureError, match="uses the count"):
            trace_function(fn, (X,))
    assert Program(changes_back)(X) == 7.0 * 1001
    assert inner == {"calls": 1000}


def test_a_number_of_a_module_counted_from_both_sides() -> None:
    module = sys.modules[__name__]

    def f(x: Any) -> Any:
        counts_global(x)
        return np.sum(x) * module.N

    with pytest.raises(ImpureError, match="reads it in another way"):
        trace_function(f, (X,))


def test_a_count_that_ends_as_it_began_is_refused() -> None:
    counter = Counter()
    counter.n = 1000  # beyond the integers that Python keeps

    def f(x: Any) -> Any:
        counter.n += 1
        counter.n -= 1
        return np.sum(x)

    with pytest.raises(ImpureError, match="changes it back"):
        trace_function(f, (X,))
    assert counter.n == 1000


def test_functions_that_share_a_variable_count_together() -> None:
    n = 0

    def tick() -> None:
        nonlocal n
        n += 1

    def f(x: Any) -> Any:
        tick()
        return np.sum(x) * n

    def g(x: Any) -> Any:
        tick()
        tick()
        return np.sum(x * x)

    with pytest.raises(ImpureError, match="counts `n`, and uses the count"):
        trace_function(f, (X,))
    _twice(g, lambda: n, 2)


def test_a_trace_that_fails_counts_nothing() -> None:
    counter = Counter()

    def f(x: Any) -> Any:
        counter.n += 1
        return np.sum(x) + np.ones(2) @ x

    with pytest.raises(SymgradError):
        trace_function(f, (X,))
    assert counter.n == 0


def test_a_function_within_a_function_counts_once() -> None:
    counts = [0]
    n = 0

    @symgrad.compile_grad(target="interpreter")
    def inner(x: Any) -> Any:
        nonlocal n
        n += 1
        counts[0] += 1
        return np.sum(x * x)

    def outer(x: Any) -> Any:
        value, grad = inner(x)
        counts[0] += 10
        return value + np.sum(grad) * 0.0

    _twice(outer, lambda: counts[0], 11)
    assert n == 1


def test_a_number_that_is_only_read_is_guarded_as_ever() -> None:
    counter = Counter()
    program = Program(lambda x: np.sum(x) * counter.n)
    assert program(X) == 0.0
    counter.n = 2
    assert program(X) == 14.0
    assert program.traces == 2
