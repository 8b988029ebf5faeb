"""What threads gain: `python -m benchmarks.threads [threads]`, by default two.

The ratio is the time on one thread over the time on several, each the best of many single calls, taken in
turn after pauses of random length: where others work too, the system places threads well only now and then.
The work is the processor time of all threads over that of one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time, sleep

import numpy as np

from benchmarks.timing import interleaved, pinned_environment, timer
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS
from symgrad import value_and_grad

NAMES = (
    "black_scholes_1e6", "elementwise_chain_1e6", "lennard_jones_1000", "logreg_200k_50", "mlp_digits",
    "gmm_1k_10_25", "nmf_poisson", "rosenbrock_10",
)  # fmt: skip
SECONDS = 10.0  # for each workload
LONGEST_PAUSE = 0.012


def best_after_pauses(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least seconds of a call of each."""
    rng, best = np.random.default_rng(1), dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    end = perf_counter() + SECONDS
    while perf_counter() < end:
        for name, call in calls.items():
            sleep(rng.uniform(0.0, LONGEST_PAUSE))
            start = perf_counter()
            call()
            best[name] = min(best[name], perf_counter() - start)
    return best


def report(workload: Workload, threads: int) -> str:
    """The line of a workload."""
    arguments = workload.arguments(workload.sizes)

    def loss(*values):
        return workload.loss(np, *values)

    calls: dict[str, Callable[[], object]] = {}
    for name, parallel in (("one", False), ("several", threads), ("automatic", True)):
        compiled = value_and_grad(loss, workload.argnums, parallel=parallel)
        calls[name] = partial(compiled, *arguments)
    times = best_after_pauses(calls)
    work = interleaved({name: timer(call, process_time) for name, call in calls.items()}, rounds=3)
    return (
        f"{workload.name:24}{1e3 * times['one']:10.4g} ms{1e3 * times['several']:10.4g} ms"
        f"{times['one'] / times['several']:8.2f}{times['one'] / times['automatic']:11.2f}"
        f"{work['several'].best / work['one'].best:8.2f}"
    )


def main(threads: int) -> None:
    """A line a workload."""
    print(f"{'':24}{'one thread':>13}{f'{threads} threads':>13}{'ratio':>8}{'automatic':>11}{'work':>8}")
    for name in NAMES:
        print(report(WORKLOADS[name], threads), flush=True)


if __name__ == "__main__":
    if "--pinned" in sys.argv:
        main(int(sys.argv[1]))
    else:
        count = sys.argv[1] if len(sys.argv) > 1 else "2"
        command = [sys.executable, "-m", "benchmarks.threads", count, "--pinned"]
        subprocess.run(command, env=pinned_environment(), check=True)
