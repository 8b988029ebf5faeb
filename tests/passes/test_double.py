"""Two iterations a round: what is computed stays the same, bit by bit, and no array is copied."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from passes.copies import copies
from passes.random_programs import arguments
from passes.stencil_programs import stencil_programs
from running import agree, generated, plain
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.verifier import verify
from symgrad.passes import PASSES, PassRunner, optimize, schedule
from symgrad.passes.memory_report import memory_report

STENCIL = """\
func @f(%u: f64[500], %k: f64[]) -> f64[500] {{
  %0 = for_loop %u, %k {{carries=1, index="i", lower=0, reverse=False, upper={trips}, xs=0}} : f64[500]
    body (%u: f64[500], %k: f64[]) {{
      %0 = slice %u {{start=(0,), step=(1,), stop=(498,)}} : f64[498]
      %1 = slice %u {{start=(1,), step=(1,), stop=(499,)}} : f64[498]
      %2 = slice %u {{start=(2,), step=(1,), stop=(500,)}} : f64[498]
      %3 = add %0, %2 : f64[498]
      %4 = broadcast %k {{axes=(0,)}} : f64[498]
      %5 = mul %4, %3 : f64[498]
      %6 = sub %5, %1 : f64[498]
      %7 = {made} : f64[500]
      yield %7
    }}
  return %0
}}"""
WRITTEN = "update_slice %u, %6 {start=(1,), step=(1,)}"
ADDED = "add_slice %u, %6 {start=(1,), step=(1,)}"
PADDED = "pad %6 {high=(1,), interior=(0,), low=(1,)}"


def _stencil(trips: int, made: str) -> Function:
    function = parse_function(STENCIL.format(trips=trips, made=made))
    verify(function)
    return function


def _scheduled(function: Function) -> Function:
    return schedule(optimize(function, PassRunner(None)), PassRunner(None))


@given(function=stencil_programs(), seed=st.integers(0, 3))
def test_results_stay_the_same_bit_by_bit(function: Function, seed: int) -> None:
    verify(function)
    found = PASSES["double"](function)
    verify(found, after="double")
    args = arguments(function, seed)
    for a, b in zip(interpret(function, *args), interpret(found, *args), strict=True):
        assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@given(function=stencil_programs(), seed=st.integers(0, 3))
def test_the_scheduled_program_computes_the_same(function: Function, seed: int) -> None:
    scheduled = schedule(function, PassRunner(None))
    args = arguments(function, seed)
    for a, b in zip(interpret(function, *args), interpret(scheduled, *args), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)


@given(function=stencil_programs())
def test_a_program_that_is_doubled_stays(function: Function) -> None:
    once = PASSES["double"](function)
    assert once is function or PASSES["double"](once) is once


def test_a_stencil_needs_one_more_array_and_no_copy() -> None:
    for made in (WRITTEN, ADDED, PADDED):
        placed = _scheduled(_stencil(100, made))
        assert copies(placed) == []
        assert memory_report(placed).arena == 63 * 64  # 500 numbers


def test_an_odd_iteration_is_the_last_one() -> None:
    for trips in (8, 9, 101):
        function = _stencil(trips, WRITTEN)
        assert PASSES["double"](function) is not function
        agree(
            function,
            plain(generated(_scheduled(function))),
            [np.linspace(0, 1, 500), np.array(0.4)],
            rtol=1e-12,
        )


def test_few_iterations_stay() -> None:
    function = _stencil(7, WRITTEN)
    assert PASSES["double"](function) is function
