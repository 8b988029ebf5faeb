"""The memory report: residuals and temporaries are told apart, and the bytes of each op add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import symgrad
from passes.random_programs import numeric_programs
from passes.random_regions import region_programs
from symgrad.ir.core import Function
from symgrad.ir.parser import parse_function
from symgrad.passes import PassRunner, schedule
from symgrad.passes.forward_part import residuals
from symgrad.passes.memory import simulate
from symgrad.passes.memory_report import MemoryReport, Resident, Role, memory_report
from symgrad.runtime.compiled import Compiled
from symgrad.runtime.memory_tables import memory_text
from symgrad.runtime.options import Options
from symgrad.runtime.request import Mode, Request
from symgrad.runtime.variables import name_of

FLOAT, DOUBLE = 4, 8


# ---- what a linear layer keeps -----------------------------------------------------------------------------
def two_layers(v: Any, c: Any, w: Any, b: Any, x: Any) -> Any:
    h = np.tanh(x @ v.T + c)
    y = h @ w.T + b
    return np.sum(np.tanh(y))


LAYERS = [symgrad.spec(f"f32[{shape}]") for shape in ("1024,512", "1024", "2048,1024", "2048", "64,512")]


def named(report: MemoryReport, name: str) -> Resident:
    (found,) = (r for r in report.values if name_of(r.value, r.loc) == name)
    return found


def product(report: MemoryReport, shape: str) -> Resident:
    """What a contraction of the function's own makes, of a shape."""
    found = (r for r in report.values if str(r.value.type) == shape)
    return next(r for r in found if report.timeline[r.made].op == "einsum" and not (r.loc and r.loc.via))


def test_a_linear_layer_keeps_its_input_and_not_its_output() -> None:
    """Linear(1024 → 2048) of 64 rows in float32: 524,288 bytes of output, 262,144 bytes of input."""
    report = symgrad.value_and_grad(two_layers, argnums=(0, 1, 2, 3)).memory(*LAYERS)
    output, kept = product(report, "f32[64,2048]"), named(report, "h")
    assert output.nbytes == 64 * 2048 * FLOAT == 524_288
    assert output.role is Role.TEMPORARY
    assert output.read == output.made + 1  # nothing but tanh reads it
    assert kept.nbytes == 64 * 1024 * FLOAT == 262_144
    assert kept.role is Role.RESIDUAL
    assert kept.made < output.made < output.read < kept.read
    # The op that reads the input last is the one behind the gradient of the layer's weights.
    readers = report.timeline[output.read + 1 : kept.read + 1]
    assert [m.loc.via for m in readers if m.loc is not None] == [("vjp",)] * len(readers)
    assert kept in report.peak
    assert output not in report.peak


