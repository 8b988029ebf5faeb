"""Python and NumPy functions that no protocol reaches: math, np.array, float, type and isinstance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

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


def test_int_of_a_traced_number_is_refused_and_says_why() -> None:
    with pytest.raises(TracedValueError, match=r"int\(\) needs the number behind"):
        trace_function(lambda x: int(x) * x, (0.7,), differentiated=(0,))


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
