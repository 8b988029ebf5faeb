"""Schedules with repeats: runs in order, what they cost and what is alive meanwhile.

This one representation covers keeping everything, checkpoints and anything between: an instance of a buffer
lives from the run that makes it to its last reader before it is made again. The simulation does what the
memory plan does with the program that the schedule stands for, so that its peak is the lower bound there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from symgrad.passes.remat.problem import ELSEWHERE, Problem, Run

Schedule: TypeAlias = tuple[Run, ...]
Instance: TypeAlias = tuple[int, int]  # the position of the run that makes it, and the buffer


def repeats(problem: Problem, schedule: Iterable[Run]) -> list[int]:
    """The positions of the runs whose unit has run before."""
    return [k for k, run in enumerate(schedule) if run is not problem.first[run.unit]]


def cost(schedule: Iterable[Run]) -> float:
    """About how many seconds the repeats take."""
    return sum(run.seconds for run in schedule)


def peak(problem: Problem, schedule: Sequence[Run]) -> int:
    """The most bytes that are alive while a run works, if places were perfect."""
    return max(profile(problem, schedule), default=0)


@dataclass(slots=True)
class Slot:
    """Bytes that instances use, one written over the other."""

    size: int  # 0 if they turn out to be those of a result, which lies elsewhere
    born: int  # the first run that uses them
    dies: int  # and the last one


def profile(
    problem: Problem, schedule: Sequence[Run], slots: Mapping[Instance, Slot] | None = None
) -> list[int]:
    """The bytes that are alive while each run works, if places were perfect; given where instances lie."""
    slots = slots_of(problem, schedule) if slots is None else slots
    change = [0] * (len(schedule) + 1)
    for k, run in enumerate(schedule):
        change[k] += run.scratch
        change[k + 1] -= run.scratch
    for slot in {id(slot): slot for slot in slots.values()}.values():
        change[slot.born] += slot.size
        change[slot.dies + 1] -= slot.size
    return list(accumulate(change[:-1]))


def slots_of(problem: Problem, schedule: Sequence[Run]) -> dict[Instance, Slot]:
    """Where each instance lies: over what it is written, if that dies there, else in bytes of its own."""
    ends = last_reads(schedule)
    found: dict[Instance, Slot] = {}
    lies: dict[int, Slot] = {}  # where the latest instance of each buffer lies
    for k, run in enumerate(schedule):
        new: dict[int, Slot] = {}
        if run.over:
            for made, read in written_over(run, lambda b, k=k: lies[b].dies == k).items():
                new[made] = lies[read]
                if made <= ELSEWHERE:
                    new[made].size = 0
        for b in run.makes:
            slot = new.get(b) or Slot(problem.sizes[b], k, k)
            slot.dies = ends[k, b]
            lies[b] = found[k, b] = slot
    return found


def written_over(run: Run, dies: Callable[[int], bool]) -> dict[int, int]:
    """What a run writes over what that dies there, as the memory plan does: made -> read."""
    found: dict[int, int] = {}
    for read, made in run.over:
        if made not in found and dies(read) and read not in found.values() and run.may(read, made):
            found[made] = read
    return found


def last_reads(schedule: Sequence[Run]) -> dict[Instance, int]:
    """The last run that reads each instance of a buffer, the one that makes it if none does."""
    found: dict[Instance, int] = {}
    maker: dict[int, int] = {}
    for k, run in enumerate(schedule):
        for b in run.reads:
            found[maker[b], b] = k
        for b in run.makes:
            maker[b] = k
            found[k, b] = k
    return found
