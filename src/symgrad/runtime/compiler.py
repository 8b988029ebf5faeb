"""The compiler behind a program: transform, passes, loops and text; loaded when something is compiled."""

from __future__ import annotations

from functools import cached_property

from symgrad.codegen.module_source import ModuleSource
from symgrad.codegen.steps import Module
from symgrad.codegen.target import TARGETS
from symgrad.ir.core import Function
from symgrad.ir.launch import Budget, Threads
from symgrad.ir.ops.packing import PACKINGS
from symgrad.passes.blas_form import may_call_blas
from symgrad.passes.pipeline import PassRunner, fused, optimize, optimize_packed, placed
from symgrad.passes.threads import Threaded, threaded
from symgrad.passes.transform import joined, transformed
from symgrad.trace.transform import Transform


class Compilation:
    """One function on its way through the stages, and the runner that remembers its passes."""

    def __init__(
        self,
        function: Function,
        transform: Transform,
        target: str,
        *,
        budget: Budget | None = None,
        residuals: str | None = None,
        poisoned: bool = False,
    ) -> None:
        self.function = function
        self.budget = budget
        self.packing = None if residuals is None else PACKINGS[residuals]
        self.poisoned = poisoned
        self.transform = transform
        self.target = TARGETS[target]
        self.runner = PassRunner.from_environment()

    def joint(self) -> Function:
        """Forward ops, then adjoint or tangent ops."""
        return transformed(self.function, self.transform)

    def optimized(self, joint: Function) -> Function:
        """The joint program, made smaller, and its residuals, if that was asked for."""
        if self.packing is None:
            return optimize(joint, self.runner)
        return optimize_packed(joined(self.function, self.transform), self.packing, self.runner)

    def threaded(self, optimized: Function, threads: Threads) -> Threaded:
        """The optimized program as parts for several threads."""
        return threaded(optimized, threads)

    def fused(self, optimized: Function) -> Function:
        """Kernels and contractions in order."""
        return fused(optimized, self.runner, self.budget, tiles=self.target.tiles)

    def scheduled(self, fused: Function) -> Function:
        """The fused program with every value's place in memory."""
        return placed(fused, self.runner, poisoned=self.poisoned)

    def loops(self, scheduled: Function) -> Module:
        """The scheduled program as loops."""
        return self.target.lower(scheduled)

    def module(self, loops: Module) -> ModuleSource:
        """The generated module."""
        return self.target.emit(loops)


class Part:
    """A part of a program for several threads: a function that is compiled on its own."""

    def __init__(self, optimized: Function, compilation: Compilation) -> None:
        self.optimized = optimized
        self.compilation = compilation

    @cached_property
    def fused(self) -> Function:
        """Kernels and contractions in order."""
        return self.compilation.fused(self.optimized)

    @cached_property
    def scheduled(self) -> Function:
        """The fused part with every value's place in memory."""
        return self.compilation.scheduled(self.fused)

    @cached_property
    def loops(self) -> Module:
        """The scheduled part as loops."""
        return self.compilation.loops(self.scheduled)

    @cached_property
    def module(self) -> ModuleSource:
        """The generated module."""
        return self.compilation.module(self.loops)

    @property
    def emitted(self) -> tuple[str, Module]:
        """The text of the generated module, and the loops."""
        return self.module.text, self.loops

    @property
    def calls_blas(self) -> bool:
        """Whether it may call BLAS."""
        return may_call_blas(self.fused)
