"""Optimization hides no NaN, no infinity and no sign of a zero, and makes none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.random_programs import SPECIAL, Growing, arguments
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import OpDef, Scalar
from symgrad.ir.ops import OPS, constant
from symgrad.ir.types import BOOL, F64, ArrayType, array_type
from symgrad.passes import PassRunner, optimize

Array = np.ndarray[Any, Any]
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 4.0, 0.5, -2.0, 1e-320, 2.0**-1074, 2.0**1023, np.inf, np.nan)
GRID = np.array(SPECIAL)


def _same(expected: Array, found: Array) -> None:
    """Equal up to rounding; NaN, infinities and zeros with their signs are equal to themselves alone."""
    np.testing.assert_array_equal(np.isnan(expected), np.isnan(found))
    kept = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(expected[kept]), np.signbit(found[kept]))
    for special in (np.isinf, lambda x: x == 0):
        np.testing.assert_array_equal(special(expected[kept]), special(found[kept]))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def _takes_reals(op: OpDef) -> bool:
    return isinstance(op.lowering, Scalar) and any(
        e.operands and all(t.dtype == F64 for t in e.operands) for e in op.examples
    )


BINARY = [op for op in OPS.values() if _takes_reals(op) and len(op.examples[0].operands) == 2]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("constant_first", [False, True])
def test_one_constant_operand(op: OpDef, number: float, constant_first: bool) -> None:
    builder = Builder()
    x = Value(array_type(F64, len(SPECIAL)), "x")
    negated = builder.emit(OPS["neg"], (x,))
    c = builder.emit(constant, (), {"value": number}, x.type)
    results = [builder.emit(op, (c, v) if constant_first else (v, c)) for v in (x, negated)]
    function = Function("f", builder.block((x,), results))
    optimized = optimize(function, PassRunner(None))
    for a, b in zip(interpret(function, GRID), interpret(optimized, GRID), strict=True):
        if a.dtype == BOOL:
            np.testing.assert_array_equal(a, b)
        else:
            _same(a, b)


@given(data=st.data(), seed=st.integers(0, 3))
def test_chains_of_arithmetic_and_moves(data: st.DataObject, seed: int) -> None:
    growing = data.draw(_arithmetic())
    function = Function("f", growing.builder.block(growing.params, growing.pool[-3:]))
    optimized = optimize(function, PassRunner(None))
    args = arguments(function, seed, special=True)
    for a, b in zip(interpret(function, *args), interpret(optimized, *args), strict=True):
        _same(a, b)


@st.composite
def _arithmetic(draw: st.DrawFn) -> Growing:
    """Programs without sums of many terms, whose order is free."""
    growing = Growing(draw)
    for _ in range(draw(st.integers(1, 12))):
        kinds = (
            growing.constant, growing.constant, growing.select, growing.broadcast, growing.transpose,
            growing.reshape, growing.flip, growing.slice, growing.pad, growing.concat, growing.update, _plain,
        )  # fmt: skip
        step = draw(st.sampled_from(kinds))
        made = _plain(growing) if step is _plain else step()  # pyright: ignore[reportCallIssue]
        if made is not None:
            growing.pool.append(made)
    return growing


def _plain(growing: Growing) -> Value | None:
    x = growing.pick()
    assert x is not None
    y = growing.pick(lambda v: v.type == x.type)
    assert y is not None
    name = growing.draw(st.sampled_from(("add", "sub", "mul", "div", "neg", "abs", "maximum", "minimum")))
    return growing.emit(name, x) if name in ("neg", "abs") else growing.emit(name, x, y)


@pytest.mark.parametrize("copies", [1, 3, 10, 1000])
@pytest.mark.parametrize("number", [0.1, -0.0, np.inf, np.nan, 1e308])
def test_the_sum_of_a_constant_is_rounded_once(copies: int, number: float) -> None:
    builder = Builder()
    c = builder.emit(constant, (), {"value": number}, ArrayType(F64, (copies,)))
    total = builder.emit(OPS["sum"], (c,), {"axes": (0,)})
    (found,) = interpret(optimize(Function("f", builder.block((), (total,))), PassRunner(None)))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.float64(number) * copies)
