"""Schedules without the repeats that they can do without.

Without a repeat, what it makes is kept from its last reader before, and what only the repeat reads is not.
The bytes that are alive are kept up to date, never too low: a repeat is judged by the gap that it bridges.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

import numpy as np

from symgrad.passes.remat.problem import Problem, Run
from symgrad.passes.remat.schedule import Instance, Schedule, Slot, profile, repeats, slots_of


def improved(problem: Problem, schedule: Schedule, budget: int) -> Schedule:
    """The schedule without the repeats that it can do without, the dearest tried first."""
    state = _Runs(problem, schedule, budget)
    left = sorted(repeats(problem, schedule), key=lambda k: -schedule[k].seconds)
    before = len(left) + 1
    while len(left) < before:
        before = len(left)
        left = [k for k in left if k in state.runs and not state.removed(k)]
    return tuple(state.runs[k] for k in sorted(state.runs))


class _Runs:
    """The runs that are left, by their first position, and how long each instance is needed."""

    def __init__(self, problem: Problem, schedule: Sequence[Run], budget: int) -> None:
        self.problem, self.budget = problem, budget
        self.runs = dict(enumerate(schedule))
        self.slots = slots_of(problem, schedule)
        self.bytes = np.array(profile(problem, schedule, self.slots), np.int64)
        self.made_at: dict[int, list[int]] = {}  # the runs that make each buffer
        self.source: dict[tuple[int, int], int] = {}  # (run, what it reads) -> the run that has made it
        self.readers: dict[Instance, list[int]] = {}
        for k, run in enumerate(schedule):
            for b in run.reads:
                maker = self.made_at[b][-1]
                self.source[k, b] = maker
                self.readers[maker, b].append(k)
            for b in run.makes:
                self.made_at.setdefault(b, []).append(k)
                self.readers[k, b] = []

    def removed(self, k: int) -> bool:
        """Take a repeat out if what it makes may be kept in its stead."""
        run, sizes = self.runs[k], self.problem.sizes
        read = [b for b in run.makes if self.readers[k, b]]
        starts = [self._kept_from(self._before(k, b), b) for b in read]
        for b, start in zip(read, starts, strict=True):
            self.bytes[start:k] += sizes[b]
        first = min(starts, default=k)
        if first < k and int(self.bytes[first:k].max()) > self.budget:
            for b, start in zip(read, starts, strict=True):
                self.bytes[start:k] -= sizes[b]
            return False
        for b in run.makes:
            if b in read:
                self._join(self._before(k, b), k, b)
            else:
                self._unmake(k, b)
        self._forget(k)
        return True

    def _before(self, k: int, b: int) -> int:
        """The run that makes a buffer before a run does so again."""
        return self.made_at[b][self.made_at[b].index(k) - 1]

    def _kept_from(self, k: int, b: int) -> int:
        """From which run on an instance takes more bytes if it is kept after its last reader."""
        slot, end = self.slots[k, b], (self.readers[k, b] or [k])[-1]
        if not slot.size:
            return slot.born
        return end + 1 if slot.dies == end else end

    def _join(self, before: int, k: int, b: int) -> None:
        """Let the readers of an instance read the one before."""
        for reader in self.readers.pop((k, b)):
            insort(self.readers[before, b], reader)
            self.source[reader, b] = before
        self.slots[before, b] = self.slots.pop((k, b))
        self.made_at[b].remove(k)

    def _forget(self, k: int) -> None:
        """Take out a run that makes nothing any more, and what only it reads."""
        run = self.runs.pop(k)
        self.bytes[k] -= run.scratch
        for b in run.reads:
            maker = self.source.pop((k, b))
            readers = self.readers[maker, b]
            last = readers[-1] == k
            readers.remove(k)
            if last:
                self._release(maker, b, k)

    def _release(self, maker: int, b: int, k: int) -> None:
        """Let an instance end before a run that does not read it any more."""
        slot, size, readers = self.slots[maker, b], self.problem.sizes[b], self.readers[maker, b]
        end = readers[-1] if readers else maker
        if slot.size:
            self.bytes[end + 1 : k + (slot.dies == k)] -= size
        else:
            self.bytes[slot.born : end + 1] += size
        self.slots[maker, b] = Slot(size, slot.born, end)
        run = self.runs[maker]
        if run is self.problem.first[run.unit] or any(self.readers[maker, m] for m in run.makes):
            return
        for m in run.makes:
            self._unmake(maker, m)
        self._forget(maker)

    def _unmake(self, k: int, b: int) -> None:
        """Take out an instance that nothing reads."""
        self.bytes[k] -= self.slots.pop((k, b)).size
        self.made_at[b].remove(k)
        del self.readers[k, b]
