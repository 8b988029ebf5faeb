"""Networks whose layers do much arithmetic on each element: what their gradients store decides the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erf, expit

Array = np.ndarray[Any, Any]


def gelu(z: Any) -> Any:
    """z Φ(z), by the error function."""
    return 0.5 * z * (1 + erf(z / np.sqrt(2.0)))


def smooth(z: Any) -> Any:
    """z Φ(z), about, by the hyperbolic tangent."""
    return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def swish(z: Any) -> Any:
    """z times the logistic function of z."""
    return z * expit(z)


def rectified(z: Any) -> Any:
    """The positive part."""
    return np.maximum(z, 0.0)


def normalized(z: Any) -> Any:
    """Rows of mean 0 and variance 1."""
    return (z - z.mean(1, keepdims=True)) / np.sqrt(z.var(1, keepdims=True) + 1e-5)


def layers(activation: Callable[[Any], Any], *, normal: bool = False) -> Callable[..., Any]:
    """The mean square of the output of a network with square layers."""

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            z = x @ w
            x = activation(normalized(z) if normal else z)
        return np.mean(x * x)

    return loss


def block(weights: Any, x: Any) -> Any:
    """A loss of a transformer block with one head: attention, layer norm, and two layers with gelu."""
    query, key, value, out, wide, narrow = weights
    scores = (x @ query) @ (x @ key).T / np.sqrt(x.shape[1])
    e = np.exp(scores - scores.max(1, keepdims=True))
    y = normalized(x + (e / e.sum(1, keepdims=True)) @ (x @ value) @ out)
    z = y + gelu(y @ wide) @ narrow
    return np.mean(z * z * z)


def network(count: int, width: int, rows: int, dtype: Any = np.float64) -> tuple[list[Array], Array]:
    """The weights of square layers and a batch."""
    rng = np.random.default_rng(0)
    weights = [
        rng.standard_normal((width, width)).astype(dtype) / dtype(np.sqrt(width)) for _ in range(count)
    ]
    return weights, rng.standard_normal((rows, width)).astype(dtype)


def block_arguments(rows: int, width: int) -> tuple[list[Array], Array]:
    """The weights of a transformer block, and its tokens."""
    rng = np.random.default_rng(0)
    shapes = [(width, width)] * 4 + [(width, 4 * width), (4 * width, width)]
    return [rng.standard_normal(s) / np.sqrt(s[0]) for s in shapes], rng.standard_normal((rows, width))
