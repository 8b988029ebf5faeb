"""`checkpoint`, `save` and `recompute` change no value and no derivative, in any mode, order and place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from autodiff.marked_programs import (
    ALL,
    DOT,
    NONE,
    PROGRAMS,
    Loss,
    Marks,
    W,
    X,
    saved,
    saved_nested,
    singular,
)
from symgrad.ir.analysis import walk
from symgrad.ir.core import Function
from symgrad.ir.interpreter import interpret
from symgrad.ir.opdef import Mark
from symgrad.ir.parser import parse_function
from symgrad.ir.printer import format_function
from symgrad.ir.verifier import verify

Program = Callable[[Marks], Loss]

EACH = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
SOME = pytest.mark.parametrize("program", [saved_nested, singular], ids=lambda program: program.__name__)


def of(program: Program) -> tuple[Loss, Loss]:
    """The loss without marks, and with them."""
    return program(NONE), program(ALL)


def gradients(loss: Loss, target: str = "interpreter") -> list[Any]:
    value, (w_bar, x_bar) = symgrad.value_and_grad(loss, argnums=(0, 1), target=target)(W, X)
    return [value, w_bar, x_bar]


def along(loss: Loss) -> Any:
    """The derivative of the loss along (W, DOT), as a loss: by reverse mode, to be differentiated again."""
    pulled = symgrad.grad(loss, argnums=(0, 1), target="interpreter")

    def moved(w: Any, x: Any) -> Any:
        w_bar, x_bar = pulled(w, x)
        return np.sum(w_bar * W) + np.sum(x_bar * DOT)

    return moved


def assert_close(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@EACH
def test_value_and_gradient_have_the_same_bits(program: Program) -> None:
    plain, marked = of(program)
    assert plain(W, X) == marked(W, X)
    for a, b in zip(gradients(plain), gradients(marked), strict=True):
        np.testing.assert_array_equal(a, b)


@EACH
def test_every_stage_reads_back_and_computes_the_same(program: Program) -> None:
    asked = symgrad.value_and_grad(of(program)[1], argnums=(0, 1)).program(W, X)
    verify(asked.traced.function)
    # What is found of a value in one region must not be taken for true in another one.
    made = [v for op in walk(asked.joint.body) for v in op.results]
    assert len(made) == len(set(made))
    stages: list[Function] = [asked.joint, asked.optimized, asked.fused]
    texts = [format_function(function) for function in (asked.traced.function, *stages)]
    assert [format_function(parse_function(text)) for text in texts] == texts
    first, *others = (interpret(function, W, X) for function in stages)
    for results in others:
        assert_close([*results], [*first])
    assert {op.opdef.mark for op in walk(asked.fused.body)} <= {None, Mark.SAVE}


def check_other_derivatives(program: Program) -> None:
    plain, marked = of(program)
    found = [symgrad.jvp(loss, (W, X), (W, DOT), target="interpreter") for loss in (marked, plain)]
    assert_close([*found[0]], [*found[1]])
    assert_close(gradients(along(marked)), gradients(along(plain)))
    forward = [
        symgrad.jvp(symgrad.grad(loss, target="interpreter"), (W, X), (W, DOT), target="interpreter")[1]
        for loss in (marked, plain)
    ]
    assert_close(forward[:1], forward[1:])


@SOME
def test_tangents_and_second_derivatives_are_the_same(program: Program) -> None:
    check_other_derivatives(program)


@pytest.mark.nightly
@EACH
def test_all_tangents_and_second_derivatives_are_the_same(program: Program) -> None:
    check_other_derivatives(program)


def test_compiled_code_computes_the_same() -> None:
    plain, marked = of(saved)
    assert_close(gradients(marked, "numba_cpu"), gradients(plain))


@pytest.mark.nightly
@EACH
def test_all_compiled_code_computes_the_same(program: Program) -> None:
    plain, marked = of(program)
    assert_close(gradients(marked, "numba_cpu"), gradients(plain))


@pytest.mark.nightly
@EACH
def test_what_numba_compiles_computes_the_same(program: Program) -> None:
    plain, marked = of(program)
    fn = symgrad.value_and_grad(marked, argnums=(0, 1))
    assert_close([*fn.numba_module(W, X).call(W, X)], gradients(plain))
