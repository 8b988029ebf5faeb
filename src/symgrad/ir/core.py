"""The IR: values, ops, blocks and functions, all frozen; a pass builds new ones.

A program is ordered SSA. Regions are blocks that see nothing but their params. Names and locations carry no
meaning; identity is identity of `Value` objects, so records compare by identity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from symgrad.errors import InternalError, Loc
from symgrad.ir.affine import Affine
from symgrad.ir.types import ArrayType

if TYPE_CHECKING:
    from symgrad.ir.opdef import OpDef

# A size or place that changes in a loop is an Affine.
Attr: TypeAlias = "bool | int | float | str | Affine | tuple[Attr, ...]"
Attrs: TypeAlias = "tuple[tuple[str, Attr], ...]"


class Space(Enum):
    """Where a buffer lies."""

    ARENA = "arena"  # at a byte offset of the arena
    RESULT = "result"  # the fresh array of a numbered result of the function
    PARAM = "param"  # the array of a numbered param of the function
    ROW = "row"  # this iteration's row of a numbered stack that the loop around makes


@dataclass(frozen=True, slots=True)
class Place:
    """Where the elements of a value are stored, once the memory pass has decided."""

    space: Space
    number: int  # byte offset, or number of the result, param or stack

    def __str__(self) -> str:
        return (
            f"{self.space.value}+{self.number}"
            if self.space is Space.ARENA
            else f"{self.space.value} {self.number}"
        )


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """One SSA value."""

    type: ArrayType
    hint: str = ""  # the name it is printed with, if free
    place: Place | None = None  # set by the memory pass


@dataclass(frozen=True, eq=False, slots=True)
class Op:
    """One op: its record, operands, results, attributes and closed regions."""

    opdef: OpDef
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attrs: Attrs = ()  # sorted by name
    regions: tuple[Block, ...] = ()
    loc: Loc | None = None

    @property
    def result(self) -> Value:
        """The only result."""
        if len(self.results) != 1:
            raise InternalError(f"{self.opdef.name} has {len(self.results)} results")
        return self.results[0]

    def keywords(self) -> dict[str, Attr | ArrayType]:
        """The attributes as the rules of the op take them, with `type` where the result type is stated."""
        found: dict[str, Attr | ArrayType] = dict(self.attrs)
        if self.opdef.stated:
            found["type"] = self.result.type
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """A closed list of ops: params in, results out."""

    params: tuple[Value, ...]
    ops: tuple[Op, ...]
    results: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A named block: the unit that is printed, transformed, compiled and run."""

    name: str
    body: Block


def sorted_attrs(attrs: dict[str, Attr]) -> Attrs:
    """The attributes in the order in which ops keep them."""
    return tuple(sorted(attrs.items()))


def map_regions(op: Op, fn: Callable[[Block], Block]) -> Op:
    """The op with `fn` applied to each of its regions."""
    return replace(op, regions=tuple(map(fn, op.regions))) if op.regions else op


def with_body(function: Function, body: Block) -> Function:
    """The function with another body."""
    return replace(function, body=body)
