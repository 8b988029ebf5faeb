"""Checks of integers when a program runs: the integer itself, or NumPy's ValueError if it is negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from symgrad.ir.opdef import NotNegative, OpDef, Zero
from symgrad.ir.ops.records import elementwise

# The stubs of NumPy do not know that its functions give tracers for tracers.
np: Any = numpy


def _demanded(message: str) -> Callable[[Any], Any]:
    def evaluate(x: Any) -> Any:
        found = np.asarray(x)
        if (found < 0).any():
            raise ValueError(message)
        return found

    return evaluate


def _check(name: str, message: str) -> OpDef:
    return elementwise(
        name, _demanded(message), "{0}", Zero(), f"x, which is negative where there is an error: {message}",
        kinds="i", demand=NotNegative(0, message),
    )  # fmt: skip


some_number = _check("some_number", "All-NaN slice encountered")
known_choice = _check("known_choice", "invalid entry in choice array")
known_place = _check("known_place", "an index is out of bounds for the array")
known_coordinate = _check("known_coordinate", "invalid entry in coordinates array")
known_degree = _check(
    "known_degree",
    "a leading coefficient is 0: NumPy drops it, and the size of the product would depend on its value",
)

OPS: tuple[OpDef, ...] = (some_number, known_choice, known_place, known_coordinate, known_degree)
