"""Results without axes: an array where NumPy has one, which changes in place, or a scalar, which does not."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from symgrad.trace.tracer import Tracer

# Functions whose result without axes is an array all the same.
_ARRAYS: frozenset[Any] = frozenset({
    np.where, np.select, np.tensordot, np.linalg.tensordot, np.broadcast_to, np.broadcast_arrays, np.copy,
    np.reshape, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.cov,
})  # fmt: skip

# Functions that give an array where they take one.
_KEEPING: frozenset[Any] = frozenset({
    np.squeeze, np.transpose, np.permute_dims, np.moveaxis, np.rollaxis, np.real, np.imag, np.astype,
})  # fmt: skip


def as_numpy_has_it(function: Any, operand: Tracer, result: Any) -> Any:
    """What a function gave for an operand, as arrays and scalars in the places where NumPy has them."""
    if isinstance(result, list | tuple):
        items = cast(Any, result)
        parts = [as_numpy_has_it(function, operand, x) for x in items]
        return items._make(parts) if hasattr(items, "_make") else type(items)(parts)
    if not isinstance(result, Tracer) or result.ndim > 0:
        return result
    array = function in _ARRAYS or (function in _KEEPING and operand.array)
    return Tracer(result.value, result.recorder, None if array else result.weak, array=array)
