"""Whether libraries agree on a value and its gradients, to what their element types can tell apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Results = Mapping[str, NDArray[np.floating]]  # the value and the gradients, by name


def tolerance(*arrays: NDArray[np.floating]) -> float:
    """The difference that rounding may make of the largest entry: half the digits of the coarsest type."""
    return float(np.sqrt(max(np.finfo(array.dtype).eps for array in arrays)))


def difference(found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """The largest difference, relative to the largest entry; infinite if they can't be compared."""
    if found.shape != expected.shape or not (np.isfinite(found).all() and np.isfinite(expected).all()):
        return float("inf")
    largest = np.abs(expected).max(initial=0.0)
    off = np.abs(found - expected).max(initial=0.0)
    return float(off / largest) if largest else float(off)


def disagreement(found: Results, expected: Results) -> str | None:
    """What is said of the array that is the farthest off, of those that both have, if any is too far off."""
    worst, text = 1.0, None
    for name in [name for name in expected if name in found]:
        allowed = tolerance(found[name], expected[name])
        off = difference(found[name], expected[name])
        if off / allowed > worst:
            worst, text = (
                off / allowed,
                f"{name} is off by {off:.1e} of its largest entry, allowed {allowed:.0e}",
            )
    return text
