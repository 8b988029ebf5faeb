"""scipy.special on tracers: ufuncs that are ops or compositions of ops, and functions that have substitutes.

SciPy is never imported here: its tables are made when a program that has imported it is traced.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy

from symgrad.errors import UnsupportedError
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops.elementwise import sigmoid
from symgrad.ir.ops.gamma import MAX_ORDER, digamma, gamma, gammaln, polygamma, trigamma
from symgrad.ir.ops.special import erf, erfc, softplus, xlog1py, xlogy
from symgrad.ir.types import F64
from symgrad.trace import bessel
from symgrad.trace.lifting import as_dtype, find_tracer
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer
from symgrad.trace.ufunc_compositions import Composition, joined

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def _entr(x: Any) -> Any:
    return np.where(x < 0, np.full_like(x, -np.inf), -xlogy(x, np.where(x < 0, np.ones_like(x), x)))


def _entropy(x: Any, y: Any, inside: Any, edge: Any) -> Any:
    """`inside` where x is 0 or more and y positive, `edge` where both are 0, infinite elsewhere."""
    outside = np.where((x == 0) & (y == 0), edge, np.full_like(x, np.inf))
    found = np.where((x >= 0) & (y > 0), inside, outside)
    return np.where(np.isnan(x) | np.isnan(y), np.full_like(x, np.nan), found)


def _relative(x: Any, y: Any) -> Any:
    """x · log(x / y) where x is 0 or more and y positive, and some number elsewhere."""
    fits = (x >= 0) & (y > 0)
    over, under = (np.where(fits, v, np.ones_like(v)) for v in (x, y))
    return xlogy(over, over / under)


def _rel_entr(x: Any, y: Any) -> Any:
    return _entropy(x, y, _relative(x, y), np.zeros_like(x))


def _kl_div(x: Any, y: Any) -> Any:
    return _entropy(x, y, _relative(x, y) - x + y, y)


def _loggamma(x: Any) -> Any:
    return np.where(x < 0, np.full_like(x, np.nan), gammaln(x))


_SCIPY_OPS: dict[str, OpDef] = {
    "erf": erf, "erfc": erfc, "expit": sigmoid, "xlogy": xlogy, "xlog1py": xlog1py, "gammaln": gammaln,
    "gamma": gamma, "psi": digamma,
}  # fmt: skip
_SCIPY_SAME: dict[str, numpy.ufunc] = {"log1p": np.log1p, "expm1": np.expm1, "exp2": np.exp2, "cbrt": np.cbrt}
_SCIPY_COMPOSED: dict[str, Composition] = {
    "entr": _entr,
    "rel_entr": _rel_entr,
    "kl_div": _kl_div,
    "logit": lambda x: np.log(x / (1 - x)),
    "log_expit": lambda x: -softplus(-x),
    "loggamma": _loggamma,
    "i0": bessel.i0,
    "i0e": bessel.i0e,
    "i1": bessel.i1,
    "i1e": bessel.i1e,
    "ndtr": lambda x: 0.5 * erfc(x * -math.sqrt(0.5)),
}


@cache
def _scipy_tables() -> tuple[dict[numpy.ufunc, OpDef], dict[numpy.ufunc, Composition]]:
    """scipy.special's ufuncs, as it is loaded: ops, and compositions in the dtype of SciPy's own loop."""
    special = sys.modules["scipy.special"]

    def typed(ufunc: numpy.ufunc, composed: Composition) -> Composition:
        return lambda *xs: composed(*joined(ufunc, *xs))

    ops = {getattr(special, name): op for name, op in _SCIPY_OPS.items()}
    composed = {getattr(special, name): fn for name, fn in (_SCIPY_COMPOSED | _SCIPY_SAME).items()}
    return ops, {ufunc: typed(ufunc, fn) for ufunc, fn in composed.items()}


def scipy_ops() -> dict[numpy.ufunc, OpDef]:
    """The ufuncs of scipy.special that are ops; none while SciPy is not loaded."""
    return _scipy_tables()[0] if "scipy.special" in sys.modules else {}


def scipy_compositions() -> dict[numpy.ufunc, Composition]:
    """The ufuncs of scipy.special that are compositions; none while SciPy is not loaded."""
    return _scipy_tables()[1] if "scipy.special" in sys.modules else {}


# ---- functions that are not ufuncs -------------------------------------------------------------------------
def _polygamma(original: Callable[..., Any]) -> Callable[..., Any]:
    """scipy.special.polygamma, of an order that is known."""

    @functools.wraps(original)
    def substitute(n: Any, x: Any) -> Any:
        if find_tracer((n, x)) is None:
            return original(n, x)
        order = _order(n)
        x = as_dtype(x, F64)
        if order < 2:
            return trigamma(x) if order == 1 else digamma(x)
        return polygamma(np.full_like(x, order), x)

    return substitute


def _order(n: Any) -> int:
    """The order of a derivative, which is one known integer."""
    if isinstance(n, Tracer) or np.ndim(n) > 0 or n != int(n) or not 0 <= n <= MAX_ORDER:
        given = f"a traced {n.type}" if isinstance(n, Tracer) else f"{n!r}"
        raise UnsupportedError(
            f"scipy.special.polygamma takes an order from 0 to {MAX_ORDER}, not {given}",
            loc=caller(),
            cure="make the order a plain integer, and call it once for each order",
        )
    return int(n)


def _softplus(original: Callable[..., Any]) -> Callable[..., Any]:
    """scipy.special.softplus, by the op."""

    @functools.wraps(original)
    def substitute(x: Any, **options: Any) -> Any:
        if find_tracer((x,)) is None or options:
            return original(x, **options)
        return softplus(*joined(np.logaddexp, x, 0)[:1])

    return substitute


_SCIPY_FUNCTIONS = {"polygamma": _polygamma, "softplus": _softplus}


@cache
def _scipy_functions() -> dict[int, tuple[Callable[..., Any], Callable[..., Any]]]:
    """scipy.special's functions that tracers cannot reach, and what to call instead, by their identity."""
    special = sys.modules["scipy.special"]
    originals = {name: getattr(special, name, None) for name in _SCIPY_FUNCTIONS}
    return {id(fn): (fn, _SCIPY_FUNCTIONS[name](fn)) for name, fn in originals.items() if fn is not None}


def scipy_functions() -> dict[int, tuple[Callable[..., Any], Callable[..., Any]]]:
    """scipy.special's functions that are not ufuncs, by their identity; none while SciPy is not loaded."""
    return _scipy_functions() if "scipy.special" in sys.modules else {}
