"""What marks do to memory: smaller arenas, kernels that stay apart, and plans that heed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import MemoryBudgetError
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Flow, Mark
from symgrad.ir.ops import OPS
from symgrad.ir.parser import parse_function
from symgrad.ir.regions import flow_of
from symgrad.passes import PASSES
from symgrad.passes.remat.frontier import frontier
from symgrad.passes.remat.reversal import reversals
from symgrad.passes.remat.units import units_of

LAYERS, WIDTH, ROWS = 9, 8, 32
BUFFER = ROWS * WIDTH * 8


def weights(layers: int = LAYERS) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((WIDTH, WIDTH)) / 4 for _ in range(layers)]


X = np.random.default_rng(1).standard_normal((ROWS, WIDTH))


def layer(x: Any, w: Any) -> Any:
    return np.tanh(x @ w)


def rich(x: Any, w: Any) -> Any:
    z = x @ w
    return np.sin(z) * np.exp(-z * z) + np.cos(z)


def chain(step: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The loss of layers one after another."""

    def loss(ws: Any, x: Any) -> Any:
        for w in ws:
            x = step(x, w)
        return np.sum(x * x)

    return loss


def grouped(step: Callable[[Any, Any], Any], size: int) -> Callable[[Any, Any], Any]:
    """The same with a mark on every group of so many layers."""

    @symgrad.checkpoint
    def group(x: Any, ws: Any) -> Any:
        for w in ws:
            x = step(x, w)
        return x

    def loss(ws: Any, x: Any) -> Any:
        for k in range(0, len(ws), size):
            x = group(x, ws[k : k + size])
        return np.sum(x * x)

    return loss


def fused(loss: Callable[..., Any], *args: Any) -> Function:
    return symgrad.value_and_grad(loss).program(*(args or (weights(), X))).fused


def arena(loss: Callable[..., Any], *args: Any) -> int:
    return symgrad.value_and_grad(loss).memory(*(args or (weights(), X))).arena


def gradients(loss: Callable[..., Any]) -> list[Any]:
    value, found = symgrad.value_and_grad(loss, target="interpreter")(weights(), X)
    return [value, *found]


