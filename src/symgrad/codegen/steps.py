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

from symgrad.codegen.calls import Blas
from symgrad.codegen.loops import Kernel, Refusal
from symgrad.codegen.program_names import ARENA
from symgrad.ir.dims import Dim
from symgrad.ir.types import U8, ArrayType, DType

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

    @property
    def lent_bytes(self) -> int:
        """The bytes of the arena that a call must bring: a small one lies on the stack."""
        return self.arena_bytes if self.arena_bytes > STACK_LIMIT else 0


def handed(module: Module) -> tuple[tuple[str, DType], ...]:
    """The buffers that the steps are given: arrays, cells of one element, and the arena if they use it."""
    arrays = [(a.name, a.type.dtype) for a in (*module.params, *module.results) if a.type.rank]
    cells = [(step.name, step.dtype) for step in module.steps if isinstance(step, Cell | Fresh)]
    # An arena of no bytes has views too: of arrays without elements.
    views = any(isinstance(step, ArenaView) for step in module.steps)
    return (*arrays, *cells, *([(ARENA, U8)] if views else []))


def refusals(module: Module) -> tuple[Refusal, ...]:
    """Why the steps may give up, in the order of the numbers, from 1, that they then end with."""
    kernels = {kernel.name: kernel for kernel in module.kernels}
    called = [kernels[step.kernel] for step in module.steps if isinstance(step, CallKernel)]
    return tuple(refusal for kernel in called for refusal in kernel.refusals)
