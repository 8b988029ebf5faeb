"""Loops that run again in pieces: the heat equation with a cubic term, and a `while` of 10⁶ iterations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.memory.figure import Figure, count, percent
from benchmarks.memory.variants import compiled, times
from benchmarks.units import bytes_text
from symgrad.passes.remat import checkpoints

CELLS, STEPS = 500, 10_000
ALL_ROWS = (checkpoints, "LARGE", float("inf"))  # no stacks are too large to keep
# The part of the arena of all rows that a budget is, and the time that it may take over all rows.
WITHIN = ("1MiB", "14kB")  # budgets of the `while`
BUDGETS = ((1 / 70, 1.5), (1 / 200, 2.0), (1 / 400, None))


def reacting_rod(u: Any, target: Any, steps: int) -> Any:
    """The misfit of a rod with a cubic source after so many explicit steps."""
    for _ in range(steps):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]) + 1e-4 * u[1:-1] ** 3
    return np.sum((u - target) ** 2)


def root(a: Any, tolerance: Any) -> Any:
    """A square root by Newton's iteration with very short steps."""
    x = 1.0
    while np.abs(x * x - a) > tolerance:
        x = x - 1e-5 * (x * x - a) / (2 * x)
    return x


def figures() -> Iterator[Figure]:
    """Arena and time under budgets over those of the program that keeps all rows, and the bits."""
    yield from _rod()
    yield from _root()


def _root() -> Iterator[Figure]:
    args = (3.0, 1e-4)
    variants = {"stacked": compiled(root, args), **{b: compiled(root, args, memory_budget=b) for b in WITHIN}}
    seconds = times(variants)
    expected = variants["stacked"].call()
    for name in WITHIN:
        yield Figure(f"10⁶ iterations of a while in {name}: time", seconds[name] / seconds["stacked"])
        yield Figure(f"10⁶ iterations of a while in {name}: arena", variants[name].arena, text=bytes_text)
        yield Figure(f"10⁶ iterations of a while in {name}: other bits", variants[name].call() != expected, 0)


def _rod() -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    args = (rng.standard_normal(CELLS), rng.standard_normal(CELLS), STEPS)
    static = {"static_argnums": (2,)}
    everything = compiled(reacting_rod, args, ALL_ROWS, **static)
    variants = {"all rows": everything, "by default": compiled(reacting_rod, args, **static)}
    for part, _ in BUDGETS:
        budget = int(part * everything.arena)
        variants[f"1/{1 / part:.0f}"] = compiled(reacting_rod, args, memory_budget=budget, **static)
    seconds = times(variants)
    limits = {"by default": 1.0, **{f"1/{1 / part:.0f}": limit for part, limit in BUDGETS}}
    parts = {"by default": None, **{f"1/{1 / part:.0f}": part for part, _ in BUDGETS}}
    expected = everything.call()
    for name, limit in limits.items():
        variant = variants[name]
        yield Figure(f"{name}: time", seconds[name] / seconds["all rows"], limit)
        yield Figure(f"{name}: arena", variant.arena / everything.arena, parts[name], percent)
        differ = sum(a.tobytes() != b.tobytes() for a, b in zip(expected, variant.call(), strict=True))
        yield Figure(f"{name}: results of other bits", differ, 0, count)
