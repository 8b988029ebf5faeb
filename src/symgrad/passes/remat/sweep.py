"""Schedules for ever smaller budgets, from what a program takes as it is down to what it cannot do without.

The budgets depend on the program alone. Each is a part of the one before, or of the least peak that was
found for it. For each, several rules are tried, and the cheapest schedules are improved. Then the best rule
is varied: buffers get weights at random, which are kept if the schedule costs less with them. So decisions
that were wrong are taken back, as far as there is time: a small program has many variants, a large one few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from random import Random

from symgrad.passes.remat.improve import improved
from symgrad.passes.remat.problem import Problem
from symgrad.passes.remat.schedule import Schedule, cost, peak
from symgrad.passes.remat.search import OverBudgetError, Rule, TooDearError, found_by

# Large programs have only the first ones of these.
RULES = (
    Rule(0.5, 1.0, 16), Rule(0.0, 1.0, 16), Rule(1.0, 1.0, 16), Rule(0.25, 1.0, 16), Rule(1.0, 1.5, 16),
    Rule(2.0, 1.0, 16), Rule(1.0, 0.5, 16), Rule(1.0, 1.0, 0), Rule(0.5, 1.0, 0), Rule(0.0, 1.0, 0),
)  # fmt: skip
# The most units that a program has, with how many rules are tried, how many of them for each budget once it
# is known which are good, how many schedules are improved, and the part of a budget that the next one is.
EFFORTS = ((60, 10, 10, 3, 0.995), (150, 10, 5, 3, 0.97), (400, 6, 3, 2, 0.92), (inf, 5, 2, 1, 0.9))
WORK = 800  # units that variants may have for each budget, all together
MARGIN = 1.5  # a schedule is given up whose repeats take so many times what those of the best one take
DEEPER = 1  # smaller budgets whose best schedule is improved for a budget, as well
FINER = 3  # times that a smaller step is tried where no schedule was found
WEIGHTED = 0.3  # part of the buffers whose weights a variant changes
SPREAD = 1.0  # standard deviation of the logarithm of the change


@dataclass(frozen=True, slots=True)
class Found:
    """A schedule, and what it takes."""

    schedule: Schedule
    cost: float  # seconds of its repeats
    peak: int  # bytes that are alive at once


def sweep(problem: Problem) -> Iterator[Found]:
    """Schedules for a scale of budgets."""
    levels: list[tuple[int, Found]] = []  # the budgets, and the cheapest schedule for each
    for budget, found in _Sweep(problem).levels():
        yield from found
        levels.append((budget, found[0]))
    for k, (budget, best) in enumerate(levels):
        for _, other in levels[k + 1 : k + 1 + DEEPER]:
            if other.cost < MARGIN * best.cost:
                yield _improved(problem, other.schedule, budget)


def _improved(problem: Problem, schedule: Schedule, budget: int) -> Found:
    better = improved(problem, schedule, budget)
    return Found(better, cost(better), peak(problem, better))


class _Sweep:
    """Schedules for ever smaller budgets."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        count = len(problem.first)
        _, rules, self.kept, self.improved, self.ratio = next(e for e in EFFORTS if count <= e[0])
        self.rules = list(RULES[:rules])  # those in use, the best for the last budget first
        self.idle: list[Rule] = []  # those that were worse, or have failed
        self.variants = WORK // max(count, 1)
        self.random = Random(0)

    def levels(self) -> Iterator[tuple[int, list[Found]]]:
        """The budgets that schedules are found for, with the schedules, the cheapest first."""
        budget, ratio, finer = peak(self.problem, self.problem.first), self.ratio, 0
        while budget > 1 and finer <= FINER:
            found = self._found(int(ratio * budget))
            if not found:
                ratio, finer = (1 + ratio) / 2, finer + 1
                continue
            yield int(ratio * budget), found
            budget = min(int(ratio * budget), *(each.peak for each in found))

    def _found(self, budget: int) -> list[Found]:
        """Schedules for a budget, the cheapest first."""
        ranked = self._ranked(budget)
        if not ranked and self.idle:
            self.rules, self.idle = self.idle, []
            ranked = self._ranked(budget)
        if not ranked:
            return []
        found = [(_improved(self.problem, each, budget), rule) for each, rule in ranked[: self.improved]]
        found.sort(key=lambda pair: pair[0].cost)
        best, rule = found[0]
        varied = self._varied(budget, best, rule)
        return [varied, *(each for each, _ in found if each is not varied)]

    def _ranked(self, budget: int) -> list[tuple[Schedule, Rule]]:
        """What the rules find, the cheapest first; the worst rules are laid aside."""
        found: list[tuple[float, int, Schedule]] = []
        rules, best = self.rules, inf
        for k, rule in enumerate(rules):
            try:
                schedule = found_by(rule, self.problem, budget, MARGIN * best)
            except (OverBudgetError, TooDearError):
                continue
            found.append((cost(schedule), k, schedule))
            best = min(best, found[-1][0])
        found.sort(key=lambda entry: entry[:2])
        good = [rules[k] for _, k, _ in found]
        others = [rule for rule in rules if all(rule is not r for r in good)]
        self.rules, idle = self._split([*good, *others])
        self.idle += idle
        return [(schedule, rules[k]) for _, k, schedule in found]

    def _split(self, rules: Sequence[Rule]) -> tuple[list[Rule], list[Rule]]:
        """The rules for the next budget, and those laid aside: one at a time while there are many."""
        if len(rules) <= self.kept:
            return list(rules), []
        return list(rules[:-1]), list(rules[-1:])

    def _varied(self, budget: int, found: Found, rule: Rule) -> Found:
        """The best schedule of the variants of a rule; the best variant is one of the rules from then on."""
        best = rule
        for _ in range(self.variants):
            variant = replace(best, weights=self._weights(best))
            try:
                schedule = found_by(variant, self.problem, budget, MARGIN * found.cost)
            except (OverBudgetError, TooDearError):
                continue
            better = improved(self.problem, schedule, budget)
            if cost(better) < found.cost:
                found, best = Found(better, cost(better), peak(self.problem, better)), variant
        if best is not rule:
            self.rules = [best, *(r for r in self.rules if not r.weights)]
        return found

    def _weights(self, rule: Rule) -> tuple[float, ...]:
        """The weights of a rule, some of them changed."""
        weights = rule.weights or (1.0,) * len(self.problem.sizes)
        chance, change = self.random.random, self.random.lognormvariate
        return tuple(w * change(0.0, SPREAD) if chance() < WEIGHTED else w for w in weights)