# ---- roles -------------------------------------------------------------------------------------------------
def chain(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = np.tanh(x @ w)
        x = x - np.mean(x, axis=0)  # mixes rows: there are no blocks
    return np.mean(x * x)


def stepped(x: Any) -> Any:
    for _ in range(100):
        x = x + 0.1 * np.sin(x) * x
    return np.sum(x)


def growing(x: Any, t: Any) -> Any:
    s = x
    while np.sum(s * s) < t:
        s = s + np.sin(s) * x
    return np.sum(s)


def by_rows(ws: Any, x: Any) -> Any:
    for w in ws:
        x = np.tanh(x @ w)
    return np.mean(x * x)


ROWS = ([symgrad.spec("f64[32,32]")] * 3, symgrad.spec("f64[9000,32]"))


@pytest.mark.parametrize("request_", [Request(Mode.VALUE), Request(Mode.PUSH_FORWARD, (0, 1))])
def test_what_is_not_reversed_has_no_residuals(request_: Request) -> None:
    function = Compiled(chain, request_, Options("interpreter"))
    report = function.memory(symgrad.spec("f64[32,32]"), symgrad.spec("f64[50,32]"))
    assert report.values
    assert report.most_residuals == 0


@pytest.mark.parametrize("transform", [symgrad.value_and_grad, symgrad.grad])
def test_each_layer_keeps_one_array_with_or_without_the_value(transform: Any) -> None:
    args = symgrad.spec("f64[32,32]"), symgrad.spec("f64[50,32]")
    report = transform(chain).memory(*args)
    of_function = [r for r in report.values if r.role is Role.RESIDUAL and not (r.loc and r.loc.via)]
    arrays = [r for r in of_function if r.nbytes == 50 * 32 * DOUBLE]
    # tanh of each layer, and what each of the later two is given
    assert len(arrays) == 5
    assert report.most_residuals >= 5 * 50 * 32 * DOUBLE
    assert all(r.read > max(k.made for k in arrays) for r in arrays)


@pytest.mark.parametrize("transform", [symgrad.value_and_grad, symgrad.grad])
def test_what_a_loop_stacks_for_its_reversal_is_a_residual(transform: Any) -> None:
    report = transform(stepped).memory(symgrad.spec("f64[10]"))
    stacks = [r for r in report.values if str(r.value.type) == "f64[100,10]"]
    assert len(stacks) == 2  # x, and its factor in the product
    assert [r for r in report.values if r.role is Role.RESIDUAL] == stacks


def test_what_a_loop_without_a_known_end_stacks_is_said_for_an_iteration() -> None:
    args = symgrad.spec("f64[50]"), 10.0
    report = symgrad.value_and_grad(growing).memory(*args)
    assert [(each.row, str(each.value.type)) for each in report.grown] == [(400, "f64[trips,50]")] * 2
    assert all(each.loc is not None and each.loc.function == "growing" for each in report.grown)
    assert symgrad.compile(growing).memory(*args).grown == ()
    assert "grows        f64[trips,50] (400 bytes an iteration), test_memory_report.py" in memory_text(report)


@pytest.mark.parametrize("transform", [symgrad.value_and_grad, symgrad.grad])
def test_blocks_of_rows_have_residuals_of_their_own(transform: Any) -> None:
    report = transform(by_rows).memory(*ROWS)
    kept = [r for r in report.values if r.role is Role.RESIDUAL and r.inside]
    assert sum(name_of(r.value, r.loc) == "x" for r in kept) >= 2  # tanh of two layers
    assert all(r.nbytes < 9000 * 32 * DOUBLE for r in report.values)
    # What is added up for the gradient of the weights over all blocks is none.
    assert not [r for r in kept if str(r.value.type) == "f64[32,32]"]
    assert 0 < report.residuals < report.lower_bound


MIXED = """func @f(%x: f64[8], %w: f64[8,8]) -> (f64[], f64[8]) {
  %y = exp %x : f64[8]
  %seen = reshape %y : f64[2,4]
  %c = sin %seen : f64[2,4]
  %b = einsum %c, %w {spec="ab,ij->j"} : f64[8]
  %loss, %p, %z = kernel %y, %b : (f64[], f64[8], f64[8])
    body (%y: f64[8], %b: f64[8]) {
      %s = sin %y : f64[8]
      %loss = sum %s {axes=(0,)} : f64[]
      %p = cos %y : f64[8]
      %z = mul %p, %b : f64[8]
      yield %loss, %p, %z
    }
  %g = mul %p, %z : f64[8]
  return %loss, %g
}"""


def test_a_kernel_of_both_parts_makes_residuals_of_what_needs_no_cotangent() -> None:
    """Beside the loss, `p` is a derivative that is kept, and `z` a cotangent; `y` is read through a view."""
    body = parse_function(MIXED).body
    assert sorted(v.hint for v in residuals(body, body.results[:1])) == ["p", "y"]
    assert residuals(body, body.results) == set()


def test_what_runs_again_says_so() -> None:
    args = symgrad.spec("f64[32,32]"), symgrad.spec("f64[50,32]")
    function = symgrad.value_and_grad(chain)
    least = min(function.memory_plans(*args), key=lambda plan: plan.arena)
    report = function.within(least.arena).memory(*args)
    assert report.arena == least.arena
    again = [r for r in report.values if r.loc is not None and "rematerialize" in r.loc.via]
    assert again
    assert all(r.role is Role.TEMPORARY for r in again)


# ---- sums --------------------------------------------------------------------------------------------------
def check_sums(function: Function) -> None:
    scheduled = schedule(function, PassRunner(None))
    half = len(scheduled.body.results) // 2
    for own in (None, scheduled.body.results, scheduled.body.results[:half]):
        report = memory_report(scheduled, own)
        assert [moment.nbytes for moment in report.timeline] == simulate(scheduled)
        by_role = {role: sum(r.nbytes for r in report.peak if r.role is role) for role in Role}
        assert by_role[Role.RESIDUAL] == report.residuals
        assert by_role[Role.TEMPORARY] == report.temporaries
        assert all(r.offset + r.nbytes <= report.arena for r in report.values)
    assert memory_report(scheduled, scheduled.body.results).most_residuals == 0


@given(function=numeric_programs())
def test_the_timeline_is_that_of_the_simulation(function: Function) -> None:
    check_sums(function)


@given(function=region_programs())
def test_the_timeline_of_loops_is_that_of_the_simulation(function: Function) -> None:
    check_sums(function)
