# mpmath adds its functions at run time:
# pyright: reportAttributeAccessIssue=false
"""What people write unstably: values as NumPy's where those are finite, slopes as mpmath's, also far out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy import special

import symgrad

EPS = 2.0**-52
NEAR = np.concatenate([np.linspace(-30.0, 30.0, 601), 10.0 ** np.linspace(-12, 0, 25)])
FAR = np.array([-1000.0, -800.0, -40.0, -1e-9, 0.0, 1e-9, 0.3, 5.0, 40.0, 800.0, 1000.0])

# What is written, the same for mpmath, and the units of its own roundoff: of 1, or of x.
ONE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "softplus": (lambda x: np.log(1 + np.exp(x)), lambda x: mp.log1p(mp.exp(x))),
    "softplus of -x": (lambda x: np.log(np.exp(-x) + 1), lambda x: mp.log1p(mp.exp(-x))),
    "softplus by log1p": (lambda x: np.log1p(np.exp(x)), lambda x: mp.log1p(mp.exp(x))),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), lambda x: 1 / (1 + mp.exp(-x))),
    "logistic of -x": (lambda x: 1 / (1 + np.exp(x)), lambda x: 1 / (1 + mp.exp(x))),
    "logistic above": (lambda x: np.exp(x) / (1 + np.exp(x)), lambda x: 1 / (1 + mp.exp(-x))),
    "growth": (lambda x: 3.0 / (1 + np.exp(-x)), lambda x: 3 / (1 + mp.exp(-x))),
    "power": (lambda x: (1 + np.exp(-x)) ** -1, lambda x: 1 / (1 + mp.exp(-x))),
    "log of logistic": (lambda x: np.log(1 / (1 + np.exp(-x))), lambda x: -mp.log1p(mp.exp(-x))),
    "log of expit": (lambda x: np.log(special.expit(x)), lambda x: -mp.log1p(mp.exp(-x))),
    "log of the rest": (lambda x: np.log(1 - special.expit(x)), lambda x: -mp.log1p(mp.exp(x))),
    "log1p of the rest": (lambda x: np.log1p(-special.expit(x)), lambda x: -mp.log1p(mp.exp(x))),
    "less one": (lambda x: np.exp(-np.abs(x)) - 1, lambda x: mp.expm1(-abs(x))),
    "one less": (lambda x: 1 - np.exp(-np.abs(x)), lambda x: -mp.expm1(-abs(x))),
    "minus one": (lambda x: np.exp(-np.abs(x)) + -1.0, lambda x: mp.expm1(-abs(x))),
    "log of exp": (lambda x: np.log(np.exp(x)), lambda x: x),
    "inverse": (lambda x: 1 / np.exp(np.abs(x)), lambda x: mp.exp(-abs(x))),
    "two": (lambda x: np.log(np.exp(x) + np.exp(-2 * x)), lambda x: mp.log(mp.exp(x) + mp.exp(-2 * x))),
    "root": (lambda x: np.sqrt(x**2), abs),
    "root of product": (lambda x: np.sqrt(x * x), abs),
    "one and x": (lambda x: np.log(1 + np.abs(x)), lambda x: mp.log1p(abs(x))),
    "one less x": (lambda x: np.log(1 - x / 2000), lambda x: mp.log1p(-x / 2000)),
}


@pytest.mark.parametrize("name", ONE)
def test_values_are_numpys_within_roundoff(name: str) -> None:
    """Of 1, which is what 1 + x and exp(x) are rounded beside, and of x; never further from the truth."""
    fn, exact = ONE[name]
    found, written = symgrad.compile(fn, target="interpreter")(NEAR), fn(NEAR)
    with mp.workdps(50):
        truth = np.array([float(exact(mp.mpf(float(x)))) for x in NEAR])
    # A logarithm of a number that was rounded beside 1 is off by more, the smaller the number is.
    own = np.abs(written - truth)
    assert (np.abs(found - written) <= own + 4 * EPS * np.maximum(np.abs(NEAR), np.abs(truth))).all()
    assert (np.abs(found - truth) <= own + 4 * EPS * np.abs(truth)).all()


@pytest.mark.parametrize("name", ONE)
def test_slopes_are_right_far_out(name: str) -> None:
    fn, exact = ONE[name]
    value, slope = symgrad.value_and_grad(lambda x: np.sum(fn(x)), target="interpreter")(FAR)
    with mp.workdps(900):
        at = [mp.mpf(float(x)) for x in FAR]
        smooth = [x for x in at if x != 0 or not _kinked(name)]
        wanted = [float(mp.diff(exact, x)) if x in smooth else _at_kink(name) for x in at]
        total = float(sum(exact(x) for x in at))
    np.testing.assert_allclose(slope, wanted, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(value, total, rtol=1e-13)


def _kinked(name: str) -> bool:
    return name in ("root", "root of product", "one and x", "less one", "one less", "minus one", "inverse")


def _at_kink(name: str) -> float:
    return 0.0  # as that of |x| at 0


# ---- sums of exponentials ---------------------------------------------------------------------------------
def _log_softmax(x: Any) -> Any:
    return np.log(np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True))


TOTALS: dict[str, Callable[[Any], Any]] = {
    "log-sum-exp": lambda x: np.log(np.sum(np.exp(x), axis=-1)),
    "of method": lambda x: np.log(np.exp(x).sum()),
    "kept": lambda x: np.log(np.sum(np.exp(x), axis=-1, keepdims=True)),
    "both axes": lambda x: np.log(np.sum(np.exp(np.stack([x, x])))),
    "softmax": lambda x: (np.exp(x) / np.sum(np.exp(x))) * np.arange(1.0, 4.0),
    "of rows": lambda x: (np.exp(x[None]) / np.sum(np.exp(x[None]), axis=1)[:, None]) * np.arange(1.0, 4.0),
    "log of softmax": lambda x: _log_softmax(x)[..., 1],
    "shifted": lambda x: np.log(np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))))[..., 2],
}
LOGITS = [
    [0.3, -1.0, 2.0],
    [5.0, 5.0, 5.0],
    [1000.0, -1000.0, 0.0],
    [-1000.0, -1000.5, -3000.0],
    [700.0, 1e4, 0.0],
]


def _exactly(name: str, x: list[Any]) -> Any:
    """What is written, in mpmath."""
    powers = [mp.exp(v) for v in x]
    total = mp.fsum(powers)
    match name:
        case "both axes":
            return mp.log(2 * total)
        case "softmax" | "of rows":
            return mp.fsum(k * p for k, p in enumerate(powers, 1)) / total
        case "log of softmax" | "shifted":
            return x[1 if name == "log of softmax" else 2] - mp.log(total)
        case _:
            return mp.log(total)


def _truth(name: str, logits: list[float]) -> tuple[float, list[float]]:
    """Value and slope."""
    with mp.workdps(900):
        at = [mp.mpf(v) for v in logits]
        slopes = [mp.diff(lambda v, k=k: _exactly(name, [*at[:k], v, *at[k + 1 :]]), at[k]) for k in range(3)]
        return float(_exactly(name, at)), [float(s) for s in slopes]


@pytest.mark.parametrize("target", ["interpreter", "numba_cpu"])
@pytest.mark.parametrize("name", TOTALS)
def test_sums_of_exponentials(name: str, target: str) -> None:
    fn = TOTALS[name]
    made = symgrad.value_and_grad(lambda x: np.sum(fn(x)), target=target)
    for logits in LOGITS:
        value, slope = made(np.array(logits))
        exact, wanted = _truth(name, logits)
        np.testing.assert_allclose(value, exact, rtol=1e-14)
        np.testing.assert_allclose(slope, wanted, rtol=1e-12, atol=1e-15)
        if np.max(logits) < 700 and np.min(logits) > -700:
            np.testing.assert_allclose(value, np.sum(fn(np.array(logits))), rtol=4 * EPS, atol=4 * EPS)


def test_a_maximum_that_is_taken_off_is_not_taken_off_again() -> None:
    def loss(x):
        top = np.max(x, axis=1)
        return np.sum(np.log(np.sum(np.exp(x - top[:, None]), axis=1)) + top)

    text = symgrad.grad(loss, target="interpreter").ir("joint", np.ones((3, 4)))
    assert text.count(" max ") == 1


def test_a_row_without_terms() -> None:
    """All -inf: the logarithm of the sum is -inf, as NumPy's, and no maximum makes it NaN."""
    found = symgrad.compile(TOTALS["log-sum-exp"], target="interpreter")(np.full((2, 3), -np.inf))
    np.testing.assert_array_equal(found, -np.inf)
    found = symgrad.compile(TOTALS["log-sum-exp"], target="interpreter")(np.array([np.inf, 1.0, np.nan]))
    assert np.isnan(found)


def test_in_single_precision() -> None:
    x = np.array([100.0, -100.0, 0.5], np.float32)
    value, slope = symgrad.value_and_grad(lambda x: np.sum(np.log(1 + np.exp(x))), target="interpreter")(x)
    assert (value.dtype, slope.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(slope, special.expit(x), rtol=1e-6, atol=1e-40)
    np.testing.assert_allclose(value, np.sum(np.logaddexp(x.astype(float), 0.0)), rtol=1e-6)


def test_curvature() -> None:
    slope = symgrad.grad(lambda x: np.sum(np.log(1 + np.exp(x))), target="interpreter")
    bend = symgrad.grad(lambda x: np.sum(slope(x)), target="interpreter")
    np.testing.assert_allclose(bend(FAR), special.expit(FAR) * special.expit(-FAR), rtol=1e-14)
