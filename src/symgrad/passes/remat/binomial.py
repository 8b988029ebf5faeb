"""The binomial schedule, and how much it runs of any number of steps: what `doubling` writes, counted.

A piece is as many steps as there are rows for. With f free slots beside a state, the pieces behind it are
reversed in passes: r + 1 of them suffice for C(f + r + 1, r) pieces (Griewank and Walther, 2000).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Work:
    """What reversing takes: states left, pieces run to leave them, and pieces run where no slot was free."""

    states: int = 0
    run: int = 0
    again: int = 0


@dataclass(frozen=True, slots=True)
class Course:
    """How many steps go where, from the first step to the end of the reversal."""

    segments: int  # between the states of the first run, while it runs
    moved: int  # states moved to other slots
    reversing: Work

    @staticmethod
    def of(steps: int, slots: int, rows: int) -> Course:
        """The course of so many steps."""
        kept: list[int] = []  # the steps before which there are states
        segments, moved, spacing, most, at = 0, 0, rows, slots, 0
        while at < steps:
            if len(kept) >= most:
                kept, spacing, most = kept[::2], 2 * spacing, reduced(most, slots)
                moved += len(kept) - 1
            kept.append(at)
            segments += 1
            at = min(steps, at + spacing)
        spans = pairwise((*kept, steps))
        free = range(slots - 1, -1, -1)
        pieces = {
            n: Counter((-(-(end - first) // rows),)) for n, (first, end) in zip(free, spans, strict=False)
        }
        return Course(segments, moved, reversing(pieces))


def reduced(most: int, slots: int) -> int:
    """How many states the first run may leave from here on, where it could leave so many before."""
    return max(most - 2, slots // 2)


def distance(pieces: int, free: int) -> int:
    """After how many of the pieces behind a state the next one is left, if so many slots are free for it."""
    before, reach, passes = 1, 1, 1
    while reach < pieces:
        before, reach = reach, reach * (free + passes + 1) // passes
        passes += 1
    return before


def reversing(pieces: Mapping[int, Counter[int]]) -> Work:
    """What it takes to reverse pieces behind states: how often how many, by the slots free for them."""
    states = run = 0
    level = Counter[int]()
    for free in range(max(pieces, default=0), -1, -1):
        level += pieces.get(free, Counter[int]())
        if free == 0:
            break
        level, begun = Counter[int](), level
        while begun:
            number = max(begun)
            times = begun.pop(number)
            if number <= free + 1:  # a slot for each but the first
                states, run = states + times * (number - 1), run + times * (number - 1)
            else:
                first = distance(number, free)
                states, run = states + times, run + times * first
                begun[first] += times
                level[number - first] += times
    return Work(states, run, sum(times * n * (n - 1) // 2 for n, times in level.items()))
