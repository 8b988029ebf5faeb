"""Losses as a new user writes them: NumPy's value, and the gradient that differences give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from control.differences import derivative
from problems import losses_likelihoods, losses_statistics

LOSSES = {**losses_statistics.LOSSES, **losses_likelihoods.LOSSES}
COMPILED = (
    "cox_partial_likelihood", "gaussian_mixture", "von_mises", "arma_likelihood", "kalman_filter",
    "hidden_markov", "fitted_margins", "von_mises_mixture", "weibull_survival",
)  # fmt: skip


def check(loss: Callable[..., Any], target: str) -> None:
    """Fail unless value, gradient and the derivative along a direction are those of the plain loss."""
    x = np.array(LOSSES[loss])
    before = x.copy()
    value, gradient = symgrad.value_and_grad(loss, target=target)(x)
    np.testing.assert_allclose(value, loss(x), rtol=1e-12)
    directions = np.eye(len(x)) if len(x) < 12 else np.random.default_rng(0).normal(size=(6, len(x)))
    wanted = np.array([derivative(lambda step, d=d: float(loss(x + step * d))) for d in directions])
    np.testing.assert_allclose(directions @ gradient, wanted, rtol=1e-7, atol=1e-8 * np.max(np.abs(wanted)))
    _, tangent = symgrad.jvp(loss, (x,), (directions[0],), target=target)
    np.testing.assert_allclose(tangent, directions[0] @ gradient, rtol=1e-10)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda f: f.__name__)
def test_interpreted(loss: Callable[..., Any]) -> None:
    check(loss, "interpreter")


@pytest.mark.parametrize("loss", [f for f in LOSSES if f.__name__ in COMPILED], ids=lambda f: f.__name__)
def test_compiled(loss: Callable[..., Any]) -> None:
    check(loss, "numba_cpu")
