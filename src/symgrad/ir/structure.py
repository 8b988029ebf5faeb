"""Which elements of matrices are known to be zero: those on one side of the diagonal.

It is found from the records of the ops that make a value: a kind of op has one rule, and an op of linear
algebra says it itself. What is not found is not known; nothing is ever assumed of a param.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from symgrad.ir import dims
from symgrad.ir.core import Op, Value
from symgrad.ir.opdef import (
    Component,
    Constant,
    Coordinate,
    Known,
    Remap,
    Scalar,
    Select,
    Structure,
)
from symgrad.ir.types import ArrayType

MAX_DEPTH = 12  # ops that are looked at one behind the other
MAX_MASK = 1 << 22  # elements of a mask that are computed to see where it holds

Maker = Callable[[Value], "Op | None"]
Mask = np.ndarray[Any, Any]


def structure_of(value: Value, maker: Maker) -> Structure:
    """What is known of the matrices of the last two axes; `maker` gives the op that makes a value."""
    return _Search(maker).of(value, MAX_DEPTH)


@dataclass(frozen=True, slots=True)
class _Search:
    """What is found on the way, once each: a value may be read by many ops behind another one."""

    maker: Maker
    known: dict[tuple[Value, int], Structure] = field(default_factory=lambda: dict[Any, Structure]())
    masks: dict[Value, Mask | None] = field(default_factory=lambda: dict[Value, "Mask | None"]())

    def of(self, value: Value, depth: int) -> Structure:
        """What is known of a value, so many ops behind it looked at."""
        if (value, depth) not in self.known:
            op = self.maker(value) if depth > 0 and value.type.rank >= 2 else None
            self.known[value, depth] = frozenset() if op is None else self._of_result(op, depth)
        return self.known[value, depth]

    def _of_result(self, op: Op, depth: int) -> Structure:
        given = tuple(self.of(v, depth - 1) for v in op.operands)
        if op.opdef.structure is not None:
            return op.opdef.structure(given, dict(op.attrs))
        if isinstance(op.opdef.derivative, Select):
            return _of_select(self._mask(op.operands[0]), given)
        match op.opdef.lowering:
            case Scalar():
                return _of_scalar(op, given)
            case Constant():
                return frozenset(Known) if dict(op.attrs)["value"] == 0 else frozenset()
            case Remap(pieces):
                types = tuple(v.type for v in op.operands)
                found = pieces(types, op.result.type, dict(op.attrs))
                whole = len(found) == 1 and not found[0].within
                return _turned(given[0]) if whole and _is_transpose(found[0].index) else frozenset()
            case _:
                return frozenset()

    def _mask(self, value: Value) -> Mask | None:
        """The elements of a matrix that is computed of nothing but the places of its elements."""
        if value not in self.masks:
            op = self.maker(value)
            self.masks[value] = None if op is None or not _is_small(value.type) else self._elements(op)
        return self.masks[value]

    def _elements(self, op: Op) -> Mask | None:
        sizes = tuple(map(dims.known, op.result.type.shape))
        match op.opdef.lowering:
            case Coordinate():
                return np.indices(sizes)[cast(int, dict(op.attrs)["axis"])]
            case Constant():
                number = dict(op.attrs)["value"]
                return None if isinstance(number, tuple) else np.full(sizes, number)
            case Scalar() if not op.opdef.stated:
                parts = [self._mask(v) for v in op.operands]
                with np.errstate(all="ignore"):
                    return None if any(part is None for part in parts) else op.opdef.evaluate(*parts)
            case _:
                return None


def _of_scalar(op: Op, given: tuple[Structure, ...]) -> Structure:
    """An element is zero where all operands are, if the op is 0 of zeros."""
    zeros = [v.type.dtype.type(0) for v in op.operands]
    stated = {"type": op.result.type.with_shape(())} if op.opdef.stated else {}
    with np.errstate(all="ignore"):
        keeps = bool(op.opdef.evaluate(*zeros, **dict(op.attrs), **stated) == 0)
    return frozenset(Known).intersection(*given) if keeps else frozenset()


def _of_select(mask: Mask | None, given: tuple[Structure, ...]) -> Structure:
    """Where the mask is the same all over a side of the diagonal, what it chooses there counts."""
    if mask is None:
        return given[1] & given[2]
    rows, columns = mask.shape
    above, below = ~np.tri(rows, columns, 0, np.bool_), np.tri(rows, columns, -1, np.bool_)
    found = set[Known]()
    for fact, side in ((Known.LOWER, mask[above]), (Known.UPPER, mask[below])):
        if (fact in given[1] or not side.any()) and (fact in given[2] or side.all()):
            found.add(fact)
    return frozenset(found)


def _is_small(type: ArrayType) -> bool:
    """Whether a matrix is small enough that its elements may be computed."""
    return type.rank == 2 and dims.is_known(type.size) and dims.known(type.size) <= MAX_MASK


def _is_transpose(index: tuple[Component, ...]) -> bool:
    """Whether a move exchanges the last two axes, and does nothing else."""
    rank = len(index)
    order = (*range(rank - 2), rank - 1, rank - 2)
    return rank >= 2 and index == tuple(map(Component, order))


def _turned(known: Structure) -> Structure:
    """What is known of the transposed matrix."""
    swapped = {Known.LOWER: Known.UPPER, Known.UPPER: Known.LOWER}
    return frozenset(swapped[fact] for fact in known)
