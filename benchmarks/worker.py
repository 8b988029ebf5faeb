"""A process for each library, which has one workload ready and does with it what the parent asks over a pipe.

What is asked is a method of `Bench`; only one process works at a time, and the others wait at their pipes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any, TypeVar, TypeVarTuple

import numpy as np

from benchmarks.peers import Calls
from benchmarks.timing import Timer, hold_to_processors, timer
from benchmarks.workloads import WORKLOADS

R = TypeVar("R")
Ts = TypeVarTuple("Ts")

SPAWN = get_context("spawn")
PATIENCE = 120.0  # seconds that a library may take to answer


class RefusedError(Exception):
    """A library does not do what it was asked to."""


# ---- in the process of the library -------------------------------------------------------------------------
class Bench:
    """One library on one workload."""

    def __init__(self, peer: str, workload: str) -> None:
        self._peer, self._workload = peer, WORKLOADS[workload]
        self._arguments = self._workload.arguments(self._workload.sizes)
        self._calls: Calls = {}  # by what they do, once the library is prepared

    def load(self, *modules: str) -> None:
        """Import what shall not count."""
        for module in modules:
            import_module(module)

    def prepare(self) -> tuple[float, tuple[str, ...]]:
        """The seconds it takes to import the library and hand it the workload, and what there is to call."""
        start = perf_counter()
        peer = import_module(f"benchmarks.peers.with_{self._peer}")
        self._calls = peer.prepare(self._workload, self._arguments)
        return perf_counter() - start, tuple(self._calls)

    def seconds(self, call: str, count: int) -> float:
        """The seconds of so many calls together."""
        return timer(self._calls[call])(count)

    def result(self, call: str) -> dict[str, np.ndarray]:
        """What a call returns, by name."""
        found = self._calls[call]()
        return self._workload.named(*found) if call == "gradient" else {call: np.asarray(found)}


def serve(pipe: Connection, peer: str, workload: str, threads: int) -> None:
    """Answer until the parent hangs up."""
    hold_to_processors(threads)
    bench = Bench(peer, workload)
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = method(bench, *arguments)
        except Exception as error:
            # Whatever a library has against a loss that was not written for it.
            first_line = (str(error).strip().splitlines() or [""])[0]
            answer = RefusedError(f"{type(error).__name__}: {first_line}")
        pipe.send(answer)


# ---- in the parent -----------------------------------------------------------------------------------------
class Worker(AbstractContextManager["Worker"]):
    """The parent's end of the pipe; leaving the context ends the process."""

    def __init__(self, peer: str, workload: str, environment: Mapping[str, str], threads: int = 1) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=serve, args=(theirs, peer, workload, threads), daemon=True)
        before = dict(os.environ)
        os.environ.update(environment)  # which the process inherits, and reads when it loads its libraries
        try:
            self._process.start()
        finally:
            os.environ.clear()
            os.environ.update(before)
        theirs.close()

    def ask(self, method: Callable[[Bench, *Ts], R], *arguments: *Ts) -> R:
        """What the method says in the other process."""
        try:
            self._pipe.send((method, arguments))
            if not self._pipe.poll(PATIENCE):
                self._process.kill()
                raise RefusedError(f"no answer within {PATIENCE:g} s")
            answer: Any = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            raise RefusedError(f"its process ended with {self._process.exitcode}") from None
        if isinstance(answer, RefusedError):
            raise answer
        return answer

    def timer(self, call: str) -> Timer:
        """The timer of a call there."""
        return lambda count: self.ask(Bench.seconds, call, count)

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(1.0)
        self._process.kill()
        self._process.join()
