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

Timer = Callable[[int], float]  # the seconds that so many calls take together


@dataclass(frozen=True)
class Timing:
    """Seconds a call, over several rounds of many calls each."""

    best: float  # the least mean of a round: the time with the least disturbance
    median: float  # the median of the rounds' means: how much the machine disturbed
    calls: int  # calls in each round


def timer(call: Callable[[], object], clock: Callable[[], float] = perf_counter) -> Timer:
    """The timer of a call in this process."""

    def seconds(count: int) -> float:
        start = clock()
        for _ in range(count):
            call()
        return clock() - start

    return seconds


def interleaved(
    timers: Mapping[str, Timer], *, rounds: int = 7, round_seconds: float = 0.05, budget: float = 5.0
) -> dict[str, Timing]:
    """The time of each call, the contenders taking turns so that a disturbance meets them all.

    Each is called once beforehand, unmeasured: that call may compile. One that has used up its budget of
    seconds sits out the rounds that are left.
    """
    counts: dict[str, int] = {}
    for name, seconds in timers.items():
        seconds(1)
        counts[name] = _calls_to_fill(seconds, round_seconds)
    means: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, seconds in timers.items():
            if sum(means[name]) * counts[name] < budget:
                means[name].append(seconds(counts[name]) / counts[name])
    return {name: Timing(min(m), median(m), counts[name]) for name, m in means.items()}


def pinned_environment(threads: int = 1) -> dict[str, str]:
    """This process's environment with every numerical library held to so many threads."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


def run_pinned(arguments: Sequence[str], threads: int = 1) -> str:
    """What a fresh Python run with `arguments` prints, its libraries held to so many threads.

    A fresh process, because BLAS reads these variables once, when it is loaded.
    """
    pin = partial(hold_to_processors, threads) if os.name == "posix" else None
    return subprocess.run(
        [sys.executable, *arguments],
        env=pinned_environment(threads),
        preexec_fn=pin,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def hold_to_processors(count: int) -> None:
    """Hold this process to the last `count` of the processors it may use, where the system allows.

    That is for libraries that have threads and no variable for their number (XLA).
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])


def _calls_to_fill(seconds: Timer, least: float) -> int:
    """The least power of two of calls that lasts at least so long."""
    count = 1
    while seconds(count) < least:
        count *= 2
    return count
