"""Beta function, binomial coefficients and their kin, as quotients of gamma functions (DLMF 5.12)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from symgrad.ir.opdef import OpDef
from symgrad.ir.ops.gamma import digamma, gamma
from symgrad.ir.ops.published import published

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_POSITIVE = (0.4, 3.0)

beta = published(
    "beta",
    (
        lambda z, a, b: z * (digamma(a) - digamma(a + b)),
        lambda z, a, b: z * (digamma(b) - digamma(a + b)),
    ),
    "Γ(a) Γ(b) / Γ(a + b)", _POSITIVE,
)  # fmt: skip
betaln = published(
    "betaln",
    (lambda z, a, b: digamma(a) - digamma(a + b), lambda z, a, b: digamma(b) - digamma(a + b)),
    "log |B(a, b)|", _POSITIVE,
)  # fmt: skip
binom = published(
    "binom",
    (
        lambda z, n, k: z * (digamma(n + 1) - digamma(n - k + 1)),
        lambda z, n, k: z * (digamma(n - k + 1) - digamma(k + 1)),
    ),
    "Γ(n + 1) / Γ(k + 1) / Γ(n - k + 1)", (1.1, 1.9),
)  # fmt: skip
poch = published(
    "poch",
    (lambda y, z, m: y * (digamma(z + m) - digamma(z)), lambda y, z, m: y * digamma(z + m)),
    "Γ(z + m) / Γ(z)", _POSITIVE,
)  # fmt: skip
gammasgn = published("gammasgn", (), "the sign of Γ(x)", _POSITIVE)


def _rgamma_slope(y: Any, x: Any) -> Any:
    """-ψ(x) / Γ(x); below 1/2 by reflection, 1/Γ(x) = Γ(1 - x) sin(πx) / π, which is smooth at the poles."""
    right = x > 0.5
    inside = np.where(right, x, np.ones_like(x))
    turned = 1 - np.where(right, np.zeros_like(x), x)
    rest = math.pi * (x - np.rint(x))
    whole = 0.5 * np.rint(x)
    sign = np.where(whole == np.rint(whole), np.ones_like(x), -np.ones_like(x))
    below = sign * gamma(turned) * (np.cos(rest) - digamma(turned) * np.sin(rest) * (1 / math.pi))
    return np.where(right, -y * digamma(inside), below)


rgamma = published("rgamma", (_rgamma_slope,), "1/Γ(x), which is 0 at the poles", _POSITIVE)

OPS: tuple[OpDef, ...] = (beta, betaln, binom, poch, rgamma, gammasgn)
