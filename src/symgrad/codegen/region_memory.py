"""Where the values of regions lie, and how they get there: places, stacks that grow, and copies.

Copies of several values are made all at once: none is written over before it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from symgrad.codegen.emission import Around
from symgrad.codegen.expressions import Atom, Literal, Load, Name
from symgrad.codegen.loops import Assign, Grow, Let, Statement, Store
from symgrad.codegen.lower_kernel import Region, Storage, emit_body
from symgrad.codegen.point import Notes
from symgrad.errors import InternalError
from symgrad.ir import dims
from symgrad.ir.affine import ZERO, Affine
from symgrad.ir.core import Block, Space, Value
from symgrad.ir.regions import row_type
from symgrad.ir.types import BOOL, ArrayType, DType

Held: TypeAlias = "Storage | Atom"  # where a value lies, or what it is


class Places(Protocol):
    """What has memory to give."""

    def stored(self, value: Value, size: int) -> Storage:
        """The storage at the place of a value that takes so many elements."""
        ...

    def temporary(self, type: ArrayType, size: int) -> Storage:
        """Memory that nothing else has."""
        ...

    def growing(self, base: str) -> str:
        """The name of memory that grows."""
        ...


@dataclass(frozen=True, slots=True)
class Stack:
    """Rows that a `while` puts into memory that grows."""

    memory: str
    dtype: DType
    row: int  # elements


@dataclass(slots=True)
class Scope:
    """A block that is being emitted."""

    around: Around
    rows: Sequence[Storage]  # of the stacks that the loop around makes, in this iteration
    held: dict[Value, Held] = field(default_factory=lambda: dict[Value, Held]())
    statements: list[Statement] = field(default_factory=lambda: list[Statement]())

    def inside(self, held: dict[Value, Held], rows: Sequence[Storage] | None = None) -> Scope:
        """A block in this one, whose params are given."""
        return Scope(self.around.inside(self.around.names), self.rows if rows is None else rows, held)


class RegionMemory:
    """The memory that the regions of one op at the top use."""

    def __init__(self, places: Places, results: dict[Value, Storage | None]) -> None:
        self.notes = Notes()
        self.storages: dict[str, Storage] = {}  # those used, by name
        self.memories: list[str] = []  # that grow
        self.results = results  # the storages of the results of the op at the top
        self._places = places

    def note(self, storage: Storage) -> Storage:
        """The storage, which is used."""
        self.storages.setdefault(storage.name, storage)
        return storage

    def number(self, storage: Storage, scope: Scope) -> Atom:
        """The one element of a storage."""
        name = scope.around.names.numbered("v")
        scope.statements.append(Let(name, Load(storage.name, storage.base, storage.dtype)))
        return Name(name, storage.dtype)

    def place(self, value: Value, scope: Scope) -> Storage:
        """Where an array lies."""
        found = self.results.get(value)
        if found is not None:
            return self.note(found)
        if value.place is not None and value.place.space is Space.ROW:
            return scope.rows[value.place.number]
        room = scope.around.room(value.type.shape)
        if room.terms:
            stack = Stack(self._growing(value), value.type.dtype, 1)
            return self.grown(stack, room, scope, ZERO)
        return self.note(self._places.stored(value, room.const))

    # ---- stacks ----
    def stack(self, value: Value, scope: Scope) -> Stack:
        """Memory for the rows of a `while`."""
        row = scope.around.room(value.type.shape[1:])
        if row.terms:
            raise InternalError(f"{value.type} has rows without a limit")
        return Stack(self._growing(value), value.type.dtype, row.const)

    def _growing(self, value: Value) -> str:
        self.memories.append(self._places.growing(value.hint))
        return self.memories[-1]

    def grown(self, stack: Stack, rows: Affine, scope: Scope, row: Affine) -> Storage:
        """A stack with room for some rows, from one row on."""
        name = scope.around.names.fresh("rows")
        size = dims.plain(rows * stack.row)
        scope.statements.append(Grow(name, stack.memory, stack.dtype, size))
        return Storage(name, stack.dtype, size, Region(stack.memory, range(1)), row * stack.row)

    # ---- copies ----
    def move(
        self,
        into: Sequence[Storage | Name],
        values: Sequence[Held],
        types: Sequence[ArrayType],
        scope: Scope,
    ) -> None:
        """Put values where they go, all at once: none is written over before it is read."""
        arrays: list[tuple[Storage, Storage, ArrayType]] = []
        numbers: list[tuple[Name, Atom]] = []
        for place, value, type in zip(into, values, types, strict=True):
            if isinstance(place, Name) and not isinstance(value, Storage):
                numbers.append((place, value))
            elif isinstance(place, Storage) and isinstance(value, Storage):
                if place.memory != value.memory:
                    arrays.append((place, value, type))
            elif isinstance(place, Storage) and not isinstance(value, Storage):
                scope.statements.append(Store(place.name, place.base, value))
            else:
                raise InternalError(f"an array of type {type} goes into a number")
        self._copy_all(arrays, scope)
        _assign(numbers, scope)

    def _copy_all(self, pending: list[tuple[Storage, Storage, ArrayType]], scope: Scope) -> None:
        while pending:
            free = [
                k
                for k, (place, _, _) in enumerate(pending)
                if not any(place.overlaps(other) for j, (_, other, _) in enumerate(pending) if j != k)
            ]
            if free:
                self._copy(*pending.pop(free[0]), scope)
                continue
            place, value, type = pending[0]
            saved = self.note(self._places.temporary(type, scope.around.room(type.shape).const))
            self._copy(saved, value, type, scope)
            pending[0] = (place, saved, type)

    def _copy(self, place: Storage, value: Storage, type: ArrayType, scope: Scope) -> None:
        copied = Value(type)
        body = Block((copied,), (), (copied,))
        scope.statements += emit_body(scope.around, body, [value], [place], self.notes)


def _assign(numbers: Sequence[tuple[Name, Atom]], scope: Scope) -> None:
    """Give variables their next values, all at once."""
    changed = [(name, value) for name, value in numbers if name != value]
    names = {name for name, _ in changed}
    values: list[Atom] = []
    for _, value in changed:
        if value in names and len(changed) > 1:
            saved = scope.around.names.numbered("v")
            scope.statements.append(Let(saved, value))
            value = Name(saved, value.dtype)
        values.append(value)
    scope.statements += [Assign(name.name, value) for (name, _), value in zip(changed, values, strict=True)]


def row_of(stack: Storage, type: ArrayType, row: Affine, scope: Scope) -> Storage:
    """One row of a stack."""
    size = scope.around.room(row_type(type).shape).const
    return Storage(stack.name, stack.dtype, stack.size, stack.region, stack.base + row * size)


def zero_of(dtype: DType) -> Literal:
    return Literal(False if dtype == BOOL else 0.0 if dtype.kind == "f" else 0, dtype)
