"""Constants: from arrays to the attribute `value` of the op `constant`, and back."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from symgrad.ir.core import Attr, Op
from symgrad.ir.opdef import Constant
from symgrad.ir.ops import DENSE_LIMIT
from symgrad.ir.types import DType

Number: TypeAlias = "bool | int | float"


def is_constant(op: Op) -> bool:
    """Whether the op is a constant."""
    return isinstance(op.opdef.lowering, Constant)


def is_room(op: Op | None) -> bool:
    """Whether the op is a constant of which no element is read before it is written."""
    return op is not None and is_constant(op) and bool(dict(op.attrs).get("room"))


def splat_of(op: Op) -> Number | None:
    """The number in every element of a constant; None for other ops, and for constants of several numbers."""
    if not is_constant(op):
        return None
    value = dict(op.attrs)["value"]
    return None if isinstance(value, tuple) else cast(Number, value)


def literal(number: Number | np.generic, dtype: DType) -> Attr:
    """The attribute for one number of this element type: what the type really holds, as a Python number."""
    with np.errstate(all="ignore"):
        return cast(Attr, np.asarray(number).astype(dtype).item())


def literal_of(array: NDArray[Any]) -> Attr | None:
    """The attribute for an array: one number if all elements have the same bits; None if it is too large."""
    if array.size == 0:
        return literal(0, array.dtype)
    flat = np.ascontiguousarray(array).reshape(-1)
    raw = flat.view(np.uint8).reshape(flat.size, -1)
    if bool((raw == raw[0]).all()):
        return cast(Attr, flat[0].item())
    return tuple(flat.tolist()) if flat.size <= DENSE_LIMIT else None
