"""Random losses whose gradients keep much: layers, skips, means of columns, and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import symgrad
from symgrad.ir.core import Function

WIDTH, ROWS, TRIPS = 16, 24, 20

# What a layer does, and how far back is what it adds to that.
Layer = tuple[str, int]
KINDS = ("tanh", "sin", "square", "columns", "loop", "both")


def nets() -> st.SearchStrategy[list[Layer]]:
    """Layers of a net."""
    return st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 4)), min_size=3, max_size=9)


def gradient(layers: Sequence[Layer]) -> tuple[Function, list[Any]]:
    """The fused value and gradient of a net, and arguments for it."""

    def loss(weights: list[Any], x: Any) -> Any:
        kept = [x]
        for w, (kind, back) in zip(weights, layers, strict=True):
            x = _layer(kind, kept[-1], w)
            kept.append(x + 0.5 * kept[-back] if 0 < back <= len(kept) else x)
        return np.sum(kept[-1] * x)

    rng = np.random.default_rng(len(layers))
    weights = [rng.standard_normal((WIDTH, WIDTH)) / 4 for _ in layers]
    x = rng.standard_normal((ROWS, WIDTH))
    return symgrad.value_and_grad(loss).program(weights, x).fused, [*weights, x]


def _layer(kind: str, x: Any, w: Any) -> Any:
    if kind == "tanh":
        return np.tanh(x @ w)
    if kind == "sin":
        return np.sin(x @ w) * np.cos(x)
    if kind == "square":
        return (x @ w) ** 2 / (1 + x**2)
    if kind == "columns":
        return x - np.mean(x, axis=0)
    if kind == "both":
        a, b = x @ w, np.sin(x)
        return a * np.exp(-(b**2)) + b
    total = x
    for _ in range(TRIPS):
        total = 0.9 * np.sin(total) + np.mean(total, axis=0)
    return total
