"""Search for schedules within a budget: what to throw away is decided looking ahead, as Belady's rule does.

The units run in their order. Where the next one does not fit, buffers are thrown away that cost little to
make again, are large, and are read late: least cost / (bytes^beta · distance^alpha). A buffer that is missing
is made again where it is read, from what is there, and so on down to the params. It is the rule of dynamic
tensor rematerialization (Kirisame and others, ICLR 2021) with the future known; several exponents are tried.

The distance to the next reader only shrinks while a buffer waits, and the cost grows with what is thrown
away. So the prices in the queue are nearly always too low, and only the cheapest ones are computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from symgrad.passes.remat.problem import Problem, Run
from symgrad.passes.remat.schedule import Schedule, written_over


@dataclass(frozen=True, slots=True)
class Rule:
    """What a buffer costs that is thrown away."""

    distance: float  # exponent of the units until it is read
    bytes: float  # exponent of its bytes
    depth: int  # how many buffers are counted that must be made again with it
    weights: tuple[float, ...] = ()  # factors of the price of each buffer, if they are not all 1


# A plan that runs more units than so many times their number is given up.
MOST_RUNS = 4
NEVER = 1 << 60


class OverBudgetError(Exception):
    """Nothing more can be thrown away, or too much is made again."""


class TooDearError(Exception):
    """The repeats take more than the schedule is worth."""


def found_by(rule: Rule, problem: Problem, budget: int, most: float = inf) -> Schedule:
    """The schedule that a rule finds, whose peak is at most the budget and whose repeats take at most `most`.

    Raises OverBudgetError or TooDearError if it finds none.
    """
    try:
        return _Search(problem, budget, rule, most).run()
    except RecursionError:
        raise OverBudgetError from None


class _Search:
    """One pass over the units."""

    def __init__(self, problem: Problem, budget: int, rule: Rule, most: float) -> None:
        self.problem, self.budget, self.rule, self.most = problem, budget, rule, most
        count = len(problem.sizes)
        self.alive = [False] * count
        self.pinned = [0] * count  # how many runs wait for each buffer
        self.reader = [uses[0] if uses else NEVER for uses in problem.uses]  # the next unit that reads each
        self.position = [0] * count  # of that unit in the list of them
        self.bytes = 0
        self.spent = 0.0  # on repeats
        self.now = 0
        self.runs: list[Run] = []
        self.queue: list[tuple[float, int]] = []  # prices, too low at worst, with their buffers
        self.single = problem.single
        self.worth = [size**rule.bytes for size in problem.sizes]
        if rule.weights:
            self.worth = [worth / w for worth, w in zip(self.worth, rule.weights, strict=True)]

    def run(self) -> Schedule:
        """The schedule."""
        for run in self.problem.first:
            self.now = run.unit
            start = len(self.runs)
            for b in run.reads:
                self._advance(b)
            self._do(run)
            for done in self.runs[start:]:
                for b in (*done.reads, *done.makes):
                    if self.alive[b] and self.reader[b] == NEVER:
                        self._drop(b)
        return tuple(self.runs)

    def _advance(self, b: int) -> None:
        """Note that the present unit reads a buffer."""
        uses, k = self.problem.uses[b], self.position[b] + 1
        self.position[b] = k
        self.reader[b] = uses[k] if k < len(uses) else NEVER
        if self.alive[b]:
            self._offer(b)

    def _offer(self, b: int) -> None:
        """Put a buffer into the queue, for what it costs at least to make it again."""
        run = self.single[b]
        if run is not None and self.worth[b]:
            if self.reader[b] == NEVER:
                heappush(self.queue, (-1.0, b))
            else:
                wait = (self.reader[b] - self.now) ** self.rule.distance
                heappush(self.queue, (run.seconds / (self.worth[b] * wait), b))

    def _do(self, run: Run) -> None:
        """Run a unit: with what it reads made again, and room made for what it makes."""
        alive, pinned, sizes = self.alive, self.pinned, self.problem.sizes
        for b in run.reads:
            pinned[b] += 1
        for b in run.reads:
            if not alive[b]:
                self._make_again(b, run)
        over = written_over(run, self._dies) if run.over else {}
        room = run.scratch
        for b in run.makes:
            if not alive[b] and b not in over:
                room += sizes[b]
        if self.bytes + room > self.budget:
            self._make_room(room)
        for b in run.reads:
            pinned[b] -= 1
        for r in over.values():
            self._drop(r)
        for b in run.makes:
            if not alive[b]:
                alive[b] = True
                self.bytes += sizes[b]
                self._offer(b)
        self.runs.append(run)

    def _make_again(self, b: int, reader: Run) -> None:
        """Make a buffer again, with the others of its unit that are missing for the same run."""
        run, makers = self.single[b], self.problem.makers
        together = [r for r in reader.reads if not self.alive[r] and makers[r] == makers[b]]
        if run is not None and len(together) > 1:
            run = self.problem.again(together)
        if run is None or len(self.runs) > MOST_RUNS * len(self.problem.first):
            raise OverBudgetError
        self.spent += run.seconds
        if self.spent > self.most:
            raise TooDearError
        self._do(run)

    def _dies(self, b: int) -> bool:
        """Whether nothing reads a buffer after the run that now works."""
        return self.reader[b] == NEVER and self.pinned[b] == 1

    def _make_room(self, room: int) -> None:
        """Throw buffers away until so many bytes are free."""
        queue, kept = self.queue, list[tuple[float, int]]()
        while self.bytes + room > self.budget:
            if not queue:
                raise OverBudgetError
            said, b = heappop(queue)
            if not self.alive[b]:
                continue
            if self.pinned[b]:
                kept.append((said, b))
                continue
            price = self._price(b)
            if queue and price > queue[0][0]:
                heappush(queue, (price, b))
            else:
                self._drop(b)
        for entry in kept:
            heappush(queue, entry)

    def _price(self, b: int) -> float:
        """What it costs to throw a buffer away, by the bytes and the time that it would be kept."""
        if self.reader[b] == NEVER:
            return -1.0
        wait = (self.reader[b] - self.now) ** self.rule.distance
        return self._again(b) / (self.worth[b] * wait)

    def _again(self, b: int) -> float:
        """What it costs to make a buffer again, with those that are missing for it."""
        single, alive, depth = self.single, self.alive, self.rule.depth
        total, pending, seen = 0.0, [b], {b}
        while pending and len(seen) <= depth:
            run = single[pending.pop()]
            if run is None:
                return inf
            total += run.seconds
            for r in run.reads:
                if not alive[r] and r not in seen:
                    seen.add(r)
                    pending.append(r)
        return total

    def _drop(self, b: int) -> None:
        self.alive[b] = False
        self.bytes -= self.problem.sizes[b]
