"""Elementwise ops of scipy.special: the error function, softplus, and products with a logarithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from symgrad.ir.opdef import OpDef, Partials
from symgrad.ir.ops.elementwise import sigmoid
from symgrad.ir.ops.records import elementwise, typed

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
erf = elementwise(
    "erf", typed(math.erf), "erf({0})", Partials(lambda y, x: _TWO_OVER_ROOT_PI * np.exp(-(x * x))),
    "the error function 2/√π ∫₀ˣ exp(-t²) dt", flops=234,
)  # fmt: skip
erfc = elementwise(
    "erfc", typed(math.erfc), "erfc({0})", Partials(lambda y, x: -_TWO_OVER_ROOT_PI * np.exp(-(x * x))),
    "1 - erf(x), without cancellation", flops=240,
)  # fmt: skip

softplus = elementwise(
    "softplus", lambda x: np.logaddexp(np.zeros_like(x), x), "softplus({0})",
    Partials(lambda y, x: sigmoid(x)), "log(1 + exp x), without overflow", flops=162,
)  # fmt: skip


# ---- x · log y -------------------------------------------------------------------------------------------
def _product(log: Callable[[Any], Any], one: float) -> Callable[[Any, Any], Any]:
    """x · log y, but 0 where x is 0 and y any number at all; log one is 0."""

    def evaluate(x: Any, y: Any) -> Any:
        bare = (x == 0) & ~np.isnan(y)
        return np.where(bare, np.zeros_like(x), x * log(np.where(bare, np.full_like(y, one), y)))

    return evaluate


def _ratio(x: Any, y: Any) -> Any:
    return np.where(x == 0, np.zeros_like(x), x / y)


xlogy = elementwise(
    "xlogy", _product(np.log, 1.0), "select(({0} != 0) | isnan({1}), {0} * log({1}), abs({0}))",
    Partials(lambda z, x, y: np.log(y), lambda z, x, y: _ratio(x, y)), "x log(y), and 0 where x = 0",
    arity=2, domain=(0.1, 4.0), flops=66, convention="in y 0 where x = 0; in x -inf where y = 0",
)  # fmt: skip
xlog1py = elementwise(
    "xlog1py", _product(np.log1p, 0.0), "select(({0} != 0) | isnan({1}), {0} * log1p({1}), abs({0}))",
    Partials(lambda z, x, y: np.log1p(y), lambda z, x, y: _ratio(x, 1 + y)),
    "x log(1 + y), and 0 where x = 0", arity=2, domain=(-0.9, 4.0), flops=96,
    convention="in y 0 where x = 0; in x -inf where y = -1",
)  # fmt: skip

OPS: tuple[OpDef, ...] = (erf, erfc, softplus, xlogy, xlog1py)
