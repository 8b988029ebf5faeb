"""Indices through ops that move elements: which element of the operand a position of the result reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from symgrad.codegen.affine import ZERO, Affine, flat_index
from symgrad.codegen.emission import Emission
from symgrad.ir.opdef import Component


def component(emission: Emission, part: Component, index: Sequence[Affine]) -> Affine:
    """One index of the operand: (scale · index[axis] + offset) // divisor."""
    numerator = Affine(part.offset) if part.axis is None else index[part.axis] * part.scale + part.offset
    return emission.quotient(numerator, part.divisor)


def reshaped(
    emission: Emission, shape: Sequence[int], index: Sequence[Affine], goal: Sequence[int]
) -> tuple[Affine, ...]:
    """The index under shape `goal` of the element that has `index` under `shape`, neither of them empty."""
    found: list[Affine] = []
    for old, new in _groups(shape, goal):
        position = flat_index(shape[old], index[old])
        found += _unravelled(emission, position, goal[new])
    return tuple(found)


def _groups(shape: Sequence[int], goal: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """The shortest runs of axes of both shapes that have the same number of elements."""
    i = j = 0
    while i < len(shape) or j < len(goal):
        first = (i, j)
        i, j = min(i + 1, len(shape)), min(j + 1, len(goal))
        while (a := prod(shape[first[0] : i])) != (b := prod(goal[first[1] : j])):
            if a < b:
                i += 1
            else:
                j += 1
        yield slice(first[0], i), slice(first[1], j)


def _unravelled(emission: Emission, position: Affine, sizes: Sequence[int]) -> list[Affine]:
    """The index of a row-major position in an array of these sizes."""
    wide = [k for k, size in enumerate(sizes) if size != 1]
    found = [ZERO] * len(sizes)
    stride = 1
    for k in reversed(wide):
        outermost = k == wide[0]
        found[k] = emission.quotient(position, stride, None if outermost else sizes[k])
        stride *= sizes[k]
    return found
