"""What is known of the names in indices: each lies between affine expressions of names known before it.

The least value of an expression is found by eliminating its names, the last one first, each put at the end
of its range (Fourier–Motzkin with the order given). So `k` below `i` and `i` below 10 gives `i - k - 1 >= 0`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from symgrad.codegen.expressions import Condition, Within
from symgrad.ir.affine import Affine, Interval, named
from symgrad.ir.dims import affine

Bound = tuple[int, Affine]  # (c, e) bounds a name by e / c, with c at least 1


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one name: all of them hold."""

    rank: int  # how many names were known before
    low: tuple[Bound, ...]
    high: tuple[Bound, ...]  # included
    fixed: Interval | None  # where nothing but numbers bound it


class Bounds:
    """The bounds of all names at one place of a kernel."""

    def __init__(self, of: dict[str, Limits] | None = None, count: int = 0) -> None:
        self._of: dict[str, Limits] = {} if of is None else of
        self._count = count

    def copy(self) -> Bounds:
        """The same bounds, to be changed apart."""
        return Bounds(dict(self._of), self._count)

    def __contains__(self, name: str) -> bool:
        return name in self._of

    def between(self, name: str, low: Sequence[Affine], high: Sequence[Affine]) -> None:
        """State that a name, new or used again, lies between expressions, both included."""
        self._put(name, [(1, e) for e in low], [(1, e) for e in high])

    def quotient(self, name: str, numerator: Affine, divisor: int, modulus: int | None) -> None:
        """State that a name is numerator // divisor (% modulus)."""
        interval = self.interval(numerator)
        low, high = interval.low // divisor, interval.high // divisor
        if interval.empty:
            low, high = 0, -1
        elif modulus is not None and low // modulus == high // modulus:
            low, high = low % modulus, high % modulus
        elif modulus is not None:
            low, high = 0, modulus - 1
        elif not all(self._of[n].fixed for n in numerator.names()):
            self._put(name, [(divisor, numerator + (1 - divisor))], [(divisor, numerator)])
            return
        self.between(name, [Affine(low)], [Affine(high)])

    def _put(self, name: str, low: Sequence[Bound], high: Sequence[Bound]) -> None:
        self._count += 1
        if any(self.interval(e).empty for _, e in (*low, *high)):
            low, high = [(1, Affine(0))], [(1, Affine(-1))]  # nor does what depends on it run
        self._of[name] = _limits(self._count, low, high)

    def interval(self, expression: Affine) -> Interval:
        """An interval that holds the values of an expression; empty where code with it never runs."""
        low = high = expression.const
        known = [(factor, self._of[name].fixed) for name, factor in expression.terms]
        if any(fixed is not None and fixed.empty for _, fixed in known):
            return Interval(0, -1)
        for factor, fixed in known:
            if fixed is None:
                return Interval(ceil(self._least(expression, 1)), floor(-self._least(expression * -1, 1)))
            ends = (factor * fixed.low, factor * fixed.high)
            low, high = low + min(ends), high + max(ends)
        return Interval(low, high)

    def _least(self, expression: Affine, scale: int) -> Fraction:
        """A number that expression / scale is never below: the best that the bounds give."""
        if not expression.terms:
            return Fraction(expression.const, scale)
        name, factor = max(expression.terms, key=lambda term: self._of[term[0]].rank)
        limits = self._of[name]
        rest = expression + named(name) * -factor
        ends = limits.low if factor > 0 else limits.high
        return max(self._least(rest * c + e * factor, scale * c) for c, e in ends)

    def never_negative(self, expression: Affine) -> bool:
        """Whether an expression is at least 0 wherever code with it runs."""
        interval = self.interval(expression)
        return interval.empty or interval.low >= 0

    def inside(self, index: Affine, start: Affine, stop: Affine) -> bool:
        """Whether an index is always in [start, stop)."""
        return self.never_negative(index + start * -1) and self.never_negative(stop + index * -1 + -1)

    def outside(self, index: Affine, start: Affine, stop: Affine) -> bool:
        """Whether an index is never in [start, stop)."""
        beyond = (start + index * -1 + -1, index + stop * -1, start + stop * -1)
        return any(map(self.never_negative, beyond))

    def refine(self, conditions: Sequence[Condition]) -> None:
        """State that conditions hold."""
        for condition in conditions:
            if isinstance(condition, Within):
                self._at_least(condition.index + affine(condition.start) * -1)
                self._at_least(affine(condition.stop) + condition.index * -1 + -1)

    def _at_least(self, expression: Affine) -> None:
        """State that an expression is not negative: a bound of the last of its names."""
        if not expression.terms:
            return
        name, factor = max(expression.terms, key=lambda term: self._of[term[0]].rank)
        rest = expression + named(name) * -factor
        limits = self._of[name]
        low, high = list(limits.low), list(limits.high)
        if factor > 0:
            low.append((factor, rest * -1))
        else:
            high.append((-factor, rest))
        self._of[name] = _limits(limits.rank, low, high)


def _limits(rank: int, low: Sequence[Bound], high: Sequence[Bound]) -> Limits:
    """Bounds without those that others imply: of numbers, only the tightest counts."""
    lows = [ceil(Fraction(e.const, c)) for c, e in low if not e.terms]
    highs = [floor(Fraction(e.const, c)) for c, e in high if not e.terms]
    below = [bound for bound in dict.fromkeys(low) if bound[1].terms]
    above = [bound for bound in dict.fromkeys(high) if bound[1].terms]
    fixed = None if below or above else Interval(max(lows), min(highs))
    below += [(1, Affine(max(lows)))] if lows else []
    above += [(1, Affine(min(highs)))] if highs else []
    return Limits(rank, tuple(below), tuple(above), fixed)
