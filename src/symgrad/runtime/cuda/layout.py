"""Where the buffers of a program lie in the one run of device memory that a call has, and how large it is.

params | results | arena | workspace of BLAS
"""

from __future__ import annotations

from dataclasses import dataclass

from symgrad.codegen.calls import Blas
from symgrad.codegen.cuda.device import ALIGNMENT, DeviceBuffer, DeviceModule, Home
from symgrad.errors import DeviceMemoryError, InternalError
from symgrad.runtime.executable import Array
from symgrad.runtime.tables import bytes_text, table

WORKSPACE = 32 << 20  # bytes that cuBLAS is given, what NVIDIA advises for Hopper


@dataclass(frozen=True, slots=True)
class Part:
    """A run of bytes of the memory."""

    label: str
    offset: int
    nbytes: int


@dataclass(frozen=True)
class Layout:
    """The memory of one call."""

    params: tuple[Part, ...]  # by number
    results: tuple[Part, ...]  # by number
    arena: Part
    workspace: Part
    nbytes: int

    @property
    def exchanged(self) -> int:
        """The bytes of params and results, which come first."""
        return self.arena.offset

    @property
    def parts(self) -> tuple[Part, ...]:
        """All of it, in order."""
        return (*self.params, *self.results, self.arena, self.workspace)

    def offset(self, buffer: DeviceBuffer) -> int:
        """Where a buffer begins."""
        match buffer.home:
            case Home.PARAM:
                return self.params[buffer.number].offset
            case Home.RESULT:
                return self.results[buffer.number].offset
            case Home.ARENA:
                return self.arena.offset + buffer.number

    def refused(self, name: str, free: int, every: int) -> DeviceMemoryError:
        """The error for a device that has not so many bytes free."""
        rows = [(part.label, f"{part.nbytes:,}") for part in self.parts if part.nbytes]
        text = table(("part", "bytes"), [*rows, ("all", f"{self.nbytes:,}")], right=(1,))
        return DeviceMemoryError(
            f"{name} needs {bytes_text(self.nbytes)} on the GPU, which has {bytes_text(free)} free "
            f"of {bytes_text(every)}",
            why="\n  ".join(["a call that runs has:", *text.splitlines()]),
            cure="pass memory_budget=, smaller arrays, or free what others hold on the GPU",
        )


def layout(module: DeviceModule) -> Layout:
    """The memory of a call of a program."""
    end = 0

    def placed(label: str, nbytes: int) -> Part:
        nonlocal end
        part = Part(label, end, nbytes)
        # What has no elements has an address too, which no kernel reads from.
        end += -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
        return part

    sizes = zip(module.params, _sizes(module, Home.PARAM), strict=True)
    params = tuple(placed(f"param {argument.name}", nbytes) for argument, nbytes in sizes)
    results = tuple(placed(f"result {k}", size) for k, size in enumerate(_sizes(module, Home.RESULT)))
    arena = placed("arena", module.arena_bytes)
    products = any(isinstance(step, Blas) for step in module.steps)
    workspace = placed("workspace of cuBLAS", WORKSPACE if products else 0)
    return Layout(params, results, arena, workspace, end)


def _sizes(module: DeviceModule, home: Home) -> list[int]:
    """The bytes of each param or result: those of its buffer, or of its type where no step uses it."""
    arguments = module.params if home is Home.PARAM else module.results
    found: list[int] = []
    for argument in arguments:
        size = argument.type.nbytes
        if not isinstance(size, int):
            raise InternalError(f"{argument.name} has a size that changes")
        found.append(size)
    for buffer in module.buffers:
        if buffer.home is home and buffer.size * buffer.dtype.itemsize != found[buffer.number]:
            raise InternalError(f"the buffer {buffer.name} has not the size of its {home.value}")
    return found


def address_of(array: Array) -> int:
    """Where the elements of an array of the host begin."""
    return int(array.__array_interface__["data"][0])
