"""A program for a GPU: buffers in device memory, kernels as text, and what is launched on which buffers.

DeviceModule  params, results, buffers, kernels, steps
buffer        name, dtype, size: a param, a result, or bytes of the arena
kernel        the text of a function of pointers, and the shape of its launch
step          Launch kernel, buffers | Blas result = alpha · a · b + beta · result

Everything that is launched has its sizes in its text: a program is a fixed list of launches, so that it can
be captured as one graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from symgrad.codegen.calls import Blas
from symgrad.codegen.loops import Refusal
from symgrad.codegen.steps import Argument
from symgrad.errors import Loc
from symgrad.ir.types import DType

ALIGNMENT = 256  # bytes that the first element of every buffer is a multiple of
STATUS = "status"  # the buffer of the program's number of a refusal


class Home(Enum):
    """Which memory a buffer lies in."""

    PARAM = "param"
    RESULT = "result"
    ARENA = "arena"


@dataclass(frozen=True, slots=True)
class DeviceBuffer:
    """A run of elements in device memory."""

    name: str
    dtype: DType
    size: int  # in elements; params and results of rank 0 have one
    home: Home
    number: int  # of the param or the result; the offset in the arena in bytes


@dataclass(frozen=True, slots=True)
class Pointer:
    """A parameter of a kernel: the address of the first element of a buffer."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """A function of pointers, run by `grid` blocks of `block` threads."""

    name: str
    params: tuple[Pointer, ...]
    text: str  # the source of a Python function of this name; see `KernelText` for what it may say
    grid: int
    block: int
    locs: tuple[Loc, ...] = ()  # what it was made from


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel on buffers, in the order of its params."""

    kernel: str
    buffers: tuple[str, ...]


DeviceStep: TypeAlias = Launch | Blas


@dataclass(frozen=True, slots=True)
class DeviceModule:
    """A program: its steps run in order, each seeing what those before it have written.

    Where it has refusals, its last buffer is STATUS, one int64 that the host sets to 0 before a run:
    afterwards it is the number, from 1, of a refusal that applies, or 0.
    """

    name: str
    params: tuple[Argument, ...]
    results: tuple[Argument, ...]
    buffers: tuple[DeviceBuffer, ...]
    kernels: tuple[DeviceKernel, ...]
    steps: tuple[DeviceStep, ...]
    arena_bytes: int
    refusals: tuple[Refusal, ...] = ()
