"""Which line of the user's function has a derivative that is not that of its value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symgrad.errors import Loc
from symgrad.ir import dims
from symgrad.ir.core import Block, Function, with_body
from symgrad.passes.autodiff import jvp
from symgrad.runtime.check_points import joined, scales
from symgrad.runtime.interpreted import interpreted
from symgrad.runtime.quotients import STEPS, Vector, slope

# Values that have more entries than this together are not gone through.
_LIMIT = 4_000_000

_RTOL = 1e-6


def culprit(
    function: Function, values: Sequence[Any], wrt: tuple[int, ...], v: Sequence[Any], entry: int | None
) -> Loc | None:
    """The place of the first op whose tangent along v is not what difference quotients of its value give.

    `values` are those of the params, in float64; `v` has one tangent for each param in `wrt`. None if all
    tangents are right, as they are when only reverse mode is wrong.
    """
    made = [(op, r) for op in function.body.ops for r in op.results if r.type.is_real]
    if not made or sum(dims.known(r.type.size) for _, r in made) > _LIMIT:
        return None
    whole = with_body(function, Block(function.body.params, function.body.ops, tuple(r for _, r in made)))
    run = interpreted(whole)
    found = interpreted(jvp(whole, wrt)).run([*values, *v])[len(made) :]

    def curve(t: complex) -> Vector:
        moved = list(values)
        for i, part in zip(wrt, v, strict=True):
            moved[i] = np.asarray(values[i] + t * part)
        return joined(run.run(moved))

    x = joined([values[i] for i in wrt])
    by_quotients = slope(curve, scales(x, entry), STEPS, np.finfo(np.float64).eps, _RTOL, analytic=False)
    start = 0
    for (op, _), tangent in zip(made, found, strict=True):
        there = slice(start, start + tangent.size)
        expected, noise = by_quotients.value[there], by_quotients.noise[there]
        allowed = _RTOL * np.max(np.abs(expected), initial=0.0) + 8 * noise
        with np.errstate(invalid="ignore"):
            wrong = ~(np.abs(tangent.reshape(-1) - expected) <= allowed)
        if wrong.any():
            return op.loc
        start += tangent.size
    return None
