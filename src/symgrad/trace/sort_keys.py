"""Elements as the ops of sorting and running take them: float64, float32 or int64, in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrad.errors import DTypeError, UnsupportedError
from symgrad.ir import dims
from symgrad.ir.types import F32, I64, DType
from symgrad.trace.lifting import as_dtype
from symgrad.trace.places import caller
from symgrad.trace.tracer import Tracer

_HALF, _UNSIGNED = np.dtype(np.float16), np.dtype(np.uint64)
_TOP = np.uint64(1 << 63)


def as_key(x: Tracer) -> Tracer:
    """x in a dtype that is sorted, its order kept and no two elements made equal."""
    if x.dtype == _UNSIGNED:
        moved: Any = x ^ _TOP  # read as signed, this is x - 2**63
        return as_dtype(moved, I64)
    if x.dtype == _HALF:
        return as_dtype(x, F32)
    if x.type.is_complex:
        raise DTypeError(f"{x.type} has no order", loc=caller(), cure="order them by np.abs(z) or z.real")
    return x if x.dtype.kind == "f" else as_dtype(x, I64)


def from_key(key: Tracer, dtype: DType) -> Tracer:
    """What `as_key` made of elements of a dtype, as these elements."""
    if dtype == _UNSIGNED:
        moved: Any = as_dtype(key, dtype) ^ _TOP
        return moved
    return as_dtype(key, dtype)


def demand_sizes(name: str, x: Tracer) -> None:
    """Raise for an array whose size changes from one iteration of a loop to the next."""
    if not all(map(dims.is_known, x.type.shape)):
        raise UnsupportedError(
            f"{name} of {x.type}, whose size changes from one iteration to the next, is not supported",
            loc=caller(),
            cure="take the whole array, or write the loop over a Python range that is not traced",
        )
