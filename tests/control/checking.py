"""A program compiled and differentiated, and what must hold: values, gradients, arrays left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import symgrad
from control.differences import along, directions, inner, random_tangents, relative_error
from control.program import LOSSES, Arguments, Loss, Program, copied

VALUE_TOLERANCE = 1e-12  # the order of additions is the compiler's own
MODES_TOLERANCE = 1e-10


def check(program: Program, size: int, loss_name: str, target: str) -> None:
    """Fail unless value, gradient and tangents are right for two draws of arguments, which are left alone."""
    loss = LOSSES[loss_name](program.fn)
    compiled = symgrad.value_and_grad(loss, program.differentiated, target=target)
    args = program.arguments(size)
    bars = check_value(compiled, loss, program, args)
    tangents = directions(program, args)
    expected = np.array([along(loss, program, args, t) for t in tangents])
    found = np.array([inner(bars, t) for t in tangents])
    assert_close(found, expected, program.tolerance, "gradient against differences")
    check_modes(program, loss, args, bars, target)

    other = program.arguments(size, draw=1)
    bars = check_value(compiled, loss, program, other)
    tangents = directions(program, other, seed=1)[:2]
    expected = np.array([along(loss, program, other, t) for t in tangents])
    found = np.array([inner(bars, t) for t in tangents])
    assert_close(found, expected, program.tolerance, "gradient of the second call against differences")


def check_value(compiled: Callable[..., Any], loss: Loss, program: Program, args: Arguments) -> Sequence[Any]:
    """The gradients, after a look at the value, their shapes, and the arrays of the caller."""
    before = copied(args)
    value, bars = compiled(*args)
    assert_untouched(before, args)
    assert_close(np.array(value), np.array(loss(*before)), VALUE_TOLERANCE, "value")
    shapes = [np.shape(args[position]) for position in program.differentiated]
    assert [np.shape(bar) for bar in bars] == shapes, "a gradient has the shape of its argument"
    return bars


def check_modes(program: Program, loss: Loss, args: Arguments, bars: Sequence[Any], target: str) -> None:
    """Fail unless forward mode gives along random tangents what the gradients say."""
    rng = np.random.default_rng(2)
    varied = tuple(args[position] for position in program.differentiated)
    before = copied(args)
    for _ in range(2):
        tangents = random_tangents(rng, program, args)
        _, tangent = symgrad.jvp(held(loss, program, args), varied, tuple(tangents), target=target)
        assert_untouched(before, args)
        # Terms that cancel leave the rounding of the terms.
        terms = sum(float(np.sum(np.abs(b * t))) for b, t in zip(bars, tangents, strict=True))
        error = abs(float(tangent) - inner(bars, tangents))
        assert error <= MODES_TOLERANCE * terms, f"forward against reverse: {error / terms:.1e}"


def held(loss: Loss, program: Program, args: Arguments) -> Loss:
    """The loss as a function of the differentiated arguments alone."""

    def of_varied(*varied):
        found = list(args)
        for position, value in zip(program.differentiated, varied, strict=True):
            found[position] = value
        return loss(*found)

    return of_varied


def assert_untouched(before: Arguments, after: Arguments) -> None:
    """Fail unless every bit of the caller's arguments is as it was."""
    for a, b in zip(before, after, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), "an argument of the caller was written to"


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float, what: str) -> None:
    """Fail unless numbers are equal to the tolerance."""
    assert found.shape == expected.shape, what
    error = relative_error(found, expected)
    assert error <= tolerance, f"{what}: {error:.1e}"
