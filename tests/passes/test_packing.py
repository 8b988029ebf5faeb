"""Packed residuals: primal results keep their bits, gradients are as near as the smaller type allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import symgrad
from passes.random_programs import Array, arguments
from passes.random_regions import region_programs
from random_sources import REFUSALS, Written, quiet, written
from random_templates import THEMES
from symgrad.ir.analysis import op_counts, walk
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.ops import constant, kernel
from symgrad.ir.ops.elementwise import add, sin
from symgrad.ir.ops.packing import PACKINGS, Packing
from symgrad.ir.ops.reductions import sum_
from symgrad.ir.types import F32, F64, array_type
from symgrad.ir.verifier import verify
from symgrad.passes import PASSES, PassRunner, optimize, schedule
from symgrad.passes.memory import arena_bytes
from symgrad.passes.packing import parts
from symgrad.passes.packing.pack import Joint, pack, packed
from symgrad.passes.transform import joined
from symgrad.runtime.program import input_values
from symgrad.trace.transform import ValueAndGradient

SINGLE = PACKINGS["float32"]


def optimized(function: Function, wrt: tuple[int, ...] | None = None) -> Joint:
    """The program of the value and the gradient, in all real params unless some are named."""
    real = tuple(i for i, p in enumerate(function.body.params) if p.type.is_real)
    joint = joined(function, ValueAndGradient(real if wrt is None else wrt))
    return replace(joint, function=optimize(joint.function, PassRunner(None)))


def all_packed(joint: Joint, packing: Packing = SINGLE, least: int = 1) -> Function:
    """The program with residuals packed, those for ops that could be fused with forward ones as well."""
    with mock.patch.object(parts, "kernels", return_value=[]):
        found = packed(joint, packing, least)
    verify(found)
    return found


def assert_near(joint: Joint, found: Function, args: Sequence[Any], rtol: float = 1e-5) -> None:
    """Check the bits of primal results, and gradients up to rounding, as interpreted and as fused."""
    with np.errstate(all="ignore"):
        expected = interpret(joint.selected(), *args)
        results = interpret(found, *args)
        fused = interpret(schedule(found, PassRunner(None)), *args)
    for k, (a, b) in enumerate(zip(expected, results, strict=True)):
        if k < joint.primal:
            assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
        else:
            # What cancels does so no longer when parts of it are rounded.
            scale = np.max(np.abs(a[np.isfinite(a)]), initial=0.01)
            np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol * scale)
    for a, b in zip(results, fused, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


# ---- random programs --------------------------------------------------------------------------------------
def loss_of(function: Function) -> Function:
    """The sum of the sines of all real results: none of these is returned, so all are residuals."""
    builder = Builder()
    results = builder.inline(function.body, function.body.params)
    total = builder.emit(constant, (), {"value": 0.0}, array_type(F64))
    for v in (v for v in results if v.type.dtype == F64):
        axes = tuple(range(v.type.rank))
        part = builder.emit(sin, (v,))
        total = builder.emit(add, (total, builder.emit(sum_, (part,), {"axes": axes}) if axes else part))
    return Function("loss", builder.block(function.body.params, (total,)))


def check_regions(function: Function) -> None:
    """Check a program with loops and branches."""
    joint = optimized(loss_of(function))
    assert_near(joint, all_packed(joint), arguments(function, 1))


@given(function=region_programs(depth=2))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_programs_with_regions(function: Function) -> None:
    check_regions(function)


@pytest.mark.nightly
@given(function=region_programs(depth=3))
@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_many_programs_with_regions(function: Function) -> None:
    check_regions(function)


def check_numpy(program: Written) -> None:
    """Check a function as people write it, if symgrad takes it."""
    _, loss = program.functions()
    chosen = tuple(k for k, argument in enumerate(program.given) if argument.real)
    args = program.arguments()
    if not chosen or any(map(np.iscomplexobj, args)):
        return
    made = symgrad.value_and_grad(loss, chosen, target="interpreter")
    try:
        traced = quiet(made.program, *args).traced
        joint = optimized(traced.function, chosen)
    except (symgrad.errors.SymgradError, np.linalg.LinAlgError):
        return
    values = input_values(traced, args, traced.fetch(loss, args))
    values = [np.asarray(v, p.type.dtype) for v, p in zip(values, joint.function.body.params, strict=True)]
    try:
        expected = quiet(interpret, joint.selected(), *values)
    except REFUSALS:
        return
    if all(np.isfinite(x).all() and np.max(np.abs(x), initial=0.0) < 1e20 for x in expected):
        assert_near(joint, all_packed(joint), values, rtol=1e-3)


@pytest.mark.nightly
@pytest.mark.parametrize("theme", THEMES)
def test_numpy_functions(theme: str) -> None:
    @given(written(theme))
    @settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
    def run(program: Written) -> None:
        check_numpy(program)

    run()


# ---- what is packed ---------------------------------------------------------------------------------------
def weights(count: int, size: int = 32) -> Array:
    """Matrices that keep the size of a vector about."""
    return np.random.default_rng(0).standard_normal((count, size, size)) / np.sqrt(size)


def data(rows: int = 64, size: int = 32) -> Array:
    """Rows of numbers."""
    return np.random.default_rng(1).standard_normal((rows, size))


def layers(ws: Any, x: Any) -> Any:
    for k in (0, 1, 2, 3):
        x = np.tanh(x @ ws[k])
    return np.sum(x**2)


def ramps(ws: Any, x: Any) -> Any:
    for k in (0, 1, 2, 3):
        x = np.maximum(x @ ws[k], 0.0)
    return np.sum(x**2)


def largest(ws: Any, x: Any) -> Any:
    z = np.sin(x @ ws[0])
    return np.sum(np.max(z, axis=1) ** 2) + np.sum(z @ ws[1])


def steps(ws: Any, x: Any) -> Any:
    for _ in range(12):
        x = np.sin(x @ ws[0]) + 0.1
    return np.sum(x**2)


def largest_steps(ws: Any, x: Any) -> Any:
    total = 0.0
    for _ in range(12):
        x = np.sin(x @ ws[0])
        total = total + np.sum(np.max(x, axis=1) ** 2)
    return total


def largest_of_a_view(ws: Any, x: Any) -> Any:
    z, total = np.sin(x @ ws[0]).reshape(32, -1), 0.0
    for i in range(12):
        total = total + np.sum(np.max(z * np.cos(0.1 * i), axis=1) ** 2)
    return total


def branches(ws: Any, x: Any) -> Any:
    for _ in range(12):
        if np.sum(x) > 0:
            x = np.sin(x @ ws[0])
        else:
            x = np.cos(x * x) - 0.5
    return np.sum(x**2)


def until(ws: Any, x: Any) -> Any:
    while np.sum(x**2) > 1.0:
        x = 0.7 * np.sin(x @ ws[0])
    return np.sum(x**2)


LOSSES: list[Callable[..., Any]] = [layers, ramps, largest, steps, largest_steps, branches, until]


def traced(loss: Callable[..., Any], *args: Array) -> Joint:
    """The optimized gradient in both arguments."""
    return optimized(symgrad.trace(loss, *args))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_losses(loss: Callable[..., Any]) -> None:
    args = weights(4), data()
    joint = traced(loss, *args)
    found = all_packed(joint)
    assert op_counts(found)["unpack_float32"] > 0
    assert_near(joint, found, args, rtol=1e-6)
    _, a, _ = interpret(joint.function, *args)
    _, b, _ = interpret(found, *args)
    assert not np.array_equal(a, b)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_of_single_precision(name: str) -> None:
    args = weights(4).astype(F32), data().astype(F32)
    joint = traced(layers, *args)
    assert_near(joint, all_packed(joint, PACKINGS[name]), args, rtol=0.05)


@pytest.mark.parametrize("loss", [largest, largest_steps, largest_of_a_view])
def test_maxima_are_still_found(loss: Callable[..., Any]) -> None:
    """Rounded, no element would be the maximum, which is too small to be packed."""
    args = weights(4), data(16)
    joint = traced(loss, *args)
    assert_near(joint, all_packed(joint, least=4096), args, rtol=1e-6)


def test_what_jumps_is_stored_as_it_is() -> None:
    joint = traced(ramps, weights(4), data())
    found = packed(joint, SINGLE)
    read = [op.operands[0].type for op in walk(found.body) if op.opdef.name == "unpack_same"]
    assert [str(type) for type in read] == ["bool[64,32]"] * 6  # < and ==
    assert_near(joint, found, (weights(4), data()), rtol=1e-6)


def test_stacks_have_the_smaller_type() -> None:
    joint = traced(steps, weights(1), data())
    types = [str(v.type) for op in packed(joint, SINGLE).body.ops for v in op.results]
    assert "f32[12,64,32]" in types
    assert "f64[12,64,32]" not in types


def test_params_and_results_are_not_packed() -> None:
    def layer(w: Any, x: Any) -> Any:
        y = np.tanh(x @ w)
        return np.sum((y @ w) ** 2), y

    joint = traced(layer, weights(1)[0], data())
    kept = [op.operands[0].type for op in all_packed(joint).body.ops if op.opdef.name == "pack_float32"]
    assert [str(type) for type in kept] == ["f64[64,32]"]
    gradient = replace(joint, chosen=joint.chosen[2:])
    assert op_counts(all_packed(gradient))["pack_float32"] == 2


def test_views_of_one_number_lie_in_memory() -> None:
    """They are made before the kernel that unpacks them, though another of one number comes after it."""

    def scaled(x: Any, y: Any) -> Any:
        z = np.multiply(np.tanh(x), y, where=y > 0, out=np.ones_like(y))
        return 0.0 + np.sum(np.arctan(z))

    args = np.array([0.3]), data(2, 3)
    joint = traced(scaled, *args)
    assert_near(joint, all_packed(joint), args, rtol=1e-6)


def test_no_kernel_packs_and_adds_up() -> None:
    """Machine code adds up in an order that depends on what else is in the loop: the value keeps its bits."""
    for loss in (steps, layers, largest_steps):
        found = schedule(all_packed(traced(loss, weights(4), data())), PassRunner(None))
        kernels = [op_counts(Function("", op.regions[0])) for op in walk(found.body) if op.opdef is kernel]
        assert any("pack_float32" in ops for ops in kernels)
        assert not any("pack_float32" in ops and "sum" in ops for ops in kernels)


def test_small_residuals_and_those_of_one_kernel_are_not_packed() -> None:
    small = traced(layers, weights(4, 8), data(4, 8))
    near = traced(lambda w, x: np.sum(np.tanh(x * w) ** 2), data(), data())
    for joint in (small, near):
        assert op_counts(packed(joint, SINGLE)).keys().isdisjoint(("pack_float32", "unpack_same"))


def test_programs_that_would_be_larger_stay() -> None:
    joint = traced(layers, weights(4), data())
    counted = [pack(joint, SINGLE, size) for size in (_packs, lambda f: -_packs(f), lambda f: 0)]
    assert [_packs(f) > 0 for f in counted] == [False, True, True]


def _packs(function: Function) -> int:
    return op_counts(function).get("pack_float32", 0)


def test_the_arena_is_smaller() -> None:
    args = weights(4), data(256)
    joint = traced(lambda ws, x: layers(ws, np.tanh(layers_of(ws, x))), *args)
    whole, found = (
        arena_bytes(schedule(f, PassRunner(None))) for f in (joint.function, packed(joint, SINGLE))
    )
    assert found < 0.75 * whole


def layers_of(ws: Any, x: Any) -> Any:
    for k in (0, 1, 2, 3):
        x = np.sin(x @ ws[k])
    return x


def test_too_large_a_number_is_no_number() -> None:
    def far(x: Any) -> Any:
        y = x * 1e60
        return np.sum(y * np.sin(y)) * 1e-60

    x = np.array([1e-60, 2.0])
    joint = traced(far, x)
    value, gradient = interpret(joint.function, x)
    same, rounded = interpret(all_packed(joint), x)
    assert same == value
    np.testing.assert_array_equal(np.isnan(rounded), [False, True])
    np.testing.assert_allclose(rounded[0], gradient[0], rtol=1e-6)


def test_clean_up_leaves_packing_alone() -> None:
    found = all_packed(traced(layers, weights(4), data()))
    cleaned = found
    for name in ("simplify", "fold", "cse", "dce", "hoist"):
        cleaned = PASSES[name](cleaned)
    for name in ("pack_float32", "unpack_float32"):
        assert op_counts(cleaned)[name] == op_counts(found)[name]
