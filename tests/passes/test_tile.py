"""Row tiling: blocks of rows give what all rows give, whatever the op, the axis and the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad
from passes.row_programs import CASES, Loss, N, arguments, assert_close, logistic, sizes
from programs import EXAMPLES, Program, alone, programs
from symgrad.ir import dims
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Contract, Example, Flow, OpDef, Reduce, Reduction, Scalar
from symgrad.ir.regions import as_for, flow_of
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, schedule
from symgrad.passes.cost import seconds
from symgrad.passes.fuse import fuse
from symgrad.passes.tile import cut, tile, tiled


def assert_same(function: Function, other: Function, args: Any) -> None:
    """Both give the same results, to rounding."""
    assert_close(interpret(other, *args), interpret(function, *args))


def assert_tiles(function: Function, args: Any, rows: int) -> int:
    """Along every size, blocks of so many rows give the same, before and after fusion; how many loops."""
    loops = 0
    for size in sizes(function):
        blocks = cut(function.body, size, min(rows, size))
        if blocks is None:
            continue
        found = tiled(function, blocks)
        verify(found, after="tile")
        assert_same(function, found, args)
        scheduled = schedule(found, PassRunner(None))
        assert_same(function, scheduled, args)
        loops += 1
    return loops


@pytest.mark.parametrize(("op", "example"), EXAMPLES, ids=lambda part: getattr(part, "name", ""))
def test_every_op_in_blocks(op: OpDef, example: Example) -> None:
    program = alone(op, example)
    loops = assert_tiles(program.function, program.arguments(0), 2)
    if isinstance(op.lowering, Scalar | Contract) or op.lowering == Reduce(Reduction.SUM):
        assert loops or not sizes(program.function)


@given(program=programs(), seed=st.integers(0, 3), rows=st.integers(1, 3))
def test_random_programs_in_blocks(program: Program, seed: int, rows: int) -> None:
    args = program.arguments(seed)
    try:
        interpret(program.function, *args)
    except ValueError:
        return  # NumPy refuses negative powers of integers
    assert_tiles(program.function, args, rows)


@pytest.mark.parametrize("rows", [1, 4, 5, N])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("loss", CASES, ids=lambda loss: loss.__name__)
def test_gradients_in_blocks(loss: Loss, dtype: str, rows: int) -> None:
    args = arguments(loss, dtype)
    program = symgrad.value_and_grad(loss, argnums=CASES[loss]).program(*args)
    function = program.optimized
    assert assert_tiles(function, args, rows)


def loops_over_rows(function: Function) -> list[int]:
    """The trips of the loops at the top."""
    return [dims.known(as_for(op).trips) for op in function.body.ops if flow_of(op) is Flow.FOR]


def program_of(loss: Loss, argnums: tuple[int, ...], *args: Any) -> Function:
    """The optimized gradient of a loss."""
    return symgrad.value_and_grad(loss, argnums=argnums).program(*args).optimized


def test_data_larger_than_the_caches_is_read_once() -> None:
    x = symgrad.spec("f64[100000,50]")
    function = program_of(logistic, (0,), symgrad.spec("f64[50]"), x, symgrad.spec("f64[100000]"))
    found = tile(function)
    (trips,) = loops_over_rows(found)
    assert 100000 % trips == 0
    assert seconds(fuse(found)) < seconds(fuse(function))


def test_what_fits_a_cache_is_left_alone() -> None:
    x = symgrad.spec("f64[200,5]")
    function = program_of(logistic, (0,), symgrad.spec("f64[5]"), x, symgrad.spec("f64[200]"))
    assert tile(function) is function


def test_one_pass_is_left_alone() -> None:
    function = program_of(lambda x: np.sum(np.tanh(x) ** 2), (0,), symgrad.spec("f64[1000000]"))
    assert tile(function) is function
