"""How large arrays get while the index names in their sizes take all of their values.

An array lies in memory as if each of its axes had its largest size, so that every element has one place.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgrad.ir import dims
from symgrad.ir.core import Block
from symgrad.ir.dims import Dim, Ranges
from symgrad.ir.index_names import ENDLESS, ranges_after
from symgrad.ir.types import ArrayType


def ranges_within(block: Block, ranges: Ranges) -> Ranges:
    """The ranges of all names that the ops of a block see, given those around it."""
    for op in block.ops:
        ranges = ranges_after(op, ranges)
    return ranges


def most_elements(shape: Sequence[Dim], ranges: Ranges) -> int | None:
    """The most elements that an array of the shape has; None if nothing is known before the program runs."""
    found = 1
    for size in shape:
        most = dims.largest(size, ranges)
        if most >= ENDLESS // 2:
            return None
        found *= most
    return found


def most_bytes(type: ArrayType, ranges: Ranges) -> int | None:
    """The most bytes that an array of the type has; None if nothing is known before the program runs."""
    count = most_elements(type.shape, ranges)
    return None if count is None else count * type.dtype.itemsize


def estimated_bytes(type: ArrayType, ranges: Ranges) -> int:
    """The most bytes that an array of the type has; very many where nobody knows."""
    most = most_bytes(type, ranges)
    return ENDLESS if most is None else most


def same_layout(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether the elements of arrays with two shapes lie in the same places, taken in row-major order."""
    left, right = ([n for n in shape if not dims.is_one(n)] for shape in (a, b))
    if dims.same(left, right):
        return True
    return dims.same_count(a, b) and all(dims.is_known(n) for n in (*left[1:], *right[1:]))
