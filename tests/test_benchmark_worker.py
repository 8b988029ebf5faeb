"""A worker does in a process of its own what its parent asks, and says why where it can't."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.timing import THREAD_VARIABLES, pinned_environment
from benchmarks.worker import Bench, RefusedError, Worker
from benchmarks.workloads import WORKLOADS

NAME = "rosenbrock_10"


# ---- what tests ask beside what a benchmark does -----------------------------------------------------------
def environment(_: Bench, name: str) -> str | None:
    return os.environ.get(name)


def processors(_: Bench) -> int:
    return len(os.sched_getaffinity(0))


def loaded(_: Bench, module: str) -> bool:
    return module in sys.modules


def end(_: Bench) -> None:
    os._exit(3)


# ---- the tests ---------------------------------------------------------------------------------------------
@pytest.fixture
def worker():
    with Worker("numpy", NAME, pinned_environment()) as worker:
        yield worker


def test_calls_are_prepared_timed_and_evaluated(worker: Worker) -> None:
    seconds, calls = worker.ask(Bench.prepare)
    assert seconds > 0.0
    assert calls == ("value",)
    timer = worker.timer("value")
    assert 0.0 < timer(1) < timer(1000)
    workload = WORKLOADS[NAME]
    expected = workload.loss(np, *workload.arguments(workload.sizes))
    assert worker.ask(Bench.result, "value") == {"value": expected}


def test_the_processes_start_without_the_libraries(worker: Worker) -> None:
    for library in ("symgrad", "numba", "jax", "torch", "autograd"):
        assert not worker.ask(loaded, library)
    code = "import sys, benchmarks.__main__; sys.exit(any(m in sys.modules for m in ('symgrad', 'numba')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    worker.ask(Bench.load, "benchmarks.peers.with_symgrad")
    assert worker.ask(loaded, "symgrad")


@pytest.mark.parametrize("variable", THREAD_VARIABLES)
def test_threads_are_pinned_there_and_not_here(worker: Worker, variable: str) -> None:
    here = os.environ.get(variable)
    with Worker("numpy", NAME, pinned_environment(3)) as other:
        assert worker.ask(environment, variable) == "1"
        assert other.ask(environment, variable) == "3"
    assert os.environ.get(variable) == here


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the system does not hold processes to processors"
)
def test_a_worker_is_held_to_one_processor(worker: Worker) -> None:
    assert worker.ask(processors) == 1


def test_what_fails_there_is_said_here_and_the_worker_goes_on(worker: Worker) -> None:
    with pytest.raises(RefusedError, match="KeyError: 'gradient'"):
        worker.timer("gradient")(1)
    assert worker.ask(Bench.prepare)[1] == ("value",)


def test_a_process_that_ends_is_a_refusal(worker: Worker) -> None:
    with pytest.raises(RefusedError, match="ended with 3"):
        worker.ask(end)


def test_patience_ends(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.worker.PATIENCE", 0.0)
    with pytest.raises(RefusedError, match="no answer within 0 s"):
        worker.ask(Bench.load, "scipy.stats")
