"""A kernel of the loop IR as launches: large loops shared out among all threads, the rest run by one block.

What passes from one launch to the next goes through memory: a scalar through a cell, an accumulator as the
parts that blocks have folded, which the launch that needs the total folds again. Scalars that any launch can
compute again are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from symgrad.codegen.cuda.cooperative import Cooperative, widest
from symgrad.codegen.cuda.facts import folded_by, free_names, is_pure, name_made, names_used, touched
from symgrad.codegen.cuda.grid import GridNest, Launched, grid_nest
from symgrad.codegen.cuda.nests import Extents, work
from symgrad.codegen.cuda.setting import Setting
from symgrad.codegen.cuda.shape import WARP, power_above
from symgrad.codegen.cuda.threads import First, ThreadStatement
from symgrad.codegen.expressions import Expression, Load, Name, Position, Where
from symgrad.codegen.loops import (
    Accumulate,
    Accumulator,
    Assign,
    Body,
    Branch,
    Buffer,
    Check,
    Clamp,
    Extreme,
    For,
    Let,
    Observe,
    Role,
    Statement,
    Store,
    Variable,
)
from symgrad.codegen.lower_kernel import walk_statements
from symgrad.ir.affine import ZERO, Affine, named
from symgrad.ir.types import I64, DType

THIS_BLOCK = "this_block"  # the index that is the number of the block


@dataclass(frozen=True, slots=True)
class Part:
    """What blocks have folded so far of an accumulator or extreme: an element a block."""

    values: str
    places: str  # of an extreme: where it was seen; else ""
    count: int


@dataclass(slots=True)
class _Group:
    """Statements of one launch, or a loop that is one or more."""

    body: list[Statement]
    nest: GridNest | None = None


@dataclass(slots=True)
class Phases:
    """The launches of one kernel, in order."""

    body: Body
    setting: Setting
    extents: Extents
    launches: list[Launched] = field(default_factory=lambda: list[Launched]())
    scratch: list[Buffer] = field(default_factory=lambda: list[Buffer]())  # memory of the kernel's own
    _folded: dict[str, Accumulator | Extreme] = field(
        default_factory=lambda: dict[str, Accumulator | Extreme]()
    )
    _parts: dict[str, list[Part]] = field(default_factory=lambda: dict[str, list[Part]]())
    _again: dict[str, Statement] = field(
        default_factory=lambda: dict[str, Statement]()
    )  # computed where needed
    _cells: dict[str, tuple[Buffer, bool]] = field(default_factory=lambda: dict[str, tuple[Buffer, bool]]())
    _types: dict[str, DType] = field(default_factory=lambda: dict[str, DType]())

    def run(self) -> None:
        """Fill in the launches."""
        groups = self._groups()
        needed = [self._needs(group.body) for group in groups]
        for k, group in enumerate(groups):
            later = set[str]().union(*needed[k + 1 :])
            if group.nest is None:
                self._by_block(group.body, later)
            else:
                self._by_grid(group.body, group.nest)

    def by_one_thread(self) -> None:
        """Fill in one launch of one thread: buffers share memory in a way that is not followed here."""
        self.launches.append(Launched((First(self.body),), 1, WARP))

    # ---- groups ----
    def _groups(self) -> list[_Group]:
        written = {a.buffer for a in touched(self.body) if a.writes}
        groups = [_Group([])]
        whole = work(self.body, self.extents) <= self.setting.shape.small
        known = Extents(self.extents.bounds)
        for statement in self.body:
            name = name_made(statement)
            if isinstance(statement, Accumulator | Extreme):
                self._folded[statement.name] = statement
            elif name is not None and self._is_free(statement, written):
                self._again[name] = statement
            else:
                nest = None if whole or not isinstance(statement, For) else self._nest(statement, known)
                if nest is not None:
                    groups += [_Group([statement], nest), _Group([])]
                else:
                    groups[-1].body.append(statement)
            known.state(statement)
        unused = set(self._again).difference(*(self._needs(group.body) for group in groups))
        groups[-1].body += [s for name, s in self._again.items() if name in unused and isinstance(s, Check)]
        self._totals_before_use(groups)
        return [group for group in groups if group.body or group.nest is not None]

    def _nest(self, loop: For, known: Extents) -> GridNest | None:
        if work((loop,), known) <= self.setting.shape.small:
            return None
        return grid_nest(loop, known, self.setting)

    def _is_free(self, statement: Statement, written: set[str]) -> bool:
        """Whether a scalar is the same wherever it is computed: nothing that it is made of changes."""
        if not is_pure(statement) or any(a.buffer in written for a in touched((statement,))):
            return False
        used = [name for s in walk_statements((statement,)) for name in names_used(s)]
        made = {name_made(s) for s in walk_statements((statement,))}
        return all(name in self._again or name in made or name in self.extents.bounds for name in used)

    def _totals_before_use(self, groups: list[_Group]) -> None:
        """A loop of all threads that needs a total has a group before it where that is made a scalar."""
        for k, group in enumerate(groups):
            if group.nest is None:
                continue
            for name in free_names(tuple(group.body)):
                if name in self._folded and not any(name in self._needs(g.body) for g in groups[:k]):
                    dtype = self._folded[name].dtype
                    groups[k - 1].body.append(Let(self.setting.names.fresh("known"), Name(name, dtype)))

    def _needs(self, body: Sequence[Statement]) -> set[str]:
        """The names that statements need of others, those behind scalars that are computed again included."""
        found, pending = set[str](), list(free_names(tuple(body)))
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                if name in self._again:
                    pending += free_names((self._again[name],))
        return found

    # ---- launches ----
    def _by_grid(self, body: Sequence[Statement], nest: GridNest) -> None:
        self.scratch += nest.scratch
        before = self._before(body)
        first, *others = nest.launches
        declared = [self._folded[name] for name in nest.folds]
        kept = [s for name in nest.folds for s in self._keep_part(name, first.grid)]
        stored = [First(tuple(kept))] if kept else []
        self.launches.append(Launched((*before, *declared, *first.body, *stored), first.grid, first.block))
        for launch in others:
            self.launches.append(Launched((*before, *launch.body), launch.grid, launch.block))

    def _by_block(self, body: Sequence[Statement], later: set[str]) -> None:
        statements: list[Statement] = [*self._before(body)]
        needs = self._needs(body)
        folds = [name for name in folded_by(tuple(body)) if name in self._folded]
        read = [name for name in self._folded if name in needs and name not in self._cells]
        for name in dict.fromkeys((*folds, *read)):
            statements.append(self._folded[name])
            if name in read:
                statements += self._parts_of(name)
        statements += body
        width = power_above(
            widest(tuple(statements), self.extents, self.setting.alias), WARP, self.setting.shape.block
        )
        block = Cooperative(self.setting.alias, width)
        made: list[ThreadStatement] = list(block.body(tuple(statements), self.extents))
        made += block.finish((*folds, *read))
        kept = [s for name in folds if name not in read for s in self._keep_part(name, 1)]
        kept += [s for name in self._defined(body, read) if name in later for s in self._keep(name, body)]
        if kept:
            made.append(First(tuple(kept)))
        self.launches.append(Launched(tuple(made), 1, width))

    def _before(self, body: Sequence[Statement]) -> list[Statement]:
        """The statements that give a launch the scalars it needs of others."""
        needs = self._needs(body)
        loaded = [s for name in self._cells if name in needs for s in self._load(name)]
        return [*loaded, *(s for name, s in self._again.items() if name in needs)]

    # ---- accumulators ----
    def _keep_part(self, name: str, count: int) -> Body:
        """What this block has folded, stored as a part."""
        folded = self._folded[name]
        values = self._buffer(f"{name}_parts", folded.dtype, count)
        at = ZERO if count == 1 else named(THIS_BLOCK)
        places, stores = "", (Store(values, at, Name(name, folded.dtype)),)
        if isinstance(folded, Extreme):
            places, where = self._buffer(f"{name}_places", I64, count), self.setting.names.fresh("place")
            stores = (*stores, Let(where, Where(name, I64)), Store(places, at, Name(where, I64)))
        self._parts.setdefault(name, []).append(Part(values, places, count))
        return stores

    def _parts_of(self, name: str) -> Body:
        """What blocks have folded before, folded again."""
        folded, found = self._folded[name], list[Statement]()
        for part in self._parts.get(name, ()):
            at, value = self.setting.names.fresh("part"), self.setting.names.fresh("of_part")
            load = Let(value, Load(part.values, named(at), folded.dtype))
            body: Body = (load, Accumulate(name, Name(value, folded.dtype), None))
            if isinstance(folded, Extreme):
                place, index = self.setting.names.fresh("place"), self.setting.names.fresh("at")
                body = (
                    load, Let(place, Load(part.places, named(at), I64)),
                    Clamp(index, Name(place, I64), 1 << 62),
                    Observe(name, Name(value, folded.dtype), named(index)),
                )  # fmt: skip
            found.append(For(at, ZERO, Affine(part.count), 1, None, body))
        return tuple(found)

    # ---- scalars ----
    def _defined(self, body: Sequence[Statement], totals: Iterable[str]) -> list[str]:
        """The scalars that a launch has made or changed."""
        made = [name for s in body if (name := name_made(s)) is not None]
        changed = [s.name for s in walk_statements(tuple(body)) if isinstance(s, Assign)]
        known = [name for name in (*made, *changed) if name in made or name in self._cells]
        return list(dict.fromkeys((*known, *totals)))

    def _keep(self, name: str, body: Sequence[Statement]) -> Body:
        """A scalar stored in its cell."""
        value, dtype, varies = self._scalar(name, body)
        if name not in self._cells:
            size = self._buffer(f"{name}_cell", dtype, 1)
            self._cells[name] = (next(b for b in self.scratch if b.name == size), varies)
        held, fresh = self._cells[name][0], self.setting.names.fresh("kept")
        return (Let(fresh, value), Store(held.name, ZERO, Name(fresh, dtype)))

    def _scalar(self, name: str, body: Sequence[Statement]) -> tuple[Expression, DType, bool]:
        """A name as a value: its dtype, and whether it is a variable."""
        if name in self._folded and isinstance(self._folded[name], Extreme):
            return Where(name, I64), I64, False
        if name in self._folded:
            return Name(name, self._folded[name].dtype), self._folded[name].dtype, False
        for s in body:
            match s:
                case Let(made, value) if made == name:
                    return Name(name, value.dtype), value.dtype, False
                case Branch(made, dtype) if made == name:
                    return Name(name, dtype), dtype, False
                case Variable(made, value) if made == name:
                    return Name(name, value.dtype), value.dtype, True
                case _:
                    pass
        if name in self._cells:
            dtype = self._cells[name][0].dtype
            return Name(name, dtype), dtype, self._cells[name][1]
        return Position(named(name), I64), I64, False

    def _load(self, name: str) -> Body:
        """A scalar from its cell."""
        cell, varies = self._cells[name]
        if not varies:
            return (Let(name, Load(cell.name, ZERO, cell.dtype)),)
        fresh = self.setting.names.fresh("held")
        return (Let(fresh, Load(cell.name, ZERO, cell.dtype)), Variable(name, Name(fresh, cell.dtype)))

    def _buffer(self, base: str, dtype: DType, count: int) -> str:
        name = self.setting.names.fresh(base)
        self.scratch.append(Buffer(name, dtype, count, Role.UPDATE))
        return name
