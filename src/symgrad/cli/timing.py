"""The time of a call: best of several rounds."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

ROUNDS = 7
ROUND_SECONDS = 0.03


def first_call(call: Callable[[], object]) -> float:
    """The seconds of one call."""
    started = perf_counter()
    call()
    return perf_counter() - started


def best_of(call: Callable[[], object]) -> float:
    """The seconds of a call, in the round with the least disturbance; a slow call has fewer rounds."""
    once = first_call(call)
    count = max(1, round(ROUND_SECONDS / max(once, 1e-7)))
    rounds = ROUNDS if once < 1.0 else 2
    return min(once if count == 1 else _round(call, count), *(_round(call, count) for _ in range(rounds - 1)))


def _round(call: Callable[[], object], count: int) -> float:
    started = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - started) / count
