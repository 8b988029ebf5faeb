"""Programs that the interpreter runs, op by op: slow, without compilation, and the reference."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from symgrad.ir.core import Function
from symgrad.ir.interpreter import run_block
from symgrad.ir.types import ArrayType
from symgrad.runtime.executable import Array, Executable, shape_of


def interpreted(function: Function) -> Executable:
    """The function, run by the interpreter."""
    params = tuple(p.type for p in function.body.params)
    results = tuple(r.type for r in function.body.results)

    def entry(*arguments: Any) -> Any:
        values = tuple(map(_strict, arguments[: len(params)], params))
        with np.errstate(all="ignore"):
            found = run_block(function.body, values)
        filled = iter(arguments[len(params) :])
        for y in found:
            if y.ndim > 0:
                next(filled)[...] = y
        numbers = tuple(y.item() for y in found if y.ndim == 0)
        return numbers[0] if len(numbers) == 1 else numbers

    return Executable(entry, params, results, 0)


def _strict(value: Any, type: ArrayType) -> Array:
    if type.rank == 0:
        try:
            return np.asarray(value, type.dtype)
        except (OverflowError, ValueError) as error:
            raise TypeError(f"no number of type {type.dtype}") from error
    if not isinstance(value, np.ndarray):
        raise TypeError("not an array")
    array = cast(Array, value)
    if array.dtype != type.dtype:
        raise TypeError(f"not an array of {type.dtype}")
    if array.shape != shape_of(type):
        raise TypeError(f"not of shape {shape_of(type)}")
    return array
