"""Random programs through all passes: as Python and as machine code they give what the interpreter gives."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from passes.random_programs import arguments, numeric_programs
from passes.random_regions import region_programs
from running import agree, ways
from symgrad.errors import UnsupportedError
from symgrad.ir import dims
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.passes import optimize, schedule

# Nothing so large that a sum overflows in one order and not in another.
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.0, -2.5)


def runs_as_interpreted(function: Function, scheduled: Function, seed: int) -> None:
    """The generated code of a scheduled form of a function agrees with the function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for call in ways(scheduled):
            agree(function, call, arguments(function, seed), rtol=1e-12)


@given(numeric_programs(), st.integers(0, 1000))
def test_scheduled(function: Function, seed: int) -> None:
    runs_as_interpreted(function, schedule(optimize(function)), seed)


@given(numeric_programs(), st.integers(0, 1000))
def test_scheduled_without_optimizing(function: Function, seed: int) -> None:
    runs_as_interpreted(function, schedule(function), seed)


@given(numeric_programs(max_steps=8), st.integers(0, 1000))
def test_ops_one_by_one(function: Function, seed: int) -> None:
    """Neither fused nor planned: every op is a kernel of its own, every value has a place of its own."""
    runs_as_interpreted(function, function, seed)


@given(region_programs(), st.integers(0, 3))
def test_loops_and_branches_op_by_op(function: Function, seed: int) -> None:
    """Every op of a region is emitted by itself, and every array has a place of its own."""
    runs_or_has_no_limit(function, function, seed)


@given(region_programs(), st.integers(0, 3))
def test_loops_and_branches_scheduled(function: Function, seed: int) -> None:
    runs_or_has_no_limit(function, schedule(optimize(function)), seed)


def runs_or_has_no_limit(function: Function, program: Function, seed: int) -> None:
    """The program gives what the function does; an inner axis that a `while` counts is refused."""
    try:
        runs_as_interpreted(function, program, seed)
    except UnsupportedError as error:
        assume("no limit" not in error.what)
        raise


@given(numeric_programs(), st.integers(0, 1000))
def test_nan_and_infinities(function: Function, seed: int) -> None:
    """The same NaNs and infinities come out, where nothing was rearranged by algebra."""
    rng = np.random.default_rng(seed)
    args = [
        np.asarray(rng.choice(SPECIAL, tuple(map(dims.known, p.type.shape)))) for p in function.body.params
    ]
    scheduled = schedule(function)
    for call in ways(scheduled):
        with np.errstate(all="ignore"):
            found = call(*(a[()] if a.ndim == 0 else a for a in args))
        for got, want in zip(found, interpret(scheduled, *args), strict=True):
            np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
            np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
