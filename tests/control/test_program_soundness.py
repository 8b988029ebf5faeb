"""The programs themselves, as NumPy runs them: their numbers differ, and their differences settle."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from control.all_programs import PROGRAMS
from control.differences import FIRST_STEP, along, directions, relative_error
from control.program import LOSSES, copied


@pytest.mark.parametrize("loss_name", LOSSES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_differences_settle(name: str, loss_name: str) -> None:
    """At two sizes, by steps that have nothing in common, and the derivative is not 0."""
    program = PROGRAMS[name]
    for size in program.sizes:
        for draw in range(2):
            args = program.arguments(size, draw)
            loss = LOSSES[loss_name](program.fn)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert np.isfinite(loss(*copied(args)))
            tangents = directions(program, args)
            found = np.array([along(loss, program, args, t) for t in tangents])
            again = np.array([along(loss, program, args, t, 0.37 * FIRST_STEP) for t in tangents])
            assert np.max(np.abs(found)) > 0
            assert relative_error(again, found) <= program.tolerance / 4


@pytest.mark.parametrize("name", PROGRAMS)
def test_draws_have_other_numbers_in_the_same_shapes(name: str) -> None:
    program = PROGRAMS[name]
    for size in program.sizes:
        first, second = (program.arguments(size, draw) for draw in range(2))
        for position, (a, b) in enumerate(zip(first, second, strict=True)):
            assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
            if position in program.differentiated and np.ndim(a) > 0:
                assert not np.array_equal(a, b)


def test_names_are_unique() -> None:
    assert len(set(PROGRAMS)) == len({program.fn for program in PROGRAMS.values()})
