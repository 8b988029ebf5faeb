"""Random everyday programs: values and derivatives are those of plain Python, or the program is refused."""

from __future__ import annotations

import collections
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import symgrad
from control.random_python import programs
from converting import defined
from symgrad.errors import InternalError, SymgradError

MOST_REFUSED = 0.25
LARGEST = 1e4  # of values that are compared


def plain(fn: Callable[..., Any], x: Any, t: float) -> float | None:
    """What Python says; None where it raises, or says nothing that can be compared."""
    try:
        value = float(fn(x.copy(), t))
    except (ArithmeticError, LookupError, TypeError, ValueError, NameError):
        return None
    return value if abs(value) < LARGEST else None


def slope(fn: Callable[..., Any], x: Any, t: float, dx: Any, dt: float) -> float | None:
    """The derivative along a direction; None where differences at two steps do not agree."""
    found: list[float] = []
    for step in (1e-5, 3e-6):
        ends = [plain(fn, x + h * dx, t + h * dt) for h in (step, -step)]
        if ends[0] is None or ends[1] is None:
            return None
        found.append((ends[0] - ends[1]) / (2 * step))
    return found[0] if abs(found[0] - found[1]) <= 1e-5 * (1 + abs(found[0])) else None


def check(source: str, size: int, seed: int, target: str = "interpreter") -> str | None:
    """Fail unless a program is right; returns why it was refused, if it was."""
    fn = defined(source)["f"]
    rng = np.random.default_rng(seed)
    x, t = rng.uniform(-1.0, 1.0, size), float(rng.uniform(0.2, 1.2))
    dx, dt = rng.standard_normal(size), float(rng.standard_normal())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = plain(fn, x, t)
        if wanted is None:
            return None
        wanted_slope = slope(fn, x, t, dx, dt)
        before = x.copy()
        try:
            value, (x_bar, t_bar) = symgrad.value_and_grad(fn, (0, 1), target=target)(x, t)
            _, tangent = symgrad.jvp(fn, (x, t), (dx, dt), target=target)
        except InternalError:
            raise
        except SymgradError as error:
            return re.sub(r"`[^`]*`|[fi]64\[[^]]*\]|\d+", "_", error.what)
    assert np.array_equal(x, before), "the caller's array was written to"
    assert abs(value - wanted) <= 1e-9 * (1 + abs(wanted)), f"value {value}, in Python {wanted}"
    terms = [*(x_bar * dx), t_bar * dt]
    size_of_terms = 1 + float(np.sum(np.abs(terms)))
    assert abs(tangent - sum(terms)) <= 1e-8 * size_of_terms, f"jvp {tangent}, vjp {sum(terms)}"
    if wanted_slope is not None:
        error = abs(sum(terms) - wanted_slope)
        assert error <= 1e-4 * size_of_terms, f"gradient {sum(terms)}, differences {wanted_slope}"
    return None


_SIZES, _SEEDS = st.sampled_from([4, 12]), st.integers(0, 9)
_SETTINGS = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=60
)


@given(programs(), _SIZES, _SEEDS)
@_SETTINGS
def test_random_programs(source: str, size: int, seed: int) -> None:
    check(source, size, seed)


@pytest.mark.nightly
def test_many_random_programs() -> None:
    reasons: collections.Counter[str | None] = collections.Counter()

    @given(programs(), _SIZES, _SEEDS)
    @settings(_SETTINGS, max_examples=3000)
    def run(source: str, size: int, seed: int) -> None:
        reasons[check(source, size, seed)] += 1

    run()
    refused = reasons.total() - reasons[None]
    for reason, number in reasons.most_common():
        print(f"{number / reasons.total():7.1%}  {reason or 'right'}")
    assert refused <= MOST_REFUSED * reasons.total()
