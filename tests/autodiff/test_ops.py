"""Every op of the table: type rule against NumPy, both modes, and the second order."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from programs import EXAMPLES, alone, has_complex, operands_of
from symgrad.ir.core import Block, Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Example, OpDef, Undefined
from symgrad.ir.ops import OPS
from symgrad.ir.types import F64
from symgrad.passes.autodiff import jvp, vjp

Array = NDArray[Any]


def one_op(op: OpDef, example: Example) -> Function:
    """operands -> the op's result."""
    return alone(op, example).function


def operands(op: OpDef, example: Example) -> list[Array]:
    """Random operands of the example's types and domain, the same at every run."""
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    return operands_of(rng, example, one_op(op, example).body.params)


def smooth(op: OpDef, example: Example) -> bool:
    """Whether the op on the example's operands has a derivative to check."""
    body = one_op(op, example).body
    result = body.results[0]
    return (
        op is not OPS["stop_gradient"]
        and (has_complex(op, example) or not isinstance(op.derivative, Undefined))
        and result.type.dtype == F64
        and any(p.type.dtype == F64 for p in body.params)
    )


ALL = [pytest.param(op, e, id=f"{op.name}-{op.examples.index(e)}") for op, e in EXAMPLES]
SMOOTH = [pytest.param(op, e, id=f"{op.name}-{op.examples.index(e)}") for op, e in EXAMPLES if smooth(op, e)]


def real(values: list[Array]) -> list[int]:
    """The positions of the real operands."""
    return [i for i, x in enumerate(values) if x.dtype.kind == "f"]


def moved(values: list[Array], dots: list[Array], step: float) -> list[Array]:
    """The operands, the real ones moved along their tangents."""
    found = list(values)
    for i, dot in zip(real(values), dots, strict=True):
        found[i] = values[i] + step * dot
    return found


def differences(function: Function, values: list[Array], dots: list[Array]) -> list[Array]:
    """The tangents of the results by central differences, extrapolated to fourth order."""

    def central(step: float) -> list[Array]:
        ahead = interpret(function, *moved(values, dots, step))
        behind = interpret(function, *moved(values, dots, -step))
        return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]

    return [(4 * fine - coarse) / 3 for fine, coarse in zip(central(1e-4), central(2e-4), strict=True)]


def tangents(values: list[Array], seed: int) -> list[Array]:
    """A random tangent for each real operand."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, 1.5, size=values[i].shape) for i in real(values)]


@pytest.mark.parametrize(("op", "example"), ALL)
def test_the_type_rule_agrees_with_numpy(op: OpDef, example: Example) -> None:
    function = one_op(op, example)
    (y,) = interpret(function, *operands(op, example))
    assert (y.dtype, y.shape) == (function.body.results[0].type.dtype, function.body.results[0].type.shape)


@pytest.mark.parametrize(("op", "example"), SMOOTH)
def test_forward_mode_agrees_with_differences(op: OpDef, example: Example) -> None:
    function, values = one_op(op, example), operands(op, example)
    wrt, dots = tuple(real(values)), tangents(values, 1)
    y, y_dot = interpret(jvp(function, wrt), *values, *dots)
    np.testing.assert_array_equal(y, interpret(function, *values)[0])
    np.testing.assert_allclose(y_dot, differences(function, values, dots)[0], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("op", "example"), SMOOTH)
def test_reverse_mode_is_the_transpose_of_forward_mode(op: OpDef, example: Example) -> None:
    function, values = one_op(op, example), operands(op, example)
    wrt, dots = tuple(real(values)), tangents(values, 2)
    y, y_dot = interpret(jvp(function, wrt), *values, *dots)
    y_bar = np.random.default_rng(3).standard_normal(y.shape)
    _, *bars = interpret(vjp(function, wrt), *values, y_bar)
    pulled = sum(np.vdot(bar, dot) for bar, dot in zip(bars, dots, strict=True))
    np.testing.assert_allclose(pulled, np.vdot(y_bar, y_dot), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("op", "example"), SMOOTH)
def test_the_second_order_agrees_with_differences(op: OpDef, example: Example) -> None:
    function, values = one_op(op, example), operands(op, example)
    wrt = tuple(real(values))
    (y,) = interpret(function, *values)
    y_bar = np.random.default_rng(4).standard_normal(y.shape)
    first = vjp(function, wrt)
    bars = Function("bars", Block(first.body.params, first.body.ops, first.body.results[1:]))
    dots = tangents([*values, y_bar], 5)
    both = (*wrt, len(values))
    expected = differences(bars, [*values, y_bar], dots)
    forward = interpret(jvp(bars, both), *values, y_bar, *dots)[len(wrt) :]
    for found, wanted in zip(forward, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    seeds = [np.random.default_rng(6 + i).standard_normal(bar.shape) for i, bar in enumerate(expected)]
    reverse = interpret(vjp(bars, both), *values, y_bar, *seeds)[len(wrt) :]
    pulled = sum(np.vdot(bar, dot) for bar, dot in zip(reverse, dots, strict=True))
    pushed = sum(np.vdot(seed, dot) for seed, dot in zip(seeds, forward, strict=True))
    np.testing.assert_allclose(pulled, pushed, rtol=1e-10, atol=1e-11)


def test_stop_gradient_has_no_derivative() -> None:
    op = OPS["stop_gradient"]
    function, x = one_op(op, op.examples[0]), np.ones((2, 3))
    np.testing.assert_array_equal(interpret(jvp(function), x, x)[1], 0.0)
    np.testing.assert_array_equal(interpret(vjp(function), x, x)[1], 0.0)
