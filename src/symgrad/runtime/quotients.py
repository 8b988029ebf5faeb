"""Derivatives along a direction by difference quotients: Richardson's extrapolation, or the complex step.

The function is any vector function of one number, t -> F(x + t v). Steps shrink until the extrapolated
quotients settle, so that a kink a little beside x does no harm; one at x shows in the quotients of the two
sides.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Curve: TypeAlias = "Callable[[complex], NDArray[Any]]"  # t -> F(x + t v), real for real t

# Powers of two, so that x + h is exact more often than not.
STEPS = (2.0**-7, 2.0**-13, 2.0**-20)
COARSE_STEPS = (2.0**-4, 2.0**-7)  # where F itself is rounded to single precision or less
COMPLEX_STEP = 2.0**-100  # its square is below the rounding of any derivative

# Rounding of F, in units of its last place, that the quotients are taken to bear.
_ULPS = 4.0


@dataclass(frozen=True, slots=True)
class Slope:
    """The derivative of a vector function of one number, at 0."""

    value: Vector
    noise: Vector  # how far rounding in F may have moved it
    settled: Flags  # whether smaller steps gave the same
    below: Vector  # one-sided quotients, over the smallest step
    above: Vector
    kink: Flags  # whether these two differ for good
    exact: bool  # found by the complex step, which rounds nothing off


def slope(
    curve: Curve, scales: Sequence[float], steps: Sequence[float], epsilon: float, rtol: float, analytic: bool
) -> Slope:
    """The derivative of `curve` at 0, each entry from the steps at which it settles best.

    The steps tried are the products of `scales` and `steps`. `epsilon` is the relative rounding of the
    curve, `rtol` the accuracy wanted; `analytic` allows the complex step, which is taken where it agrees.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        best: _Try | None = None
        for scale in scales:
            for step in steps:
                tried = _extrapolated(curve, scale * step, epsilon, rtol)
                best = tried if best is None else best.better(tried)
                if best.settled.all():
                    break
            if best is not None and best.settled.all():
                break
        if best is None:
            raise ValueError("no steps to try")
        return _refined(curve, best, scales[0], rtol) if analytic else best.slope(exact=False)


@dataclass(frozen=True, slots=True)
class _Try:
    """What one size of step gives, or the best of several, entry by entry."""

    value: Vector
    error: Vector  # how much the last extrapolation changed, and the noise
    noise: Vector
    settled: Flags
    below: Vector
    above: Vector
    kink: Flags

    def better(self, other: _Try) -> _Try:
        """Each entry from the one of the two that errs less there."""
        mine = self.settled & ~other.settled | (self.settled == other.settled) & (self.error <= other.error)
        return _Try(
            np.where(mine, self.value, other.value),
            np.where(mine, self.error, other.error),
            np.where(mine, self.noise, other.noise),
            self.settled | other.settled,
            # A kink shows best in the smaller steps, which come later.
            np.where(self.settled, self.below, other.below),
            np.where(self.settled, self.above, other.above),
            np.where(self.settled, self.kink, other.kink),
        )

    def slope(self, *, exact: bool) -> Slope:
        """The result, with its value by the complex step or not."""
        return Slope(self.value, self.noise, self.settled, self.below, self.above, self.kink, exact)


def _extrapolated(curve: Curve, h: float, epsilon: float, rtol: float) -> _Try:
    """Central differences over h, h/2 and h/4, extrapolated to a step of 0."""
    here = np.asarray(curve(0.0), np.float64)
    sides = [(np.asarray(curve(t), np.float64), np.asarray(curve(-t), np.float64)) for t in (h, h / 2, h / 4)]
    first, second, third = (
        (up - down) / (2 * t) for (up, down), t in zip(sides, (h, h / 2, h / 4), strict=True)
    )
    coarse, fine = (4 * second - first) / 3, (4 * third - second) / 3
    value = (16 * fine - coarse) / 15
    largest = np.max([np.abs(side) for pair in sides for side in pair], axis=0)
    noise = _ULPS * epsilon * largest / (h / 4)
    truncation = np.abs(value - fine)
    error = np.where(np.isfinite(value), truncation + noise, np.inf)
    settled = np.isfinite(value) & (truncation <= 0.1 * rtol * np.abs(value) + noise)
    above, below = ((sides[2][0] - here) / (h / 4), (here - sides[2][1]) / (h / 4))
    jump, wider = np.abs(above - below), np.abs(sides[1][0] - 2 * here + sides[1][1]) / (h / 2)
    # Of a smooth function the jump halves with the step.
    kink = (jump > 0.75 * wider) & (jump > 1e-3 * np.maximum(np.abs(above), np.abs(below)) + 10 * noise)
    return _Try(value, error, noise, settled, below, above, kink)


def _refined(curve: Curve, best: _Try, scale: float, rtol: float) -> Slope:
    """The complex step in place of the quotients, if all of it agrees with them: then F is analytic there."""
    h = scale * COMPLEX_STEP
    try:
        found = np.asarray(curve(1j * h))
    except Exception:
        # Whatever a function does that was not written for complex numbers.
        return best.slope(exact=False)
    if not np.iscomplexobj(found):
        return best.slope(exact=False)
    value = np.asarray(np.imag(found) / h, np.float64)
    allowed = 0.1 * rtol * np.abs(best.value) + 10 * best.noise
    if not (best.settled & (np.abs(value - best.value) <= allowed)).all():
        return best.slope(exact=False)
    noise = _ULPS * np.finfo(np.float64).eps * np.abs(value)
    return Slope(value, noise, best.settled, best.below, best.above, best.kink, exact=True)
