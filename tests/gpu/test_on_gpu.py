"""On a GPU, where there is one: what the emulator has shown, by the real driver and the real threads."""

from __future__ import annotations

import numpy as np
import pytest

import symgrad
from gpu.patterns import PATTERNS, Pattern
from gpu.test_patterns import numbers

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.name)
def test_value_and_gradient(pattern: Pattern) -> None:
    args = numbers(pattern)
    on_gpu = symgrad.value_and_grad(pattern.loss, argnums=pattern.wrt, target="cuda")
    wanted = symgrad.value_and_grad(pattern.loss, argnums=pattern.wrt, target="interpreter")(*args)
    rtol = 1e-12 if args[0].dtype == np.float64 else 1e-5
    for _ in range(3):  # eager, captured, replayed
        value, gradients = on_gpu(*args)
        np.testing.assert_allclose(value, wanted[0], rtol=rtol)
        for found, want in zip(gradients, wanted[1], strict=True):
            np.testing.assert_allclose(found, want, rtol=rtol, atol=rtol)


def test_products_of_matrices() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((300, 64)), rng.standard_normal((64, 48))
    loss = symgrad.value_and_grad(lambda w: np.sum(np.tanh(x @ w) ** 2), target="cuda")
    wanted = symgrad.value_and_grad(lambda w: np.sum(np.tanh(x @ w) ** 2))(w)
    for _ in range(3):
        value, gradient = loss(w)
        np.testing.assert_allclose(value, wanted[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, wanted[1], rtol=1e-10, atol=1e-10)
