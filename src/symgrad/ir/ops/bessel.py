"""Bessel functions of real order and argument, and exponential integrals.

Derivatives by the argument: DLMF 10.6.1 and 10.29.1, in which no term cancels and none is singular at 0.
By the order there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.ir.opdef import OpDef, Undefined
from symgrad.ir.ops.published import published

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_ORDER = Undefined("its order is constant for differentiation")
_BY_ORDER = "by the order: an error"
_POSITIVE = (0.5, 4.0)


def _two(x: Any) -> Any:
    return np.full_like(x, 2.0)


def _signed(f: Callable[[], OpDef], below: int, above: int) -> Callable[..., Any]:
    """f'(x) as half the function of one order less and that of one more, with these signs."""

    def slope(y: Any, v: Any, x: Any) -> Any:
        return 0.5 * (below * f()(v - 1, x) + above * f()(v + 1, x))

    return slope


def _scaled(f: Callable[[], OpDef], sign: int) -> Callable[..., Any]:
    """The slope of exp(∓|x|) f: that of f, and of the factor."""

    def slope(y: Any, v: Any, x: Any) -> Any:
        half = 0.5 * (f()(v - 1, x) + f()(v + 1, x))
        return half - np.sign(x) * y if sign > 0 else y - half

    return slope


jv = published(
    "jv", (_ORDER, _signed(lambda: jv, 1, -1)), "Bessel function of the first kind", _POSITIVE, _BY_ORDER
)
yv = published(
    "yv", (_ORDER, _signed(lambda: yv, 1, -1)), "Bessel function of the second kind", _POSITIVE, _BY_ORDER
)
iv = published(
    "iv", (_ORDER, _signed(lambda: iv, 1, 1)), "modified Bessel function of the first kind", _POSITIVE,
    _BY_ORDER,
)  # fmt: skip
kv = published(
    "kv", (_ORDER, _signed(lambda: kv, -1, -1)), "modified Bessel function of the second kind", _POSITIVE,
    _BY_ORDER,
)  # fmt: skip
ive = published("ive", (_ORDER, _scaled(lambda: ive, 1)), "exp(-|x|) Iᵥ(x)", _POSITIVE, _BY_ORDER)
kve = published("kve", (_ORDER, _scaled(lambda: kve, -1)), "exp(x) Kᵥ(x)", _POSITIVE, _BY_ORDER)

j0 = published("j0", (lambda y, x: -j1(x),), "J₀(x)", _POSITIVE)
j1 = published("j1", (lambda y, x: 0.5 * (j0(x) - jv(_two(x), x)),), "J₁(x)", _POSITIVE)
y0 = published("y0", (lambda y, x: -y1(x),), "Y₀(x)", _POSITIVE)
y1 = published("y1", (lambda y, x: 0.5 * (y0(x) - yv(_two(x), x)),), "Y₁(x)", _POSITIVE)
k0 = published("k0", (lambda y, x: -k1(x),), "K₀(x)", _POSITIVE)
k1 = published("k1", (lambda y, x: -0.5 * (k0(x) + kv(_two(x), x)),), "K₁(x)", _POSITIVE)

k0e = published("k0e", (lambda y, x: y - k1e(x),), "exp(x) K₀(x)", _POSITIVE)
k1e = published("k1e", (lambda y, x: y - 0.5 * (k0e(x) + kve(_two(x), x)),), "exp(x) K₁(x)", _POSITIVE)

exp1 = published(
    "exp1", (lambda y, x: -np.exp(-x) / x,), "the exponential integral ∫₁^∞ exp(-tx)/t dt", _POSITIVE
)
expi = published(
    "expi", (lambda y, x: np.exp(x) / x,), "the exponential integral Ei(x), -E₁(-x) for x < 0", _POSITIVE
)

OPS: tuple[OpDef, ...] = (jv, yv, iv, kv, ive, kve, j0, j1, y0, y1, k0, k1, k0e, k1e, exp1, expi)
