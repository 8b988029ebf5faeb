"""Losses, each with a pattern that kernels of a GPU are made for, scheduled as for a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrad.ir.core import Function
from symgrad.ir.types import ArrayType, array_type
from symgrad.passes import PassRunner, optimize
from symgrad.passes.autodiff import gradient
from symgrad.passes.pipeline import fused, placed
from symgrad.trace.session import trace_function


@dataclass(frozen=True)
class Pattern:
    """A loss and the types of its arguments."""

    name: str
    loss: Callable[..., Any]
    types: tuple[ArrayType, ...]
    wrt: tuple[int, ...] = (0,)

    def scheduled(self) -> Function:
        """Value and gradient, as they are given to a device."""
        made = gradient(trace_function(self.loss, self.types, differentiated=self.wrt).function, self.wrt)
        return for_device(optimize(made))


def for_device(optimized: Function) -> Function:
    """The optimized function as it is fused and placed for a GPU."""
    runner = PassRunner(None)
    return placed(fused(optimized, runner, tiles=False), runner)


def elementwise(x: Any, a: Any) -> Any:
    return np.sum(np.tanh(x * a) / (1.0 + np.exp(-x)))


def softmax(x: Any, y: Any) -> Any:
    z = x - np.max(x, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - np.sum(z * y, axis=1))


def bias(x: Any, b: Any) -> Any:
    return np.sum(np.tanh(x + b) ** 2)


def largest(x: Any) -> Any:
    return np.sum(np.max(x, axis=1) ** 2) + x[0, np.argmax(x[1])]


def embedding(table: Any, index: Any) -> Any:
    return np.sum(np.sin(table[index]) ** 2)


def heat(u: Any) -> Any:
    v = u.copy()
    for _ in range(12):
        v[1:-1] = v[1:-1] + 0.1 * (v[2:] - 2 * v[1:-1] + v[:-2]) + v[1:-1] ** 3
    return np.sum(v**2)


def transposed(x: Any, w: Any) -> Any:
    return np.sum(np.cos(x.T * w)[::-1, 1:])


def matrix(shape: tuple[int, ...], dtype: str = "f64") -> ArrayType:
    return array_type(dtype, *shape)


PATTERNS = (
    Pattern("elementwise", elementwise, (matrix((500,)), matrix((500,))), (0, 1)),
    Pattern("elementwise_single", elementwise, (matrix((500,), "f32"), matrix((500,), "f32"))),
    Pattern("softmax", softmax, (matrix((9, 70)), matrix((9, 70)))),
    Pattern("bias", bias, (matrix((300, 6)), matrix((6,))), (0, 1)),
    Pattern("largest", largest, (matrix((9, 70)),)),
    Pattern("embedding", embedding, (matrix((20, 8)), array_type("i64", 150))),
    Pattern("heat", heat, (matrix((90,)),)),
    Pattern("transposed", transposed, (matrix((40, 12)), matrix((12, 40))), (0, 1)),
)
