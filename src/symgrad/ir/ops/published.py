"""The record of an elementwise op whose value is SciPy's: the C function that scipy.special publishes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy

from symgrad.ir.opdef import OpDef, Partial, Partials, Zero
from symgrad.ir.ops.records import elementwise
from symgrad.ir.published_names import ARITIES, PREFIX

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy

_FLOPS = 900  # what a call costs, about


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
