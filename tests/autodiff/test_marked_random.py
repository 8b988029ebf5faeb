"""Random programs with random marks: the same bits, and an arena in which they are computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff.random_marks import with_marks
from passes.arena_run import run_in_arena
from passes.random_regions import region_programs
from symgrad.ir import dims
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.verifier import verify
from symgrad.passes import optimize, schedule
from symgrad.passes.autodiff import jvp, vjp

Array = np.ndarray


def arguments(function: Function) -> list[Array]:
    rng = np.random.default_rng(1)
    shapes = [tuple(map(dims.known, p.type.shape)) for p in function.body.params]
    return [np.asarray(rng.uniform(-1, 1, shape)) for shape in shapes]


def check(function: Function, seed: int) -> None:
    marked = with_marks(function, seed)
    verify(marked)
    assert format_function(parse_function(format_function(marked))) == format_function(marked)
    for transform in (vjp, jvp):
        plain, found = transform(function), transform(marked)
        verify(found)
        args = arguments(plain)
        expected = interpret(plain, *args)
        for a, b in zip(expected, interpret(found, *args), strict=True):
            np.testing.assert_array_equal(a, b)
        scheduled = schedule(optimize(found))
        for a, b in zip(expected, run_in_arena(scheduled, args), strict=True):
            scale = max(1.0, float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))))
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9 * scale)


@given(region_programs(max_steps=8), st.integers(0, 1000))
@settings(max_examples=8, deadline=None)
def test_marks_change_nothing(function: Function, seed: int) -> None:
    check(function, seed)


@pytest.mark.nightly
@given(region_programs(max_steps=12, depth=3), st.integers(0, 1000))
@settings(max_examples=300, deadline=None)
def test_marks_change_nothing_in_deep_nests(function: Function, seed: int) -> None:
    check(function, seed)


@pytest.mark.nightly
@given(region_programs(max_steps=6), st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_marks_change_no_second_derivative(function: Function, seed: int) -> None:
    marked = with_marks(function, seed)
    for second in (jvp, vjp):
        plain, found = second(vjp(function)), second(vjp(marked))
        verify(found)
        args = arguments(plain)
        for a, b in zip(interpret(plain, *args), interpret(found, *args), strict=True):
            scale = max(1.0, float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))))
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9 * scale)
