"""Loops and branches, fused and placed: same results, valid places, no whole array copied in an iteration."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.arena_run import run_in_arena
from passes.copies import copies
from passes.loop_programs import (
    IN_PLACE,
    arguments_of,
)
from passes.random_programs import arguments
from passes.random_regions import region_programs
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.verifier import verify
from symgrad.passes import PASSES, PassRunner, optimize, schedule
from symgrad.passes.memory import arena_bytes, lower_bound
from symgrad.passes.memory_report import memory_report


def _name(text: str) -> str:
    return re.search(r"@(\w+)", text)[1]  # pyright: ignore[reportOptionalSubscript]


NAMES = [_name(text) for text in IN_PLACE]
TWICE = [text for text in IN_PLACE if "while_loop" not in text]  # its trip count would be bound twice


def _scheduled(text: str) -> Function:
    function = parse_function(text)
    verify(function)
    return schedule(optimize(function, PassRunner(None)), PassRunner(None))


def _close(expected: tuple[np.ndarray, ...], found: tuple[np.ndarray, ...]) -> None:
    for a, b in zip(expected, found, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("text", IN_PLACE, ids=NAMES)
@pytest.mark.parametrize("cleaned", [False, True], ids=["plain", "optimized"])
def test_results_are_the_same_in_place(text: str, cleaned: bool) -> None:
    function = parse_function(text)
    made = optimize(function, PassRunner(None)) if cleaned else PASSES["contract"](function)
    placed = schedule(made, PassRunner(None))
    args = arguments_of(text, 0)
    expected = interpret(function, *args)
    _close(expected, interpret(placed, *args))
    _close(expected, run_in_arena(placed, args))


@pytest.mark.parametrize("text", IN_PLACE, ids=NAMES)
def test_no_iteration_copies_a_whole_array(text: str) -> None:
    placed = _scheduled(text)
    assert copies(placed) == [], format_function(placed)


@pytest.mark.parametrize("text", TWICE, ids=_name)
def test_a_program_that_is_there_twice_lies_in_two_places(text: str) -> None:
    """Ops that were copied have the very same regions, as has a loop that the reverse sweep runs again."""
    function, builder = parse_function(text), Builder()
    results = [v for _ in range(2) for v in builder.inline(function.body, function.body.params)]
    twice = Function("twice", builder.block(function.body.params, results))
    placed = schedule(twice, PassRunner(None))
    args = arguments_of(text, 0)
    _close(interpret(twice, *args), run_in_arena(placed, args))


@given(function=region_programs(), seed=st.integers(0, 3))
def test_random_programs_keep_their_results_and_places_fit(function: Function, seed: int) -> None:
    fused = PASSES["fuse"](function)
    verify(fused, after="fuse")
    placed = PASSES["memory"](fused)
    verify(placed, after="memory")
    args = arguments(function, seed)
    expected = interpret(function, *args)
    _close(expected, interpret(placed, *args))
    _close(expected, run_in_arena(placed, args))
    report = memory_report(placed)
    assert report.arena == arena_bytes(placed) >= report.lower_bound == lower_bound(placed)
    assert report.lower_bound == sum(resident.nbytes for resident in report.peak)
