"""What programs can be compiled for: one record a target, in the table `TARGETS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from symgrad.codegen.module_source import ModuleSource
from symgrad.codegen.numba_cpu import emit_for_cpu, lower_for_cpu
from symgrad.codegen.numba_cuda import emit_for_cuda, lower_for_cuda
from symgrad.codegen.steps import Module
from symgrad.ir.core import Function


@dataclass(frozen=True, slots=True)
class Target:
    """How a scheduled function becomes the text of a module."""

    name: str
    lower: Callable[[Function], Module]  # to verified loops
    emit: Callable[[Module], ModuleSource]  # loops to text
    doc: str  # one sentence
    tiles: bool = True  # whether rows are done in blocks that stay in a cache

    def source(self, function: Function) -> ModuleSource:
        """The module of a scheduled function."""
        return self.emit(self.lower(function))


TARGETS: dict[str, Target] = {
    "numba_cpu": Target(
        "numba_cpu",
        lower_for_cpu,
        emit_for_cpu,
        "LLVM code for this processor, and numba kernels",
    ),
    "numba_cuda": Target(
        "numba_cuda",
        lower_for_cuda,
        emit_for_cuda,
        "kernels for an NVIDIA GPU, launched as one graph",
        tiles=False,
    ),
}