def assert_same_bits(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- arenas ------------------------------------------------------------------------------------------------
def test_groups_of_layers_take_the_square_root() -> None:
    plain, marked, ws = chain(layer), grouped(layer, 4), weights(16)
    assert arena(plain, ws, X) >= 16 * BUFFER
    # The inputs of the groups, the layers of one of them, and two cotangents or products.
    assert arena(marked, ws, X) <= (4 + 4 + 2) * BUFFER
    assert_same_bits(gradients(marked), gradients(plain))


def test_a_layer_keeps_its_input_alone() -> None:
    assert arena(chain(rich)) >= 3 * LAYERS * BUFFER
    assert arena(chain(symgrad.checkpoint(rich))) <= (LAYERS + 6) * BUFFER


def test_nested_groups_take_less_still() -> None:
    ws = weights(16)

    @symgrad.checkpoint
    def two(x: Any, ws: Any) -> Any:
        return layer(layer(x, ws[0]), ws[1])

    @symgrad.checkpoint
    def eight(x: Any, ws: Any) -> Any:
        for k in range(0, 8, 2):
            x = two(x, ws[k : k + 2])
        return x

    def nested(ws: Any, x: Any) -> Any:
        return np.sum(eight(eight(x, ws[:8]), ws[8:]) ** 2)

    assert arena(nested, ws, X) < min(arena(grouped(layer, size), ws, X) for size in (2, 8))


def test_a_loop_stacks_what_its_marked_step_reads() -> None:
    def looped(step: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def loss(w: Any, x: Any) -> Any:
            for _ in range(50):
                x = step(x, w)
            return np.sum(x)

        return loss

    w = weights()[0]
    found = [arena(looped(step), w, X) for step in (rich, symgrad.checkpoint(rich))]
    assert found[0] >= 100 * BUFFER
    assert found[1] <= (50 + 10) * BUFFER


def test_what_is_saved_is_kept_and_what_is_to_be_recomputed_is_not() -> None:
    def saving(x: Any, w: Any) -> Any:
        z = symgrad.save(x @ w)
        return np.sin(z) * np.exp(-z * z) + np.cos(z)

    def remaking(x: Any, w: Any) -> Any:
        z = symgrad.recompute(x @ w)
        return np.sin(z) * np.exp(-z * z) + np.cos(z)

    bare, all_kept = arena(chain(symgrad.checkpoint(rich))), arena(chain(rich))
    assert bare + (LAYERS - 1) * BUFFER <= arena(chain(symgrad.checkpoint(saving))) < all_kept
    assert arena(chain(remaking)) <= all_kept - (LAYERS - 2) * BUFFER


def contractions(function: Function) -> int:
    return sum(op.opdef in (OPS["einsum"], OPS["accumulate"]) for op in function.body.ops)


def test_a_saved_product_is_not_computed_again() -> None:
    @symgrad.checkpoint
    def bare(x: Any, w: Any) -> Any:
        return np.exp(np.tanh(x @ w))

    @symgrad.checkpoint
    def saving(x: Any, w: Any) -> Any:
        return np.exp(np.tanh(symgrad.save(x @ w)))

    x = np.ones((64, 64))
    ws = [np.eye(64)] * 3
    counts = [contractions(fused(chain(step), ws, x)) for step in (bare, saving)]
    assert counts[0] - counts[1] == 3


# ---- passes ------------------------------------------------------------------------------------------------
AGAIN = """func @again(%x: f64[4000], %y: f64[4000]) -> (f64[4000], f64[4000]) {
  %0 = sin %x : f64[4000]
  %1 = exp %0 : f64[4000]
  %2 = mul %1, %y : f64[4000]
  %3 = again %x : f64[4000]
  %4 = sin %3 : f64[4000]
  %5 = mul %4, %y : f64[4000]
  return %2, %5
}"""


def test_common_subexpressions_end_at_what_is_read_anew() -> None:
    function = parse_function(AGAIN)
    assert PASSES["cse"](function) is function
    fenced = parse_function(AGAIN.replace("again %x", "fence %x"))
    twice = AGAIN.replace(
        "%5 = mul %4, %y", "%6 = again %x : f64[4000]\n  %7 = sin %6 : f64[4000]\n  %5 = mul %4, %7"
    )
    assert sum(op.opdef is OPS["sin"] for op in PASSES["cse"](parse_function(twice)).body.ops) == 3
    assert sum(op.opdef is OPS["fence"] for op in PASSES["cse"](fenced).body.ops) == 1


def test_no_kernel_reaches_across_what_is_read_anew() -> None:
    kernels = PASSES["fuse"](parse_function(AGAIN)).body.ops
    assert [flow_of(op) for op in kernels] == [Flow.ONCE, Flow.ONCE]
    together = PASSES["fuse"](parse_function(AGAIN.replace("again %x", "fence %x"))).body.ops
    assert len(together) == 1


def test_fences_end_at_arrays() -> None:
    text = """func @f(%x: f64[3,4]) -> f64[4,3] {
  %0 = transpose %x {perm=(1, 0)} : f64[4,3]
  %1 = again %0 : f64[4,3]
  %2 = constant {value=2.0} : f64[4,3]
  %3 = fence %2 : f64[4,3]
  %4 = mul %1, %3 : f64[4,3]
  return %4
}"""
    made = PASSES["dce"](PASSES["simplify"](parse_function(text))).body.ops
    names = [op.opdef.name for op in made]
    assert names.index("again") < names.index("transpose")
    assert "fence" not in names


# ---- plans -------------------------------------------------------------------------------------------------
def saved_chain(ws: Any, x: Any) -> Any:
    for k, w in enumerate(ws):
        x = rich(x, w)
        if k % 4 == 0:
            x = symgrad.save(x)
        x = x - np.mean(x, axis=0)
    return np.sum(x * x)


def test_a_plan_makes_no_saved_value_again() -> None:
    function = fused(saved_chain)
    problem = units_of(function).problem()
    assert len(problem.saved) == 3
    plans = frontier([function])
    assert max(plan.repeats for plan in plans) > 0
    expected = interpret(function, *weights(), X)
    for plan in plans:
        makes = [b for run in plan.schedule for b in run.makes]
        assert all(makes.count(b) == 1 for b in problem.saved)
        assert_same_bits([*interpret(plan.function, *weights(), X)], [*expected])


def test_a_budget_below_what_is_saved_is_refused() -> None:
    def loss(ws: Any, x: Any) -> Any:
        for w in ws:
            x = symgrad.save(np.sin(x @ w))
            x = x - np.mean(x, axis=0)
        return np.sum(x * x)

    without = chain(lambda x, w: np.sin(x @ w) - np.mean(np.sin(x @ w), axis=0))
    budget = 7 * BUFFER
    assert symgrad.value_and_grad(without, memory_budget=budget).memory(weights(), X).arena <= budget
    with pytest.raises(MemoryBudgetError, match="no plan keeps a budget"):
        symgrad.value_and_grad(loss, memory_budget=budget).memory(weights(), X)


def test_a_loop_that_saves_is_not_run_again() -> None:
    def looped(mark: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        def loss(w: Any, x: Any) -> Any:
            for _ in range(40):
                x = mark(np.sin(x @ w)) * x
            return np.sum(x)

        return loss

    asked = [symgrad.value_and_grad(looped(mark)) for mark in (np.copy, symgrad.save)]
    found = [list(reversals(fn.program(weights()[0], X).optimized.body, {})) for fn in asked]
    assert [len(pairs) for pairs in found] == [1, 0]


def test_a_budget_keeps_what_is_made_again() -> None:
    marked = grouped(layer, 3)
    function = fused(marked)
    budget = arena(marked) - BUFFER
    within = symgrad.value_and_grad(marked, memory_budget=budget).program(weights(), X).fused
    assert len(within.body.ops) >= len(function.body.ops)
    assert_same_bits([*interpret(within, *weights(), X)], [*interpret(function, *weights(), X)])


def test_marks_that_nothing_reads_leave_no_trace() -> None:
    value = symgrad.compile(chain(symgrad.checkpoint(layer))).program(weights(), X)
    assert all(op.opdef.mark is not Mark.AGAIN for op in value.optimized.body.ops)
    assert [op.opdef for op in value.fused.body.ops] == [
        op.opdef for op in symgrad.compile(chain(layer)).program(weights(), X).fused.body.ops
    ]


CROSSING = """func @crossing(%x: f64[100000], %y: f64[100000]) -> (f64[], f64[100000]) {
  %0 = pow %x, %y : f64[100000]
  %1 = sum %0 {axes=(0,)} : f64[]
  %2 = broadcast %1 {axes=(0,)} : f64[100000]
  %3 = again %x : f64[100000]
  %4 = pow %3, %y : f64[100000]
  %5 = mul %4, %2 : f64[100000]
  return %1, %5
}"""


def test_what_is_made_again_is_not_stored_though_that_is_cheaper() -> None:
    first, second = PASSES["fuse"](parse_function(CROSSING)).body.ops
    for kernel in (first, second):
        assert sum(op.opdef is OPS["pow"] for op in kernel.regions[0].ops) == 1
    assert [v.type.rank for v in first.results] == [0]


@pytest.mark.parametrize("transform", [symgrad.grad, symgrad.value_and_grad])
def test_residuals_are_what_regions_read(transform: Callable[..., Any]) -> None:
    """What is made again belongs to the reverse sweep, also where the report goes by lines."""
    report = transform(grouped(rich, 3)).memory(weights(), X)
    assert 2 * BUFFER <= report.most_residuals <= 3 * BUFFER
