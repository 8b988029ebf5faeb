"""One workload by every library: first calls, times in turn, results compared, and symgrad's warm start."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from tempfile import TemporaryDirectory

from benchmarks.agreement import Results, disagreement
from benchmarks.results import Row
from benchmarks.timing import Timer, interleaved, pinned_environment
from benchmarks.worker import Bench, RefusedError, Worker
from benchmarks.workload import Workload

OWN = "symgrad"
GRADIENT = "gradient"  # the call that contenders are named without
UNTIMED = "memory"  # the call that is only asked for its result
STARTS = 3  # processes of which the fastest tells the warm start
# Loaded before the first call, which compiles; before a warm start nothing is.
LOADED = (
    "benchmarks.peers.with_symgrad",
    "symgrad.codegen.llvm_program",
    "symgrad.runtime.compiler",
    "symgrad.runtime.devices",
    "symgrad.runtime.stages",
)


def measure(workload: Workload, peers: Sequence[str], threads: int = 1) -> Row:
    """The row of a workload, each library in a process of its own with so many threads."""
    row = Row(workload.name)
    with TemporaryDirectory() as cache, ExitStack() as stack:
        # Both compilers start from nothing.
        environment = {
            **pinned_environment(threads),
            "SYMGRAD_CACHE_DIR": cache,
            "JAX_ENABLE_COMPILATION_CACHE": "false",
        }
        timers: dict[str, Timer] = {}
        results: dict[str, Results] = {}
        for peer in (OWN, "numpy", *peers):
            worker = stack.enter_context(Worker(peer, workload.name, environment, threads))
            try:
                _prepare(row, peer, worker, timers, results)
            except RefusedError as error:
                row.refused[peer] = str(error)
        _compare(row, results)
        row.times = interleaved(timers)
        if OWN in row.times:
            row.warm = min(_warm_start(workload, environment, threads) for _ in range(STARTS))
    return row


def _prepare(
    row: Row, peer: str, worker: Worker, timers: dict[str, Timer], results: dict[str, Results]
) -> None:
    """Make the first calls of a library, and write down what it returns."""
    if peer == OWN:
        worker.ask(Bench.load, *LOADED)
    _, calls = worker.ask(Bench.prepare)
    for call in [call for call in calls if call != UNTIMED]:
        name = peer if call == GRADIENT else f"{peer} {call}"
        timer = worker.timer(call)
        try:
            row.first[name] = timer(1)
        except RefusedError as error:
            row.refused[name] = str(error)
            continue
        timers[name] = timer
        results[name] = worker.ask(Bench.result, call)
    if peer in timers and UNTIMED in calls:
        row.arena, row.lower_bound = map(int, worker.ask(Bench.result, UNTIMED)[UNTIMED])


def _compare(row: Row, results: dict[str, Results]) -> None:
    """Say which libraries do not agree with the first that has a result."""
    expected = next(iter(results.values()), {})
    for name, found in results.items():
        if (text := disagreement(found, expected)) is not None:
            row.disagreements[name] = text


def _warm_start(workload: Workload, environment: dict[str, str], threads: int) -> float:
    """Seconds of a process from `import symgrad` to its first result, its cache being full."""
    with Worker(OWN, workload.name, environment, threads) as worker:
        seconds, _ = worker.ask(Bench.prepare)
        return seconds + worker.ask(Bench.seconds, GRADIENT, 1)
