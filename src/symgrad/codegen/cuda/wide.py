"""Loops that move 16 bytes at once: each thread does so many neighbours of the last axis one after another.

Elements that neighbours read or write side by side, from an address that is a multiple of 16 bytes, are moved
by one instruction; every other access stays, once a neighbour. Buffers begin at multiples of 64 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from symgrad.codegen.cuda.setting import Setting
from symgrad.codegen.cuda.threads import Axis, LoadWide, Scope, Spread, StoreWide, ThreadBody, ThreadStatement
from symgrad.codegen.expressions import Apply, Atom, Expression, Load, Name, Position
from symgrad.codegen.loops import Accumulate, Body, Let, Store
from symgrad.ir.affine import Affine, named
from symgrad.ir.types import DType

WIDE_BYTES = 16
MOST_STATEMENTS = 64  # of a body that is written out once a neighbour: registers are few

_Simple: TypeAlias = Let | Store | Accumulate


@dataclass(frozen=True, slots=True)
class _Lanes:
    """The neighbours that one thread does."""

    index: str  # of the axis
    number: str  # of the group of neighbours, an index in its place
    count: int

    def at(self, index: Affine, lane: int) -> Affine:
        """An index at one of the neighbours."""
        return index.substituted({self.index: named(self.number) * self.count + lane})

    def side_by_side(self, index: Affine) -> bool:
        """Whether neighbours meet neighbouring elements, the first of them at a multiple of 16 bytes."""
        factors = dict(index.terms)
        others = [factor for name, factor in index.terms if name != self.index]
        return factors.get(self.index) == 1 and not any(f % self.count for f in (*others, index.const))


def widened(axes: tuple[Axis, ...], body: Body, setting: Setting) -> tuple[Spread, ...]:
    """The loop over the axes by all threads, in groups of neighbours where that moves 16 bytes at once."""
    plain = (Spread(axes, Scope.GRID, body),)
    *outer, last = axes
    simple = [s for s in body if isinstance(s, _Simple)]
    if len(simple) < len(body) or len(body) > MOST_STATEMENTS or last.start != 0 or last.limit is not None:
        return plain
    lanes = _lanes(last, simple, setting)
    if lanes is None:
        return plain
    rest = last.count % lanes.count
    if rest and outer:
        return plain
    groups = Axis(lanes.number, Affine(), Affine(last.count // lanes.count))
    found = [Spread((*outer, groups), Scope.GRID, _written_out(simple, lanes, setting))]
    if rest:
        found.append(Spread((replace(last, start=last.stop + -rest),), Scope.GRID, body))
    return tuple(found)


def _lanes(last: Axis, body: Sequence[_Simple], setting: Setting) -> _Lanes | None:
    """The neighbours of one thread: as many elements of the smallest dtype as are moved at once."""
    sizes = {dtype.itemsize for _, dtype in _accesses(body, setting)}
    if not sizes or min(sizes) not in (4, 8):
        return None
    lanes = _Lanes(last.index, setting.names.fresh("group"), WIDE_BYTES // min(sizes))
    wide = [index for index, dtype in _accesses(body, setting) if _is_wide(index, dtype, lanes)]
    return lanes if len(wide) > 1 and last.count >= lanes.count else None


def _accesses(body: Sequence[_Simple], setting: Setting) -> list[tuple[Affine, DType]]:
    found: list[tuple[Affine, DType]] = []
    for s in body:
        match s:
            case Let(_, Load(buffer, index, dtype)) if buffer not in setting.tables:
                found.append((index, dtype))
            case Store(_, index, value):
                found.append((index, value.dtype))
            case _:
                pass
    return found


def _is_wide(index: Affine, dtype: DType, lanes: _Lanes) -> bool:
    return dtype.itemsize * lanes.count == WIDE_BYTES and lanes.side_by_side(index)


def _written_out(body: Sequence[_Simple], lanes: _Lanes, setting: Setting) -> ThreadBody:
    """The statements for each neighbour, those that move memory together once for all."""
    names, found = setting.names, list[ThreadStatement]()
    renamed: list[dict[str, str]] = [{} for _ in range(lanes.count)]
    for s in body:
        match s:
            case Let(name, Load(buffer, index, dtype)) if buffer not in setting.tables and _is_wide(
                index, dtype, lanes
            ):
                held = names.fresh(f"{buffer}_wide")
                found.append(LoadWide(held, buffer, lanes.at(index, 0)))
                for lane, seen in enumerate(renamed):
                    seen[name] = names.fresh(f"{name}_{lane}")
                    found.append(Let(seen[name], Load(held, Affine(lane), dtype)))
            case Let(name, Load(_, index)) if lanes.index not in index.names():
                found.append(s)
            case Let(name, value):
                for lane, seen in enumerate(renamed):
                    fresh = names.fresh(f"{name}_{lane}")
                    found.append(Let(fresh, _expression(value, seen, lanes, lane)))
                    seen[name] = fresh
            case Store(buffer, index, value) if _is_wide(index, value.dtype, lanes):
                values = tuple(_atom(value, seen) for seen in renamed)
                found.append(StoreWide(buffer, lanes.at(index, 0), values))
            case Store(_, index, value):
                for lane, seen in enumerate(renamed):
                    found.append(replace(s, index=lanes.at(index, lane), value=_atom(value, seen)))
            case Accumulate(_, value, factor):
                for seen in renamed:
                    by = None if factor is None else _atom(factor, seen)
                    found.append(replace(s, value=_atom(value, seen), factor=by))
    return tuple(found)


def _atom(atom: Atom, renamed: Mapping[str, str]) -> Atom:
    return replace(atom, name=renamed.get(atom.name, atom.name)) if isinstance(atom, Name) else atom


def _expression(value: Expression, renamed: Mapping[str, str], lanes: _Lanes, lane: int) -> Expression:
    """An expression for one neighbour."""
    match value:
        case Load(_, index) | Position(index):
            return replace(value, index=lanes.at(index, lane))
        case Apply(_, operands):
            return replace(value, operands=tuple(_atom(o, renamed) for o in operands))
        case Name():
            return replace(value, name=renamed.get(value.name, value.name))
        case _:
            return value
