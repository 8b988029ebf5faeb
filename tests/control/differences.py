"""Central differences of a plain function at the step where they settle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from control.program import Arguments, Loss, Program, copied

FIRST_STEP = 4e-3
STEPS = 8  # each a quarter of the one before
FLOOR = 1e-3  # a derivative that is smaller than this part of the largest is held to as much
SETTLED = 1e-9  # two extrapolated quotients so close to one another need no smaller step
Tangents = list[Any]  # one a differentiated argument


def derivative(value: Callable[[float], float], first_step: float = FIRST_STEP) -> float:
    """The derivative at 0: quotients extrapolated to a step of 0 (Richardson 1911), where two agree best."""
    best, distance = np.nan, np.inf
    quotient = extrapolated = None
    for step in first_step / 4.0 ** np.arange(STEPS):
        finer = (value(step) - value(-step)) / (2 * step)
        if quotient is not None:
            found = (16 * finer - quotient) / 15
            if extrapolated is not None and abs(found - extrapolated) < distance:
                best, distance = found, abs(found - extrapolated)
            if distance <= SETTLED * abs(best):
                break
            extrapolated = found
        quotient = finer
    return float(best)


def moved(program: Program, args: Arguments, tangents: Tangents, step: float) -> Arguments:
    """The arguments, so far along the tangents."""
    found = list(copied(args))
    for position, tangent in zip(program.differentiated, tangents, strict=True):
        found[position] = found[position] + step * tangent
    return tuple(found)


def along(
    loss: Loss, program: Program, args: Arguments, tangents: Tangents, first_step: float = FIRST_STEP
) -> float:
    """The derivative of a plain loss along tangents of the differentiated arguments."""
    return derivative(lambda step: float(loss(*moved(program, args, tangents, step))), first_step)


def size_of(x: Any) -> float:
    """How large the entries of an argument are: their root mean square."""
    return float(np.sqrt(np.mean(np.square(x)))) or 1.0


def random_tangents(rng: Generator, program: Program, args: Arguments) -> Tangents:
    """A random direction, as large in each argument as the argument is."""
    picked = [args[position] for position in program.differentiated]
    # A number stays a number: its tangent is one too.
    return [
        rng.uniform(0.5, 1.0, np.shape(x))[()] * rng.choice([-1.0, 1.0], np.shape(x)) * size_of(x)
        for x in picked
    ]


def unit_tangents(rng: Generator, program: Program, args: Arguments, which: int) -> Tangents:
    """One entry of one of the differentiated arguments, picked at random."""
    tangents: Tangents = [0.0 * np.asarray(args[position])[()] for position in program.differentiated]
    x = np.asarray(args[program.differentiated[which]])
    unit = np.zeros(x.shape)
    unit.reshape(-1)[rng.integers(x.size)] = size_of(x)
    tangents[which] = unit[()]
    return tangents


def directions(program: Program, args: Arguments, seed: int = 0) -> list[Tangents]:
    """Two random directions, and up to six entries: some of each differentiated argument."""
    rng = np.random.default_rng(seed)
    count = len(program.differentiated)
    entries = [unit_tangents(rng, program, args, k % count) for k in range(max(3, min(6, count)))]
    return [random_tangents(rng, program, args) for _ in range(2)] + entries


def inner(bars: Sequence[Any], tangents: Tangents) -> float:
    """The change along tangents that a gradient says."""
    return float(sum(np.sum(bar * tangent) for bar, tangent in zip(bars, tangents, strict=True)))


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest error of some derivatives, each relative to its own size, or to a part of the largest."""
    sizes = np.abs(expected)
    return float(np.max(np.abs(found - expected) / np.maximum(sizes, FLOOR * sizes.max())))
