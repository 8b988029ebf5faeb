"""Random programs with loops and branches: each clean-up pass keeps the results and the program valid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.random_programs import Array, arguments
from passes.random_regions import region_programs
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.verifier import verify
from symgrad.passes import PASSES

EXACT = ("hoist", "cse", "dce")
ROUNDED = ("simplify", "fold")
SEEDS = st.integers(0, 3)
ROUNDS = 12


def _close(expected: tuple[Array, ...], found: tuple[Array, ...]) -> None:
    for a, b in zip(expected, found, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)


@given(function=region_programs(), seed=SEEDS)
def test_the_programs_are_valid_stay_small_and_read_back(function: Function, seed: int) -> None:
    verify(function)
    text = format_function(function)
    assert format_function(parse_function(text)) == text
    for y in interpret(function, *arguments(function, seed)):
        assert np.max(np.abs(y), initial=0.0) < 1e4


@pytest.mark.parametrize("name", [*EXACT, *ROUNDED])
@given(function=region_programs(), seed=SEEDS)
def test_a_pass_keeps_results(name: str, function: Function, seed: int) -> None:
    found = PASSES[name](function)
    verify(found, after=name)
    args = arguments(function, seed)
    expected, results = interpret(function, *args), interpret(found, *args)
    if name in ROUNDED:
        _close(expected, results)
        return
    for a, b in zip(expected, results, strict=True):
        assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.mark.parametrize("name", [*EXACT, *ROUNDED])
@given(function=region_programs())
def test_a_pass_that_has_run_finds_nothing_to_do(name: str, function: Function) -> None:
    once = PASSES[name](function)
    if name == "simplify":
        # What is left over by one rule can make another one apply: a value used once, say.
        for _ in range(8):
            once = PASSES["dce"](PASSES["simplify"](once))
    again = PASSES[name](once)
    assert format_function(again) == format_function(once)
    assert again is once


@given(function=region_programs(), seed=SEEDS)
def test_rounds_of_all_of_them_end_and_keep_results(function: Function, seed: int) -> None:
    found = function
    for _ in range(ROUNDS):
        before = found
        for name in ("simplify", "fold", "cse", "dce", "hoist"):
            found = PASSES[name](found)
            verify(found, after=name)
        if found is before:
            break
    else:
        pytest.fail(f"still something to do after {ROUNDS} rounds:\n{format_function(found)}")
    args = arguments(function, seed)
    _close(interpret(function, *args), interpret(found, *args))
