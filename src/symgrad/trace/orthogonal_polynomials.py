"""Orthogonal polynomials of a known degree, by their recurrences (DLMF 18.9.1 and 18.9.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.errors import UnsupportedError
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer
from symgrad.trace.ufunc_compositions import Composition, joined

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

MAX_DEGREE = 200  # a program has a few ops for each

# (k, x, those of degree k and k - 1, parameters) -> that of degree k + 1
Recurrence = Callable[..., Any]


def _degree(name: str, n: Any) -> int:
    """The degree, which is one known integer."""
    known = not isinstance(n, Tracer) and np.ndim(n) == 0 and 0 <= n <= MAX_DEGREE and n == int(n)
    if not known:
        given = f"a traced {n.type}" if isinstance(n, Tracer) else repr(n)
        raise UnsupportedError(
            f"scipy.special.{name} takes a degree from 0 to {MAX_DEGREE}, not {given}",
            loc=caller(),
            cure="make the degree a plain integer, and call it once for each degree",
        )
    return int(n)


def _of(name: str, first: Callable[..., Any], following: Recurrence) -> tuple[str, Composition]:
    """The name, and the polynomial of degree n of parameters and x."""

    def evaluate(n: Any, *xs: Any) -> Any:
        degree = _degree(name, n)
        *parameters, x = joined(np.sin if len(xs) == 1 else np.logaddexp, *xs)
        before, last = np.ones_like(x), first(x, *parameters)
        if degree == 0:
            return before
        for k in range(1, degree):
            before, last = last, following(k, x, last, before, *parameters)
        return last

    return name, evaluate


POLYNOMIALS: dict[str, Composition] = dict(
    [
        _of("eval_legendre", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
        _of("eval_chebyt", lambda x: x, lambda k, x, p, q: 2 * x * p - q),
        _of("eval_chebyu", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q),
        _of("eval_hermite", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q),
        _of("eval_hermitenorm", lambda x: x, lambda k, x, p, q: x * p - k * q),
        _of("eval_laguerre", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
        _of(
            "eval_genlaguerre",
            lambda x, a: 1 + a - x,
            lambda k, x, p, q, a: ((2 * k + 1 + a - x) * p - (k + a) * q) / (k + 1),
        ),
        _of(
            "eval_gegenbauer",
            lambda x, a: 2 * a * x,
            lambda k, x, p, q, a: (2 * (k + a) * x * p - (k + 2 * a - 1) * q) / (k + 1),
        ),
    ]
)
