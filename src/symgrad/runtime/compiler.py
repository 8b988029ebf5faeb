"""The compiler behind a program: transform, passes, loops and text; loaded when something is compiled."""

from __future__ import annotations

from symgrad.codegen.module_source import ModuleSource
from symgrad.codegen.steps import STACK_LIMIT, Module
from symgrad.codegen.target import TARGETS
from symgrad.ir.core import Function
from symgrad.passes.pipeline import PassRunner, fused, optimize
from symgrad.passes.transform import transformed
from symgrad.trace.transform import Transform


class Compilation:
    """One function on its way through the stages, and the runner that remembers its passes."""

    def __init__(self, function: Function, transform: Transform, target: str) -> None:
        self.function = function
        self.transform = transform
        self.target = TARGETS[target]
        self.runner = PassRunner.from_environment()

    def joint(self) -> Function:
        """Forward ops, then adjoint or tangent ops."""
        return transformed(self.function, self.transform)

    def optimized(self, joint: Function) -> Function:
        """The joint program, made smaller."""
        return optimize(joint, self.runner)

    def fused(self, optimized: Function) -> Function:
        """Kernels and contractions in order."""
        return fused(optimized, self.runner)

    def scheduled(self, fused: Function) -> Function:
        """The fused program with every value's place in memory."""
        return self.runner.run("memory", fused)

    def loops(self, scheduled: Function) -> Module:
        """The scheduled program as loops."""
        return self.target.lower(scheduled)

    def module(self, loops: Module) -> ModuleSource:
        """The generated module."""
        return self.target.emit(loops)


def lent_bytes(module: ModuleSource) -> int:
    """The bytes of the arena that a call must bring: a small one lies on the stack."""
    return module.arena_bytes if module.arena_bytes > STACK_LIMIT else 0
