"""Programs that work on rows side by side, and whether two runs of one agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symgrad.ir import dims
from symgrad.ir.core import Function

Loss = Callable[..., Any]


def sizes(function: Function) -> list[int]:
    """The sizes that axes of the function have."""
    values = {v for op in function.body.ops for v in (*op.operands, *op.results)}
    found = {dims.known(n) for v in values for n in v.type.shape if dims.is_known(n)}
    return sorted(n for n in found if n > 1)


def assert_close(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Both are the same results, to rounding."""
    for a, b in zip(expected, found, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        finite = np.abs(a[np.isfinite(a)]) if a.dtype.kind == "f" else ()
        scale = max(1.0, float(np.max(finite, initial=0.0)))
        limit = 1e-5 if a.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(b, a, rtol=limit, atol=limit * scale)


def logistic(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.1 * np.sum(w * w)


def network(w1: Any, b1: Any, w2: Any, x: Any, y: Any) -> Any:
    z = np.tanh(x @ w1 + b1) @ w2
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean(np.sum(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))), axis=1))


def factorization(a: Any, b: Any, counts: Any) -> Any:
    rates = np.exp(a) @ np.exp(b)
    return np.sum(rates - counts * np.log(rates))


def columns(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(w @ x.T) ** 2)


def normalized(w: Any, x: Any) -> Any:
    z = x @ w
    return np.sum(np.tanh((z - np.mean(z, axis=0)) / np.sqrt(np.var(z, axis=0) + 1.0)) ** 3)


def attention(w: Any, x: Any) -> Any:
    q = x @ w
    e = np.exp(q @ q.T * 0.1)
    return np.sum(((e / np.sum(e, axis=1, keepdims=True)) @ x) ** 2)


def distances(x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sum(np.exp(-np.sum(d * d, axis=2)))


def embedded(table: Any, index: Any, y: Any) -> Any:
    return np.sum((np.sum(np.tanh(table[index]), axis=1) - y) ** 2)


N = 13


def arguments(loss: Loss, dtype: str) -> tuple[Any, ...]:
    """Random arguments of a loss."""
    rng = np.random.default_rng(1)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(dtype)

    return {
        logistic: lambda: (normal(4), normal(N, 4), np.sign(normal(N))),
        network: lambda: (normal(4, 5), normal(5), normal(5, 3), normal(N, 4), np.abs(normal(N, 3))),
        factorization: lambda: (normal(N, 3), normal(3, 6), np.abs(normal(N, 6))),
        columns: lambda: (normal(5, 4), normal(N, 4)),
        normalized: lambda: (normal(4, 3), normal(N, 4)),
        attention: lambda: (normal(4, 4), normal(N, 4)),
        distances: lambda: (normal(N, 3),),
        embedded: lambda: (normal(6, 4), rng.integers(0, 6, (N, 2)), normal(N, 4)),
    }[loss]()


CASES = {
    logistic: (0,), network: (0, 1, 2), factorization: (0, 1), columns: (0,), normalized: (0, 1),
    attention: (0, 1), distances: (0,), embedded: (0,),
}  # fmt: skip
