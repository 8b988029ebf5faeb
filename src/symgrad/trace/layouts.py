"""Layouts: what only the strides of an array tell: whether a reshaped array is a view, or writeable.

A sample is an array of the shape and strides of a traced one, with next to no memory behind it: NumPy itself
says what it makes of such an array. Its elements are never read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from symgrad.ir import dims

if TYPE_CHECKING:
    from symgrad.trace.tracer import Tracer


class Sharing(Enum):
    """Whether a result of NumPy has the elements of its operand, or copies of them."""

    VIEW = "view"
    COPY = "copy"
    UNKNOWN = "unknown"  # it depends on a layout that the trace does not know


@dataclass(frozen=True, slots=True)
class Layout:
    """A sample, and whether the array certainly has its strides: if not, no two of its axes can be merged."""

    sample: np.ndarray[Any, Any]
    sure: bool


def layout_of(x: Tracer) -> Layout | None:
    """The layout of an array; None where its sizes change in a loop."""
    return _layout(x, _certain)


def _layout(x: Tracer, of_base: Callable[[Tracer], Layout]) -> Layout | None:
    if not all(map(dims.is_known, x.type.shape)):
        return None
    if x.source is None:
        return of_base(x)
    parent = _layout(x.source.parent, of_base)
    if parent is None:
        return None
    sample = x.source.apply(parent.sample)
    # Where an index is traced, the sample is that of another one.
    return Layout(sample, parent.sure) if sample.shape == x.shape else None


def _certain(x: Tracer) -> Layout:
    """What is known of an array that is no view, in every call."""
    storage = x.storage
    if storage.sample is None:
        storage.sample = _sample(x, in_order=storage.in_order)
    return Layout(storage.sample, storage.in_order or storage.made_known or x.ndim == 0)


def _deciding(x: Tracer) -> Layout | None:
    """The layout where it decides: if need be, that of the call; the program then relies on it."""
    found = layout_of(x)
    storage = x.storage
    if found is None or found.sure or not storage.found_in_order:
        return found
    storage.relied = True
    return _layout(x, lambda base: Layout(_sample(base, in_order=True), sure=True))


def _sample(x: Tracer, *, in_order: bool) -> np.ndarray[Any, Any]:
    strides: list[int] = []
    step = x.itemsize if in_order else 3 * x.itemsize
    for n in reversed(x.shape):
        strides.append(step)
        step = step * max(n, 1) if in_order else 2 * step * max(n, 1) + x.itemsize
    return as_strided(np.zeros(1, x.dtype), x.shape, strides[::-1])


def writeable(x: Tracer) -> bool:
    """Whether NumPy lets one write into an array."""
    if x.known is not None:
        return bool(x.known.flags.writeable)
    found = None if x.source is None else layout_of(x)
    return found is None or bool(found.sample.flags.writeable)


def row_by_row(x: Tracer) -> bool:
    """Whether later axes certainly have smaller strides: what NumPy makes of such arrays is in order."""
    if x.source is None and x.known is None:
        return x.storage.in_order or x.ndim <= 1
    found = layout_of(x)
    return found is not None and found.sure and descending(found.sample)


def descending(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array's strides are positive, and smaller for later axes."""
    steps = [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    return all(s > 0 for s in steps) and sorted(steps, reverse=True) == steps


def reshaping(x: Tracer, shape: Any, order: str) -> Sharing:
    """Whether x.reshape(shape) is a view."""
    found = layout_of(x)
    if found is None:
        return Sharing.VIEW if x.ndim <= 1 else Sharing.UNKNOWN
    if _reshapes(found, shape, order):
        return Sharing.VIEW
    found = _deciding(x)
    if found is None or not found.sure:
        return Sharing.UNKNOWN
    return Sharing.VIEW if _reshapes(found, shape, order) else Sharing.COPY


def _reshapes(found: Layout, shape: Any, order: str) -> bool:
    """Whether NumPy reshapes an array of this layout without copying."""
    try:
        found.sample.reshape(shape, order=order, copy=False)  # type: ignore[call-overload]
    except ValueError:
        return False
    return True


def ravelling(x: Tracer, order: str) -> Sharing:
    """Whether np.ravel(x) is a view."""
    found = _deciding(x)
    if found is None or not found.sure:
        return Sharing.UNKNOWN
    flags = found.sample.flags
    match order:
        case "C":
            return Sharing.VIEW if flags.c_contiguous else Sharing.COPY
        case "F":
            return Sharing.VIEW if flags.f_contiguous else Sharing.COPY
        case _:
            return Sharing.VIEW if flags.c_contiguous else Sharing.UNKNOWN


def relate(x: Tracer, made: Tracer) -> None:
    """Note that an array may have the elements of x, or copies of them."""
    for storage in {x.storage, *x.storage.kin}:
        storage.kin.add(made.storage)
        made.storage.kin.add(storage)
