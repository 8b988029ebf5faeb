"""Loops and branches: forward mode, reverse mode, and both again on what they give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autodiff import region_samples, region_samples_in_place
from autodiff.derivative_checks import (
    check_differences,
    check_modes,
    check_optimized,
    cotangents_of,
    real_params,
)
from autodiff.region_sample import Sample
from symgrad.errors import NotDifferentiableError
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Undefined
from symgrad.ir.ops import OPS
from symgrad.ir.parser import parse_function
from symgrad.ir.regions import ForLoop, emit, for_op
from symgrad.ir.types import array_type
from symgrad.ir.verifier import verify
from symgrad.passes.autodiff import jvp, vjp

SAMPLES = (*region_samples.SAMPLES, *region_samples_in_place.SAMPLES)
EACH = pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)


@EACH
def test_forward_mode_agrees_with_differences(sample: Sample) -> None:
    check_differences(sample.function, sample.args(), 2)


@EACH
def test_reverse_mode_is_the_transpose_of_forward_mode_to_the_third_order(sample: Sample) -> None:
    check_modes(sample.function, sample.args(), 3)


@EACH
def test_the_tangents_of_cotangents_of_cotangents(sample: Sample) -> None:
    bars = cotangents_of(sample.function)
    verify(jvp(vjp(bars)))


@EACH
def test_the_passes_keep_the_cotangents(sample: Sample) -> None:
    check_optimized(sample.function, sample.args())


@EACH
def test_one_cotangent_alone_is_that_among_all(sample: Sample) -> None:
    function, args = sample.function, sample.args()
    count, wrt = len(function.body.results), real_params(function)
    seeds = [np.ones(np.shape(y)) for y in interpret(function, *args) if y.dtype.kind == "f"]
    every = interpret(vjp(function, wrt), *args, *seeds)[count:]
    for i, expected in zip(wrt, every, strict=True):
        (found,) = interpret(vjp(function, (i,)), *args, *seeds)[count:]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_what_only_the_other_branch_reads_has_cotangent_zero() -> None:
    function = parse_function("""
func @f(%c: bool[], %x: f64[3], %y: f64[]) -> f64[] {
  %1 = cond %c, %x, %y : f64[]
    then (%x: f64[3], %y: f64[]) {
      %l = log %y : f64[]
      yield %l
    }
    else (%x: f64[3], %y: f64[]) {
      %r = sqrt %x : f64[3]
      %s = sum %r {axes=(0,)} : f64[]
      yield %s
    }
  return %1
}
""")
    joint, one = vjp(function, (1, 2)), np.float64(1.0)
    verify(joint)
    _, x_bar, y_bar = interpret(joint, np.True_, np.zeros(3), np.float64(2.0), one)
    np.testing.assert_array_equal(x_bar, 0.0)
    assert y_bar == 0.5
    _, x_bar, y_bar = interpret(joint, np.False_, np.ones(3), np.float64(0.0), one)
    np.testing.assert_array_equal(x_bar, 0.5)
    assert y_bar == 0.0


def test_the_branch_not_taken_is_not_run() -> None:
    # Read at an index that is out of bounds: it would raise.
    function = parse_function("""
func @f(%c: bool[], %x: f64[3], %i: i64[]) -> f64[] {
  %1 = cond %c, %x, %i : f64[]
    then (%x: f64[3], %i: i64[]) {
      %g = gather %x, %i {axes=(0,)} : f64[]
      %e = mul %g, %g : f64[]
      yield %e
    }
    else (%x: f64[3], %i: i64[]) {
      %s = sum %x {axes=(0,)} : f64[]
      yield %s
    }
  return %1
}
""")
    joint = vjp(function, (1,))
    _, x_bar = interpret(joint, np.False_, np.ones(3), np.int64(7), np.float64(1.0))
    np.testing.assert_array_equal(x_bar, 1.0)
    with pytest.raises(IndexError):
        interpret(joint, np.True_, np.ones(3), np.int64(7), np.float64(1.0))


def test_a_cotangent_that_is_exactly_zero_does_not_meet_a_singular_derivative() -> None:
    # The last iteration writes over what the square root of 0 was.
    function = parse_function("""
func @f(%x: f64[3]) -> f64[] {
  %z = constant {value=0.0} : f64[]
  %1 = for_loop %z, %x {carries=1, index="i", lower=0, reverse=False, upper=3, xs=1} : f64[]
    body (%s: f64[], %x: f64[]) {
      %zero = constant {value=0.0} : f64[]
      %c = gt %x, %zero : bool[]
      %r = cond %c, %x : f64[]
        then (%x: f64[]) {
          %r = sqrt %x : f64[]
          yield %r
        }
        else (%x: f64[]) {
          yield %x
        }
      %t = add %s, %r : f64[]
      yield %t
    }
  return %1
}
""")
    _, x_bar = interpret(vjp(function), np.array([4.0, 0.0, -1.0]), np.float64(1.0))
    np.testing.assert_array_equal(x_bar, [0.25, 1.0, 1.0])


def test_an_op_without_derivative_raises_only_where_it_matters() -> None:
    like = OPS["tanh"]
    rough = replace(like, name="rough", derivative=Undefined("it is too rough"))
    inner, params = Builder(), [Value(array_type("f64")) for _ in range(2)]
    carried = inner.emit(OPS["mul"], (params[0], params[0]))
    body = inner.block(params, (carried, inner.emit(rough, (params[1],))))
    x, y = Value(array_type("f64", 2), "x"), Value(array_type("f64"), "y")
    outer = Builder()
    found = emit(outer, for_op(ForLoop("i", 0, 2, False, (y,), (), (x,), body)))
    function = Function("f", outer.block((x, y), found))
    verify(vjp(function, (1,)))
    verify(jvp(function, (1,)))
    for mode in (vjp, jvp):
        with pytest.raises(NotDifferentiableError, match="too rough"):
            mode(function, (0,))


def test_the_test_of_a_while_loop_sees_no_tangents() -> None:
    function = next(s for s in SAMPLES if s.name == "newton").function
    pushed = jvp(function)
    (loop,) = (op for op in pushed.body.ops if op.opdef.name == "while_loop")
    test, body = loop.regions
    assert len(test.params) == len(body.params) > 3
    assert {p for op in test.ops for p in op.operands}.isdisjoint(test.params[1:2])
