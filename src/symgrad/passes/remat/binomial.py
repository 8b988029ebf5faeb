"""The binomial schedule, and what it does with any number of steps: what `doubling` writes as a program, counted.

A piece is as many steps as there are rows for. With f free slots beside a state, the pieces behind it are
reversed in passes: r + 1 of them suffice for C(f + r + 1, r) pieces (Griewank and Walther, 2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Work:
    """What reversing pieces takes: states left, pieces run to leave them, and pieces run for want of a slot."""

    states: int = 0
    run: int = 0
    again: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.states + other.states, self.run + other.run, self.again + other.again)


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
        found = Work()
        for number, (first, end) in enumerate(pairwise((*kept, steps)), 1):
            found += reversing(-(-(end - first) // rows), slots - number)
        return Course(segments, moved, found)


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


@cache
def reversing(pieces: int, free: int) -> Work:
    """What it takes to reverse the pieces behind a state, with so many slots for others."""
    found = Work()
    while pieces > 1 and free:
        first = distance(pieces, free)
        found += Work(1, first) + reversing(first, free)
        pieces, free = pieces - first, free - 1
    return found + Work(again=pieces * (pieces - 1) // 2)
