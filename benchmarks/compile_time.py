"""How long the heat equation takes from the decorated function to a program that is ready, by its steps."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from functools import partial
from importlib import import_module
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from benchmarks.loops import heat_loss
from benchmarks.timing import run_pinned

NAME = "compile_time"
STEPS = (10, 1_000, 100_000)
CELLS = 500
LIMIT = 0.8  # promised seconds, with the imports
SPREAD = 0.2  # promised of each number of steps against the others


def seconds_to_compile(steps: int) -> float:
    """Seconds until the program is ready to run, with no compiler imported and nothing on disk."""
    compile_grad = import_module("symgrad").compile_grad
    u, target = np.random.default_rng(0).standard_normal((2, CELLS))
    with TemporaryDirectory() as folder:
        os.environ["SYMGRAD_CACHE_DIR"] = folder
        start = perf_counter()
        # Asking for the executable compiles without a run.
        _ = compile_grad(partial(heat_loss, np)).program(u, 0.2, target, steps).executable
        return perf_counter() - start


def report() -> str:
    """A line for each number of steps: the best of three fresh processes, relative to the fewest steps."""
    times: dict[int, float] = {}
    for steps in STEPS:
        try:
            runs = [run_pinned(["-m", "benchmarks", NAME, str(steps)]) for _ in range(3)]
        except CalledProcessError:
            return f"{NAME:24}{steps:,} steps: not compiled, as the error above says"
        times[steps] = min(map(float, runs))
    rows = [
        f"{f'{steps:,} steps':14}{seconds:8.2f} s{'':14}{seconds / times[STEPS[0]]:9.2f}"
        for steps, seconds in times.items()
    ]
    slowest, fastest = max(times.values()), min(times.values())
    kept = slowest <= LIMIT and slowest <= (1 + SPREAD) * fastest
    rows.append(f"promised {LIMIT:g} s, and the same within {SPREAD:.0%}: {'kept' if kept else 'BROKEN'}")
    return "\n".join(f"{NAME if i == 0 else '':24}{row}" for i, row in enumerate(rows))


def add_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("steps", nargs="?", type=int, help="so many, once, in this process")


def run(options: Namespace) -> int:
    """Print the report, or the seconds of so many steps."""
    print(report() if options.steps is None else seconds_to_compile(options.steps))
    return 0
