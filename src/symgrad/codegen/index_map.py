"""Indices through ops that move elements: which element of the operand a position of the result reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from symgrad.codegen.emission import Emission
from symgrad.errors import UnsupportedError
from symgrad.ir import dims
from symgrad.ir.affine import ZERO, Affine
from symgrad.ir.dims import Shape
from symgrad.ir.opdef import Component


def component(emission: Emission, part: Component, index: Sequence[Affine]) -> Affine:
    """One index of the operand: (scale · index[axis] + offset) // divisor."""
    numerator = emission.place(part.offset)
    if part.axis is not None:
        numerator = index[part.axis] * part.scale + numerator
    return emission.quotient(numerator, part.divisor)


def same_layout(a: Shape, b: Shape) -> bool:
    """Whether the elements of a reshaped array stay where they are: only outer sizes change."""
    left, right = ([n for n in shape if not dims.is_one(n)] for shape in (a, b))
    return dims.same(left, right) or all(dims.is_known(n) for n in (*left[1:], *right[1:]))


def reshaped(emission: Emission, shape: Shape, index: Sequence[Affine], goal: Shape) -> tuple[Affine, ...]:
    """The index under shape `goal` of the element that has `index` under `shape`, neither of them empty."""
    found: list[Affine] = []
    for old, new in _groups(shape, goal):
        wide = [k for k in range(old.start, old.stop) if not dims.is_one(shape[k])]
        if dims.same([shape[k] for k in wide], [n for n in goal[new] if not dims.is_one(n)]):
            kept = iter(wide)
            found += [ZERO if dims.is_one(n) else index[next(kept)] for n in goal[new]]
            continue
        if not all(map(dims.is_known, (*shape[old][1:], *goal[new][1:]))):
            raise UnsupportedError(
                f"a reshape of [{', '.join(map(dims.format_dim, shape))}]"
                f" to [{', '.join(map(dims.format_dim, goal))}]",
                why="an inner size changes from one iteration of a loop to the next",
            )
        position = emission.around.flat(shape[old], index[old])
        found += _unravelled(emission, position, emission.around.layout(goal[new]))
    return tuple(found)


def _groups(shape: Shape, goal: Shape) -> Iterator[tuple[slice, slice]]:
    """The shortest runs of axes of both shapes that have the same number of elements."""
    i = j = 0
    while i < len(shape) or j < len(goal):
        first = (i, j)
        i, j = min(i + 1, len(shape)), min(j + 1, len(goal))
        while not dims.same_count(a := shape[first[0] : i], b := goal[first[1] : j]):
            if i == len(shape) and j == len(goal):
                break
            if j == len(goal) or (i < len(shape) and _fewer(a, b)):
                i += 1
            else:
                j += 1
        yield slice(first[0], i), slice(first[1], j)


def _fewer(a: Shape, b: Shape) -> bool:
    """Whether the first shape needs more axes: it has fewer elements, or none that change."""
    if all(map(dims.is_known, (*a, *b))):
        return dims.known(dims.product(a)) < dims.known(dims.product(b))
    return all(map(dims.is_known, a))


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
