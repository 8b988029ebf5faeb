"""Random NumPy functions: compiled, they give what they give uncompiled, and the slopes of that.

Every program is run as NumPy, and once more in long double. The distance of the two says how far rounding
goes in it, and bounds what is allowed; what is exact must have the very bits. Slopes are compared, along a
random direction, with differences in long double, where these settle: at kinks and jumps they do not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, event, given, note, settings

import symgrad
from random_sources import REFUSALS, Written, comparable, quiet, widened, written
from random_templates import THEMES
from wide import LONG

# 500 programs of every run, 20,000 of the nightly one, and a twelfth of them compiled too.
COUNT = (500 if settings().max_examples < 1000 else 20_000) // len(THEMES) + 1
STEPS = (LONG(2) ** -11, LONG(2) ** -13, LONG(2) ** -15)
PHASES = (Phase.reuse, Phase.generate, Phase.shrink)
ROUNDING = {False: 1e-11, True: 3e-4}  # of float64, and where there is float32
FARTHEST = {False: 1e-7, True: 1e-2}  # what ill-conditioned programs are allowed
SLOPES = {False: 1e-8, True: 3e-3}


def results(program: Written, run: Callable[..., Any], draw: int) -> Any:
    """What a run gives for these arguments; None where NumPy has no answer that could be compared."""
    try:
        found = quiet(run, *program.arguments(draw))
    except REFUSALS:
        return None
    return found if all(map(comparable, found)) else None


def assert_values(program: Written, made: Callable[..., Any], draw: int) -> None:
    """All results, at the first call and at one that takes the short way; arguments stay as they are."""
    fn, _ = program.functions()
    wanted = results(program, fn, draw)
    if wanted is None:
        return
    wide = quiet(program.wide()[0], *map(widened, program.arguments(draw)))
    for _ in range(2):
        arguments = program.arguments(draw)
        found = quiet(made, *arguments)
        assert len(found) == len(wanted)
        for got, want, long, exact in zip(found, wanted, wide, program.exact, strict=True):
            assert_same(got, want, None if exact else long, single=program.single)
        for argument, before in zip(arguments, program.arguments(draw), strict=True):
            np.testing.assert_array_equal(argument, before)


def assert_same(found: Any, wanted: Any, long: Any, *, single: bool) -> None:
    """Types, shapes and numbers are the same: the bits, or up to rounding where there is a long one."""
    got, want = np.asarray(found), np.asarray(wanted)
    assert (got.dtype, got.shape) == (want.dtype.newbyteorder("="), want.shape)
    if want.dtype.kind != "f" or long is None:
        np.testing.assert_array_equal(got, want)
        return
    lost = np.max(np.abs(want.astype(LONG) - long), initial=0.0)
    limit = ROUNDING[single] + min(100 * float(lost), FARTHEST[single])
    np.testing.assert_allclose(got, want, rtol=limit, atol=limit)


def directions(program: Written, chosen: list[int]) -> dict[int, Any]:
    """A random direction of each real argument, with its dtype and as what it is: a number, or an array."""
    rng, arguments = np.random.default_rng(0), program.arguments()
    found = {}
    for k in chosen:
        array = np.asarray(arguments[k])
        drawn = np.asarray(rng.uniform(-1, 1, array.shape)).astype(array.dtype.newbyteorder("="))
        scalar = not isinstance(arguments[k], np.ndarray)
        found[k] = type(arguments[k])(drawn) if scalar else drawn
    return found


def quotient(program: Written, towards: dict[int, Any]) -> float | None:
    """The slope of the loss by differences in long double; None where they do not settle."""
    _, loss = program.wide()

    def at(step: Any) -> Any:
        arguments = [widened(x) for x in program.arguments()]
        for k, d in towards.items():
            arguments[k] = arguments[k] + step * widened(d)
        return quiet(loss, *arguments)

    middle = at(LONG(0))
    ends = [(at(h), at(-h)) for h in STEPS]
    slopes = [(a - b) / (2 * h) for (a, b), h in zip(ends, STEPS, strict=True)]
    bends = [abs(a - 2 * middle + b) / h for (a, b), h in zip(ends, STEPS, strict=True)]
    coarse, fine = ((16 * b - a) / 15 for a, b in itertools.pairwise(slopes))
    scale = 1 + abs(fine)
    kink = any(b > a / 2 + 1e-10 * scale for a, b in itertools.pairwise(bends))
    return None if kink or not abs(coarse - fine) <= 1e-9 * scale else float(fine)


def assert_slopes(program: Written, target: str) -> None:
    """Along a random direction: reverse mode, forward mode, and differences that settle."""
    _, loss = program.functions()
    chosen = [k for k, argument in enumerate(program.given) if argument.real]
    if not chosen:
        return
    towards = directions(program, chosen)

    def moved(*reals: Any) -> Any:
        """The loss as a function of its real arguments."""
        rest = list(program.arguments())
        for k, x in zip(chosen, reals, strict=True):
            rest[k] = x
        return loss(*rest)

    arguments = program.arguments()
    value, bars = quiet(symgrad.value_and_grad(loss, tuple(chosen), target=target), *arguments)
    wide = quiet(program.wide()[1], *map(widened, arguments))
    assert_same(value, quiet(loss, *program.arguments()), wide, single=program.single)
    at = tuple(program.arguments()[k] for k in chosen)
    for bar, x in zip(bars, at, strict=True):
        assert np.shape(bar) == np.shape(x)
        assert np.asarray(bar).dtype == np.asarray(x).dtype.newbyteorder("=")
    along = [towards[k] for k in chosen]
    backward = sum(float(np.sum(np.asarray(bar, float) * d)) for bar, d in zip(bars, along, strict=True))
    forward = float(quiet(lambda: symgrad.jvp(moved, at, tuple(along), target="interpreter"))[1])
    scale = 1.0 + sum(float(np.sum(np.abs(bar))) for bar in bars)
    fine = quotient(program, towards)
    event("slope compared" if fine is not None else "no slope")
    if fine is not None:
        assert abs(fine - backward) <= SLOPES[program.single] * scale
        assert abs(forward - backward) <= SLOPES[program.single] * scale


# What may be refused, and words of the message: aliases that depend on a layout, sizes that depend on values,
# the gradient of a determinant at a singular matrix, and places on an axis without any, at which NumPy does
# not look if nothing is taken.
REFUSED = ("may change another array, or not", "its size is not known", "Singular matrix", "with size 0")


def check(program: Written, target: str) -> None:
    """Values of two sets of numbers, and slopes; or a refusal that is known."""
    note(program.text())
    try:
        assert_program(program, target)
    except (symgrad.errors.SymgradError, np.linalg.LinAlgError) as error:
        event("refused")
        if not any(words in str(error) for words in REFUSED):
            raise


def assert_program(program: Written, target: str) -> None:
    """Values of two sets of numbers, and slopes."""
    made = symgrad.compile(program.functions()[0], target=target)
    for draw in range(2):
        assert_values(program, made, draw)
    assert_slopes(program, target)


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
def test_interpreted(theme: str) -> None:
    @given(written(theme))
    @settings(max_examples=COUNT, phases=PHASES, suppress_health_check=[HealthCheck.too_slow])
    def run(program: Written) -> None:
        check(program, "interpreter")

    run()


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
def test_compiled(theme: str) -> None:
    @given(written(theme))
    @settings(max_examples=COUNT // 12, phases=PHASES, suppress_health_check=[HealthCheck.too_slow])
    def run(program: Written) -> None:
        check(program, "numba_cpu")

    run()
