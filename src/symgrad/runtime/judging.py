"""Claimed derivatives against difference quotients: one comparison a direction, one row a leaf."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symgrad.runtime.check_points import Layout, Numbers, directions, scales, unit
from symgrad.runtime.check_report import Entry, Row
from symgrad.runtime.quotients import COARSE_STEPS, STEPS, Slope, Vector, slope

# Quotients may be off by so many times what rounding of the function's values does to one of them.
_NOISES = 4.0
_UNRESOLVED = 0.1  # of a number: rounding that hides as much leaves nothing to compare
# Entries below this part of the largest one are judged as if they were as large as that.
_FLOOR = 0.01


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What counts as right."""

    rtol: float
    atol: float | None = None  # None: a hundredth of rtol times the largest entry
    eps: float | None = None  # the first step of the quotients; None: several, until they settle


@dataclass(frozen=True)
class Subject:
    """A function of a vector, at a point."""

    evaluate: Callable[[Numbers], Numbers]
    at: Vector
    inputs: Layout
    outputs: Layout
    epsilon: float  # the relative rounding of its values
    analytic: bool  # whether it can be tried on complex numbers
    slopes: dict[bytes, Slope] = field(default_factory=dict[bytes, Slope])  # found so far, by direction

    def along(self, v: Vector, entry: int | None, tolerance: Tolerance) -> Slope:
        """The derivative along a direction; `entry` is the only one that varies, if there is one."""
        key = v.tobytes()
        if key not in self.slopes:
            coarse = self.epsilon > np.finfo(np.float64).eps
            steps = COARSE_STEPS if coarse else STEPS
            self.slopes[key] = slope(
                lambda t: self.evaluate(self.at + t * v),
                scales(self.at, entry),
                steps if tolerance.eps is None else (tolerance.eps,),
                self.epsilon,
                tolerance.rtol,
                self.analytic,
            )
        return self.slopes[key]


# ---- claims ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Comparison:
    """Claimed numbers and the same by quotients, for one direction."""

    entry: int | None  # the input that varies; None for a random direction
    found: Vector
    expected: Vector
    noise: Vector
    below: Vector
    above: Vector
    kink: NDArray[np.bool_]
    settled: NDArray[np.bool_]
    exact: bool

    def errors(self, floor: float) -> Vector:
        """The relative error of each number beyond the noise."""
        with np.errstate(all="ignore"):
            off = np.abs(self.found - self.expected)
            beyond = np.where(off <= _NOISES * self.noise, 0.0, off - _NOISES * self.noise)
            relative = np.where(beyond == 0, 0.0, beyond / np.maximum(np.abs(self.expected), floor))
        # Infinite where it should be is right; not a number is never right: nothing can be said there.
        same = self.found == self.expected
        return np.where(same, 0.0, np.where(np.isfinite(relative), relative, np.inf))

    def hidden(self, floor: float) -> Vector:
        """The relative error of each number that rounding would hide."""
        with np.errstate(all="ignore"):
            relative = _NOISES * self.noise / np.maximum(np.abs(self.expected), floor)
        return np.where(np.isfinite(relative), relative, 0.0)

    def hint(self, k: int) -> str | None:
        """What may be the matter with the point."""
        if not np.isfinite(self.expected[k]):
            return "the function is not finite beside this point: check at another point"
        if self.kink[k]:
            return (
                f"the difference quotients from the two sides are {self.below[k]:.6g} and "
                f"{self.above[k]:.6g}: not differentiable here? check at another point"
            )
        if not self.settled[k]:
            return "the difference quotients do not settle as steps shrink: not differentiable here?"
        return None


GRADIENT = "gradient"  # the kind of claim that a gradient function makes


class Claim(ABC):
    """A derivative to be checked."""

    kind: str  # how reports call it

    @abstractmethod
    def against(self, v: Vector, entry: int | None, by_quotients: Slope) -> Comparison:
        """The claim beside the quotients, along a direction."""

    @abstractmethod
    def what(self, subject: Subject, entry: int | None, k: int) -> str:
        """The number k of a comparison in words."""


@dataclass(frozen=True, slots=True)
class Reverse(Claim):
    """The gradient of the results times weights."""

    kind: str
    weights: Vector
    bars: Vector  # the gradient

    def against(self, v: Vector, entry: int | None, by_quotients: Slope) -> Comparison:
        """One number: the gradient times the direction."""
        weights, s = self.weights, by_quotients
        used = weights != 0
        with np.errstate(invalid="ignore"):
            parts = [np.sum(weights[used] * part[used]) for part in (s.value, s.below, s.above)]
            noise = np.sum(np.abs(weights[used]) * s.noise[used])
        varies = v != 0
        found = np.sum(self.bars[varies] * v[varies])
        value, below, above, found = (np.array([part]) for part in (*parts, found))
        kink, settled = np.array([s.kink[used].any()]), np.array([s.settled[used].all()])
        return Comparison(entry, found, value, np.array([noise]), below, above, kink, settled, s.exact)

    def what(self, subject: Subject, entry: int | None, k: int) -> str:
        """The gradient in one entry, or along a random direction."""
        return f"{self.kind}{'' if self.kind == GRADIENT else ' derivative'} {_in(subject, entry)}"


