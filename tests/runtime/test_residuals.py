"""The option `residuals=`: what is refused, what it saves, and what `check` says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.errors import ArgumentError
from symgrad.ir.analysis import op_counts
from symgrad.ir.interpreter import interpret
from symgrad.ir.ops.packing import PACKINGS
from symgrad.ir.types import STORED_FOR
from symgrad.runtime.compiled import Compiled

STEPS = 32
WEIGHTS = np.random.default_rng(0).standard_normal((24, 24)) / 5
DATA = np.random.default_rng(1).standard_normal((96, 24))


def layers(w: Any, x: Any) -> Any:
    for _ in range(STEPS):
        x = np.tanh(x @ w)
    return np.sum(x**2)


def single(x: Any) -> Any:
    return np.asarray(x, np.float32)


def test_the_types_are_those_of_the_table() -> None:
    assert {name: packing.wide for name, packing in PACKINGS.items()} == STORED_FOR


# ---- refusals ---------------------------------------------------------------------------------------------
MAKERS: list[Callable[..., Any]] = [
    symgrad.compile_grad,
    symgrad.value_and_grad,
    symgrad.grad,
    lambda fn, **options: symgrad.vjp(fn, WEIGHTS, DATA, target="interpreter", **options),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("given", ["float8", "f4", np.float32, True, 4], ids=str)
def test_no_type_to_store_in(make: Callable[..., Any], given: object) -> None:
    with pytest.raises(ArgumentError, match=r"^residuals is ") as caught:
        make(layers, residuals=given)
    assert caught.value.cure is not None
    assert '"float32" for float64 programs' in caught.value.cure


@pytest.mark.parametrize(
    ("name", "type", "cure"), [("float32", np.float32, "float16"), ("bfloat16", np.float64, "float32")]
)
def test_a_type_for_other_programs(name: Any, type: Any, cure: str) -> None:
    made = symgrad.compile_grad(layers, residuals=name, target="interpreter")
    with pytest.raises(ArgumentError, match=f'^residuals="{name}" is for arrays of ') as caught:
        made(WEIGHTS.astype(type), DATA.astype(type))
    assert caught.value.cure == f'write residuals="{cure}"'


def test_forward_mode_and_plain_programs_keep_nothing() -> None:
    plain: Callable[..., Any] = symgrad.compile
    forward: Callable[..., Any] = symgrad.jvp
    with pytest.raises(TypeError, match="residuals"):
        plain(layers, residuals="float32")
    with pytest.raises(TypeError, match="residuals"):
        forward(layers, (WEIGHTS, DATA), (WEIGHTS, DATA), residuals="float32")


# ---- what it does -----------------------------------------------------------------------------------------
def test_compiled_and_interpreted() -> None:
    """One compiled program: less memory, the value as it was, the gradient of the interpreter."""
    whole = symgrad.value_and_grad(layers, target="interpreter")
    packed = symgrad.value_and_grad(layers, residuals="bfloat16", target="numba_cpu")
    args = single(WEIGHTS), single(DATA)
    assert packed.memory(*args).arena < 0.7 * whole.memory(*args).arena
    value, gradient = packed(*args)
    exact, slopes = whole(*args)
    np.testing.assert_allclose(value, exact, rtol=1e-6)
    error = np.max(np.abs(gradient - slopes)) / np.max(np.abs(slopes))
    assert 1e-4 < error < 2e-2
    _, again = symgrad.value_and_grad(layers, residuals="bfloat16", target="interpreter")(*args)
    assert np.max(np.abs(gradient - again)) < 1e-2 * np.max(np.abs(gradient - slopes))


@pytest.mark.nightly
def test_the_compiled_value_keeps_its_bits() -> None:
    """Numbers whose sum has another last digit where the loop that adds them up packs them, too."""

    def mixed(ws: Any, x: Any) -> Any:
        for k in range(64):
            x = np.tanh(x @ ws[k % 4])
        return np.sum(x * x)

    rng = np.random.default_rng(0)
    args = single(rng.standard_normal((4, 64, 64)) / 8), single(rng.standard_normal((256, 64)))
    whole = symgrad.value_and_grad(mixed, target="numba_cpu")
    packed = symgrad.value_and_grad(mixed, residuals="float16", target="numba_cpu")
    assert packed(*args)[0].tobytes() == whole(*args)[0].tobytes()


def test_all_forms_of_gradients_are_rounded_alike() -> None:
    options: dict[str, Any] = {"target": "interpreter", "residuals": "float32"}
    value, slopes = symgrad.value_and_grad(layers, **options)(WEIGHTS, DATA)
    exact, whole = symgrad.value_and_grad(layers, target="interpreter")(WEIGHTS, DATA)
    assert value == exact
    assert not np.array_equal(slopes, whole)
    np.testing.assert_allclose(slopes, whole, rtol=1e-5, atol=1e-6)
    same, pull = symgrad.vjp(layers, WEIGHTS, DATA, **options)
    assert same == value
    for found in (symgrad.grad(layers, **options)(WEIGHTS, DATA), pull(np.float64(1.0))[0]):
        np.testing.assert_allclose(found, slopes, rtol=1e-12, atol=1e-13)
        assert not np.array_equal(found, whole)


def test_plans_of_a_budget_are_those_of_the_packed_program() -> None:
    made = symgrad.value_and_grad(layers, residuals="float32")
    arena = made.memory(WEIGHTS, DATA).arena
    program = symgrad.value_and_grad(layers, residuals="float32", memory_budget=int(0.8 * arena)).program(
        WEIGHTS, DATA
    )
    _, slopes = interpret(program.fused, WEIGHTS, DATA)
    _, wanted = interpret(made.program(WEIGHTS, DATA).optimized, WEIGHTS, DATA)
    np.testing.assert_allclose(slopes, wanted, rtol=1e-12, atol=1e-13)


def test_a_gradient_inside_another_program_keeps_its_residuals() -> None:
    """They are values of the program around it, which has its own option."""

    def outer(inner: Compiled) -> Compiled:
        return symgrad.grad(lambda w: np.sum(inner(w, DATA) ** 2), target="interpreter")

    plain, packed = symgrad.grad(layers), symgrad.grad(layers, residuals="float32")
    np.testing.assert_array_equal(outer(packed)(WEIGHTS), outer(plain)(WEIGHTS))
    rounded = symgrad.grad(lambda w: np.sum(plain(w, DATA) ** 2), target="interpreter", residuals="float32")
    counts = op_counts(rounded.program(WEIGHTS).optimized)
    assert counts["pack_float32"] > 0
    np.testing.assert_allclose(rounded(WEIGHTS), outer(plain)(WEIGHTS), rtol=1e-4, atol=1e-4)


# ---- what check says --------------------------------------------------------------------------------------
def test_check_reports_the_rounding() -> None:
    made = symgrad.value_and_grad(layers, (0, 1), residuals="float32", target="interpreter")
    report = made.check(WEIGHTS, DATA)
    rows = {row.path: row for row in report.rows if row.method == "residuals as they are"}
    assert list(rows) == ["w", "x"]
    assert all(row.kind == "gradient" and row.checked == row.size for row in rows.values())
    assert 1e-9 < rows["w"].worst.error < 1e-5
    assert "residuals as they are" in str(report)
    assert report.rtol == 1e-4


def test_check_finds_numbers_that_were_too_large() -> None:
    def far(w: Any, x: Any) -> Any:
        for _ in range(STEPS):
            x = np.exp(11.5 + np.tanh(1e-6 * x @ w))
        return np.sum(x * 1e-6)

    made = symgrad.value_and_grad(far, residuals="float16", target="interpreter")
    report = made.compared(single(WEIGHTS), single(DATA))
    assert not report.ok
    assert np.isnan(report.worst.found)
