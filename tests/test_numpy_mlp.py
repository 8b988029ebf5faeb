"""The hand-written digits network: its value is the plain formula's, its gradient that of differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.numpy_mlp import SIZE, Floats, initial, logits, make_value_and_grad, split

DATA = Path(__file__).parent.parent / "examples" / "data" / "digits.npz"


def _problem(n: int) -> tuple[Floats, np.ndarray, Floats]:
    with np.load(DATA) as data:
        x, labels = data["images"][:n] / 16.0, data["labels"][:n]
    rng = np.random.default_rng(0)
    return x, labels, initial(rng) + 0.1 * rng.standard_normal(SIZE)


def _loss(params: Floats, x: Floats, labels: np.ndarray, decay: float) -> float:
    """The loss, written the plain way."""
    z = logits(params, x)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    w1, _, w2, _ = split(params)
    penalty = 0.5 * decay * (np.sum(w1**2) + np.sum(w2**2))
    return float(-np.mean(log_p[np.arange(len(x)), labels]) + penalty)


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_value_and_gradient(decay: float) -> None:
    x, labels, params = _problem(40)
    value, gradient = make_value_and_grad(x, labels, decay)(params)
    assert value == pytest.approx(_loss(params, x, labels, decay), rel=1e-13)

    step = 1e-5
    numeric = np.empty(SIZE)
    for i in range(SIZE):
        offset = np.zeros(SIZE)
        offset[i] = step
        up, down = _loss(params + offset, x, labels, decay), _loss(params - offset, x, labels, decay)
        numeric[i] = (up - down) / (2 * step)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-9)


def test_calls_do_not_disturb_one_another_or_the_arguments() -> None:
    x, labels, params = _problem(40)
    before = x.copy(), params.copy()
    value_and_grad = make_value_and_grad(x, labels)
    value, gradient = value_and_grad(params)
    kept = gradient.copy()
    value_and_grad(2 * params)
    np.testing.assert_array_equal(gradient, kept)
    again, _ = value_and_grad(params)
    assert again == value
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(params, before[1])


def test_large_logits_do_not_overflow() -> None:
    x, labels, params = _problem(40)
    value, gradient = make_value_and_grad(x, labels)(1e4 * params)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
