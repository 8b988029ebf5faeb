"""A whole program of the loop IR: its kernels, and the steps that call them.

Module      params, results, kernels, steps
step        Cell name = param | Fresh name                    one element of this call's own memory
          | Growing name | Grown name = its elements          memory that grows
          | Counted name = an element                         an index
          | ArenaView name = bytes of the arena
          | Retype name = the bytes of a buffer
          | CallKernel kernel, buffers
          | Blas result = alpha · a · b + beta · result
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from symgrad.codegen.loops import Blas, Kernel
from symgrad.ir.dims import Dim
from symgrad.ir.types import ArrayType, DType

STACK_LIMIT = 1 << 16  # bytes of memory that a call has for itself without being given an arena


@dataclass(frozen=True, slots=True)
class Argument:
    """A param or a result of the program."""

    name: str
    type: ArrayType


@dataclass(frozen=True, slots=True)
class Cell:
    """A buffer of one element that holds a param of rank 0."""

    name: str
    param: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Fresh:
    """A buffer of one element that will hold a result of rank 0."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class ArenaView:
    """A buffer in the arena."""

    name: str
    offset: int  # in bytes
    size: int  # in elements
    dtype: DType


@dataclass(frozen=True, slots=True)
class CallKernel:
    """A kernel on buffers, in the order of its list, and on the indices that it is given."""

    kernel: str
    buffers: tuple[str, ...]
    counts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Growing:
    """Memory that grows, of this call alone."""

    name: str


@dataclass(frozen=True, slots=True)
class Grown:
    """The first elements of memory that grows, with room for at least so many."""

    name: str
    memory: str
    size: Dim
    dtype: DType


@dataclass(frozen=True, slots=True)
class Counted:
    """An index: what a kernel has counted, at most a limit."""

    name: str
    buffer: str  # of one element
    limit: Dim


@dataclass(frozen=True, slots=True)
class Retype:
    """The bytes of a buffer as elements of another dtype of the same size."""

    name: str
    buffer: str
    dtype: DType


Step: TypeAlias = Cell | Fresh | ArenaView | Retype | Growing | Grown | Counted | CallKernel | Blas


@dataclass(frozen=True, slots=True)
class Module:
    """A program: its guards are the types of its params, its steps run in order."""

    name: str
    params: tuple[Argument, ...]
    results: tuple[Argument, ...]
    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]
    arena_bytes: int
