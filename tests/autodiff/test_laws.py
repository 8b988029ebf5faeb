"""Every op of the table keeps the law that its record states, and what `hold` reads from the other kinds."""

from __future__ import annotations

import zlib
from typing import Any, assert_never

import numpy as np
import pytest

from symgrad.ir.laws import Equivariant, Exponential, Logarithmic, Monomial
from symgrad.ir.opdef import Linear, OpDef, Partials, Scalar
from symgrad.ir.ops import OPS

LAWFUL = [pytest.param(op, id=op.name) for op in OPS.values() if op.law is not None]

# Elementwise ops with constant partials, and converts: taken to be linear.
LINEAR = [
    pytest.param(op, id=op.name)
    for op in OPS.values()
    if isinstance(op.lowering, Scalar)
    and isinstance(op.derivative, Partials)
    and all(isinstance(partial, int) for partial in op.derivative.of)
]


def operands_of(op: OpDef) -> list[Any]:
    """Random real operands from the op's domain."""
    example = op.examples[0]
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    return [rng.uniform(*example.domain, (2, 3)) for _ in example.operands]


@pytest.mark.parametrize("op", LAWFUL)
def test_the_law_holds(op: OpDef) -> None:
    xs, law = operands_of(op), op.law
    y = op(*xs)
    assert law is not None
    match law:
        case Monomial(powers=powers):
            assert len(powers) == len(xs)
            np.testing.assert_array_equal(op(*map(np.ones_like, xs)), 1)
            factors = np.random.default_rng(0).uniform(0.5, 2.0, len(xs))
            found = op(*(x * a for x, a in zip(xs, factors, strict=True)))
            expected = y * np.prod([a ** float(p) for a, p in zip(factors, powers, strict=True)])
        case Exponential(base=base):
            found, expected = op(*(x + 0.3 for x in xs)), y * base**0.3
        case Logarithmic(base=base):
            found, expected = op(*(x * base**0.3 for x in xs)), y + 0.3
        case Equivariant():
            found, expected = op(*(x + 0.3 for x in xs)), y + 0.3
        case _:
            assert_never(law)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("op", LAWFUL)
def test_a_power_of_one_is_linear_for_both_signs(op: OpDef) -> None:
    if not isinstance(op.law, Monomial):
        return
    xs = operands_of(op)
    for k, power in enumerate(op.law.powers):
        if power == 1:
            scaled = [-2.0 * x if i == k else x for i, x in enumerate(xs)]
            np.testing.assert_allclose(op(*scaled), -2.0 * op(*xs), rtol=1e-15)


@pytest.mark.parametrize("op", LINEAR)
def test_constant_partials_are_those_of_a_linear_op(op: OpDef) -> None:
    xs = operands_of(op)
    assert isinstance(op.derivative, Partials)
    expected = sum(int(str(partial)) * x for partial, x in zip(op.derivative.of, xs, strict=True))
    np.testing.assert_allclose(op(*xs), expected, rtol=1e-15, atol=1e-15)


def test_the_elementwise_ops_that_are_linear_together_are_conversions() -> None:
    found = [
        op.name
        for op in OPS.values()
        if isinstance(op.lowering, Scalar) and isinstance(op.derivative, Linear)
    ]
    assert found == ["convert"]
