"""`python -m benchmarks [name …]`: value and gradient of each by symgrad and its installed peers.

Each workload, and each comparison with loops by hand, has a fresh process with one thread, in which the
contenders take turns. Compile time has a process for each time that it is measured.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter

import numpy as np

from benchmarks import compile_time, loops
from benchmarks.loops import COMPARISONS
from benchmarks.runners import RUNNERS
from benchmarks.timing import interleaved, run_pinned
from benchmarks.workloads import WORKLOADS, Workload

NAMES = [*(w.name for w in WORKLOADS), *(c.name for c in COMPARISONS), compile_time.NAME]
COLUMNS = f"{'':24}{'':12}{'first call':>12}{'best of 7':>14}{'/ loss':>9}"


def report(workload: Workload) -> str:
    """A line for the loss alone in NumPy and one for value and gradient by each installed library."""
    arguments = workload.make(np.random.default_rng(0))
    calls = {"loss alone": lambda: workload.loss(np, *arguments)}
    first: dict[str, float] = {}
    refused: dict[str, str] = {}
    for name in [name for name in RUNNERS if find_spec(name) is not None]:
        start = perf_counter()
        try:
            call = import_module(f"benchmarks.runners.with_{name}").prepare(workload, arguments)
            call()
        except Exception as error:
            refused[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            continue
        first[name] = perf_counter() - start
        calls[name] = call

    times = interleaved(calls)
    loss = times["loss alone"].best
    lines = []
    for name, time in times.items():
        compiled = f"{first[name]:10.2f} s" if name in first else " " * 12
        lines.append(f"{name:12}{compiled}{1e3 * time.best:11.4g} ms{time.best / loss:9.2f}")
    lines += [f"{name:12}{message[:90]}" for name, message in refused.items()]
    return "\n".join(f"{workload.name if i == 0 else '':24}{line}" for i, line in enumerate(lines))


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Value and gradient, timed.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--here", action="store_true", help="in this process, with its threads")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"nothing is called {', '.join(unknown)}; there are {', '.join(NAMES)}")

    heavy = {workload.name for workload in WORKLOADS if workload.heavy}
    chosen = [name for name in NAMES if name in options.names or not (options.names or name in heavy)]
    if not options.here:
        print(COLUMNS)
    for name in chosen:
        alone = options.here or name == compile_time.NAME
        text = report_named(name) if alone else run_pinned(["-m", "benchmarks", "--here", name])
        print(text.rstrip("\n"), flush=True)


def report_named(name: str) -> str:
    """The lines of what has this name, measured in this process."""
    for workload in WORKLOADS:
        if workload.name == name:
            return report(workload)
    for comparison in COMPARISONS:
        if comparison.name == name:
            return loops.report(comparison)
    return compile_time.report()


if __name__ == "__main__":
    main()
