"""What a region keeps for its reverse: no more than was written, and nothing that is there anyway."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autodiff.derivative_checks import check_modes, check_optimized
from autodiff.region_sample import Sample
from autodiff.region_samples import BRANCHES, NEWTON, RECURRENT, RUNNING
from autodiff.region_samples_in_place import (
    CHOLESKY,
    GAUSS_SEIDEL,
    HEAT,
    HEAT_FLUX,
    HISTOGRAM,
    PIVOTS,
    UNDONE,
    WHILE_IN_PLACE,
)
from symgrad.ir import dims
from symgrad.ir.analysis import walk
from symgrad.ir.core import Function, Op
from symgrad.ir.opdef import Flow
from symgrad.ir.parser import parse_function
from symgrad.ir.regions import as_for, flow_of
from symgrad.ir.types import ArrayType
from symgrad.passes import optimize
from symgrad.passes.autodiff import vjp


def joint(sample: Sample) -> Function:
    """The optimized program with its cotangents."""
    return optimize(vjp(sample.function))


def top_loops(function: Function) -> list[Op]:
    """The loops that are in no other."""
    return [op for op in function.body.ops if flow_of(op) in (Flow.FOR, Flow.WHILE)]


def kept_by(sample: Sample) -> list[str]:
    """The types that the forward loop has among its results beyond those of the program."""
    before, after = top_loops(sample.function)[0], top_loops(joint(sample))[0]
    return sorted(str(v.type) for v in after.results[len(before.results) :])


KEPT: dict[Sample, list[str]] = {
    HEAT: [],  # linear
    GAUSS_SEIDEL: [],
    HEAT_FLUX: ["f64[4,6]"],  # what each step writes over, and none of the values computed from it
    CHOLESKY: ["f64[5,1,1]", "f64[5,4,1,1]"],  # one number a write; what was written is in the array
    RUNNING: ["f64[5]"],  # tanh of the carry; all else is made again
    NEWTON: ["f64[n]"],
    RECURRENT: ["f64[5,3]"],  # the carry alone: what an iteration leaves is what the next one kept
    WHILE_IN_PLACE: ["f64[n,1]", "i64[n]"],
    HISTOGRAM: ["f64[6]"],  # the number written over; all else is made again
    BRANCHES: ["f64[9]", "f64[9]"],  # the carry, and one number that both branches share
}


@pytest.mark.parametrize("sample", KEPT, ids=lambda s: s.name)
def test_what_is_kept(sample: Sample) -> None:
    assert kept_by(sample) == KEPT[sample]


def elements(type: ArrayType) -> int:
    """The number of elements."""
    return math.prod(map(dims.known, type.shape))


@pytest.mark.parametrize("sample", [UNDONE, PIVOTS], ids=lambda s: s.name)
def test_arrays_that_are_written_into_are_not_kept(sample: Sample) -> None:
    forward, reverse = top_loops(joint(sample))[:2]
    array = elements(forward.results[0].type)
    trips = dims.known(as_for(forward).trips)
    assert all(elements(v.type) < trips * array for v in forward.results[1:])
    # It is carried backwards instead.
    assert sum(v.type == forward.results[0].type for v in as_for(reverse).carries) >= 2


def whole_array_ops(op: Op, array: ArrayType) -> list[str]:
    """The ops inside a loop that make an array, other than by writing into one."""
    return [
        inner.opdef.name
        for region in op.regions
        for inner in walk(region)
        if any(r.type == array for r in inner.results)
        and flow_of(inner) is None
        and inner.opdef.name not in ("update_slice", "add_slice")
    ]


@pytest.mark.parametrize("sample", [GAUSS_SEIDEL, CHOLESKY, PIVOTS], ids=lambda s: s.name)
def test_an_iteration_costs_what_it_touches(sample: Sample) -> None:
    for loop in top_loops(joint(sample)):
        assert whole_array_ops(loop, loop.results[0].type) == []


def test_reading_an_array_element_by_element_adds_in_place() -> None:
    lines = "\n".join(
        f"  %s{k} = slice %x {{start=({k},), step=(1,), stop=({k + 1},)}} : f64[1]\n"
        f"  %r{k} = reshape %s{k} : f64[]\n"
        f"  %p{k + 1} = mul %p{k}, %r{k} : f64[]"
        for k in range(20)
    )
    text = f"func @f(%x: f64[100], %p0: f64[]) -> f64[] {{\n{lines}\n  return %p20\n}}"
    names = [op.opdef.name for op in vjp(parse_function(text)).body.ops]
    assert names.count("pad") == 1
    assert names.count("add_slice") == 19


def test_gathers_add_to_the_cotangent_itself() -> None:
    function = parse_function("""
func @f(%x: f64[100], %i: i64[7]) -> f64[] {
  %z = constant {value=0.0} : f64[]
  %1 = for_loop %z, %x, %i {carries=1, index="t", lower=0, reverse=False, upper=7, xs=1} : f64[]
    body (%s: f64[], %x: f64[100], %i: i64[]) {
      %g = gather %x, %i {axes=(0,)} : f64[]
      %h = mul %g, %g : f64[]
      %t = add %s, %h : f64[]
      yield %t
    }
  return %1
}
""")
    loop = top_loops(vjp(function, (0,)))[1]
    array = function.body.params[0].type
    assert whole_array_ops(loop, array) == ["scatter_add"]


def test_invariant_work_is_not_kept() -> None:
    # exp W is the same in every iteration: it leaves both loops.
    forward = top_loops(joint(RECURRENT))[0]
    assert all(v.type.rank < 3 for v in forward.results)


def test_sizes_that_change_with_the_index_are_padded_to_the_largest() -> None:
    function = parse_function("""
func @f(%x: f64[6]) -> f64[] {
  %z = constant {value=0.0} : f64[]
  %1 = for_loop %z, %x {carries=1, index="i", lower=1, reverse=False, upper=6, xs=0} : f64[]
    body (%s: f64[], %x: f64[6]) {
      %a = slice %x {start=(0,), step=(1,), stop=(i,)} : f64[i]
      %b = broadcast %s {axes=(0,)} : f64[i]
      %c = add %a, %b : f64[i]
      %d = tanh %c : f64[i]
      %e = mul %d, %d : f64[i]
      %t = sum %e {axes=(0,)} : f64[]
      yield %t
    }
  return %1
}
""")
    args = [np.random.default_rng(0).standard_normal(6)]
    check_modes(function, args, 3)
    check_optimized(function, args)
    forward = top_loops(optimize(vjp(function)))[0]
    assert [str(v.type) for v in forward.results[1:]] == ["f64[5,5]"]
