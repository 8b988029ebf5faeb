"""`Program`: one traced function and one request through all stages, each made when it is asked for."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from symgrad.errors import ArgumentError, MemoryBudgetError
from symgrad.ir.launch import Budget, Threads
from symgrad.ir.types import ArrayType
from symgrad.locks import Lock
from symgrad.runtime.cache import Json
from symgrad.runtime.executable import Executable
from symgrad.runtime.late import (
    COMPILER,
    COMPLEX,
    CUDA,
    GENERATED,
    INTERPRETED,
    KEEPING,
    OUT,
    PARALLEL,
    TRACING,
    late,
)
from symgrad.runtime.loading import load
from symgrad.runtime.request import Answer
from symgrad.trace.records import TraceRecord
from symgrad.trace.traced import ArgumentLeaf, Captured, Literal, Traced
from symgrad.trace.traced_value import TracedValue
from symgrad.trace.transform import result_types

if TYPE_CHECKING:
    from types import ModuleType

    from symgrad.codegen.module_source import ModuleSource
    from symgrad.codegen.steps import Module
    from symgrad.ir.core import Function
    from symgrad.passes.threads import Threaded
    from symgrad.runtime.compiler import Compilation, Part

INTERPRETER = "interpreter"
DEFAULT_TARGET = "numba_cpu"
CUDA_TARGET = "numba_cuda"

# Ops of the traced function. A loop that is unrolled into more is straight-line code that takes too long.
COMPILED_LIMIT = 20_000
LIMIT_VARIABLE = "SYMGRAD_COMPILED_LIMIT"  # names another limit

ONE = Threads()

log = logging.getLogger("symgrad.compile")


@dataclass(frozen=True)
class Program:
    """A function for one signature of arguments, and what was asked of it."""

    traced: Traced
    answer: Answer
    target: str  # a name of TARGETS, or INTERPRETER
    place: str | None = None  # where other processes look for the trace, if it may be kept
    key: str | None = None  # the name of the program in the cache, if the trace was kept there with it
    threads: Threads = ONE  # that may run it
    budget: Budget | None = None  # bytes that the arena may have
    residuals: str | None = None  # the type that residuals are stored in, if not their own
    poisoned: bool = False  # whether places that hold nothing are filled
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    @cached_property
    def compilation(self) -> Compilation:
        """What makes the stages; the passes and the code generator are loaded for it."""
        return late(COMPILER).Compilation(
            self.traced.function,
            self.answer.transform,
            self.compiled_target,
            budget=self.budget,
            residuals=self.residuals,
            poisoned=self.poisoned,
        )

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
    def numba_module(self) -> ModuleType:
        """The generated module as numba compiles it."""
        if self.target == CUDA_TARGET:
            raise ArgumentError("numba's module is for the processor", cure='leave out target="cuda"')
        if self.threads != ONE:
            raise ArgumentError(
                "a program for several threads is no single module", cure="leave out parallel="
            )
        return late(GENERATED).load_module(self.module.text, self.traced.name)

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
    def asked(self) -> dict[str, Json]:
        """What is asked of the compiler, beside the target's own choices."""
        return {
            "target": self.target,
            "threads": [self.threads.most, self.threads.automatic],
            "budget": None if self.budget is None else [self.budget.bytes, self.budget.optimal],
            "residuals": self.residuals,
            "poisoned": self.poisoned,
            **({"gpu": late(CUDA).gpu()} if self.target == CUDA_TARGET else {}),
        }

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
        """The program that runs on pairs of reals, as one on complex numbers where it has such."""
        params, results = self._types()
        found = self._on_pairs
        if any(type.is_complex for type in (*params, *results)):
            found = late(COMPLEX).on_complex(found, params, results)
        return found

    @cached_property
    def _on_pairs(self) -> Executable:
        started = time.perf_counter()
        name, ops = self.traced.name, self.traced.ops
        if self.runs_on != self.target and self.budget is not None:
            raise MemoryBudgetError(
                f"{name} has {ops} ops, too many to compile, and the interpreter keeps no budget",
                cure=f"write its loops over arrays, or lift the limit with {LIMIT_VARIABLE}",
            )
        if self.runs_on != self.target:
            log.warning(
                "%s has %d ops: it is interpreted, for compiling it would take long; write its loops over"
                " arrays, or lift the limit with %s",
                *(name, ops, LIMIT_VARIABLE),
            )
        if self.runs_on != INTERPRETER:
            found = self._loaded()
        elif self.threads == ONE:
            found = late(INTERPRETED).interpreted(self.optimized)
        else:
            found = late(PARALLEL).parallel_interpreted(self.threaded)
        log.info("%s ready in %.3f s", name, time.perf_counter() - started)
        return found

    def _loaded(self) -> Executable:
        """The compiled program; a trace that was made for it is kept beside it."""
        if self.key is not None:
            return self._of_key(self.key)
        keeping = late(KEEPING)
        key = keeping.program_key(self.traced.function, self.answer.transform, self.asked)
        found = self._of_key(key)
        if self.place is not None and isinstance(self.traced.record, TraceRecord):
            keeping.keep(self.place, self.traced, self.traced.record, key)
        return found

    def _of_key(self, key: str) -> Executable:
        """The compiled program, which has this name in the cache."""
        params, results = (tuple(t.paired for t in types) for types in self._types())
        if self.target == CUDA_TARGET:
            return late(CUDA).load_for_gpu(
                key, self.traced.name, (params, results), lambda: self._whole.loops
            )
        if self.threads == ONE:
            return load(key, self.traced.name, (params, results), lambda: self._whole.emitted)
        return late(PARALLEL).load_parallel(
            key, self.traced.name, lambda: self.threaded.launch, lambda: self.parts
        )

    def free_memory(self) -> None:
        """Let go of what calls have left for the next ones, if the program has run at all."""
        made = vars(self).get("_executable")
        if isinstance(made, Executable):
            made.free_memory()

    def _types(self) -> tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]:
        """The types of the params and of the results, known without transforming anything."""
        made = self.traced
        params = (*made.params, *self.answer.seeds)
        return params, result_types(made.params, made.results, self.answer.transform)

    def run(self, values: Sequence[Any], out: Any = None) -> tuple[Any, ...]:
        """The results on values for all params: tracers where one of them is a tracer.

        Those that are arrays are written into those of `out`, if it has any for them.
        """
        outer = next((v for v in values if isinstance(v, TracedValue)), None)
        if outer is None:
            arrays = None if out is None else late(OUT).destinations(self, out, values)
            return self.executable.run(values, arrays)
        if out is not None:
            raise ArgumentError("out= was passed where the call is traced", cure="leave it out there")
        return late(TRACING).inlined(self.joint.body, self._types(), values, outer)


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
