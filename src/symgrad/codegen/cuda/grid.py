"""A loop shared out among all threads of a launch: an index a thread or a block, or sums in two launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import cast

from symgrad.codegen.cuda.cooperative import Cooperative, widest
from symgrad.codegen.cuda.facts import accesses_of, folded_by, touched
from symgrad.codegen.cuda.nests import Extents, around, independent, perfect, total_of
from symgrad.codegen.cuda.setting import Setting
from symgrad.codegen.cuda.shape import WARP, power_above
from symgrad.codegen.cuda.threads import Atomic, Axis, Fold, Rows, ThreadBody, position, size
from symgrad.codegen.cuda.wide import widened
from symgrad.codegen.emission import Names
from symgrad.codegen.expressions import Load, Name
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    Body,
    Buffer,
    Combine,
    For,
    If,
    Let,
    Role,
    Statement,
    Store,
)
from symgrad.codegen.lower_kernel import loads, walk_statements
from symgrad.ir.affine import ZERO, Affine, named
from symgrad.ir.opdef import Reduction
from symgrad.ir.types import F32, F64

LONG_SUM = 32  # additions to one element that are made in more than one part, where there are few elements
MANY = 8  # times as many threads pay for sums that wait for each other
ROW = 32  # iterations of an inner loop that a block shares out


@dataclass(frozen=True, slots=True)
class Launched:
    """What one launch runs."""

    body: ThreadBody
    grid: int
    block: int


@dataclass(frozen=True, slots=True)
class GridNest:
    """A loop as launches: the first of them folds into `folds`, a part in each of its blocks."""

    launches: tuple[Launched, ...]
    scratch: tuple[Buffer, ...]
    folds: tuple[str, ...]


def grid_nest(loop: For, extents: Extents, setting: Setting) -> GridNest | None:
    """The loop shared out among all threads of a launch; None if its iterations need each other."""
    nest = perfect(loop)
    shared = independent(nest, extents, setting.alias)
    axes = tuple(axis for axis in nest.axes if any(axis.index == one.index for one in shared))
    if not axes or not all(axis.fixed for axis in axes):
        return None
    rest = tuple(one for one in nest.loops if one not in shared)
    folds = tuple(folded_by(nest.body))
    if rest:
        sums = _sums(nest.body, [one.index for one in rest], axes)
        split = _in_parts(rest, nest.body, axes, sums, folds, extents, setting) if sums else None
        if split is not None:
            return split
    if rest and not setting.shape.ordered:
        summed = _added_to(nest.body, setting.alias)
        more = independent(nest, extents, setting.alias, summed) if summed else ()
        wide = tuple(axis for axis in nest.axes if any(axis.index == one.index for one in more))
        if more and all(axis.fixed for axis in wide) and size(wide) >= MANY * size(axes):
            left = tuple(one for one in nest.loops if one not in more)
            body = around(left, _atomically(nest.body, summed))
            return GridNest((_by_threads(wide, body, folds, setting),), (), folds)
    known = extents
    for one in nest.loops:
        known = known.inside(one)
    if not rest and _by_rows(nest.body, known, size(axes), setting):
        width = power_above(widest(nest.body, known, setting.alias), WARP, setting.shape.block)
        block = Cooperative(setting.alias, width)
        body = block.row(nest.body, known, folds)
        launch = Launched((Rows(axes, body), *map(Fold, folds)), min(size(axes), setting.shape.blocks), width)
        return GridNest((launch,), (), folds)
    return GridNest((_by_threads(axes, around(rest, nest.body), folds, setting),), (), folds)


def _by_threads(axes: tuple[Axis, ...], body: Body, folds: Sequence[str], setting: Setting) -> Launched:
    spread, *tail = widened(axes, body, setting)
    count = size(spread.axes)
    block = power_above(count, WARP, setting.shape.block)
    grid = min(-(-count // block), setting.shape.blocks)
    return Launched((spread, *tail, *map(Fold, folds)), max(1, grid), block)


def _by_rows(body: Body, known: Extents, rows: int, setting: Setting) -> bool:
    """Whether a block an index is better than a thread: inner loops are long, and lie along memory."""
    inner = [s for s in body if isinstance(s, For)]
    if not inner or widest(body, known, setting.alias) < ROW:
        return False
    return rows < setting.shape.block or any(_is_along(one) for one in inner)


def _is_along(loop: For) -> bool:
    """Whether neighbouring iterations of the innermost loops read neighbouring elements."""
    within = [s for s in walk_statements((loop,)) if isinstance(s, For)]
    last = within[-1].index
    steps = [dict(load.index.terms).get(last, 0) for load in loads((loop,))]
    return 2 * sum(abs(step) == 1 for step in steps) > sum(abs(step) > 1 for step in steps)


# ---- sums into places that data decide --------------------------------------------------------------------
def _added_to(body: Body, alias: Mapping[str, str]) -> frozenset[str]:
    """The buffers that a body only adds to, by statements that a GPU can carry out as one."""
    added = {s.buffer for s in walk_statements(body) if isinstance(s, Combine) and _is_added(s)}
    others = {
        alias.get(a.buffer, a.buffer)
        for s in walk_statements(body) if not _is_added(s) for a in accesses_of(s)
    }  # fmt: skip
    return frozenset(b for b in added if alias.get(b, b) not in others)


def _is_added(statement: Statement) -> bool:
    return (
        isinstance(statement, Combine)
        and statement.kind is Reduction.SUM
        and statement.value.dtype in (F64, F32)
    )


def _atomically(body: Body, summed: AbstractSet[str]) -> Body:
    """The statements with each sum into those buffers as one that no other thread comes between."""
    found: list[Statement] = []
    for s in body:
        match s:
            case Combine(buffer, index, _, value) if buffer in summed:
                found.append(cast(Statement, Atomic(buffer, index, value)))
            case For(body=inner):
                found.append(replace(s, body=_atomically(inner, summed)))
            case If(then=then, otherwise=otherwise):
                arms = (_atomically(then, summed), _atomically(otherwise, summed))
                found.append(replace(s, then=arms[0], otherwise=arms[1]))
            case _:
                found.append(s)
    return tuple(found)


# ---- sums into memory, in parts ---------------------------------------------------------------------------
def _sums(body: Body, rest: Sequence[str], axes: Sequence[Axis]) -> tuple[Combine, ...]:
    """The statements that combine into elements which every iteration of the loops `rest` meets again.

    None of them if something else touches those buffers, or if an element is not told by the axes alone.
    """
    found = [s for s in body if isinstance(s, Combine) and not set(s.index.names()) & set(rest)]
    names = {axis.index for axis in axes}
    if any(set(s.index.names()) != names for s in found):
        return ()
    buffers = [s.buffer for s in found]
    others = [a.buffer for s in body if s not in found for a in touched((s,))]
    again = [
        a
        for a in touched(body)
        if a.writes and a.buffer not in buffers and not set(rest) & set(a.index.names())
    ]
    if len(set(buffers)) < len(buffers) or set(buffers) & set(others) or again:
        return ()
    return tuple(found)


def _in_parts(
    rest: Sequence[For],
    body: Body,
    axes: tuple[Axis, ...],
    sums: Sequence[Combine],
    folds: tuple[str, ...],
    extents: Extents,
    setting: Setting,
) -> GridNest | None:
    """Sums into few elements in two launches: parts of them, then their totals; None where one is enough."""
    first, *inner = rest
    rows, columns = total_of([first], extents), size(axes)
    names, shape = setting.names, setting.shape
    wanted = min(rows // LONG_SUM, -(-(shape.block * shape.blocks) // columns))
    fixed = Axis(first.index, first.start, first.stop, first.limit).fixed
    if (
        wanted < 2
        or not fixed
        or first.limit is not None
        or not _is_whole(rest, body, sums, axes, extents, setting.alias)
    ):
        return None
    per = -(-rows // wanted)
    parts = -(-rows // per)
    part, here = names.fresh("part"), position(axes)
    start = named(part) * per + first.start
    chunk = replace(first, start=start, stop=start + per, limit=first.stop)
    totals = [names.fresh("total") for _ in sums]
    scratch = [
        Buffer(names.fresh(f"{s.buffer}_parts"), s.value.dtype, parts * columns, Role.WRITE) for s in sums
    ]
    folded = dict(zip(sums, totals, strict=True))
    inside = tuple(Accumulate(folded[s], s.value, None) if s in folded else s for s in body)
    place = named(part) * columns + here
    first_body: Body = (
        *(Accumulator(t, s.kind, s.value.dtype, blocked=False) for s, t in zip(sums, totals, strict=True)),
        *around([chunk, *inner], inside),
        *(Store(b.name, place, Name(t, b.dtype)) for b, t in zip(scratch, totals, strict=True)),
    )
    made = (Axis(part, ZERO, Affine(parts)), *axes)
    second: list[Statement] = []
    for s, buffer in zip(sums, scratch, strict=True):
        second += _total(s, buffer, place, part, parts, names)
    launches = (
        _by_threads(made, first_body, folds, setting),
        _by_threads(axes, tuple(second), (), setting),
    )
    return GridNest(launches, tuple(scratch), folds)


def _total(s: Combine, buffer: Buffer, place: Affine, part: str, parts: int, names: Names) -> Body:
    """The parts of a sum added up, and added to its element."""
    total, read = names.fresh("total"), names.fresh("of_part")
    step = (
        Let(read, Load(buffer.name, place, buffer.dtype)),
        Accumulate(total, Name(read, buffer.dtype), None),
    )
    return (
        Accumulator(total, s.kind, buffer.dtype, blocked=False),
        For(part, ZERO, Affine(parts), 1, None, step),
        replace(s, value=Name(total, buffer.dtype)),
    )


def _is_whole(
    rest: Sequence[For],
    body: Body,
    sums: Sequence[Combine],
    axes: Sequence[Axis],
    extents: Extents,
    alias: Mapping[str, str],
) -> bool:
    """Whether all that a body writes beside the sums may be done by other threads for other rows."""
    others = tuple(s for s in body if s not in sums)
    if not any(a.writes for a in touched(others)):
        return True
    loops = [For(axis.index, axis.start, axis.stop, 1, axis.limit, ()) for axis in axes]
    nest = replace(perfect(rest[0]), loops=(rest[0], *loops), body=around(rest[1:], others))
    return len(independent(nest, extents, alias)) == len(nest.loops)
