"""Literals: plain numbers and arrays, as the constants that a program may hold."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from symgrad.errors import DTypeError, IntegerRangeError
from symgrad.ir.types import DType, native
from symgrad.trace.places import caller
from symgrad.trace.promotion import weak_kind


def concrete(x: object, dtype: DType | None = None) -> np.ndarray[Any, Any]:
    """x as a native array of a supported dtype; Python numbers that do not fit are refused."""
    if weak_kind(x) is int and dtype is not None:
        return _whole_number(cast(int, x), dtype)
    array = np.asarray(x)
    if array.dtype == object:
        raise DTypeError(f"{type(x).__name__} is not an array of numbers", loc=caller())
    return array.astype(native(array.dtype) if dtype is None else dtype)


def _whole_number(x: int, dtype: DType) -> np.ndarray[Any, Any]:
    """A Python integer in a dtype; refused as by NumPy if it does not fit."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
        raise IntegerRangeError(
            f"Python integer {x} out of bounds for {dtype}",
            loc=caller(),
            why="a Python number takes the dtype of the array beside it",
            cure="convert the array first, as x.astype(np.int64)",
        )
    return np.asarray(float(x) if dtype.kind == "f" else x).astype(dtype)


def raw(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of the elements, one row an element."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)


def uniform(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements are one bit pattern, so that 0.0 and -0.0 stay apart and NaN equals itself."""
    return array.size <= 1 or bool((raw(array) == raw(array)[0]).all())
