"""Times that can be compared: one run, repetitions in turn, the best of several, threads pinned.

A time by itself says more about the machine than about the code, so everything here yields times for ratios.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True)
class Timing:
    """Seconds a call, over several rounds of many calls each."""

    best: float  # the least mean of a round: the time with the least disturbance
    median: float  # the median of the rounds' means: how much the machine disturbed
    calls: int  # calls in each round


def interleaved(
    calls: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 7,
    round_seconds: float = 0.05,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, Timing]:
    """The time of each call, the contenders taking turns so that a disturbance meets them all.

    Each is called once beforehand, unmeasured: that call may compile.
    """
    counts: dict[str, int] = {}
    for name, call in calls.items():
        call()
        counts[name] = _calls_to_fill(call, round_seconds, clock)
    means: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            means[name].append(_seconds(call, counts[name], clock) / counts[name])
    return {name: Timing(min(m), median(m), counts[name]) for name, m in means.items()}


def pinned_environment(threads: int = 1) -> dict[str, str]:
    """This process's environment with every numerical library held to so many threads."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


def run_pinned(arguments: Sequence[str], threads: int = 1) -> str:
    """What a fresh Python run with `arguments` prints, its libraries held to so many threads.

    A fresh process, because BLAS reads these variables once, when it is loaded. Where the system allows, the
    process is also held to so many processors, for libraries that have threads and no variable (XLA).
    """
    pin = partial(_hold_to_processors, threads) if hasattr(os, "sched_setaffinity") else None
    return subprocess.run(
        [sys.executable, *arguments],
        env=pinned_environment(threads),
        preexec_fn=pin,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def _hold_to_processors(count: int) -> None:
    """Hold this process to the last `count` of the processors it may use."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])


def _seconds(call: Callable[[], object], count: int, clock: Callable[[], float]) -> float:
    """Seconds that `count` calls take together."""
    start = clock()
    for _ in range(count):
        call()
    return clock() - start


def _calls_to_fill(call: Callable[[], object], seconds: float, clock: Callable[[], float]) -> int:
    """The least power of two of calls that lasts at least so long."""
    count = 1
    while _seconds(call, count, clock) < seconds:
        count *= 2
    return count
