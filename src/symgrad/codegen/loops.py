"""The loop IR: what a program computes, one scalar at a time, in flat buffers; the same for every target.

    Kernel      buffers, tables, refusals, body                   a function that a program's steps call
    body        statement*

    statement   For index in start, start + step, ... < min(stop, limit), or downward: body
              | While count of iterations: test, until not condition: body
              | If atom: body, else: body
              | Variable name = atom, Assign name = atom        a scalar that changes
              | Blas result = alpha · a · b + beta · result
              | CallLibrary result = a routine of spans, else refuse
              | Grow name = the first elements of memory that grows
              | Let name = expression                             a scalar
              | LetIndex name = affine // divisor % modulus       an index; the quotient is rounded down
              | Check name = atom, counted from the end if negative, within [0, size), else refuse
              | Clamp name = atom, cut to [0, limit]
              | Branch name = case* otherwise                     the first case whose conditions hold
              | Require atom, else refuse
              | Store buffer[affine] = atom
              | Combine buffer[affine] = buffer[affine] ⊕ atom
              | AddExactly buffer[affine] += atom, lost[affine] += what rounding took
              | Accumulator name : reduction                      begins at the neutral element
              | Accumulate name ⊕= atom (· atom)
              | OpenBlock name, CloseBlock name                   around a part of a blocked sum
              | Extreme name : max | min                          remembers where the first extreme was
              | Observe name, atom at affine
              | Scratch name : dtype[size]                        memory of this call
    expression  atom | Load buffer[affine] | Position affine | Apply op atom* | Total sum | Where extreme
    atom        Literal | Name
    condition   Within affine in [start, stop) | Multiple affine of divisor

An affine index is made of names of indices, each with known bounds, so the verifier proves that no buffer is
read or written out of range. A scalar is written once, accumulators and variables aside. Buffers of one
kernel share no byte unless the kernel says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from symgrad.codegen.calls import Blas, CallLibrary
from symgrad.codegen.expressions import Atom, Condition, Expression, Number
from symgrad.codegen.places import located
from symgrad.errors import Loc
from symgrad.ir.affine import Affine
from symgrad.ir.dims import Dim
from symgrad.ir.opdef import Reduction
from symgrad.ir.types import DType

SUM_BLOCK = 256  # additions that may be done in any order before a compensated sum takes the block's total


# ---- statements -------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class For:
    """The body for each index start, start + step, ... below stop, and below limit if there is one."""

    index: str
    start: Affine
    stop: Affine
    step: int
    limit: Affine | None
    body: Body
    reverse: bool = False  # the largest index first; the step is 1, and there is no limit


@dataclass(frozen=True, slots=True)
class While:
    """The test, and the body if the condition holds, again and again; the count is an index from then on."""

    count: str
    test: Body
    condition: Atom
    body: Body


@dataclass(frozen=True, slots=True)
class If:
    """One body or the other."""

    condition: Atom
    then: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Variable:
    """A scalar that changes."""

    name: str
    value: Atom


@dataclass(frozen=True, slots=True)
class Assign:
    """What a variable is from here on."""

    name: str
    value: Atom


@dataclass(frozen=True, slots=True)
class Let:
    """A scalar."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class LetIndex:
    """An index: the floor of a quotient, or what remains of that modulo a number."""

    name: str
    numerator: Affine
    divisor: int
    modulus: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """An index from a scalar, counted from the end where negative; out of range the kernel refuses."""

    name: str
    value: Atom
    size: Dim
    refusal: int  # position in the kernel's list


@dataclass(frozen=True, slots=True)
class Clamp:
    """An index from a scalar: 0 where that is less, the limit where it is more."""

    name: str
    value: Atom
    limit: Dim


@dataclass(frozen=True, slots=True)
class Require:
    """A condition without which the kernel refuses."""

    condition: Atom
    refusal: int  # position in the kernel's list


@dataclass(frozen=True, slots=True)
class Arm:
    """Statements, and the scalar they are for."""

    body: Body
    value: Atom


