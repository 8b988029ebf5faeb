"""Arithmetic done again for its readers, and sums over wider spaces, where memory is taken to be dear."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad
from passes.arena_run import run_in_arena
from passes.random_programs import arguments, numeric_programs
from passes.random_regions import region_programs
from passes.stencil_programs import stencil_programs
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Flow, Remap
from symgrad.ir.parser import parse_function
from symgrad.ir.regions import flow_of
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, repeats, schedule, widen

SEEDS = st.integers(0, 3)


@pytest.fixture(autouse=True, scope="module")
def dear_memory() -> Generator[None]:
    """To move a byte costs more than any arithmetic, and any space may become any larger one."""
    dear = mock.patch.object(repeats, "moving", lambda nbytes: 1e6 * nbytes)
    with dear, mock.patch.object(widen, "MAX_WIDER", 1):
        yield


def assert_kept(function: Function, args: Any) -> Function:
    """Scheduled, the function gives the same, interpreted and in its arena."""
    scheduled = schedule(function, PassRunner(None))
    verify(scheduled)
    expected = interpret(function, *args)
    for found in (interpret(scheduled, *args), run_in_arena(scheduled, args)):
        for a, b in zip(expected, found, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            limit = 1e-5 if a.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(b, a, rtol=limit, atol=limit)
    return scheduled


@given(function=numeric_programs(), seed=SEEDS)
def test_random_programs(function: Function, seed: int) -> None:
    assert_kept(function, arguments(function, seed))


@given(function=region_programs(), seed=SEEDS)
def test_random_programs_with_regions(function: Function, seed: int) -> None:
    assert_kept(function, arguments(function, seed))


@given(function=stencil_programs(), seed=SEEDS)
def test_random_stencils(function: Function, seed: int) -> None:
    assert_kept(function, arguments(function, seed))


def wave(x: Any) -> Any:
    d = x[1:] - x[:-1]
    return np.sum(d**2 * (1 + x[1:]))


def plate(x: Any) -> Any:
    return np.sum((x[1:-1, 1:-1] * 4 - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2]) ** 2)


def rows(x: Any) -> Any:
    return np.sum(np.sum((x[1:] - x[:-1]) ** 2, axis=0) ** 2)


@pytest.mark.parametrize(("loss", "shape"), [(wave, (7,)), (plate, (5, 6)), (rows, (6, 3))])
def test_losses_of_neighbours(loss: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    assert_kept(symgrad.value_and_grad(loss).program(x).optimized, [x])


@pytest.mark.parametrize(("loss", "shape"), [(wave, (7,)), (plate, (40, 50))])
def test_a_loss_and_its_gradient_are_one_loop(loss: Any, shape: tuple[int, ...]) -> None:
    function = symgrad.value_and_grad(loss).program(np.ones(shape)).optimized
    scheduled = schedule(function, PassRunner(None))
    assert [flow_of(op) for op in scheduled.body.ops] == [Flow.ONCE]


COPIED = """func @copied(%x: f64[9,3]) -> (f64[16,3], f64[]) {
  %0 = mul %x, %x : f64[9,3]
  %1 = transpose %0 {perm=(1, 0)} : f64[3,9]
  %2 = broadcast %1 {axes=(0,)} : f64[16,3,9]
  %3 = sin %2 : f64[16,3,9]
  %4 = sum %3 {axes=(2,)} : f64[16,3]
  %5 = slice %0 {start=(1, 0), step=(1, 1), stop=(9, 3)} : f64[8,3]
  %6 = sum %5 {axes=(0, 1)} : f64[]
  return %4, %6
}"""


def test_what_is_copied_into_another_order_is_stored() -> None:
    scheduled = assert_kept(parse_function(COPIED), (np.random.default_rng(0).standard_normal((9, 3)),))
    assert any(isinstance(op.opdef.lowering, Remap) for op in scheduled.body.ops)
