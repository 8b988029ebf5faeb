"""What a plan has to decide on: units that make and read buffers, with sizes, costs and demands.

A unit is an op at the top of a fused program. A buffer is a value that lies in the arena, with all its views;
params and results of the function lie elsewhere and are there for ever, so they are no buffers. A run is a
unit at work: all of it the first time, and when it runs again what makes the buffers that are missing, with
nothing that only other results need. Runs say all that a simulation has to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

Buffers = tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """A unit at work: one object for each unit and what it makes, so that they compare by identity."""

    unit: int  # the position of the unit
    makes: Buffers  # the buffers that it makes
    reads: Buffers  # and those that it reads
    # What may be written over what: (read, made), in the order in which the memory plan asks. A result that
    # lies elsewhere, and takes what it is written over with it, has the number `ELSEWHERE` or a smaller one.
    over: tuple[tuple[int, int], ...]
    scratch: int  # bytes of the arena that it needs while it works, inside its regions
    seconds: float  # that it takes to run again, by the cost model
    # Whether a pair of `over` is one indeed, where that is found out only when it is asked: it takes time.
    may: Callable[[int, int], bool] = lambda read, made: True


ELSEWHERE = -1


@dataclass
class Problem:
    """A program as units and buffers."""

    first: Sequence[Run]  # the first run of each unit, in order, without what they take: all plans have them
    sizes: Sequence[int]  # the bytes of each buffer
    repeatable: Sequence[bool]  # whether each unit may run again
    part: Callable[[int, Buffers], Run]  # the run of a unit for these of its buffers alone
    saved: Set[int] = frozenset()  # the buffers that the user asks to be kept
    makers: list[int] = field(init=False)  # the unit that makes each buffer
    uses: list[list[int]] = field(init=False)  # the units that read each buffer, in order
    _again: dict[tuple[int, Buffers], Run] = field(init=False)

    def __post_init__(self) -> None:
        self.makers, self._again = [-1] * len(self.sizes), {}
        self.uses = [[] for _ in self.sizes]
        for run in self.first:
            for b in run.makes:
                self.makers[b] = run.unit
            for b in run.reads:
                self.uses[b].append(run.unit)

    @cached_property
    def single(self) -> list[Run | None]:
        """The run that makes each buffer alone again; None if it is saved, or its unit must not run again."""
        open_ = [self.repeatable[u] and b not in self.saved for b, u in enumerate(self.makers)]
        return [self.again((b,)) if may else None for b, may in enumerate(open_)]

    def again(self, wanted: Iterable[int]) -> Run:
        """The run that makes these buffers of one unit again."""
        buffers = tuple(sorted(wanted))
        key = self.makers[buffers[0]], buffers
        if key not in self._again:
            self._again[key] = self.part(*key)
        return self._again[key]
