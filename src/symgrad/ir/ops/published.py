"""The record of an elementwise op whose value is SciPy's: the C function that scipy.special publishes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy

from symgrad.ir.opdef import OpDef, Partial, Partials, Zero
from symgrad.ir.ops.records import elementwise

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_FLOPS = 300  # what a call costs, about

# How many reals each published function takes: what codegen calls, and what the tests go through.
ARITIES: dict[str, int] = {
    **dict.fromkeys((
        "erfcx", "erfinv", "erfcinv", "ndtri", "log_ndtr", "rgamma", "gammasgn", "j0", "j1", "y0", "y1", "k0",
        "k1", "k0e", "k1e", "exp1", "expi", "dawsn",
    ), 1),
    **dict.fromkeys((
        "beta", "betaln", "binom", "poch", "gammainc", "gammaincc", "gammaincinv", "gammainccinv", "stdtr",
        "stdtrit", "jv", "yv", "iv", "kv", "ive", "kve",
    ), 2),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "betainccinv"), 3),
}  # fmt: skip
PREFIX = "scipy_"  # of these functions in the scalar library


def value_of(name: str) -> Callable[..., Any]:
    """scipy.special's function on arrays, in their dtype; SciPy is imported when it is called."""

    def evaluate(*xs: Any) -> Any:
        arrays = [np.asarray(x) for x in xs]
        doubles = [x.astype(np.float64) for x in arrays]  # as compiled code has them
        found = getattr(import_module("scipy.special"), name)(*doubles)
        return np.asarray(found).astype(arrays[0].dtype)

    return evaluate


def published(
    name: str, of: tuple[Partial, ...], doc: str, domain: tuple[float, float], convention: str = ""
) -> OpDef:
    """The record of the op that is scipy.special's function of this name; without partials, a constant."""
    arity = ARITIES[name]
    places = ", ".join(f"{{{k}}}" for k in range(arity))
    return elementwise(
        name, value_of(name), f"{PREFIX}{name}({places})", Partials(*of) if of else Zero(), doc,
        arity=arity, domain=domain, flops=_FLOPS, convention=convention,
    )  # fmt: skip
