"""How a function is compiled, and what callers write for it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from symgrad.errors import ArgumentError
from symgrad.ir.launch import Budget, Threads
from symgrad.ir.types import STORED_FOR
from symgrad.runtime.cpus import cpus
from symgrad.runtime.late import COMPILER, CUDA, late
from symgrad.runtime.program import CUDA_TARGET, DEFAULT_TARGET, INTERPRETER, ONE
from symgrad.runtime.request import Argnum

Argnums: TypeAlias = "Argnum | Sequence[Argnum]"
Bytes: TypeAlias = "int | str | None"
Residuals: TypeAlias = Literal["float32", "float16", "bfloat16"] | None

OPTIMAL = "optimal"  # the plan of least cost
CUDA_NAME = "cuda"  # what callers write for the target of GPUs
AUTO = "auto"  # that target where it can be used, else the default one

# Where it is set, compiled programs are poisoned: slower, for finding faults in them.
POISON = "SYMGRAD_POISON"

_UNITS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """How a function is compiled."""

    target: str  # where it runs
    static: tuple[Argnum, ...] = ()  # arguments that are fixed in the program
    threads: Threads = ONE  # that may run it
    budget: Budget | None = None  # that its arena keeps
    residuals: str | None = None  # the type that residuals are stored in, if not their own
    poisoned: bool = False  # whether the program fills places that hold nothing: see POISON

    def within(self, budget: object, plan: object = None) -> Options:
        """The same with a budget as a caller has written it; without a plan, with the one that there is."""
        if plan is None and budget is not None and self.budget is not None and self.budget.optimal:
            plan = OPTIMAL
        found = replace(self, budget=_budget(budget, plan))
        if found.budget is not None and found.threads != ONE:
            raise ArgumentError(
                "memory_budget= plans the arena of one thread",
                cure="leave out parallel=, or call the function for parts of the data from your own threads",
            )
        return found


def options(
    target: str | None,
    static: Argnums,
    parallel: object,
    budget: object = None,
    plan: object = None,
    residuals: object = None,
) -> Options:
    """The options that a caller has written."""
    chosen = target_named(
        target if target is not None else os.environ.get("SYMGRAD_TARGET") or DEFAULT_TARGET
    )
    if chosen == CUDA_TARGET:
        _refuse_for_gpu(parallel, budget)
    made = Options(
        chosen,
        numbers(static, "static_argnums"),
        _threads(parallel),
        residuals=_stored(residuals),
        poisoned=_is_set(POISON),
    )
    found = made.within(budget, plan)
    if found.budget is not None and target == INTERPRETER:
        raise ArgumentError(
            "memory_budget= plans the memory of compiled programs; the interpreter has no plan",
            cure="leave it out, or leave out the target",
        )
    return found


def target_named(name: str) -> str:
    """The target that a caller's name means. Raises ArgumentError where there is none."""
    if name == AUTO:
        return late(CUDA).best_target()
    chosen = CUDA_TARGET if name == CUDA_NAME else name
    if chosen not in (DEFAULT_TARGET, CUDA_TARGET, INTERPRETER):
        targets = (*late(COMPILER).TARGETS, INTERPRETER, CUDA_NAME, AUTO)
        raise ArgumentError(f"no target {name!r}", cure="targets: " + ", ".join(targets))
    return chosen


def _refuse_for_gpu(parallel: object, budget: object) -> None:
    """Raise for options that are about a processor."""
    if parallel is not False:
        raise ArgumentError(
            "parallel= is about threads of the processor", cure=f'leave it out with target="{CUDA_NAME}"'
        )
    if budget is not None:
        raise ArgumentError(
            "memory_budget= plans the memory of programs for the processor",
            cure=f'leave it out with target="{CUDA_NAME}"; what does not fit is refused before it runs',
        )


def numbers(argnums: Argnums, option: str = "argnums") -> tuple[Argnum, ...]:
    """The arguments that an option names, as a tuple."""
    listed = cast("object", (argnums,) if isinstance(argnums, int | str) else argnums)
    if not isinstance(listed, Sequence):
        raise ArgumentError(
            f"{option} is of type {type(listed).__name__}: arguments are named by position or name",
            cure=f'write it as {option}=0, {option}="x" or {option}=(0, 1)',
        )
    found = tuple(cast("Sequence[object]", listed))
    for number in found:
        if not isinstance(number, int | str) or isinstance(number, bool):
            raise ArgumentError(
                f"{option}: {number!r} is neither a position nor a name",
                cure=f'write it as {option}=0, {option}="x" or {option}=(0, 1)',
            )
    return cast("tuple[Argnum, ...]", found)


def _is_set(variable: str) -> bool:
    """Whether a variable of the environment asks for something."""
    return os.environ.get(variable, "0") not in ("", "0")


def _threads(parallel: object) -> Threads:
    """The threads that the option asks for."""
    if isinstance(parallel, bool):
        return Threads(cpus(), automatic=True) if parallel else Threads()
    if isinstance(parallel, int) and parallel > 0:
        return Threads(parallel)
    raise ArgumentError(
        f"parallel is {parallel!r}, neither True nor False nor a number of threads",
        cure="write parallel=True for as many threads as pay, or their number, as parallel=4",
    )


def _budget(budget: object, plan: object) -> Budget | None:
    """The budget that the options ask for."""
    size = _bytes(budget)
    if plan is not None and plan != OPTIMAL:
        raise ArgumentError(
            f"plan is {plan!r}, not {OPTIMAL!r}",
            cure=f'write plan="{OPTIMAL}" for the plan of least cost, or leave it out',
        )
    if plan is not None and size is None:
        raise ArgumentError(
            f'plan="{OPTIMAL}" is how a memory budget is kept, and there is none',
            cure='write memory_budget="64MiB" as well, or leave out plan=',
        )
    return None if size is None else Budget(size, optimal=plan is not None)


def _bytes(budget: object) -> int | None:
    """The bytes that the option allows; None for as many as are best."""
    if budget is None or (isinstance(budget, int) and not isinstance(budget, bool) and budget >= 0):
        return budget
    if isinstance(budget, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMG]i?B|B)\s*", budget)
        if match is not None and match[2] in _UNITS:
            return int(float(match[1]) * _UNITS[match[2]])
    raise ArgumentError(
        f"memory_budget is {budget!r}, neither a number of bytes nor a size with its unit",
        cure=f'write it as memory_budget="64MiB", or as bytes; units: {", ".join(_UNITS)}',
    )


def _stored(residuals: object) -> str | None:
    """The type that residuals are stored in; None for their own."""
    if residuals is None or (isinstance(residuals, str) and residuals in STORED_FOR):
        return residuals
    types = ", ".join(f'"{name}" for {wide} programs' for name, wide in STORED_FOR.items())
    raise ArgumentError(f"residuals is {residuals!r}, not a type to store them in", cure=f"types: {types}")
