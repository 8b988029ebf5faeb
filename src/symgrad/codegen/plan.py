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
from math import gcd, lcm
from typing import TypeAlias

from symgrad.codegen.bounds import Bounds
from symgrad.codegen.emission import Facts
from symgrad.codegen.roots import Register, Root, Target, axis_name
from symgrad.ir import dims
from symgrad.ir.affine import Affine, named
from symgrad.ir.dims import Dim, Shape, affine
from symgrad.ir.opdef import ArgReduce

MAX_BODIES = 16  # bodies of the innermost loops that cutting may lead to
MAX_RESIDUES = 8  # remainders of one range that are told apart by loops of their own


@dataclass(frozen=True, slots=True)
class Segment:
    """The coordinates start, start + stride, ... of an axis, `count` of them, in one loop."""

    start: Dim
    count: Dim
    stride: int = 1


Plan: TypeAlias = tuple[tuple[Segment, ...], ...]  # the segments of each axis


def plain(space: Shape) -> Plan:
    """One loop an axis."""
    return tuple((Segment(0, size),) for size in space)


def improved(
    space: Shape, roots: Sequence[Root], facts: Facts, axis_of: Mapping[str, int], bounds: Bounds
) -> Plan:
    """Merged and cut loops, given what a plain emission met, whose loops' indices are `axis_of` the space.

    The sizes are made of the indices around, whose bounds are given.
    """
    cuts = _cuts(facts, axis_of)
    plan = list(plain(space))
    bodies = 1
    for axis in reversed(range(len(space))):
        segments = _segments(space[axis], cuts.get(axis, []), bounds)
        if bodies * len(segments) <= MAX_BODIES:
            plan[axis] = segments
            bodies *= len(segments)
    _merge(plan, space, roots, facts, axis_of, set(cuts))
    return tuple(plan)


# ---- cutting ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Cut:
    """A range of coordinates [start, stop), told apart modulo `modulus` inside."""

    start: Dim
    stop: Dim
    modulus: int


def _cuts(facts: Facts, axis_of: Mapping[str, int]) -> dict[int, list[_Cut]]:
    """The cuts of each axis that an undecided range is along; none where the range is askew."""
    found: dict[int, list[_Cut]] = {}
    for index, start, stop, step in facts.undecided:
        names = [name for name in index.names() if name in axis_of]
        for name in names:
            cut = _cut(index, name, start, stop, step) if len(names) == 1 else None
            found.setdefault(axis_of[name], []).extend([] if cut is None else [cut])
    return found


def _cut(index: Affine, name: str, start: Affine, stop: Affine, step: int) -> _Cut | None:
    """The values of a name for which an index is in a range; None where they are no range of their own."""
    factor = dict(index.terms)[name]
    rest = index + named(name) * -factor
    ends = (start + rest * -1, stop + rest * -1 + -1)
    if factor < 0:
        ends = (ends[1] * -1, ends[0] * -1)
    size = abs(factor)
    low, high = map(dims.plain, ends)
    if isinstance(low, int) and isinstance(high, int):
        return _Cut(-(-low // size), high // size + 1, step // gcd(step, size))
    return _Cut(low, dims.add(high, 1), 1) if size == step == 1 else None


def _segments(size: Dim, cuts: Sequence[_Cut], bounds: Bounds) -> tuple[Segment, ...]:
    found: list[Segment] = []
    for start, stop in pairwise(_points(size, cuts, bounds)):
        count = dims.shift(stop, start)
        if not isinstance(count, int) or not isinstance(start, int) or not isinstance(stop, int):
            found.append(Segment(start, count))
            continue
        known = [cut for cut in cuts if isinstance(cut.start, int) and isinstance(cut.stop, int)]
        modulus = lcm(
            *(cut.modulus for cut in known if dims.known(cut.start) <= start and stop <= dims.known(cut.stop))
        )
        modulus = 1 if modulus > MAX_RESIDUES else min(modulus, count)
        for residue in range(modulus):
            first = start + residue
            count = -(-(stop - first) // modulus)
            found.append(Segment(first, count, modulus if count > 1 else 1))
    return tuple(found)


def _points(size: Dim, cuts: Sequence[_Cut], bounds: Bounds) -> list[Dim]:
    """Where segments begin, in order, and the size; the ends alone where the order is not known."""

    def before(a: Dim, b: Dim) -> bool:
        return bounds.never_negative(affine(dims.shift(b, a)))

    points: list[Dim] = [0]
    for end in dict.fromkeys(end for cut in cuts for end in (cut.start, cut.stop)):
        if before(end, 0) or before(size, end):
            continue
        place = next((k for k, point in enumerate(points) if before(end, point)), len(points))
        if not before(points[place - 1], end) or not before(end, size):
            return [0, size]
        points.insert(place, end)
    return [*points, size] if points[-1] != size or dims.is_zero(size) else points


# ---- merging ----------------------------------------------------------------------------------------------
def _merge(
    plan: list[tuple[Segment, ...]],
    space: Shape,
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
    if not all(isinstance(r.target, Target | Register) for r in roots):
        alone |= set(range(len(space)))
    alone |= {axis for r in roots if isinstance(r.fold, ArgReduce) for axis in r.reduced}
    wide = [axis for axis, size in enumerate(space) if not dims.is_one(size)]
    run: list[int] = []
    for axis in wide:
        joins = (
            run
            and not alone.intersection((run[-1], axis))
            and all(_together(access, run[-1], axis, space[axis]) for access in accesses)
            and dims.is_known(space[axis])
            and all((run[-1] in root.reduced) == (axis in root.reduced) for root in roots)
        )
        run = [*run, axis] if joins else [axis]
        if joins:
            plan[run[-2]] = (Segment(0, 1),)
            plan[axis] = (Segment(0, dims.product(space[a] for a in run)),)


# An index without its axes of size 1. Of the others: its size; its axis, if it is just that; all axes.
_Access: TypeAlias = "list[tuple[Dim, int | None, frozenset[int]]]"


def _by_axis(shape: Shape, index: Sequence[Affine], axis_of: Mapping[str, int]) -> _Access:
    found: _Access = []
    for size, e in zip(shape, index, strict=True):
        axes = frozenset(axis_of[name] for name in e.names() if name in axis_of)
        plain_axis = next((axis_of[n] for n in e.names() if n in axis_of and e == named(n)), None)
        if not dims.is_one(size) or axes:
            found.append((size, plain_axis, axes))
    return found


def _together(access: _Access, outer: int, inner: int, size: Dim) -> bool:
    """Whether an access has both axes, in this order and side by side, or neither."""
    touching = [k for k, (_, _, axes) in enumerate(access) if outer in axes or inner in axes]
    if not touching:
        return True
    if len(touching) != 2 or touching[1] != touching[0] + 1:
        return False
    (_, first, _), (width, second, _) = access[touching[0]], access[touching[1]]
    return first == outer and second == inner and dims.equal(width, size)
