"""Poison: a sound plan has the results that it had, an unsound one has others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passes.arena_run import run_in_arena
from passes.loop_programs import IN_PLACE, arguments_of
from passes.random_programs import Array, arguments, numeric_programs
from passes.random_regions import region_programs
from symgrad.ir.core import Function, Place, Space, with_body
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.verifier import verify
from symgrad.passes import PASSES, PassRunner, schedule
from symgrad.passes.memory_report import memory_report
from symgrad.passes.poison import poison

SEEDS = st.integers(0, 3)


def _check(scheduled: Function, args: list[Array]) -> None:
    """With fills the program is valid, has the same results, and needs no more."""
    poisoned = poison(scheduled)
    verify(poisoned, after="poison")
    for a, b in zip(run_in_arena(scheduled, args), run_in_arena(poisoned, args), strict=True):
        np.testing.assert_array_equal(a, b)
    before, after = memory_report(scheduled), memory_report(poisoned)
    assert (before.arena, before.lower_bound) == (after.arena, after.lower_bound)


@settings(max_examples=15)
@given(function=numeric_programs(), seed=SEEDS)
def test_random_programs_have_the_same_results(function: Function, seed: int) -> None:
    _check(schedule(function, PassRunner(None)), list(arguments(function, seed)))


@settings(max_examples=15)
@given(function=region_programs(), seed=SEEDS)
def test_random_loops_and_branches_have_the_same_results(function: Function, seed: int) -> None:
    _check(PASSES["memory"](PASSES["fuse"](function)), list(arguments(function, seed)))


@pytest.mark.parametrize("text", IN_PLACE, ids=lambda text: text[6 : text.index("(")])
def test_loops_in_place_have_the_same_results(text: str) -> None:
    _check(schedule(PASSES["contract"](parse_function(text)), PassRunner(None)), arguments_of(text, 0))


CHAIN = """
func @chain(%x: f64[8]) -> f64[8] {
  %0 = cumsum %x {axis=0, reverse=0} : f64[8] in arena+0
  %1 = cumsum %0 {axis=0, reverse=1} : f64[8] in arena+64
  %2 = add %0, %1 : f64[8] in result 0
  return %2
}
"""


def test_a_value_over_one_that_is_read_later_shows_in_the_results() -> None:
    function = parse_function(CHAIN)
    args = [np.arange(8.0)]
    _check(function, args)
    first, second, last = function.body.ops
    wrong = replace(second.result, place=Place(Space.ARENA, 0))
    late = replace(last, operands=(first.result, wrong))
    broken = with_body(function, replace(function.body, ops=(first, replace(second, results=(wrong,)), late)))
    (found,) = run_in_arena(poison(broken), args)
    assert not np.array_equal(found, interpret(function, *args)[0])


def test_each_dead_place_is_filled() -> None:
    ops = poison(parse_function(CHAIN)).body.ops
    places = [str(op.result.place) for op in ops if op.result.hint == "poison"]
    assert sorted(places) == sorted(2 * ["arena+0", "arena+64"] + ["result 0"])
