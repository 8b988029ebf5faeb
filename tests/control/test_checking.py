"""The checks of programs find what is wrong: values, shapes, gradients, and arguments that are written to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from control.checking import assert_close, check_modes, check_value
from control.differences import along, derivative, directions, inner
from control.program import Program, total

ARGS = (np.array([0.5, 1.0, 2.0]),)


def square(x):
    return x * x


SQUARE = Program(square, lambda rng, n: (rng.standard_normal(n),), (2, 3))
LOSS = total(square)


def checked(compiled: Any) -> None:
    check_value(compiled, LOSS, SQUARE, ARGS)


def test_what_is_right_passes() -> None:
    checked(lambda x: (np.sum(x * x), (2 * x,)))
    check_modes(SQUARE, LOSS, ARGS, (2 * ARGS[0],), "interpreter")


def test_a_wrong_value_is_found() -> None:
    with pytest.raises(AssertionError, match="value"):
        checked(lambda x: (np.sum(x * x) + 1e-9, (2 * x,)))


def test_a_gradient_of_another_shape_is_found() -> None:
    with pytest.raises(AssertionError, match="shape"):
        checked(lambda x: (np.sum(x * x), (2.0,)))


def test_an_argument_that_is_written_to_is_found() -> None:
    def writes(x):
        value = np.sum(x * x)
        x += 0.0 * x
        x[0] = np.nextafter(x[0], 1.0)
        return value, (2 * x,)

    with pytest.raises(AssertionError, match="written to"):
        check_value(writes, LOSS, SQUARE, (ARGS[0].copy(),))


def test_a_wrong_gradient_is_found() -> None:
    tangents = directions(SQUARE, ARGS)
    expected = np.array([along(LOSS, SQUARE, ARGS, t) for t in tangents])
    assert_close(np.array([inner((2 * ARGS[0],), t) for t in tangents]), expected, 1e-10, "gradient")
    reversed_ = np.array([inner((2 * ARGS[0][::-1],), t) for t in tangents])
    with pytest.raises(AssertionError, match="gradient"):
        assert_close(reversed_, expected, 1e-6, "gradient")
    with pytest.raises(AssertionError, match="forward against reverse"):
        check_modes(SQUARE, LOSS, ARGS, (2 * ARGS[0][::-1],), "interpreter")


def test_differences_settle_beside_a_kink() -> None:
    assert derivative(np.exp) == pytest.approx(1.0, rel=1e-9)
    assert derivative(lambda s: abs(s - 1e-4) + s * s) == pytest.approx(-1.0, rel=1e-7)
