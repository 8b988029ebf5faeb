"""`Program`: one traced function and one request through all stages, each made when it is asked for."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from symgrad.ir.core import Function
from symgrad.ir.launch import Threads
from symgrad.ir.types import ArrayType
from symgrad.runtime.cache import Json
from symgrad.runtime.executable import Executable, interpreted
from symgrad.runtime.late import COMPILER, PARALLEL, late
from symgrad.runtime.loading import load, program_key
from symgrad.runtime.request import Answer
from symgrad.trace.session import ArgumentLeaf, Captured, Literal, Traced
from symgrad.trace.tracer import Tracer
from symgrad.trace.transform import result_types

if TYPE_CHECKING:
    from symgrad.codegen.module_source import ModuleSource
    from symgrad.codegen.steps import Module
    from symgrad.passes.threads import Threaded
    from symgrad.runtime.compiler import Compilation, Part

INTERPRETER = "interpreter"
DEFAULT_TARGET = "numba_cpu"

# Ops of the traced function. A loop that is unrolled into more is straight-line code that takes LLVM minutes.
COMPILED_LIMIT = 3000
LIMIT_VARIABLE = "SYMGRAD_COMPILED_LIMIT"  # names another limit

ONE = Threads()

log = logging.getLogger("symgrad.compile")


@dataclass(frozen=True)
class Program:
    """A function for one signature of arguments, and what was asked of it."""

    traced: Traced
    answer: Answer
    target: str  # a name of TARGETS, or INTERPRETER
    threads: Threads = ONE  # that may run it
    _lock: AbstractContextManager[Any] = field(default_factory=RLock, init=False, repr=False, compare=False)

    @cached_property
    def compilation(self) -> Compilation:
        """What makes the stages; the passes and the code generator are loaded for it."""
        return late(COMPILER).Compilation(self.traced.function, self.answer.transform, self.compiled_target)

    @cached_property
    def joint(self) -> Function:
        """Forward ops, then adjoint or tangent ops."""
        return self.compilation.joint()

    @cached_property
    def optimized(self) -> Function:
        """The joint program, made smaller."""
        return self.compilation.optimized(self.joint)

    @property
    def fused(self) -> Function:
        """Kernels and contractions in order, as one thread runs them."""
        return self._whole.fused

    @property
    def scheduled(self) -> Function:
        """The fused program with every value's place in memory."""
        return self._whole.scheduled

    @property
    def loops(self) -> Module:
        """The scheduled program as loops."""
        return self._whole.loops

    @property
    def module(self) -> ModuleSource:
        """The generated module."""
        return self._whole.module

    @cached_property
    def _whole(self) -> Part:
        """The program on its way to one thread."""
        return late(COMPILER).Part(self.optimized, self.compilation)

    @cached_property
    def threaded(self) -> Threaded:
        """The optimized program as parts for several threads."""
        return self.compilation.threaded(self.optimized, self.threads)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What is compiled, each with stages of its own: the optimized program, or its parts."""
        if self.threads == ONE:
            return (self._whole,)
        return tuple(late(COMPILER).Part(function, self.compilation) for function in self.threaded.parts)

    @property
    def compiled_target(self) -> str:
        """The target whose code is shown: the program's own, or the default one for the interpreter."""
        return DEFAULT_TARGET if self.target == INTERPRETER else self.target

    @property
    def runs_on(self) -> str:
        """The target, or the interpreter for a program too long to compile."""
        limit = int(os.environ.get(LIMIT_VARIABLE) or COMPILED_LIMIT)
        return INTERPRETER if self.traced.ops > limit else self.target

    @property
    def executable(self) -> Executable:
        """The program ready to run: from the disk cache where it is there, else compiled and put there."""
        with self._lock:
            return self._executable

    @cached_property
    def _executable(self) -> Executable:
        started = time.perf_counter()
        name, ops = self.traced.function.name, self.traced.ops
        if self.runs_on != self.target:
            log.warning(
                "%s has %d ops: it is interpreted, for compiling it would take minutes; write its loops over"
                " arrays, or lift the limit with %s",
                *(name, ops, LIMIT_VARIABLE),
            )
        if self.runs_on != INTERPRETER:
            found = self._loaded()
        elif self.threads == ONE:
            found = interpreted(self.optimized)
        else:
            found = late(PARALLEL).parallel_interpreted(self.threaded)
        log.info("%s ready in %.3f s", name, time.perf_counter() - started)
        return found

    def _loaded(self) -> Executable:
        """The compiled program."""
        options: dict[str, Json] = {"target": self.target}
        if self.threads != ONE:
            options["threads"] = [self.threads.most, self.threads.automatic]
        name = self.traced.function.name
        key = program_key(self.traced.function, self.answer.transform, options)
        if self.threads == ONE:
            return load(key, name, self._types(), self._emitted)
        return late(PARALLEL).load_parallel(key, name, lambda: self.threaded.launch, lambda: self.parts)

    def _emitted(self) -> tuple[str, int]:
        """The text of the generated module, and the bytes of the arena that a call must bring."""
        return self.module.text, late(COMPILER).lent_bytes(self.module)

    def _types(self) -> tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]:
        """The types of the params and of the results, known without transforming anything."""
        made = self.traced.function.body
        params = (*(p.type for p in made.params), *self.answer.seeds)
        return params, result_types(made, self.answer.transform)

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The results on values for all params: tracers where one of them is a tracer."""
        outer = next((v for v in values if isinstance(v, Tracer)), None)
        if outer is None:
            return self.executable.run(values)
        lifted = [
            outer.lift(v, p.type.dtype).value for v, p in zip(values, self.joint.body.params, strict=True)
        ]
        found = outer.recorder.inline(self.joint.body, lifted)
        return tuple(Tracer(v, outer.recorder) for v in found)


def input_values(traced: Traced, leaves: tuple[Any, ...], captured: tuple[Any, ...]) -> list[Any]:
    """The value of each param of a traced function."""
    values: list[Any] = []
    for item in traced.inputs:
        match item:
            case ArgumentLeaf(index=index):
                values.append(leaves[index])
            case Captured(slot=slot):
                values.append(captured[slot])
            case Literal(array=array):
                values.append(array)
    return values
