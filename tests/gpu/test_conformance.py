"""Every op, and random programs, on a GPU's threads: the emulator gives what the interpreter gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from codegen.test_lower_ops import ALL, NAMES
from gpu.emulated import SHAPES, on_device, run
from passes.random_programs import arguments as numbers
from passes.random_programs import numeric_programs
from passes.random_regions import region_programs
from running import agree, alone, arguments
from symgrad.codegen.cuda.shape import LaunchShape
from symgrad.errors import UnsupportedError
from symgrad.ir.core import Function
from symgrad.ir.opdef import Example, OpDef
from symgrad.passes import optimize, schedule

SEEDS = st.integers(0, 3)

# What a GPU has no code for yet, by what the error says.
MISSING = ("is not there yet for a GPU", "float16 is not computed with", "has no limit")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def call(function: Function, shape: LaunchShape, seed: int) -> Callable[..., tuple[Any, ...]]:
    """The program in the emulator; raises UnsupportedError where a GPU has no code for it yet."""
    module = on_device(function, shape)
    return lambda *args: run(module, args, seed=seed)


def in_all_shapes(function: Function, args: list[Any], rtol: float | None = None) -> None:
    """In each shape of launches, threads in another order each time."""
    for seed, shape in enumerate(SHAPES):
        agree(function, call(function, shape, seed), args, rtol=rtol)


@pytest.mark.parametrize(("op", "example"), ALL, ids=NAMES)
def test_op(op: OpDef, example: Example) -> None:
    function = alone(op, example)
    try:
        in_all_shapes(function, arguments(example))
    except UnsupportedError as error:
        if not any(text in error.what for text in MISSING):
            raise
        pytest.skip(error.what)


def as_interpreted(function: Function, program: Function, seed: int) -> None:
    """A form of a function gives what the function gives, or is refused."""
    try:
        for k, shape in enumerate(SHAPES):
            agree(function, call(program, shape, seed + k), numbers(function, seed), rtol=1e-12)
    except UnsupportedError as error:
        assume(not any(text in error.what for text in MISSING))
        raise


@given(numeric_programs(), SEEDS)
def test_random_programs(function: Function, seed: int) -> None:
    as_interpreted(function, schedule(optimize(function)), seed)


@given(numeric_programs(max_steps=8), SEEDS)
def test_ops_one_by_one(function: Function, seed: int) -> None:
    as_interpreted(function, function, seed)


@given(region_programs(), SEEDS)
def test_loops_and_branches(function: Function, seed: int) -> None:
    as_interpreted(function, schedule(optimize(function)), seed)


@given(region_programs(), SEEDS)
def test_loops_and_branches_op_by_op(function: Function, seed: int) -> None:
    as_interpreted(function, function, seed)
