"""How the loops of a nest run: axes that act as one are merged, and cut where a read changes its source.

Both are decided from the facts of a first emission with plain loops. Two neighbouring axes become one when
every buffer is indexed by both side by side or by neither, for then only the flat position matters. An axis
is cut at the ends of the ranges that were undecided, and into residues where a range has a step, so that
the bodies of the loops are free of branches; where that would make too many bodies, the branches stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, lcm, prod
from typing import TypeAlias

from symgrad.codegen.affine import Affine, named
from symgrad.codegen.emission import Facts
from symgrad.codegen.roots import Root, Target, axis_name
from symgrad.ir.opdef import ArgReduce, Range

MAX_BODIES = 16  # bodies of the innermost loops that cutting may lead to
MAX_RESIDUES = 8  # remainders of one range that are told apart by loops of their own


@dataclass(frozen=True, slots=True)
class Segment:
    """The coordinates start, start + stride, ... of an axis, `count` of them, in one loop."""

    start: int
    count: int
    stride: int = 1


Plan: TypeAlias = tuple[tuple[Segment, ...], ...]  # the segments of each axis


def plain(space: Sequence[int]) -> Plan:
    """One loop an axis."""
    return tuple((Segment(0, size),) for size in space)


def improved(space: Sequence[int], roots: Sequence[Root], facts: Facts, axis_of: Mapping[str, int]) -> Plan:
    """Merged and cut loops, given what a plain emission met, whose loops' indices are `axis_of` the space."""
    cuts = _cuts(facts, axis_of)
    plan = list(plain(space))
    bodies = 1
    for axis in reversed(range(len(space))):
        segments = _segments(space[axis], cuts.get(axis, []))
        if bodies * len(segments) <= MAX_BODIES:
            plan[axis] = segments
            bodies *= len(segments)
    _merge(plan, space, roots, facts, axis_of, set(cuts))
    return tuple(plan)


# ---- cutting ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Cut:
    """A range of coordinates [start, stop), told apart modulo `modulus` inside."""

    start: int
    stop: int
    modulus: int


def _cuts(facts: Facts, axis_of: Mapping[str, int]) -> dict[int, list[_Cut]]:
    found: dict[int, list[_Cut]] = {}
    for index, piece in facts.undecided:
        if len(index.terms) == 1 and index.terms[0][0] in axis_of:
            found.setdefault(axis_of[index.terms[0][0]], []).append(_cut(index, piece))
    return found


def _cut(index: Affine, piece: Range) -> _Cut:
    """The values of the one name of an index for which it is in a range."""
    factor = index.terms[0][1]
    ends = (piece.start - index.const, piece.stop - 1 - index.const)
    if factor < 0:
        ends = (-ends[1], -ends[0])
    size = abs(factor)
    return _Cut(-(-ends[0] // size), ends[1] // size + 1, piece.step // gcd(piece.step, size))


def _segments(size: int, cuts: Sequence[_Cut]) -> tuple[Segment, ...]:
    ends = {end for cut in cuts for end in (cut.start, cut.stop) if 0 < end < size}
    points = [0, *sorted(ends), size]
    found: list[Segment] = []
    for start, stop in pairwise(points):
        modulus = lcm(*(cut.modulus for cut in cuts if cut.start <= start and stop <= cut.stop))
        modulus = 1 if modulus > MAX_RESIDUES else min(modulus, stop - start)
        for residue in range(modulus):
            first = start + residue
            count = -(-(stop - first) // modulus)
            found.append(Segment(first, count, modulus if count > 1 else 1))
    return tuple(found)


# ---- merging ----------------------------------------------------------------------------------------------
def _merge(
    plan: list[tuple[Segment, ...]],
    space: Sequence[int],
    roots: Sequence[Root],
    facts: Facts,
    axis_of: Mapping[str, int],
    cut: set[int],
) -> None:
    """Give the loops of neighbouring axes that act as one to the last of them."""
    accesses = [_by_axis(shape, index, axis_of) for shape, index in facts.accesses]
    names = {axis_name(axis): axis for axis in range(len(space))}
    accesses += [
        _by_axis(r.target.shape, r.target.index, names) for r in roots if isinstance(r.target, Target)
    ]
    alone = {axis_of[name] for name in facts.alone if name in axis_of} | cut
    alone |= {axis for r in roots if not isinstance(r.target, Target) for axis in range(len(space))}
    alone |= {axis for r in roots if isinstance(r.fold, ArgReduce) for axis in r.reduced}
    wide = [axis for axis in range(len(space)) if space[axis] != 1]
    run: list[int] = []
    for axis in wide:
        joins = (
            run
            and not alone.intersection((run[-1], axis))
            and all(_together(access, run[-1], axis, space[axis]) for access in accesses)
            and all((run[-1] in root.reduced) == (axis in root.reduced) for root in roots)
        )
        run = [*run, axis] if joins else [axis]
        if joins:
            plan[run[-2]] = (Segment(0, 1),)
            plan[axis] = (Segment(0, prod(space[a] for a in run)),)


# An index without its axes of size 1. Of the others: its size; its axis, if it is just that; all axes.
_Access: TypeAlias = "list[tuple[int, int | None, frozenset[int]]]"


def _by_axis(shape: Sequence[int], index: Sequence[Affine], axis_of: Mapping[str, int]) -> _Access:
    found: _Access = []
    for size, e in zip(shape, index, strict=True):
        axes = frozenset(axis_of[name] for name in e.names() if name in axis_of)
        plain_axis = next((axis_of[n] for n in e.names() if n in axis_of and e == named(n)), None)
        if size != 1 or axes:
            found.append((size, plain_axis, axes))
    return found


def _together(access: _Access, outer: int, inner: int, size: int) -> bool:
    """Whether an access has both axes, in this order and side by side, or neither."""
    touching = [k for k, (_, _, axes) in enumerate(access) if outer in axes or inner in axes]
    if not touching:
        return True
    if len(touching) != 2 or touching[1] != touching[0] + 1:
        return False
    (_, first, _), (width, second, _) = access[touching[0]], access[touching[1]]
    return first == outer and second == inner and width == size
