"""Splitting for threads: chunks of rows give what all rows give, whatever the op, the axis and the rest."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad
from passes.row_programs import CASES, Loss, arguments, assert_close, logistic, sizes
from programs import EXAMPLES, Program, alone, programs
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.launch import How, Launch, Threads
from symgrad.ir.opdef import Contract, Example, OpDef, Reduce, Reduction, Scalar
from symgrad.ir.verifier import verify
from symgrad.passes import PassRunner, schedule
from symgrad.passes.launching import launched
from symgrad.passes.split import Split, even_bounds, split
from symgrad.passes.threads import MIN_GAIN, threaded
from symgrad.runtime.interpreted import interpreted
from symgrad.runtime.parallel import parallel_executable


def run(launch: Launch, parts: tuple[Function, ...], args: Any) -> tuple[Any, ...]:
    """What the steps of a launch make, each part run by the interpreter."""
    executables = [interpreted(part) for part in parts]
    for number, executable in enumerate(executables):
        assert launch.part_types(number) == (executable.params, executable.results)
    return parallel_executable(launch, executables, [False] * len(parts)).run(args)


def assert_splits(function: Function, args: Any, count: int) -> int:
    """Along every size, so many chunks give the same; how many regions there were."""
    regions = 0
    expected = interpret(function, *args)
    for size in sizes(function):
        found, splits = split(function, size, min(count, size)), list[Split]()
        while found is not None and len(splits) < 3:
            splits.append(found)
            launch, parts = launched(function, splits)
            for part in parts:
                verify(part, after="split")
            assert_close(run(launch, parts, args), expected)
            found = split(found.after, size, min(count, size))
        regions += len(splits)
    return regions


@pytest.mark.parametrize(("op", "example"), EXAMPLES, ids=lambda part: getattr(part, "name", ""))
def test_every_op_in_chunks(op: OpDef, example: Example) -> None:
    program = alone(op, example)
    regions = assert_splits(program.function, program.arguments(0), 2)
    if isinstance(op.lowering, Scalar | Contract) or op.lowering == Reduce(Reduction.SUM):
        assert regions or not sizes(program.function)


@given(program=programs(), seed=st.integers(0, 3), count=st.integers(2, 4))
def test_random_programs_in_chunks(program: Program, seed: int, count: int) -> None:
    args = program.arguments(seed)
    try:
        interpret(program.function, *args)
    except ValueError:
        return  # NumPy refuses negative powers of integers
    assert_splits(program.function, args, count)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("loss", CASES, ids=lambda loss: loss.__name__)
def test_gradients_in_chunks(loss: Loss, dtype: str, count: int) -> None:
    args = arguments(loss, dtype)
    function = symgrad.value_and_grad(loss, argnums=CASES[loss]).program(*args).optimized
    assert assert_splits(function, args, count)


@pytest.mark.parametrize("loss", CASES, ids=lambda loss: loss.__name__)
def test_parts_go_through_the_pipeline(loss: Loss) -> None:
    args = arguments(loss, "f8")
    function = symgrad.value_and_grad(loss, argnums=CASES[loss]).program(*args).optimized
    found = threaded(function, Threads(2))
    scheduled = tuple(schedule(part, PassRunner(None)) for part in found.parts)
    assert_close(run(found.launch, scheduled, args), interpret(function, *args))


def test_chunks_differ_by_one_row_at_most() -> None:
    assert even_bounds(10, 3) == (0, 4, 7, 10)
    assert even_bounds(9, 3) == (0, 3, 6, 9)
    for size in range(1, 20):
        for count in range(1, size + 1):
            bounds = even_bounds(size, count)
            rows = {b - a for a, b in pairwise(bounds)}
            assert sum(b - a for a, b in pairwise(bounds)) == size
            assert max(rows) - min(rows) <= 1


def program_of(loss: Loss, argnums: tuple[int, ...], *types: str) -> Function:
    """The optimized gradient of a loss."""
    args = map(symgrad.spec, types)
    return symgrad.value_and_grad(loss, argnums=argnums).program(*args).optimized


def test_rows_of_params_and_results_are_not_copied() -> None:
    """What is as long as the data goes from a param of the program to a result of it, in one step."""

    def loss(x: Any, y: Any) -> Any:
        return np.sum(np.exp(x) * np.sin(y)) + np.sum(x)

    found = threaded(program_of(loss, (0, 1), "f64[100000]", "f64[100000]"), Threads(2))
    launch = found.launch
    rows = [
        port.slot for step in launch.steps for port in (*step.operands, *step.results) if port.how is How.ROWS
    ]
    assert set(rows) == {0, 1, *launch.results[1:]}
    assert [step.chunks for step in launch.steps] == [2, 1]


def test_threads_that_do_not_pay_are_not_used() -> None:
    types = ("f64[5]", "f64[200,5]", "f64[200]")
    function = program_of(logistic, (0,), *types)
    assert threaded(function, Threads(2, automatic=True)).sharings == ()
    assert len(threaded(function, Threads(2)).sharings) == 1


def test_threads_that_pay_are_used() -> None:
    function = program_of(logistic, (0,), "f64[50]", "f64[20000,50]", "f64[20000]")
    (sharing,) = threaded(function, Threads(2, automatic=True)).sharings
    assert (sharing.rows, sharing.chunks) == (20000, 2)
    assert sharing.after < MIN_GAIN * sharing.before
    (sharing,) = threaded(function, Threads(64, automatic=True)).sharings
    assert 8 <= sharing.chunks < 64


def test_pairs_are_shared_by_rows() -> None:
    """Both axes are of the same points: one of them is cut, whatever the order of their broadcasts."""

    def energy(x: Any) -> Any:
        d = x[:, None, :] - x[None, :, :]
        return np.sum(1.0 / (0.1 + np.sum(d * d, axis=2)))

    function = program_of(energy, (0,), "f64[500,3]")
    (sharing,) = threaded(function, Threads(2, automatic=True)).sharings
    assert sharing.rows == 500
    assert sharing.after < 0.65 * sharing.before


def test_what_has_no_rows_runs_on_one_thread() -> None:
    function = program_of(lambda x: x**2, (0,), "f64[]")
    found = threaded(function, Threads(2))
    assert found.parts == (function,)
    np.testing.assert_array_equal(run(found.launch, found.parts, (3.0,)), (9.0, 6.0))
