"""scipy.special on tracers: ufuncs that are ops or compositions of ops, and functions that have substitutes.

SciPy is never imported here: its tables are made when a program that has imported it is traced.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy

from symgrad.errors import UnsupportedError
from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import FAMILIES
from symgrad.ir.ops.bessel import jv, kv
from symgrad.ir.ops.elementwise import sigmoid
from symgrad.ir.ops.gamma import digamma, gamma, gammaln
from symgrad.ir.ops.special import erf, erfc, xlog1py, xlogy
from symgrad.trace.lifting import find_tracer
from symgrad.trace.orthogonal_polynomials import POLYNOMIALS
from symgrad.trace.places import caller
from symgrad.trace.scipy_elementwise import ELEMENTWISE
from symgrad.trace.scipy_reductions import FUNCTIONS
from symgrad.trace.ufunc_compositions import Composition, joined

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_SCIPY_OPS: dict[str, OpDef] = {
    "erf": erf, "erfc": erfc, "expit": sigmoid, "xlogy": xlogy, "xlog1py": xlog1py, "gammaln": gammaln,
    "gamma": gamma, "psi": digamma, "jn": jv, "kn": kv,
    **{op.name: op for family in ("normal", "beta", "distributions", "bessel") for op in FAMILIES[family]},
}  # fmt: skip
_SCIPY_SAME: dict[str, numpy.ufunc] = {"log1p": np.log1p, "expm1": np.expm1, "exp2": np.exp2, "cbrt": np.cbrt}


@cache
def _scipy_tables() -> tuple[dict[numpy.ufunc, OpDef], dict[numpy.ufunc, Composition]]:
    """scipy.special's ufuncs, as it is loaded: ops, and compositions in the dtype of SciPy's own loop."""
    special = sys.modules["scipy.special"]

    def typed(ufunc: numpy.ufunc, composed: Composition) -> Composition:
        return lambda *xs: composed(*joined(ufunc, *xs))

    ops = {getattr(special, name): op for name, op in _SCIPY_OPS.items() if hasattr(special, name)}
    named = {**ELEMENTWISE, **_SCIPY_SAME}
    composed = {getattr(special, name): fn for name, fn in named.items() if hasattr(special, name)}
    polynomials = {getattr(special, name): fn for name, fn in POLYNOMIALS.items()}
    return ops, {ufunc: typed(ufunc, fn) for ufunc, fn in composed.items()} | polynomials


def scipy_ops() -> dict[numpy.ufunc, OpDef]:
    """The ufuncs of scipy.special that are ops; none while SciPy is not loaded."""
    return _scipy_tables()[0] if "scipy.special" in sys.modules else {}


def scipy_compositions() -> dict[numpy.ufunc, Composition]:
    """The ufuncs of scipy.special that are compositions; none while SciPy is not loaded."""
    return _scipy_tables()[1] if "scipy.special" in sys.modules else {}


# ---- functions that are not ufuncs -------------------------------------------------------------------------
def _substitute(original: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function where nothing is traced, else ours."""

    @functools.wraps(original)
    def substitute(*args: Any, **options: Any) -> Any:
        like = find_tracer((args, options))
        if like is None:
            return original(*args, **options)
        try:
            with like.recorder.at_caller():
                return traced(*args, **options)
        except TypeError as error:
            what = f"scipy.special.{original.__name__}: these arguments are not supported on traced arrays"
            raise UnsupportedError(f"{what}: {error}", loc=caller()) from None

    return substitute


@cache
def _scipy_functions() -> dict[int, tuple[Callable[..., Any], Callable[..., Any]]]:
    """scipy.special's functions that tracers cannot reach, and what to call instead, by their identity."""
    special = sys.modules["scipy.special"]
    originals = {name: getattr(special, name, None) for name in FUNCTIONS}
    return {
        id(fn): (fn, _substitute(fn, FUNCTIONS[name])) for name, fn in originals.items() if fn is not None
    }


def scipy_functions() -> dict[int, tuple[Callable[..., Any], Callable[..., Any]]]:
    """scipy.special's functions that are not ufuncs, by their identity; none while SciPy is not loaded."""
    return _scipy_functions() if "scipy.special" in sys.modules else {}