@dataclass(frozen=True, slots=True)
class Case:
    """An arm that is taken where all conditions hold."""

    conditions: tuple[Condition, ...]
    arm: Arm


@dataclass(frozen=True, slots=True)
class Branch:
    """A scalar: that of the first case whose conditions hold, or of the last arm."""

    name: str
    dtype: DType
    cases: tuple[Case, ...]
    otherwise: Arm


@dataclass(frozen=True, slots=True)
class Store:
    """Write one element."""

    buffer: str
    index: Affine
    value: Atom


@dataclass(frozen=True, slots=True)
class Combine:
    """Combine one element with a scalar, in the order of the program."""

    buffer: str
    index: Affine
    kind: Reduction
    value: Atom


@dataclass(frozen=True, slots=True)
class AddExactly:
    """Add a scalar to one element, and what rounding takes from that to another."""

    buffer: str
    index: Affine
    lost: str
    lost_index: Affine
    value: Atom


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A scalar that is folded; a blocked sum adds up the totals of its blocks with compensation."""

    name: str
    kind: Reduction
    dtype: DType
    blocked: bool


@dataclass(frozen=True, slots=True)
class Accumulate:
    """Combine an accumulator with a scalar, or with a product; additions may be done in any order."""

    name: str
    value: Atom
    factor: Atom | None


@dataclass(frozen=True, slots=True)
class OpenBlock:
    """A block of a blocked sum begins."""

    name: str


@dataclass(frozen=True, slots=True)
class CloseBlock:
    """A block of a blocked sum ends."""

    name: str


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest or smallest scalar seen, and where it was seen first."""

    name: str
    kind: Reduction
    dtype: DType


@dataclass(frozen=True, slots=True)
class Observe:
    """Show an extreme a scalar at a position; NaN is more extreme than all."""

    name: str
    value: Atom
    position: Affine


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory of this call."""

    name: str
    dtype: DType
    size: int


@dataclass(frozen=True, slots=True)
class Grow:
    """The first elements of memory that grows, with room for at least so many."""

    name: str
    memory: str
    dtype: DType
    size: Dim


Folding: TypeAlias = Accumulator | Accumulate | OpenBlock | CloseBlock | Extreme | Observe
Statement: TypeAlias = (
    For
    | While
    | If
    | Variable
    | Assign
    | Grow
    | Blas
    | CallLibrary
    | Let
    | LetIndex
    | Check
    | Clamp
    | Require
    | Branch
    | Store
    | Combine
    | AddExactly
    | Accumulator
    | Accumulate
    | OpenBlock
    | CloseBlock
    | Extreme
    | Observe
    | Scratch
)
Body: TypeAlias = tuple[Statement, ...]


# ---- kernels ----------------------------------------------------------------------------------------------
class Role(Enum):
    """What a kernel does with a buffer."""

    READ = "read"
    WRITE = "write"  # what was in it does not matter
    UPDATE = "update"  # reads what was in it, and writes
    GROW = "grow"  # memory that grows; only `Grow` names its elements


@dataclass(frozen=True, slots=True)
class Buffer:
    """A run of elements in memory, row-major, without a shape."""

    name: str
    dtype: DType
    size: Dim
    role: Role


@dataclass(frozen=True, slots=True)
class Count:
    """An index that a kernel is given, in [0, limit]."""

    name: str
    limit: Dim  # of the counts before it


@dataclass(frozen=True, slots=True)
class Table:
    """A small constant array."""

    name: str
    dtype: DType
    values: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a kernel gives up: the user's error."""

    message: str
    loc: Loc | None
    error: type[Exception] = IndexError

    @property
    def text(self) -> str:
        """What the error says."""
        return self.message if self.loc is None else f"{self.message} ({located([self.loc])})"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of buffers; with refusals it returns 0, or the number, from 1, of the one that applies."""

    name: str
    buffers: tuple[Buffer, ...]
    tables: tuple[Table, ...]
    refusals: tuple[Refusal, ...]
    body: Body
    distinct: bool  # whether no two buffers share memory
    locs: tuple[Loc, ...]  # what it was made from
    counts: tuple[Count, ...] = ()  # what it is given beside the buffers
