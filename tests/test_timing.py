"""The timing helper on a clock of our own: turns, best and median, and threads pinned in a fresh process."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from benchmarks.timing import THREAD_VARIABLES, Timer, interleaved, run_pinned, timer


class Clock:
    """A clock that moves only when a call says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def __call__(self) -> float:
        return self.now

    def timer(self, name: str, seconds: Callable[[int], float]) -> Timer:
        """The timer of a call that takes `seconds(k)` the k-th time."""

        def run() -> None:
            self.now += seconds(self.log.count(name))
            self.log.append(name)

        return timer(run, self)


def test_a_round_is_filled_and_the_contenders_take_turns() -> None:
    clock = Clock()
    timers = {"fast": clock.timer("fast", lambda _: 0.25), "slow": clock.timer("slow", lambda _: 1.0)}
    times = interleaved(timers, rounds=3, round_seconds=1.0)
    assert (times["fast"].calls, times["slow"].calls) == (4, 1)
    assert times["fast"].best == times["fast"].median == 0.25
    assert times["slow"].best / times["fast"].best == 4.0
    assert clock.log[-15:] == (["fast"] * 4 + ["slow"]) * 3


def test_the_first_call_is_not_measured_and_the_best_round_counts() -> None:
    clock = Clock()
    durations = [100.0, 1.0, 4.0, 2.0, 3.0]  # compile, fill a round, three rounds
    times = interleaved({"a": clock.timer("a", durations.__getitem__)}, rounds=3, round_seconds=0.5)
    assert (times["a"].best, times["a"].median) == (2.0, 3.0)


def test_who_has_used_up_the_budget_sits_out() -> None:
    clock = Clock()
    timers = {"fast": clock.timer("fast", lambda _: 1.0), "slow": clock.timer("slow", lambda _: 3.0)}
    interleaved(timers, rounds=4, round_seconds=1.0, budget=5.0)
    assert clock.log[4:] == ["fast", "slow"] * 2 + ["fast"] * 2


@pytest.mark.parametrize("variable", THREAD_VARIABLES)
def test_threads_are_pinned_in_a_fresh_process(variable: str) -> None:
    assert run_pinned(["-c", f"import os; print(os.environ[{variable!r}])"], threads=3) == "3\n"


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the system does not hold processes to processors"
)
def test_the_fresh_process_is_held_to_one_processor() -> None:
    assert run_pinned(["-c", "import os; print(len(os.sched_getaffinity(0)))"]) == "1\n"
