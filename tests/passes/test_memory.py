"""The memory plan: no two live values overlap, in-place writes are safe, the report adds up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.random_programs import arguments, numeric_programs
from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.core import Function, Op, Space, Value
from symgrad.ir.interpreter import run_block
from symgrad.ir.overwriting import can_overwrite
from symgrad.ir.parser import parse_function
from symgrad.passes import PASSES, PassRunner, schedule
from symgrad.passes.memory import arena_bytes, lower_bound, simulate
from symgrad.passes.memory_report import memory_report


@given(function=numeric_programs(), seed=st.integers(0, 3))
def test_what_is_written_over_is_read_at_the_same_point_only(function: Function, seed: int) -> None:
    """Where a result may lie over an operand, a change at one point changes the result there alone."""
    fused = PASSES["fuse"](function)
    rng = np.random.default_rng(seed)
    for op in fused.body.ops:
        for operand in dict.fromkeys(op.operands):
            for result in op.results:
                if can_overwrite(op, operand, result, {}):
                    _check_pointwise(op, operand, result, rng)


def _check_pointwise(op: Op, operand: Value, result: Value, rng: np.random.Generator) -> None:
    if not op.regions or operand.type.dtype.kind != "f" or dims.known(operand.type.size) == 0:
        return
    arrays = [_array(v, rng) for v in op.operands]
    number, size = op.results.index(result), dims.known(operand.type.size)
    with np.errstate(all="ignore"):
        before = np.array(run_block(op.regions[0], tuple(arrays))[number]).reshape(-1)
        point = int(rng.integers(size))
        for k, v in enumerate(op.operands):
            if v is operand:
                arrays[k] = arrays[k].copy()
                arrays[k].reshape(-1)[point] += 0.5
        after = np.array(run_block(op.regions[0], tuple(arrays))[number]).reshape(-1)
    others = np.arange(size) != point
    np.testing.assert_array_equal(before[others], after[others])


def _array(value: Value, rng: np.random.Generator) -> np.ndarray:
    shape = tuple(map(dims.known, value.type.shape))
    if value.type.dtype.kind == "f":
        return rng.uniform(-1, 1, shape)
    return np.zeros(shape, value.type.dtype)


@given(function=numeric_programs())
def test_the_report_adds_up(function: Function) -> None:
    scheduled = schedule(function, PassRunner(None))
    report = memory_report(scheduled)
    assert report.arena == arena_bytes(scheduled)
    assert report.lower_bound == lower_bound(scheduled) == sum(r.nbytes for r in report.peak)
    assert len(simulate(scheduled)) == len(scheduled.body.ops)
    assert report.results == sum(v.type.nbytes for v in function.body.results)
    assert (report.peak_op is None) == (report.lower_bound == 0)
    assert len(arguments(function, 0)) == len(function.body.params)


@given(function=numeric_programs())
def test_each_result_has_its_own_array(function: Function) -> None:
    scheduled = schedule(function, PassRunner(None))
    for k, v in enumerate(scheduled.body.results):
        assert v.place is not None
        assert (v.place.space, v.place.number) == (Space.RESULT, k)


def test_planning_again_changes_nothing() -> None:
    function = parse_function(
        "func @f(%x: f64[9]) -> f64[] {\n  %0 = exp %x : f64[9]\n  %1 = flip %0 {axes=(0,)} : f64[9]\n"
        "  %2 = mul %0, %1 : f64[9]\n  %3 = sum %2 {axes=(0,)} : f64[]\n  return %3\n}"
    )
    once = schedule(function, PassRunner(None))
    again = PASSES["memory"](once)
    places = [[v.place for op in f.body.ops for v in op.results] for f in (once, again)]
    assert places[0] == places[1]


def test_a_result_without_memory_of_its_own_is_refused() -> None:
    same_twice = parse_function("func @f(%x: f64[2]) -> f64[2] {\n  return %x\n}")
    with pytest.raises(InternalError, match="no memory of its own"):
        PASSES["memory"](same_twice)
