"""Python and NumPy functions that no protocol reaches: math, np.array, float, type and isinstance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import TracedValueError
from symgrad.trace.session import trace_function
from tracing import agree

X = np.array([1.0, 2.0, 4.0])


# ---- math and np.array -------------------------------------------------------------------------------------
def test_math_functions() -> None:
    names = (
        "sin cos tan asin acos atan sinh cosh tanh asinh atanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt "
        "fabs erf erfc degrees radians floor ceil trunc isnan isinf isfinite"
    )
    for name in names.split():
        fn = getattr(math, name)
        agree(lambda x, fn=fn: fn(x), 0.3)
    agree(lambda x: math.acosh(x) + math.log(x, 2.0), 1.7)
    agree(lambda x, y: math.atan2(x, y) + math.pow(x, y) + math.hypot(x, y) + math.copysign(x, -y), 0.7, 0.2)
    agree(lambda x, y: math.fmod(x, y) + math.fsum([x, y, 1.0]) + math.dist([x, y], [1.0, 2.0]), 0.7, 0.2)
    assert math.sin(0.5) == np.sin(0.5)


def test_math_on_plain_numbers_is_math() -> None:
    agree(lambda x: x * math.factorial(4) * math.sqrt(2.0) * math.pi, 0.5)


def test_float_of_a_traced_number_stays_traced() -> None:
    agree(lambda x: math.sin(x) * x**2 + float(np.cos(x)), 0.7)
    agree(lambda x: float(np.sum(x)) * np.ones(2, np.float32), X.astype(np.float32))
    traced = trace_function(lambda x: float(np.sum(x * x)), (X,), differentiated=(0,))
    assert [op.opdef.name for op in traced.function.body.ops] == ["mul", "sum"]
    with pytest.raises(TracedValueError, match=r"float\(\) takes one number, not a traced f64\[3\]"):
        trace_function(lambda x: float(x), (X,))


def test_float_as_a_class_is_float() -> None:
    def f(x: Any, dtype: Any = float) -> Any:
        known = [
            isinstance(2.0, float), isinstance(2, float), float is float, float in {float: 1},
            dtype is float, np.dtype(float) == x.dtype, float("inf") == np.inf, type(float) is type,
            isinstance(float(3), float), float.__name__ == "float", type(x) is float, callable(float),
        ]  # fmt: skip
        bits = sum(2.0**k * bool(yes) for k, yes in enumerate(known))
        return x * bits, np.zeros(2, dtype=float), x.astype(float), np.asarray([1, 2], float), float(2)

    agree(f, X)


def test_int_and_bool_of_a_traced_number_stay_traced() -> None:
    for value in (2.7, -2.7, 0.0):
        agree(lambda x: int(x[0]) * x + int(x[0] > 1) + bool(x[0]), X * value)
        agree(lambda x: (int(x), bool(x), int(bool(x)) * np.ones(2, np.float32)), value)
    traced = trace_function(lambda x: int(x) * x, (0.7,), differentiated=(0,))
    assert [op.opdef.name for op in traced.function.body.ops] == ["convert", "convert", "mul"]
    for fn in (lambda x: int(x), lambda x: bool(x)):
        with pytest.raises(TracedValueError, match=r"\(\) needs the number behind a traced f64\[3\]"):
            trace_function(fn, (X,))


def test_int_and_bool_as_classes_are_int_and_bool() -> None:
    def f(x: Any, dtype: Any = int, two: Any = 2, yes: Any = True) -> Any:
        class Count(int):
            pass

        known = [
            isinstance(two, int), isinstance(2.0, int), dtype is int, int in {int: 1},
            np.dtype(int) == np.int64, int("3") == 3, type(int) is type, isinstance(yes, bool),
            isinstance(yes, int), bool in (int, float), dtype in (int, bool),
            type(two) is dtype, type(yes) is bool, type(x) is dtype,
            int.from_bytes(b"a", "big") == 97, int("11", 2) == 3, isinstance(two, int | None),
            np.issubdtype(np.int64, int), callable(bool),
            int.__name__ == "int", bool.__name__ == "bool",
            list(map(int, [1.5])) == [1], list(filter(bool, [0, 1])) == [1], Count(3) + 1 == 4,
        ]  # fmt: skip
        bits = sum(2.0**k * bool(each) for k, each in enumerate(known))
        arrays = (
            np.zeros(3, int),
            np.ones(2, dtype=bool),
            np.array([1.5, 2], int),
            x.astype(int),
            x.astype(bool),
        )
        return x * bits, *arrays

    agree(f, X)


# ---- functions over several numbers ------------------------------------------------------------------------
def test_the_extreme_of_traced_numbers() -> None:
    for x in (X, X[::-1].copy(), np.array([2.0, 2.0, 1.0]), np.array([np.nan, 1.0, 2.0])):
        agree(lambda x: (max(x[0], x[1]), min(x[0], x[1], x[2]), max(x), min(list(x)), min(v for v in x)), x)
        agree(lambda x: (max(x[0], 0, 1.5), min([x[1], 3.0], default=0), max(x, key=lambda v: -v)), x)
        agree(lambda x: max([1.0, 2.0, 3.0], key=lambda v: x[int(v) - 1]), x)
    agree(lambda a, b: max(a, b) * np.ones(2, np.float32), 1.0, 2.0)  # still a Python number
    agree(lambda x, f=max: np.array(list(map(f, x, x[::-1]))), X)
    agree(lambda x: max([], default=3.0) * x + max(1, 2) + max([3, 1]), X)


def test_the_first_of_equal_numbers_has_the_derivative() -> None:
    for fn, want in ((lambda x: max(x[0], x[1]), [1.0, 0.0]), (lambda x: min(x[1], x[0]), [0.0, 1.0])):
        np.testing.assert_array_equal(symgrad.grad(fn, target="interpreter")(np.array([2.0, 2.0])), want)


def test_the_extreme_of_whole_arrays_is_refused() -> None:
    with pytest.raises(TracedValueError, match=r"max\(\) needs the number behind a traced bool\[3\]"):
        trace_function(lambda x: max(x, x), (X,))


def test_sums_and_quantifiers_of_traced_numbers() -> None:
    agree(lambda x: (sum(x), sum([x[0], x[1]], x[2]), sum(x[:0]), sum(v * v for v in x), sum([1, 2])), X)
    agree(lambda x: sum(x), np.ones((2, 3)))
    agree(lambda x: sum(x), np.array([1, 2, 3]))
    agree(lambda x: (any(x > 2), all(x > 2), any(v > 2 for v in x), all([x[0] > 0, True]), any(x > 9)), X)
    agree(lambda x: (any([x[0] > 5, False]), any([]), all([]), any([0, 1]), all([x[0] > 0, 0]) * x), X)
    traced = trace_function(lambda x: sum(x) + any(x > 0), (np.ones(1000),))
    assert len(traced.function.body.ops) < 10


def test_math_takes_numbers_only() -> None:
    with pytest.raises(TracedValueError, match=r"math\.sin takes one number, not a traced f64\[3\]"):
        trace_function(lambda x: math.sin(x), (X,))


def test_arrays_made_of_traced_numbers() -> None:
    agree(lambda a, b: np.array([[a, b], [b, 1.0]]) @ np.array([a, a]), 1.5, 2.5)
    agree(lambda x: np.array([x, x * 2.0], dtype=np.float32), X)
    agree(lambda x: np.array([x[0], 2.0]), X.astype(np.float32))
    agree(lambda x: np.asarray(x) + np.array(x, ndmin=2), X)
    agree(lambda s: np.asarray(s) * np.ones(3, np.float32), 2.0)
    agree(lambda s: np.full(3, s) + np.full((2, 3), s), 2.0)
    agree(lambda s: np.full_like(np.ones((2, 2), np.float32), s), 2.0)


def test_traced_values_are_instances_of_what_they_stand_for() -> None:
    def kind(x: Any) -> float:
        known = (
            isinstance(x, float),
            isinstance(x, int),
            isinstance(x, np.ndarray),
            isinstance(x, np.floating),
        )
        return sum(2.0**k * yes for k, yes in enumerate((*known, hasattr(x, "__len__"), np.isscalar(x))))

    for value in (1.0, 1, True, np.float32(1.0), np.float64(1.0), np.array(1.0), X):
        agree(lambda x: (kind(x), kind(x * 1.0)), value)
    agree(lambda x: kind(np.sum(x)), X)
