"""What a kernel of a GPU says beyond the loop IR: which thread does what, and where threads wait.

    Spread axes : body        each index by one thread, of the whole launch or of its block
    Rows axes : body          each index by one block, all of whose threads run the body
    First : body              by the first thread of each block
    Barrier                   every thread of the block is here, and sees what the others have written
    Atomic buffer[index] += a  whichever thread comes first
    LoadWide name = buffer[index ...]    the elements of 16 bytes, by number
    StoreWide buffer[index ...] = a ...  the elements of 16 bytes
    Fold name                 an accumulator or extreme, over the threads of the block; each has the total

Outside of `Spread` and `First`, all threads of a block run the same statements on the same scalars. The
statements within are those of the loop IR, run by one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import TypeAlias

from symgrad.codegen.expressions import Atom
from symgrad.codegen.loops import Statement
from symgrad.ir.affine import Affine, named


class Scope(Enum):
    """Which threads share a loop out."""

    GRID = "grid"  # all of the launch
    BLOCK = "block"  # those of one block


@dataclass(frozen=True, slots=True)
class Axis:
    """An index that runs from start to below stop, and below limit if there is one."""

    index: str
    start: Affine
    stop: Affine
    limit: Affine | None = None

    @property
    def fixed(self) -> bool:
        """Whether numbers bound it."""
        return not self.start.terms and not self.stop.terms and (self.limit is None or not self.limit.terms)

    @property
    def count(self) -> int:
        """How many indices there are, where numbers bound it."""
        ends = [self.stop.const, *([] if self.limit is None else [self.limit.const])]
        return max(0, min(ends) - self.start.const)


def size(axes: tuple[Axis, ...]) -> int:
    """How many indices fixed axes have together."""
    return prod(axis.count for axis in axes)


def position(axes: tuple[Axis, ...]) -> Affine:
    """The row-major number of an index of fixed axes."""
    found = Affine()
    for axis in axes:
        found = found * axis.count + named(axis.index) - axis.start
    return found


@dataclass(frozen=True, slots=True)
class Spread:
    """The body for each index, shared out; several axes are fixed, and are one loop."""

    axes: tuple[Axis, ...]
    scope: Scope
    body: ThreadBody


@dataclass(frozen=True, slots=True)
class Rows:
    """The body for each index, a block after another."""

    axes: tuple[Axis, ...]
    body: ThreadBody


@dataclass(frozen=True, slots=True)
class First:
    """Statements of one thread of each block."""

    body: ThreadBody


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where the threads of a block wait for each other."""


@dataclass(frozen=True, slots=True)
class Atomic:
    """A scalar added to an element that other threads add to at the same time."""

    buffer: str
    index: Affine
    value: Atom


@dataclass(frozen=True, slots=True)
class LoadWide:
    """The elements of 16 bytes from an index on; the first is at a multiple of 16 bytes."""

    name: str  # read like a buffer
    buffer: str
    index: Affine


@dataclass(frozen=True, slots=True)
class StoreWide:
    """The elements of 16 bytes from an index on are these scalars; the first is at a multiple of 16 bytes."""

    buffer: str
    index: Affine
    values: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """What the threads of a block have folded, combined."""

    name: str


ThreadStatement: TypeAlias = (
    Statement | Spread | Rows | First | Barrier | Atomic | LoadWide | StoreWide | Fold
)
ThreadBody: TypeAlias = "tuple[ThreadStatement, ...]"
