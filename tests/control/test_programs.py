"""Unmodified NumPy programs that loop, branch and write in place, compiled and differentiated as they stand.

Each at two sizes and with two losses: the sum of the outputs cannot see a transposed cotangent.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from control.all_programs import PROGRAMS
from control.checking import check
from control.program import LOSSES, Program

# Programs that are not right yet, and what the error says. One that works must be taken out.
PENDING: dict[str, str] = {}

# Compiled in every run, at the smaller size and with one loss; the nightly run compiles all.
COMPILED = (
    "heat",
    "gauss_seidel",
    "cholesky",
    "newton",
    "branch_in_loop",
    "levinson_durbin",
    "lstm",
    "while_with_arrays",
)


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of their own, so that what runs is what is compiled here."""
    place = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMGRAD_CACHE_DIR", str(place))
        patch.delenv("SYMGRAD_TARGET", raising=False)
        yield
    shutil.rmtree(place, ignore_errors=True)


def runs() -> Iterator[Any]:
    """Every program that works, at each size, with each loss, on each target."""
    for name, program in PROGRAMS.items():
        if name in PENDING:
            continue
        for size in program.sizes:
            for loss in LOSSES:
                yield pytest.param(program, size, loss, "interpreter", id=f"{name}-{size}-{loss}")
                chosen = name in COMPILED and size == program.sizes[0] and loss == "squares"
                mark = pytest.mark.slow if chosen else pytest.mark.nightly
                yield pytest.param(
                    program, size, loss, "numba_cpu", id=f"{name}-{size}-{loss}-numba", marks=mark
                )


@pytest.mark.parametrize(("program", "size", "loss", "target"), list(runs()))
def test_program(program: Program, size: int, loss: str, target: str) -> None:
    check(program, size, loss, target)


@pytest.mark.parametrize("name", PENDING)
def test_pending(name: str) -> None:
    reason = trouble(PROGRAMS[name])
    assert reason is not None, f"{name} is right now: take it out of PENDING"
    assert PENDING[name] in reason, f"{name} waits for something else now: {reason}"


def trouble(program: Program) -> str | None:
    """What is wrong with a program; None if it is right at both sizes and with both losses."""
    for size in program.sizes:
        for loss in LOSSES:
            try:
                check(program, size, loss, "interpreter")
            except Exception as error:
                return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.nightly
def test_many_scalars_over_many_steps() -> None:
    check(PROGRAMS["cascade"], 614, "squares", "numba_cpu")


def test_tables_name_programs() -> None:
    assert set(PENDING) <= set(PROGRAMS)
    assert set(COMPILED) <= set(PROGRAMS)
