"""The digits network by hand: value and gradient of a 64–64–10 classifier as an expert writes it in NumPy.

The loss is the mean softmax cross-entropy of `tanh(x w1 + b1) w2 + b2`, plus `decay / 2` times the sum of the
squared weights. All parameters lie in one flat vector, in the order w1, b1, w2, b2: the form for optimisers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

INPUTS, HIDDEN, CLASSES = 64, 64, 10
SIZE = INPUTS * HIDDEN + HIDDEN + HIDDEN * CLASSES + CLASSES  # length of the parameter vector

Floats = NDArray[np.float64]
Labels = NDArray[np.integer]


def split(params: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The views w1 (64, 64), b1 (64,), w2 (64, 10), b2 (10,) of a flat parameter vector."""
    w1, b1, w2, b2 = np.split(params, np.cumsum([INPUTS * HIDDEN, HIDDEN, HIDDEN * CLASSES]))
    return w1.reshape(INPUTS, HIDDEN), b1, w2.reshape(HIDDEN, CLASSES), b2


def initial(rng: np.random.Generator) -> Floats:
    """Random parameters of a scale that keeps the activations near one; the biases are zero."""
    params = np.zeros(SIZE)
    w1, _, w2, _ = split(params)
    w1[:] = rng.standard_normal(w1.shape) / np.sqrt(INPUTS)
    w2[:] = rng.standard_normal(w2.shape) / np.sqrt(HIDDEN)
    return params


def logits(params: Floats, x: Floats) -> Floats:
    """The network's outputs (n, 10) for the rows of `x` (n, 64)."""
    w1, b1, w2, b2 = split(params)
    return np.tanh(x @ w1 + b1) @ w2 + b2


def make_value_and_grad(
    x: Floats, labels: Labels, decay: float = 0.0
) -> Callable[[Floats], tuple[float, Floats]]:
    """A function from parameters to the loss on `x` (n, 64) with `labels` (n,) and its gradient, both fresh.

    What doesn't depend on the parameters is done once, and large temporaries are reused from call to call.
    """
    n = len(x)
    rows = np.arange(n)
    h, h_bar, z = np.empty((n, HIDDEN)), np.empty((n, HIDDEN)), np.empty((n, CLASSES))

    def value_and_grad(params: Floats) -> tuple[float, Floats]:
        w1, b1, w2, b2 = split(params)
        np.matmul(x, w1, out=h)
        np.add(h, b1, out=h)
        np.tanh(h, out=h)
        np.matmul(h, w2, out=z)
        np.add(z, b2, out=z)
        np.subtract(z, z.max(axis=1, keepdims=True), out=z)
        chosen = z[rows, labels].sum()
        np.exp(z, out=z)
        totals = z.sum(axis=1, keepdims=True)
        value = (np.log(totals).sum() - chosen) / n

        np.divide(z, totals * n, out=z)  # from here on z is the cotangent of the logits
        z[rows, labels] -= 1 / n
        gradient = np.empty(SIZE)
        w1_bar, b1_bar, w2_bar, b2_bar = split(gradient)
        np.matmul(h.T, z, out=w2_bar)
        z.sum(axis=0, out=b2_bar)
        np.matmul(z, w2.T, out=h_bar)
        np.multiply(h, h, out=h)
        np.subtract(1.0, h, out=h)
        np.multiply(h_bar, h, out=h_bar)
        np.matmul(x.T, h_bar, out=w1_bar)
        h_bar.sum(axis=0, out=b1_bar)
        if decay:
            value += 0.5 * decay * (np.vdot(w1, w1) + np.vdot(w2, w2))
            w1_bar += decay * w1
            w2_bar += decay * w2
        return float(value), gradient

    return value_and_grad
