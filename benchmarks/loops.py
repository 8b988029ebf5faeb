"""Loops and in-place writes: value and gradient against the loss alone by hand for numba, and against JAX.

Contenders take turns in one run on one thread. numba is imported only when something is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks import by_hand
from benchmarks.loop_programs import cascade_loss, cholesky_loss, gauss_seidel_loss, heat_loss, make_cascade
from benchmarks.timing import interleaved
from benchmarks.workloads import Arrays
from symgrad import compile_grad

BY_HAND, JAX = "by hand", "jax"


@dataclass(frozen=True)
class Promise:
    """How long value and gradient may take."""

    limit: float  # times the contender's time; without one, seconds
    against: str | None = BY_HAND

    def line(self, times: dict[str, float]) -> str:
        """The promise beside what became of it."""
        if self.against is not None and self.against not in times:
            return f"promised {self.limit:g} x {self.against}, which is not installed"
        found = times["symgrad"] / (1.0 if self.against is None else times[self.against])
        told = "kept" if found <= self.limit else "BROKEN"
        if self.against is None:
            return f"promised {1e3 * self.limit:g} ms, took {1e3 * found:.3g} ms: {told}"
        return f"promised {self.limit:g} x {self.against}, took {found:.2f}: {told}"


@dataclass(frozen=True)
class Comparison:
    """A loss whose loops are plain Python, and the same by hand."""

    name: str
    loss: Callable[..., Any]
    by_hand: Callable[..., Any]  # the loss alone, for numba to compile
    make: Callable[[Generator], Arrays]
    differentiated: tuple[int, ...] = (0,)
    promise: Promise | None = None


def make_rod(steps: int) -> Callable[[Generator], Arrays]:
    """500 cells with one conductivity."""
    return lambda rng: (rng.standard_normal(500), 0.2, rng.standard_normal(500), steps)


def make_mixed_rod(steps: int) -> Callable[[Generator], Arrays]:
    """500 cells, each with its conductivity."""
    return lambda rng: (
        rng.standard_normal(500), rng.uniform(0.1, 0.3, 498), rng.standard_normal(500), steps
    )  # fmt: skip


def make_plate(rng: Generator) -> Arrays:
    return rng.standard_normal((100, 100)), rng.standard_normal((100, 100)), 20


def make_positive(rng: Generator) -> Arrays:
    b = rng.standard_normal((120, 120))
    return (b @ b.T / 120 + np.eye(120),)


COMPARISONS = (
    Comparison("heat_500x200", heat_loss, by_hand.heat_loss, make_rod(200), (0,), Promise(0.5, JAX)),
    Comparison("heat_500x10000", heat_loss, by_hand.heat_loss, make_rod(10_000), (0,), Promise(3.0)),
    Comparison(
        "heat_mixed_500x10000", heat_loss, by_hand.heat_conductivity_loss, make_mixed_rod(10_000), (0, 1)
    ),
    Comparison(
        "gauss_seidel_100x20",
        gauss_seidel_loss,
        by_hand.gauss_seidel_loss,
        make_plate,
        (0, 1),
        Promise(3.0),
    ),
    Comparison("cholesky_120", cholesky_loss, by_hand.cholesky_loss, make_positive, (0,), Promise(5.0)),
    Comparison("scan_614x60", cascade_loss, by_hand.cascade_loss, make_cascade, (0, 1), Promise(1e-3, None)),
)


def report(comparison: Comparison) -> str:
    """A line for each contender, with its time relative to the loop by hand, then promise and memory."""
    arguments = comparison.make(np.random.default_rng(0))
    compiled = compile_grad(comparison.loss, argnums=comparison.differentiated)
    by_numba = import_module("numba").njit(comparison.by_hand)
    contenders = {BY_HAND: lambda: by_numba(*arguments), "symgrad": lambda: compiled(*arguments)}
    if find_spec(JAX) is not None:
        peers = import_module("benchmarks.jax_loops")
        if comparison.name in peers.LOSSES:
            contenders[JAX] = peers.prepare(comparison.name, arguments, comparison.differentiated)

    first: dict[str, float] = {}
    refused: list[str] = []
    for name, call in contenders.items():
        start = perf_counter()
        try:
            call()
        except Exception as error:
            refused.append(f"{name:12}{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:100])
            continue
        first[name] = perf_counter() - start

    times = {name: t.best for name, t in interleaved({n: contenders[n] for n in first}).items()}
    lines = [
        f"{name:12}{first[name]:10.2f} s{1e3 * time:11.4g} ms{time / times[BY_HAND]:9.2f}"
        for name, time in times.items()
    ]
    lines += refused
    if "symgrad" in times:
        lines += [] if comparison.promise is None else [comparison.promise.line(times)]
        lines.append(str(compiled.memory(*arguments)))
    return "\n".join(f"{comparison.name if i == 0 else '':24}{line}" for i, line in enumerate(lines))
