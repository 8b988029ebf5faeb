"""Random programs: each pass keeps the results, leaves a valid program, and has nothing to do again."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from passes.arena_run import run_in_arena
from passes.random_programs import Array, arguments, numeric_programs
from programs import Program, programs
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Function, Value
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Contract
from symgrad.ir.ops import OPS, einsum, factors
from symgrad.ir.printer import format_function
from symgrad.ir.types import array_type
from symgrad.ir.verifier import verify
from symgrad.passes import PASSES, PassRunner, contract, optimize, schedule
from symgrad.passes.blas_form import Steps, blas_form
from symgrad.passes.memory import arena_bytes, lower_bound

EXACT = ("cse", "dce", "fuse")
ROUNDED = ("simplify", "fold", "contract", "layout", "accumulate")
SEEDS = st.integers(0, 3)


@contextmanager
def always_blas() -> Generator[None]:
    """Every product of two matrices counts as large enough for BLAS."""
    with mock.patch.multiple(contract, BLAS_MIN_PRODUCTS=1, loop_cost=lambda *_: inf):
        yield


def _quiet() -> PassRunner:
    return PassRunner(None)


def _run_or_reject(function: Function, args: Sequence[Array]) -> tuple[Array, ...]:
    """The results; an example that NumPy refuses to compute is none."""
    try:
        return interpret(function, *args)
    except ValueError as error:
        assume("negative integer powers" not in str(error))
        raise


def _close(expected: tuple[Array, ...], found: tuple[Array, ...]) -> None:
    for a, b in zip(expected, found, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


def _equal(expected: tuple[Array, ...], found: tuple[Array, ...]) -> None:
    for a, b in zip(expected, found, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.mark.parametrize("name", EXACT)
@given(function=numeric_programs(), seed=SEEDS)
def test_exact_passes_keep_every_bit(name: str, function: Function, seed: int) -> None:
    found = PASSES[name](function)
    verify(found, after=name)
    args = arguments(function, seed)
    _equal(interpret(function, *args), interpret(found, *args))


@pytest.mark.parametrize("name", ROUNDED)
@given(function=numeric_programs(), seed=SEEDS)
def test_other_passes_keep_results_up_to_rounding(name: str, function: Function, seed: int) -> None:
    found = PASSES[name](function)
    verify(found, after=name)
    args = arguments(function, seed)
    _close(interpret(function, *args), interpret(found, *args))


@pytest.mark.parametrize("name", [name for name in PASSES if name not in ("fuse", "memory")])
@given(function=numeric_programs())
def test_a_pass_that_has_run_finds_nothing_to_do(name: str, function: Function) -> None:
    once = PASSES[name](function)
    if name in ("simplify", "layout"):
        # What is left over by one rule can make another one apply: a value used once, say, or read by others.
        for _ in range(8):
            once = PASSES["dce"](PASSES[name](once))
    again = PASSES[name](once)
    assert format_function(again) == format_function(once)
    assert again is once


@given(function=numeric_programs(), seed=SEEDS)
def test_the_whole_pipeline_keeps_results(function: Function, seed: int) -> None:
    optimized = optimize(function, _quiet())
    scheduled = schedule(optimized, _quiet())
    args = arguments(function, seed)
    expected = interpret(function, *args)
    _close(expected, interpret(optimized, *args))
    _equal(interpret(optimized, *args), interpret(scheduled, *args))
    _equal(interpret(optimized, *args), run_in_arena(scheduled, args))


@given(function=numeric_programs())
def test_after_optimize_every_contraction_is_in_the_form_of_blas(function: Function) -> None:
    with always_blas():
        optimized = optimize(function, _quiet())
    for op in optimized.body.ops:
        assert not isinstance(op.opdef.lowering, Contract) or blas_form(op) is not None
    args = arguments(function, 0)
    _close(interpret(function, *args), interpret(optimized, *args))


@given(function=numeric_programs(), seed=SEEDS)
def test_products_of_matrices_are_what_their_form_says(function: Function, seed: int) -> None:
    with always_blas():
        optimized = optimize(function, _quiet())
    rng = np.random.default_rng(seed)
    for op in optimized.body.ops:
        form = blas_form(op)
        if form is None:
            continue
        a, b = (rng.uniform(-1, 1, tuple(map(dims.known, v.type.shape))) for v in factors(op))
        left, right = (b, a) if form.swapped else (a, b)
        expected = np.asarray(einsum.evaluate(a, b, spec=op.keywords()["spec"]))
        product = _matrices(left, form.left, form.batch, form.m, form.k) @ _matrices(
            right, form.right, form.batch, form.k, form.n
        )
        found = _matrices(expected, form.result, form.batch, form.m, form.n)
        np.testing.assert_allclose(found, product, rtol=1e-12, atol=1e-12)


def _matrices(array: Any, steps: Steps, batch: int, rows: int, columns: int) -> Any:
    """The matrices that lie in an array so many elements apart."""
    strides = tuple(8 * step for step in (steps.batch, steps.row, steps.column))
    return as_strided(np.ascontiguousarray(array), (batch, rows, columns), strides)


@given(program=programs(), seed=SEEDS)
def test_programs_of_every_op_run_in_their_arena(program: Program, seed: int) -> None:
    scheduled = schedule(program.function, _quiet())
    args = list(program.arguments(seed))
    _equal(_run_or_reject(program.function, args), run_in_arena(scheduled, args))


@given(program=programs(), seed=SEEDS)
def test_programs_of_every_op_are_optimized(program: Program, seed: int) -> None:
    args = program.arguments(seed)
    expected = _run_or_reject(program.function, args)
    found = interpret(optimize(program.function, _quiet()), *args)
    for a, b in zip(expected, found, strict=True):
        tolerance = 1e-5 if a.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


@given(function=numeric_programs())
def test_no_arena_is_smaller_than_the_lower_bound(function: Function) -> None:
    scheduled = schedule(function, _quiet())
    assert lower_bound(scheduled) <= arena_bytes(scheduled) <= 2 * lower_bound(scheduled)


@pytest.mark.parametrize("same", [True, False])
def test_two_orders_of_axes_do_not_move_in_turns(same: bool) -> None:
    """x + yᵀ can be (xᵀ + y)ᵀ, and that again x + yᵀ."""
    builder = Builder()
    params = x, y = Value(array_type("f64", 5, 5), "x"), Value(array_type("f64", 5, 5), "y")
    a = builder.emit(OPS["tanh"], (x,))
    b = a if same else builder.emit(OPS["tanh"], (y,))
    moved = builder.emit(OPS["transpose"], (b,), {"perm": (1, 0)})
    added = builder.emit(OPS["tanh"], (builder.emit(OPS["add"], (moved, a)),))
    total = builder.emit(OPS["sum"], (added,), {"axes": (0, 1)})
    function = Function("sum", Block(params, tuple(builder.ops), (total,)))
    once = PASSES["layout"](function)
    assert PASSES["layout"](once) is once
