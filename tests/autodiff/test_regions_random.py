"""Random programs with regions: reverse mode is the transpose of forward mode, to the second order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from autodiff.derivative_checks import check_modes, check_optimized
from passes.random_regions import region_programs
from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.passes.autodiff import jvp, vjp

# The inner loop runs again in the reverse of the outer one, for its number of iterations alone.
RUN_AGAIN = """func @f(%x: f64[], %y: f64[]) -> f64[] {
  %0 = constant {value=1} : i64[]
  %1, %2, %3, %i = while_loop %0, %y, %x, %x {carries=3, trips="i"} : (i64[], f64[], f64[], i64[])
    test (%0: i64[], %x: f64[], %y: f64[], %z: f64[]) {
      %1 = constant {value=2} : i64[]
      %2 = lt %0, %1 : bool[]
      yield %2
    }
    body (%0: i64[], %x: f64[], %y: f64[], %z: f64[]) {
      %1 = constant {value=1} : i64[]
      %2, %3, %4, %j = while_loop %1, %z, %x, %x {carries=3, trips="j"} : (i64[], f64[], f64[], i64[])
        test (%0: i64[], %x: f64[], %y: f64[], %z: f64[]) {
          %1 = constant {value=2} : i64[]
          %2 = lt %0, %1 : bool[]
          yield %2
        }
        body (%0: i64[], %x: f64[], %y: f64[], %z: f64[]) {
          %1 = tanh %z : f64[]
          %2 = lt %y, %1 : bool[]
          %3 = select %2, %y, %1 : f64[]
          %4 = neg %3 : f64[]
          %5 = broadcast %4 {axes=(0,)} : f64[1]
          %6 = constant {value=1} : i64[]
          %7 = add %0, %6 : i64[]
          yield %7, %3, %3
        }
      %5 = add %4, %3 : f64[]
      %6 = tanh %5 : f64[]
      %7 = constant {value=1} : i64[]
      %8 = add %0, %7 : i64[]
      yield %8, %4, %6
    }
  return %3
}"""


def _arguments(function: Function) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [
        np.asarray(rng.uniform(-1, 1, tuple(map(dims.known, p.type.shape)))) for p in function.body.params
    ]


@given(region_programs(depth=2))
@settings(max_examples=40, deadline=None)
def test_the_first_order(function: Function) -> None:
    check_modes(function, _arguments(function), 1)


def test_a_loop_that_runs_again_has_values_of_its_own() -> None:
    """What is found of a value that nothing reads in the copy must not be taken for true in the loop."""
    function = parse_function(RUN_AGAIN)
    pulled = vjp(function)
    made = [v for op in walk(pulled.body) for v in op.results]
    assert len(made) == len(set(made))
    x, y, one, x_dot, y_dot, one_dot = map(np.asarray, (0.3, -0.4, 1.0, 0.7, 0.5, 0.0))
    _, expected = interpret(jvp(function), x, y, x_dot, y_dot)
    found = interpret(jvp(pulled), x, y, one, x_dot, y_dot, one_dot)[3]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert expected != 0


@pytest.mark.slow
@given(region_programs(depth=2))
@settings(max_examples=25, deadline=None)
def test_the_second_order(function: Function) -> None:
    check_modes(function, _arguments(function), 2)


@pytest.mark.nightly
@given(region_programs(depth=3))
@settings(max_examples=500, deadline=None)
def test_deep_nests(function: Function) -> None:
    check_modes(function, _arguments(function), 2)
    check_optimized(function, _arguments(function))
