"""What every program of the loop IR must satisfy: its steps make what its kernels are called on."""

from __future__ import annotations

from typing import NoReturn, assert_never

from symgrad.codegen.calls import Blas
from symgrad.codegen.loops import Count, Kernel, Role
from symgrad.codegen.loops_verifier import verify_kernel
from symgrad.codegen.steps import (
    ArenaView,
    CallKernel,
    Cell,
    Counted,
    Fresh,
    Growing,
    Grown,
    Module,
    Retype,
    Step,
)
from symgrad.errors import InternalError
from symgrad.ir.dims import Dim, names
from symgrad.ir.types import I64, DType


def verify_module(module: Module) -> None:
    """Raise InternalError unless a program is well-formed."""
    for kernel in module.kernels:
        verify_kernel(kernel)
    _Steps(module).check()


class _Steps:
    """The memory that the steps of a program know."""

    def __init__(self, module: Module) -> None:
        self.module = module
        arrays = [a for a in (*module.params, *module.results) if a.type.rank]
        self.sizes: dict[str, Dim] = {a.name: a.type.size for a in arrays}
        self.dtypes = {a.name: a.type.dtype for a in arrays}
        self.kernels = {kernel.name: kernel for kernel in module.kernels}
        self.read_only = {a.name for a in module.params}
        self.memories: set[str] = set()
        self.counts: list[Count] = []

    def check(self) -> None:
        """Check every step."""
        for step in self.module.steps:
            self.one(step)

    def fail(self, message: str) -> NoReturn:
        """Raise for the program."""
        raise InternalError(f"the steps of {self.module.name} are not valid: {message}")

    def one(self, step: Step) -> None:
        """Check a step, and know what it defines."""
        match step:
            case Cell(name, _, dtype) | Fresh(name, dtype):
                self.define(name, 1, dtype)
            case ArenaView(name, offset, size, dtype):
                if (
                    offset < 0
                    or offset % dtype.itemsize
                    or offset + size * dtype.itemsize > self.module.arena_bytes
                ):
                    self.fail(f"{name} does not lie in the arena")
                self.define(name, size, dtype)
            case Retype(name, buffer, dtype):
                if buffer not in self.sizes or self.dtypes[buffer].itemsize != dtype.itemsize:
                    self.fail(f"{name} cannot lie in {buffer}")
                self.define(name, self.sizes[buffer], dtype)
            case Growing(name):
                self.define(name, 0, I64)
                self.memories.add(name)
            case Grown(name, memory, size, dtype):
                if memory not in self.memories:
                    self.fail(f"{memory} does not grow")
                self.known(size)
                self.define(name, size, dtype)
            case Counted(name, buffer, limit):
                self.holds(buffer, 1, I64, write=False)
                self.known(limit)
                self.define(name, 0, I64)
                self.counts.append(Count(name, limit))
            case CallKernel():
                self.call(self.kernels[step.kernel], step)
            case Blas():
                self.blas(step)
            case _:
                assert_never(step)

    def known(self, *sizes: Dim) -> None:
        """Sizes are made of what has been counted."""
        for name in names(*sizes):
            if name not in [count.name for count in self.counts]:
                self.fail(f"{name} has not been counted")

    def define(self, name: str, size: Dim, dtype: DType) -> None:
        """A new buffer."""
        if name in self.sizes:
            self.fail(f"{name} is defined twice")
        self.sizes[name], self.dtypes[name] = size, dtype

    def holds(self, name: str, size: Dim, dtype: DType | None, *, write: bool) -> None:
        """The buffer exists, is what is wanted, and may be written if it is."""
        if self.sizes.get(name) != size or (dtype is not None and self.dtypes[name] != dtype):
            self.fail(f"{name} is not a buffer of {size} elements of {dtype}")
        if write and name in self.read_only:
            self.fail(f"{name} is an argument and is written")

    def call(self, kernel: Kernel, step: CallKernel) -> None:
        """The buffers and counts are those that a kernel takes."""
        if len(step.buffers) != len(kernel.buffers):
            self.fail(f"{kernel.name} takes {len(kernel.buffers)} buffers")
        if step.counts != tuple(count.name for count in kernel.counts):
            self.fail(f"{kernel.name} is given other counts than it takes")
        for count in kernel.counts:
            if count not in self.counts:
                self.fail(f"{count.name} has not been counted up to {count.limit}")
        for name, buffer in zip(step.buffers, kernel.buffers, strict=True):
            if buffer.role is Role.GROW:
                if name not in self.memories:
                    self.fail(f"{name} does not grow")
                continue
            self.holds(name, buffer.size, buffer.dtype, write=buffer.role is not Role.READ)

    def blas(self, step: Blas) -> None:
        """The matrices lie in their buffers."""
        dtype = self.dtypes.get(step.result)
        for name, last in zip((step.a, step.b, step.result), step.last, strict=True):
            size = self.sizes.get(name)
            if not isinstance(size, int) or last >= size:
                self.fail(f"{name} is not a buffer of more than {last} elements")
            self.holds(name, size, dtype, write=name == step.result)
