"""What a call is predicted to need, what it is seen to take, and how much its process grows, in bytes.

Predicted is the memory plan. Measured are the arena that a call borrows, how far it is written to, and what
is allocated besides. Growth is measured in a process of its own that has loaded the compiled program and used
BLAS before.
"""

from __future__ import annotations

import os
import resource
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import blas, lapack

from benchmarks.timing import pinned_environment
from benchmarks.worker import SPAWN
from benchmarks.workload import leaves
from benchmarks.workloads import WORKLOADS
from symgrad import compile_grad
from symgrad.ir import dims
from symgrad.runtime.compiled import Compiled

Case: TypeAlias = "tuple[Compiled, tuple[Any, ...]]"  # a compiled function, and arguments to call it with

CANARY = 0xA5
GUARD = 4096  # bytes before and behind an arena that nothing may write to
# The C library serves large requests from the system, not from what was freed before: what grows is counted.
ALLOCATION = {"MALLOC_MMAP_THRESHOLD_": str(1 << 17), "MALLOC_TOP_PAD_": "0"}


@dataclass(frozen=True)
class Predicted:
    """What the plan says."""

    arena: int
    results: int  # arrays, without numbers


@dataclass(frozen=True)
class Measured:
    """What a call was seen to do."""

    arena: int  # bytes that it had, on the stack if they are few
    touched: int  # bytes of the arena up to the last one written; of one on the stack, all
    stray: int  # bytes written beside the arena
    extra: int  # bytes allocated at once through Python and NumPy, beyond the result arrays
    results: int  # bytes of the result arrays


def predicted(compiled: Compiled, *args: Any) -> Predicted:
    """What the plan says of a call."""
    program = compiled.program(*args)
    arrays = [dims.known(t.nbytes) for t in program.executable.results if t.rank > 0]
    return Predicted(compiled.memory(*args).arena, sum(arrays))


def measured(compiled: Compiled, *args: Any) -> Measured:
    """What a call takes and touches; the program is that of one thread."""
    compiled(*args)
    program = compiled.program(*args)
    lent = program.executable.arena_bytes
    if not lent:
        extra, results = _allocated(compiled, args)
        on_stack = program.loops.arena_bytes
        return Measured(on_stack, on_stack, 0, extra, results)
    pool = program.executable.pool
    given = [arena.size for arena in pool.free]
    raw = np.full(lent + 2 * GUARD + 64, CANARY, np.uint8)
    start = GUARD - raw[GUARD:].ctypes.data % -64
    pool.free[:] = [raw[start : start + lent]]
    compiled(*args)
    written = np.flatnonzero(raw != CANARY) - start
    inside = (written >= 0) & (written < lent)
    touched = int(np.max(written[inside], initial=-1)) + 1
    stray = int(np.count_nonzero(~inside))
    extra, results = _allocated(compiled, args)
    pool.drop()
    return Measured(max(given), touched, stray, extra, results)


def _allocated(compiled: Compiled, args: tuple[Any, ...]) -> tuple[int, int]:
    """The most bytes that a call has allocated at once beyond its result arrays, and the bytes of these."""
    held = [
        compiled(*args) for _ in range(3)
    ]  # what is held back for later calls is in use: none is used again
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        held.append(compiled(*args))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    arrays = [a for _, a in leaves(held[-1], "") if isinstance(a, np.ndarray)]
    # An array owns its elements, itself, and its shape and strides.
    objects = sum(sys.getsizeof(a) + 16 * a.ndim for a in arrays)
    return most - before - objects, sum(a.nbytes for a in arrays)


# ---- in a process of its own ------------------------------------------------------------------------------
def growth(make: Callable[..., Case], *args: Any) -> int:
    """The bytes by which a process grows at its first call of what `make(*args)` gives, at the most.

    `make` must be a function of a module, for other processes to find it.
    """
    with TemporaryDirectory() as cache:
        environment = {**pinned_environment(1), **ALLOCATION, "SYMGRAD_CACHE_DIR": cache}
        _apart(environment, _compiled, make, args)
        return _apart(environment, _grown, make, args)


def workload_case(name: str, budget: int | str | None = None) -> Case:
    """A workload of the benchmark, to be measured."""
    workload = WORKLOADS[name]
    compiled = compile_grad(partial(workload.loss, np), argnums=workload.argnums, memory_budget=budget)
    return compiled, workload.arguments(workload.sizes)


def _compiled(make: Callable[..., Case], args: tuple[Any, ...]) -> int:
    """Leave the compiled program in the cache."""
    compiled, given = make(*args)
    compiled(*given)
    return 0


def _grown(make: Callable[..., Case], args: tuple[Any, ...]) -> int:
    """The growth in this process, which finds the program in the cache."""
    compiled, given = make(*args)
    _use_blas()
    # Once on arrays of the program's own, so that all code is loaded; then that memory is given back.
    compiled(*given)
    compiled.free_memory()
    before = _most()
    found = compiled(*given)
    after = _most(reset=False)
    del found
    return after - before


def _use_blas() -> None:
    """Have BLAS and LAPACK make the memory that they work in."""
    for dtype, letter in ((np.float64, "d"), (np.float32, "s")):
        a = np.eye(700, dtype=dtype)
        getattr(blas, f"{letter}gemm")(1.0, a, a)
        getattr(lapack, f"{letter}potrf")(a)
        np.dot(a, a)


def _most(*, reset: bool = True) -> int:
    """The most bytes of memory that the process has had; `reset` forgets what it had before."""
    if reset:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    with suppress(OSError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _apart(
    environment: dict[str, str], work: Callable[..., int], make: Callable[..., Case], args: Any
) -> int:
    """What the work says in a new process."""
    ours, theirs = SPAWN.Pipe()
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        process = SPAWN.Process(target=_send, args=(theirs, work, make, args), daemon=True)
        process.start()
    finally:
        os.environ.clear()
        os.environ.update(before)
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.join()


def _send(pipe: Connection, work: Callable[..., int], make: Callable[..., Case], args: Any) -> None:
    pipe.send(work(make, args))
