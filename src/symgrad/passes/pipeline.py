"""The order of the passes, and what runs around each: the verifier, the clock, and the dump."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from symgrad.errors import InternalError, SymgradError
from symgrad.ir.analysis import op_counts
from symgrad.ir.core import Function
from symgrad.ir.launch import Budget
from symgrad.ir.ops.packing import Packing
from symgrad.ir.printer import format_function
from symgrad.ir.verifier import verify
from symgrad.passes.accumulate import accumulate
from symgrad.passes.contract import contract
from symgrad.passes.cse import cse
from symgrad.passes.dce import dce
from symgrad.passes.double import double
from symgrad.passes.expand import expand
from symgrad.passes.fold import fold
from symgrad.passes.fuse import fuse
from symgrad.passes.hoist import hoist
from symgrad.passes.layout import layout
from symgrad.passes.memory import arena_bytes, memory
from symgrad.passes.packing.pack import Joint, demand_packable, pack
from symgrad.passes.poison import poison
from symgrad.passes.remat.checkpoints import checkpoint, checkpointed
from symgrad.passes.remat.frontier import Plan, frontier, within
from symgrad.passes.simplify import simplify
from symgrad.passes.stabilize import stabilize
from symgrad.passes.tile import in_small_blocks, tile
from symgrad.passes.unroll import unroll

# A pass that finds nothing to do returns the very function that it was given.
Pass: TypeAlias = Callable[[Function], Function]

PASSES: dict[str, Pass] = {
    "stabilize": stabilize,
    "simplify": simplify,
    "fold": fold,
    "hoist": hoist,
    "cse": cse,
    "dce": dce,
    "expand": expand,
    "contract": contract,
    "layout": layout,
    "unroll": unroll,
    "checkpoint": checkpoint,
    "tile": tile,
    "accumulate": accumulate,
    "double": double,
    "fuse": fuse,
    "memory": memory,
    "poison": poison,
}

DUMP_VARIABLE = "SYMGRAD_DUMP"  # names the directory that gets the program after each pass

# Each round feeds the next one; real programs are done after three or four.
MAX_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Step:
    """One pass that has run."""

    name: str
    seconds: float
    ops_before: int
    ops_after: int


class PassRunner:
    """Runs the passes of one compilation, checks the program after each, and dumps it where wanted."""

    def __init__(self, dump: str | Path | None = None) -> None:
        self.dump = None if dump is None else Path(dump)
        self.steps: list[Step] = []
        self._checked: Function | None = None  # the program that the verifier has seen last

    @staticmethod
    def from_environment() -> PassRunner:
        """A runner that dumps into the directory that the environment names, if it names one."""
        return PassRunner(os.environ.get(DUMP_VARIABLE) or None)

    def run(self, name: str, function: Function, pass_: Pass | None = None) -> Function:
        """The function after the pass of this name: one of `PASSES`, unless the pass itself is given."""
        chosen = PASSES[name] if pass_ is None else pass_
        if self._checked is None:
            self._save("input", function, "")
        if self._checked is not function:
            verify(function)
        before = op_counts(function)
        started = time.perf_counter()
        found = self._guarded(name, chosen, function)
        seconds = time.perf_counter() - started
        after = before if found is function else op_counts(found)
        self.steps.append(Step(name, seconds, sum(before.values()), sum(after.values())))
        self._save(
            name,
            found,
            f"// seconds: {seconds:.6f}\n// ops before: {_listed(before)}\n// ops after: {_listed(after)}\n",
        )
        if found is not function:
            self._verify(name, found)
        self._checked = found
        return found

    def _verify(self, name: str, function: Function) -> None:
        try:
            verify(function, after=name)
        except InternalError as error:
            raise InternalError(error.what, loc=error.loc, why=error.why, cure=self._where(-2)) from None

    def _guarded(self, name: str, pass_: Pass, function: Function) -> Function:
        try:
            return pass_(function)
        except SymgradError as error:
            if not isinstance(error, InternalError):
                raise
            raise InternalError(
                f"pass {name}: {error.what}", loc=error.loc, why=error.why, cure=self._where(-1)
            ) from error
        except Exception as error:
            raise InternalError(
                f"pass {name} failed: {type(error).__name__}: {error}",
                why="this is a fault of symgrad, not of the function that it compiles",
                cure=self._where(-1),
            ) from error

    def _save(self, name: str, function: Function, header: str) -> None:
        """Write the program into the dump directory, if there is one."""
        if self.dump is None:
            return
        self.dump.mkdir(parents=True, exist_ok=True)
        text = f"// pass: {name}\n{header}{format_function(function, locs=True)}\n"
        (self.dump / f"{len(self.steps):02d}-{name}.ir").write_text(text, encoding="utf-8")

    def _where(self, back: int) -> str:
        """Where the program before the failed pass is; `back` counts from the last one that was written."""
        if self.dump is None:
            return f"set {DUMP_VARIABLE}=DIRECTORY to keep the program before and after every pass"
        names = ["input", *(step.name for step in self.steps)]
        number = len(names) + back
        return f"the program before the pass: {self.dump / f'{number:02d}-{names[number]}.ir'}"


def _listed(counts: dict[str, int]) -> str:
    inside = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{sum(counts.values())} ({inside})" if counts else "0"


def optimize(function: Function, runner: PassRunner | None = None) -> Function:
    """The function made smaller and cheaper: its contractions in the form of BLAS, nothing fused yet."""
    runner = PassRunner.from_environment() if runner is None else runner
    function = _cleaned(function, runner)
    for name in ("expand", "contract"):
        changed = runner.run(name, function)
        function = function if changed is function else _cleaned(changed, runner)
    # `simplify` must not see what `layout` inserts: it would take it out again.
    for name in ("layout", "cse", "dce"):
        function = runner.run(name, function)
    return function


def optimize_packed(joint: Joint, packing: Packing, runner: PassRunner) -> Function:
    """The joint program made smaller and cheaper, and with residuals that are stored in a smaller type."""
    demand_packable(joint.function, packing)
    whole = replace(joint, function=optimize(joint.function, runner))
    return runner.run("pack", whole.function, lambda _: pack(whole, packing, _arena_when_fused))


def _arena_when_fused(optimized: Function) -> int:
    """The bytes of the arena of an optimized function."""
    return arena_bytes(memory(fused(optimized, PassRunner(None))))


_FUSING = ("cse", "dce", "accumulate", "double", "fuse")


def fused(
    function: Function, runner: PassRunner, budget: Budget | None = None, *, tiles: bool = True
) -> Function:
    """The optimized function as kernels and contractions in order.

    With `tiles`, work on rows that does not fit a cache is done in blocks of rows, and loops are reversed in
    pieces where that is faster.
    With a budget, what would take more bytes of the arena is made again where it is read, or row by row.
    Raises MemoryBudgetError if that is not enough.
    """
    function = runner.run("unroll", function)
    found = function
    for name in (*(("checkpoint", "tile") if tiles else ()), *_FUSING):
        found = runner.run(name, found)
    if budget is not None:
        found = runner.run("rematerialize", found, lambda f: within(f, budget, lambda: _in_pieces(function)))
    return found


def memory_plans(optimized: Function, runner: PassRunner) -> list[Plan]:
    """What less memory costs: the plans that a budget chooses from, the fastest first."""
    return frontier([fused(optimized, runner), *_in_pieces(unroll(optimized))])


def _in_pieces(function: Function) -> Iterator[Function]:
    """The unrolled function fused in forms that take less memory: rows in small blocks, loops run again."""
    for found in (*in_small_blocks(function), *checkpointed(function)):
        for name in _FUSING:
            found = PASSES[name](found)
        yield found


def placed(function: Function, runner: PassRunner, *, poisoned: bool = False) -> Function:
    """The fused function with a place for each value; poisoned, with fills of places that hold nothing."""
    function = runner.run("memory", function)
    return runner.run("poison", function) if poisoned else function


def schedule(function: Function, runner: PassRunner | None = None) -> Function:
    """The optimized function as kernels and contractions in order, each value with its place in memory."""
    runner = PassRunner.from_environment() if runner is None else runner
    return placed(fused(function, runner), runner)


def _cleaned(function: Function, runner: PassRunner) -> Function:
    """The function after rounds of the passes that make it smaller, until nothing changes."""
    for _ in range(MAX_ROUNDS):
        before = function
        for name in ("simplify", "fold", "cse", "dce", "hoist"):
            function = runner.run(name, function)
        if function is before:
            break
    return function
