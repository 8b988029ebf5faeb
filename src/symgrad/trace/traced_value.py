"""`TracedValue`: what tells a tracer from data, without loading what tracing needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symgrad.ir.types import ArrayType
    from symgrad.trace.promotion import Weak
    from symgrad.trace.storage import Storage


class TracedValue:
    """The base of tracers."""

    __slots__ = ()

    type: ArrayType
    weak: Weak | None  # the Python type, if it stands for a Python number
    array: bool  # NumPy has an array here, not a scalar
    storage: Storage  # its elements