@dataclass(frozen=True, slots=True)
class Forward(Claim):
    """Tangents of the results."""

    kind: str
    push: Callable[[Vector], Vector]  # direction -> tangents of all results

    def against(self, v: Vector, entry: int | None, by_quotients: Slope) -> Comparison:
        """The tangent of each result along the direction."""
        s = by_quotients
        return Comparison(entry, self.push(v), s.value, s.noise, s.below, s.above, s.kink, s.settled, s.exact)

    def what(self, subject: Subject, entry: int | None, k: int) -> str:
        """The derivative of one result in one entry, or along a random direction."""
        return f"{self.kind} derivative of {subject.outputs.name(k)} {_in(subject, entry)}"


def _in(subject: Subject, entry: int | None) -> str:
    return "along a random direction" if entry is None else f"in {subject.inputs.name(entry)}"


# ---- judging -----------------------------------------------------------------------------------------------
Compared: TypeAlias = "tuple[float, Comparison, int]"  # an error, and where it is


def judge(subject: Subject, claim: Claim, tolerance: Tolerance) -> list[Row]:
    """A row for each array of the inputs, and one for random directions."""
    if subject.inputs.size == 0 or subject.outputs.size == 0:
        return []
    found = [
        claim.against(v, entry, subject.along(v, entry, tolerance))
        for entry, v in directions(subject.inputs, subject.at)
    ]
    floor = _floor(found, tolerance)
    worst = max((_worst(comparison, floor) for comparison in found), key=lambda compared: compared[0])
    if worst[0] > tolerance.rtol and worst[1].entry is None:
        found.append(_located(subject, claim, tolerance, floor))
    return _rows(subject, claim, found, floor)


def _floor(found: Sequence[Comparison], tolerance: Tolerance) -> float:
    if tolerance.atol is not None:
        return tolerance.atol / tolerance.rtol
    single = [c.expected for c in found if c.entry is not None]
    sizes = np.abs(np.concatenate(single or [c.expected for c in found]))
    finite = sizes[np.isfinite(sizes)]
    return _FLOOR * float(np.max(finite, initial=0.0))


def _worst(comparison: Comparison, floor: float) -> Compared:
    errors = comparison.errors(floor)
    k = int(np.argmax(errors))
    return float(errors[k]), comparison, k


def _located(subject: Subject, claim: Claim, tolerance: Tolerance, floor: float) -> Comparison:
    """The comparison of an entry that makes a random direction wrong, found by halving."""
    wrong = [
        v
        for entry, v in directions(subject.inputs, subject.at)
        if entry is None and _error(subject, claim, tolerance, floor, v) > tolerance.rtol
    ]
    v = wrong[0]
    entries = np.arange(subject.inputs.size)
    while len(entries) > 1:
        halves = np.array_split(entries, 2)
        masked = [np.where(np.isin(np.arange(v.size), half), v, 0.0) for half in halves]
        errors = [_error(subject, claim, tolerance, 0.0, part) for part in masked]
        entries = halves[int(np.argmax(errors))]
    entry = int(entries[0])
    v = unit(subject.inputs.size, entry)
    return claim.against(v, entry, subject.along(v, entry, tolerance))


def _error(subject: Subject, claim: Claim, tolerance: Tolerance, floor: float, v: Vector) -> float:
    return _worst(claim.against(v, None, subject.along(v, None, tolerance)), floor)[0]


def _rows(subject: Subject, claim: Claim, found: Sequence[Comparison], floor: float) -> list[Row]:
    rows: list[Row] = []
    groups: dict[int | None, list[Comparison]] = {
        leaf: [] for leaf in (*range(len(subject.inputs.paths)), None)
    }
    for comparison in found:
        entry = comparison.entry
        groups[None if entry is None else subject.inputs.leaf_of(entry)[0]].append(comparison)
    for leaf, group in groups.items():
        if not group:
            continue
        error, comparison, k = max((_worst(c, floor) for c in group), key=lambda compared: compared[0])
        size = len(group) if leaf is None else subject.inputs.sizes[leaf]
        path = "random directions" if leaf is None else subject.inputs.paths[leaf]
        worst = _entry(subject, claim, comparison, k, error, path)
        hidden = np.concatenate([c.hidden(floor) for c in group])
        unresolved, resolution = int(np.sum(hidden > _UNRESOLVED)), float(np.max(hidden))
        rows.append(Row(claim.kind, path, len(group), size, _method(group), worst, unresolved, resolution))
    return rows


def _entry(subject: Subject, claim: Claim, comparison: Comparison, k: int, error: float, path: str) -> Entry:
    entry = comparison.entry
    index = None if entry is None else subject.inputs.index_of(entry)
    what = claim.what(subject, entry, k)
    found, expected = float(comparison.found[k]), float(comparison.expected[k])
    return Entry(what, path, index, found, expected, error, _method([comparison]), comparison.hint(k))


def _method(group: Sequence[Comparison]) -> str:
    exact = sum(c.exact for c in group)
    if exact == len(group):
        return "the complex step"
    return "central differences" if exact == 0 else "the complex step or central differences"
