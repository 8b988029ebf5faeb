"""NumPy 2 dtype promotion of traced operands, weak Python scalars included."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from symgrad.errors import DTypeError
from symgrad.ir.types import DType, short_name, supported

# A Python number is weak: it takes the dtype of what it meets.
Weak: TypeAlias = "type[int] | type[float] | type[bool] | type[complex]"


def weak_kind(value: object) -> Weak | None:
    """The Python type of a plain Python number, None for anything with a dtype of its own."""
    match value:
        case bool():
            return bool
        case np.generic():
            return None
        case int():
            return int
        case float():
            return float
        case complex():
            return complex
        case _:
            return None


def dtype_of_weak(kind: DType | Weak) -> DType:
    """The dtype that Python numbers of a type have on their own."""
    return np.dtype(np.int64 if kind is int else kind)


@lru_cache(maxsize=4096)
def loop_dtypes(ufunc: np.ufunc, operands: tuple[DType | Weak, ...]) -> tuple[DType, ...]:
    """The dtypes in which NumPy computes the ufunc: one an operand, then the result's."""
    # A Python bool is not weak to NumPy: it is a bool array of rank 0.
    given = tuple(np.dtype(np.bool_) if d is bool else d for d in operands)
    if all(isinstance(d, type) for d in given):
        given = tuple(map(dtype_of_weak, given))
    try:
        found = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout))
    except TypeError as error:
        names = ", ".join(d.__name__ if isinstance(d, type) else str(d) for d in operands)
        raise DTypeError(f"{ufunc.__name__} does not take operands of {names}", why=str(error)) from None
    for dtype in found:
        if not supported(dtype):
            raise DTypeError(f"{ufunc.__name__} in {dtype} is not supported")
        short_name(dtype)
    return tuple(found)


def result_dtype(operands: tuple[DType | Weak, ...]) -> DType:
    """The dtype in which NumPy joins these operands (concatenate, where, einsum)."""
    samples: list[Any] = [
        {int: 0, float: 0.0, complex: 0j, bool: False}[d] if isinstance(d, type) else d for d in operands
    ]
    return np.result_type(*samples)
