"""`Compiled`: a function together with what is asked of it, compiled once a signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from symgrad.errors import ArgumentError
from symgrad.locks import Lock
from symgrad.runtime.call import drop_held, generated_call
from symgrad.runtime.kept import kept, place_of
from symgrad.runtime.late import CHECKS, EXPLAIN, MEMORIES, STAGES, TRACING, late
from symgrad.runtime.options import Bytes, Options
from symgrad.runtime.program import INTERPRETER, Program, input_values
from symgrad.runtime.request import Request, answer
from symgrad.runtime.seeds import fitted_seeds
from symgrad.trace.arguments import Arguments, Signature
from symgrad.trace.capture import GuardFailed
from symgrad.trace.traced import Traced
from symgrad.trace.traced_value import TracedValue
from symgrad.trace.trees import unflatten
from symgrad.trace.wrapping import Wrapping

if TYPE_CHECKING:
    from types import ModuleType

    from symgrad.passes.memory_report import MemoryReport
    from symgrad.passes.remat.curve import CurvePoint
    from symgrad.passes.remat.frontier import Plan
    from symgrad.runtime.check_report import CheckReport
    from symgrad.runtime.memories import Batch, Over


class Compiled(Wrapping):
    """A compiled function: call it like the function; its stages can be looked at."""

    def __new__(cls, fn: Callable[..., Any], request: Request, options: Options) -> Compiled:
        """An object of its own class: Python looks `__call__` up there, and finds the generated function."""
        space = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
        return object.__new__(type(cls)(cls.__name__, (cls,), space))

    def __init__(self, fn: Callable[..., Any], request: Request, options: Options) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.request = request
        self.options = options
        self._signature = Signature(fn)
        self._variants: list[Program] = []  # most recently used first
        self._lock = Lock()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The compiled function as a method of an object, which keeps it."""
        if instance is None:
            return self
        kept = getattr(instance, "__dict__", {})
        key = f"_symgrad_{id(self)}"
        found = kept.get(key)
        # A copied object has the entry of the one that it was copied from.
        if found is None or found.fn.__self__ is not instance:
            found = Compiled(self.fn.__get__(instance), self.request, self.options)
            if isinstance(kept, dict):
                kept[key] = found
        return found

    def around(self, fn: Callable[..., Any]) -> Compiled:
        """The same asked of another function."""
        return Compiled(fn, self.request, self.options)

    def within(self, budget: Bytes) -> Compiled:
        """The same with another `memory_budget`."""
        return Compiled(self.fn, self.request, self.options.within(budget))

    @property
    def asked(self) -> str:
        """What is asked of the function, and how."""
        return f"{self.request} {self.options}"

    def __repr__(self) -> str:
        return f"<symgrad {self.request.mode.value} of {getattr(self.fn, '__name__', self.fn)}>"

    def __reduce__(self) -> Any:
        """By name where the name means this very object, else by the function and what is asked of it."""
        return self.found_by_name() or (Compiled, (self.fn, self.request, self.options))

    # ---- calls that the generated function was not made for ----
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What was asked of the function; a generated function takes the next such call.

        `out`, if the function itself takes no argument of this name, gives arrays for gradients to be written
        into (of `compile`: results), in their structure, with None where a fresh array is wanted.
        """
        out = None if self._signature.takes("out") else kwargs.pop("out", None)
        arguments = self._signature.bind(args, kwargs)
        program, captured = self._program(arguments, args, kwargs)
        values = input_values(program.traced, arguments.leaves, captured)
        found = program.run(values, out)
        if not any(isinstance(v, TracedValue) for v in values):
            call = generated_call(program, self.fn, functools.partial(Compiled.__call__, self), values)
            setattr(type(self), "__call__", Compiled.__call__ if call is None else call)  # noqa: B010
        return unflatten(program.answer.result_tree, found)

    def seeded(self, args: tuple[Any, ...], seeds: Any) -> Any:
        """What was asked of the function, given the tangents or cotangents that it needs besides."""
        arguments = self._signature.bind(args, {})
        program, captured = self._program(arguments, args, {})
        fitted = fitted_seeds(self.request.mode, seeds, program, arguments)
        found = program.run([*input_values(program.traced, arguments.leaves, captured), *fitted])
        return unflatten(program.answer.result_tree, found)

    def _program(
        self, arguments: Arguments, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Program, tuple[Any, ...]]:
        """The program for these arguments, and what it captures now; traced if there is none yet."""
        with self._lock:
            for position, program in enumerate(self._variants):
                if not program.traced.accepts(arguments.names, arguments.tree, arguments.leaves):
                    continue
                try:
                    captured = program.traced.fetch(self.fn, arguments.leaves)
                except GuardFailed:
                    continue
                self._variants.insert(0, self._variants.pop(position))
                return program, captured
            program = self._kept_or_traced(arguments, args, kwargs)
            captured = program.traced.fetch(self.fn, arguments.leaves)
            self._variants.insert(0, program)
            return program, captured

    def _kept_or_traced(
        self, arguments: Arguments, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Program:
        """The program that another process has left, if all that it relied on holds here; else a new one."""
        if self.options.target == INTERPRETER or any(isinstance(v, TracedValue) for v in arguments.leaves):
            return self._traced(arguments, args, kwargs)
        place = place_of(self.fn, arguments, str(self.request), str(self.options))
        found = None if place is None else kept(place, self.fn, arguments)
        if found is None:
            return self._traced(arguments, args, kwargs, place)
        return self._made(found.traced, arguments, place, found.program)

    def _traced(
        self,
        arguments: Arguments,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        place: str | None = None,
    ) -> Program:
        traced = late(TRACING).traced(self.fn, args, kwargs, self.request, self.options.static)
        return self._made(traced, arguments, place)

    def _made(
        self, traced: Traced, arguments: Arguments, place: str | None, key: str | None = None
    ) -> Program:
        made, options = answer(self.request, traced, arguments), self.options
        return Program(
            traced, made, options.target, place, key, options.threads, options.budget,
            residuals=options.residuals, poisoned=options.poisoned,
        )  # fmt: skip

    def program(self, /, *args: Any, **kwargs: Any) -> Program:
        """The program for these arguments (types such as `symgrad.spec("f64[3]")` may stand for arrays).

        Without arguments: that of the last call.
        """
        if not args and not kwargs:
            if not self._variants:
                raise ArgumentError(
                    "no program yet", cure="call the function first, or pass arguments like those of a call"
                )
            return self._variants[0]
        arguments = self._signature.bind(args, kwargs)
        for program in self._variants:
            if program.traced.accepts(arguments.names, arguments.tree, arguments.leaves):
                return program
        return self._traced(arguments, args, kwargs)

    # ---- looking inside ----
    def ir(self, /, stage: str = "optimized", *args: Any, locs: bool = False, **kwargs: Any) -> str:
        """The text of a stage: traced, joint, optimized, fused, scheduled, loops, source, llvm, asm or ptx.

        It is that of the program for these arguments (arrays, or types such as `symgrad.spec("f64[3]")`);
        without arguments, that of the last call. `locs` adds the user's lines to IR.
        """
        stages = late(STAGES)
        chosen = stages.stage_named(stage)
        return stages.stage_text(self.program(*args, **kwargs), chosen, locs=locs)

    def source(self, /, *args: Any, **kwargs: Any) -> str:
        """The generated module."""
        return self.ir("source", *args, **kwargs)

    def numba_module(self, /, *args: Any, **kwargs: Any) -> ModuleType:
        """The generated module, compiled by numba, for functions that numba compiles to call.

        Its function `run` takes the params in the order of `ir("traced")`, a C-contiguous array for each
        result of rank > 0 and, where it has such a parameter, the arena; it returns the other results. `call`
        takes the params from Python.
        """
        return self.program(*args, **kwargs).numba_module

    def memory(self, /, *args: Any, **kwargs: Any) -> MemoryReport:
        """What a call needs, in bytes: inputs, results, and the arena, with all that ever lies in it."""
        return late(MEMORIES).program_memory(self.program(*args, **kwargs))

    def free_memory(self) -> None:
        """Give back the memory that is kept from call to call: arenas, and results that nobody has any more.

        Any thread may do so at any time: a call that runs has memory of its own, kept once it is over.
        """
        for program in tuple(self._variants):
            program.free_memory()
        drop_held(type(self).__call__)

    def memory_plans(self, /, *args: Any, **kwargs: Any) -> list[Plan]:
        """What less memory costs: the plans that `memory_budget=` chooses from, the fastest first.

        Each has `arena`, in bytes, and `seconds`, which the cost model gives a call.
        """
        return late(MEMORIES).program_plans(self.program(*args, **kwargs))

    def memory_curve(self, /, *args: Any, **kwargs: Any) -> list[CurvePoint]:
        """What ten budgets give, from the arena without one down to the least for which there is a plan."""
        return late(MEMORIES).program_curve(self.program(*args, **kwargs))

    def memory_batches(
        self, /, sizes: Sequence[int], *args: Any, over: Over = None, **kwargs: Any
    ) -> list[Batch]:
        """What calls with batches of these sizes need; the arguments are like those of a call.

        `over` names the arguments with a batch axis: one or several, for their first axis, or a mapping to
        the number of the axis. Without it, it is the first axis of every array that is not differentiated.
        """
        arguments = self._signature.bind(args, kwargs)
        return late(MEMORIES).batches(
            arguments, self.request, sizes, over, lambda args, kwargs: self.program(*args, **kwargs)
        )

    def explain(self, /, *args: Any, **kwargs: Any) -> str:
        """Why the program is as it is: inputs, what is fixed, what each pass did, the kernels, the memory."""
        return late(EXPLAIN).explanation(self.program(*args, **kwargs))

    def check(self, /, *args: Any, **kwargs: Any) -> CheckReport:
        """How far the results for these arguments are from the plain function and its difference quotients.

        Raises GradientCheckError, which names the worst entry and the line that makes it wrong, where they
        are too far apart.
        """
        return self.compared(*args, **kwargs).demand()

    def compared(self, /, *args: Any, **kwargs: Any) -> CheckReport:
        """The report of `check`, whatever it says."""
        arguments = self._signature.bind(args, kwargs)
        program, captured = self._program(arguments, args, kwargs)
        values = input_values(program.traced, arguments.leaves, captured)
        checks = late(CHECKS)
        return checks.check_program(program, checks.Point(self._signature, arguments, self.fn), values)
