"""Programs that the interpreter runs, op by op: slow, without compilation, and the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.ir.core import Function
from symgrad.ir.interpreter import run_block
from symgrad.runtime.executable import Executable, as_strict


def interpreted(function: Function) -> Executable:
    """The function, run by the interpreter."""
    params = tuple(p.type for p in function.body.params)
    results = tuple(r.type for r in function.body.results)

    def entry(*arguments: Any) -> Any:
        values = tuple(map(as_strict, arguments[: len(params)], params))
        with np.errstate(all="ignore"):
            found = run_block(function.body, values)
        filled = iter(arguments[len(params) :])
        for y in found:
            if y.ndim > 0:
                next(filled)[...] = y
        numbers = tuple(y.item() for y in found if y.ndim == 0)
        return numbers[0] if len(numbers) == 1 else numbers

    return Executable(entry, params, results, 0)
