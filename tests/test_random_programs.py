"""Random NumPy functions: compiled, they give what they give uncompiled, and the slopes of that."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

import symgrad
from random_sources import Written, written

COMPILED = max(4, settings().max_examples // 12)  # numba takes seconds a program
STEPS = (1e-3, 5e-4, 2.5e-4)


def quiet(fn: Callable[..., Any], *args: Any) -> Any:
    """What a function gives, NumPy's warnings left out."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return fn(*args)


def assert_same(found: Any, wanted: Any, *, single: bool) -> None:
    """Types and shapes are the same, integers too, and reals to rounding."""
    got, want = np.asarray(found), np.asarray(wanted)
    assert (got.dtype, got.shape) == (want.dtype.newbyteorder("="), want.shape)
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    limit = 3e-4 if single else 1e-10
    np.testing.assert_allclose(got, want, rtol=limit, atol=limit)


def check_values(program: Written, target: str) -> None:
    """All results, at the first call and at one that takes the short way."""
    fn, _ = program.functions()
    wanted = quiet(fn, *program.arguments)
    made = symgrad.compile(fn, target=target)
    for _ in range(2):
        found = quiet(made, *program.arguments)
        assert len(found) == len(wanted)
        for got, want in zip(found, wanted, strict=True):
            assert_same(got, want, single=program.single)


def real(value: Any) -> bool:
    """Whether an argument can be differentiated."""
    return np.asarray(value).dtype.kind == "f"


def check_slopes(program: Written, target: str) -> None:
    """Along a random direction: reverse mode, forward mode, and differences that settle."""
    _, loss = program.functions()
    chosen = tuple(k for k, value in enumerate(program.arguments) if real(value))
    if not chosen:
        return
    rng = np.random.default_rng(0)
    at = [program.arguments[k] for k in chosen]
    direction = [
        np.asarray(rng.uniform(-1, 1, np.shape(x))).astype(np.asarray(x).dtype.newbyteorder("=")) for x in at
    ]

    def moved(*reals: Any) -> Any:
        """The loss as a function of its real arguments."""
        rest = list(program.arguments)
        for k, x in zip(chosen, reals, strict=True):
            rest[k] = x
        return loss(*rest)

    value, bars = quiet(symgrad.value_and_grad(loss, chosen, target=target), *program.arguments)
    assert_same(value, quiet(loss, *program.arguments), single=program.single)
    for bar, x in zip(bars, at, strict=True):
        assert np.shape(bar) == np.shape(x)
        assert np.asarray(bar).dtype == np.asarray(x).dtype.newbyteorder("=")
    backward = sum(float(np.sum(np.asarray(bar, float) * d)) for bar, d in zip(bars, direction, strict=True))
    tangents = tuple(
        type(x)(d) if isinstance(x, float) else d[()] if np.ndim(x) == 0 else d
        for x, d in zip(at, direction, strict=True)
    )
    forward = float(quiet(lambda: symgrad.jvp(moved, tuple(at), tangents, target="interpreter"))[1])
    scale = 1.0 + sum(float(np.sum(np.abs(bar))) for bar in bars)
    assert abs(forward - backward) <= (3e-4 if program.single else 1e-9) * scale
    if program.single:
        return
    quotients = []
    for h in STEPS:
        ends = [
            quiet(
                moved,
                *(
                    type(x)(x + step * d) if isinstance(x, float) else x + step * d
                    for x, d in zip(at, direction, strict=True)
                ),
            )
            for step in (h, -h)
        ]
        quotients.append((ends[0] - ends[1]) / (2 * h))
    coarse, fine = ((4 * b - a) / 3 for a, b in itertools.pairwise(quotients))
    if abs(coarse - fine) <= 1e-6 * scale:  # no kink and no jump between
        assert abs(fine - backward) <= 1e-5 * scale


@given(written())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_values(program: Written) -> None:
    note(program.source)
    check_values(program, "interpreter")


@given(written())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_slopes(program: Written) -> None:
    note(program.source)
    check_slopes(program, "interpreter")


@pytest.mark.slow
@given(written(most_lines=20))
@settings(max_examples=COMPILED, suppress_health_check=[HealthCheck.too_slow])
def test_compiled(program: Written) -> None:
    note(program.source)
    check_values(program, "numba_cpu")
    check_slopes(program, "numba_cpu")
