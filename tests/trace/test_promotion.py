"""Dtypes are NumPy's for every pair of element types, and for Python numbers beside arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from numpy_samples import agree, trace
from symgrad.errors import DTypeError
from symgrad.trace.tracer import Tracer

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
BINARY: list[Callable[..., Any]] = [
    np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.power, np.maximum,
    np.arctan2, np.less, np.less_equal,
    np.equal, np.not_equal, np.greater, np.greater_equal, np.logical_and, np.copysign,
    np.heaviside, np.fmin, lambda a, b: np.concatenate([a, b]), lambda a, b: np.where(a > 0, a, b),
    lambda a, b: np.stack([a, b]), np.dot,
]  # fmt: skip
UNARY: list[Callable[..., Any]] = [
    np.sqrt, np.exp, np.square, np.negative, np.absolute, np.sign, np.floor, np.rint, np.isnan,
    np.logical_not, np.invert, np.positive, np.fabs, np.degrees,
    np.sum, np.prod, np.mean, np.var, np.max, np.any, np.argmin,
    np.zeros_like, np.linalg.norm, np.diff, np.sinc, np.conjugate, np.signbit, np.cbrt, np.ptp, np.nan_to_num,
]  # fmt: skip


def _sample(dtype: str, *values: int) -> Any:
    return np.array(values).astype(dtype)


def _same(fn: Callable[..., Any], *args: Any) -> None:
    """The traced function agrees with NumPy, or both refuse the operands."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            fn(*args)
    except TypeError:
        with pytest.raises(DTypeError):
            trace(fn, *args)
        return
    agree(fn, *args)


@pytest.mark.parametrize("fn", BINARY, ids=lambda fn: fn.__name__)
def test_pairs_of_dtypes(fn: Callable[..., Any]) -> None:
    for first in DTYPES:
        for second in DTYPES:
            _same(fn, _sample(first, 1, 3, 2), _sample(second, 2, 1, 2))


@pytest.mark.parametrize("fn", BINARY[:19], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("number", [True, 2, 1.5, np.float32(1.5), np.int64(2)], ids=repr)
def test_numbers_beside_arrays(fn: Callable[..., Any], number: Any) -> None:
    for dtype in DTYPES:
        array = _sample(dtype, 1, 3, 2)
        _same(lambda x: fn(x, number), array)
        _same(lambda x: fn(number, x), array)
        _same(fn, array, number)
        _same(fn, number, array)


@pytest.mark.parametrize("fn", UNARY, ids=lambda fn: fn.__name__)
def test_single_dtypes(fn: Callable[..., Any]) -> None:
    for dtype in DTYPES:
        _same(fn, _sample(dtype, 1, 0, 3))


@pytest.mark.parametrize(
    "text", ["a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "a < b", "a == b", "-a", "abs(a)"]
)
@pytest.mark.parametrize("first", [True, 3, 2.5], ids=repr)
@pytest.mark.parametrize("second", [True, 2, 0.5], ids=repr)
def test_python_numbers_stay_python_numbers(text: str, first: Any, second: Any) -> None:
    agree(lambda a, b: eval(text, {"a": a, "b": b}), first, second)
    agree(lambda a: eval(text, {"a": a, "b": second}), first)


def test_bits_of_python_numbers() -> None:
    for fn in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b):
        agree(fn, True, False)
        agree(fn, 6, 3)
        agree(fn, 6, True)
    agree(lambda a: ~a, True)
    agree(lambda a, b: a << b, 3, 2)


def test_a_weak_number_takes_the_dtype_that_it_meets() -> None:
    found = trace(lambda x, s: x * (s + 1) ** 2 / 3, np.ones(2, np.float32), 0.5)
    assert found.result.dtype == np.float32


def test_a_number_beyond_the_integers_of_an_array_is_refused_as_by_numpy() -> None:
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        trace(lambda x: x + 300, np.ones(2, np.uint8))


@pytest.mark.parametrize("number", [300, -1, 2**70, -(2**70)])
def test_comparisons_with_such_a_number_are_exact(number: int) -> None:
    for text in ("x < n", "x <= n", "x == n", "x != n", "n < x", "n >= x"):
        agree(lambda x, text=text: eval(text, {"x": x, "n": number}), np.array([0, 3, 255], np.uint8))


def test_a_large_python_integer_becomes_a_real_number() -> None:
    agree(lambda x: x * 2**70, np.ones(2))


def test_comparisons_of_signed_and_unsigned_are_exact() -> None:
    signed = np.array([-1, 0, 2**63 - 1])
    unsigned = np.array([2**64 - 1, 0, 2**63], np.uint64)
    for fn in (np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal):
        agree(fn, signed, unsigned)
        agree(fn, unsigned, signed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.bool_, np.complex64])
def test_complex_numbers(dtype: Any) -> None:
    for fn in (
        lambda x: x * 1j,
        lambda x: x + np.ones(2, complex),
        lambda x: x - np.ones(2, np.complex64),
        lambda x: x.astype(complex),
        lambda x: np.exp(1j * x) * 2.0,
    ):
        agree(fn, np.ones(2, dtype))


def test_constants_keep_the_sign_of_zero_and_nan() -> None:
    found = trace(
        lambda x: [x * 0.0, x * -0.0, x * np.nan, x + np.array([0.0] * 99), x + np.array([-0.0] * 99)],
        np.ones(99),
    )
    values = [op.attrs for op in found.function.body.ops if op.opdef.name == "constant"]
    assert [repr(dict(v)["value"]) for v in values] == ["0.0", "-0.0", "nan", "0.0", "-0.0"]


def test_large_arrays_become_inputs_once() -> None:
    big = np.arange(100.0)
    found = trace(lambda x: x + big * 1 + np.where(x > 0, big, x), np.ones(100))
    assert isinstance(found.result, Tracer)
    assert len(found.hidden) == 1
