"""Offsets for buffers whose lifetimes are known: dynamic storage allocation, offline.

The problem is NP-hard; first fit in a few good orders, the best of them taken, comes within a few per cent of
the lower bound on real programs (Sekiyama et al. 2018, Pisarchyk and Lee 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# First fit compares each buffer with all others. Beyond so many of them one order is tried, then none.
MANY, TOO_MANY = 800, 4000


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer: its size, and the first and last step at which it is alive."""

    size: int  # bytes, a multiple of the alignment
    born: int
    dies: int


def peak(buffers: Sequence[Lifetime]) -> int:
    """The most bytes alive at one step: no assignment of offsets needs less."""
    change: dict[int, int] = {}
    for b in buffers:
        change[b.born] = change.get(b.born, 0) + b.size
        change[b.dies + 1] = change.get(b.dies + 1, 0) - b.size
    alive = highest = 0
    for step in sorted(change):
        alive += change[step]
        highest = max(highest, alive)
    return highest


def allocate(buffers: Sequence[Lifetime]) -> list[int]:
    """An offset for each buffer, so that no two that are alive at one step overlap."""
    if len(buffers) > TOO_MANY:
        return _by_size(buffers)
    best: list[int] | None = None
    bound, lowest = peak(buffers), 0
    for key in _ORDERS if len(buffers) <= MANY else _ORDERS[:1]:
        found = _first_fit(buffers, sorted(range(len(buffers)), key=lambda k: key(buffers[k])))
        top = max((b.size + offset for b, offset in zip(buffers, found, strict=True)), default=0)
        if best is None or top < lowest:
            best, lowest = found, top
        if lowest == bound:
            break
    return [] if best is None else best


_ORDERS: tuple[Callable[[Lifetime], tuple[int, ...]], ...] = (
    lambda b: (-b.size, b.born),
    lambda b: (-b.size * (b.dies - b.born + 1), b.born),
    lambda b: (b.born, -b.size),
    lambda b: (-(b.dies - b.born), -b.size),
)


def _first_fit(buffers: Sequence[Lifetime], order: Sequence[int]) -> list[int]:
    """The lowest offset that is free for each buffer, in this order."""
    born, dies, low, high = (np.zeros(len(buffers), np.int64) for _ in range(4))
    offsets = [0] * len(buffers)
    for placed, k in enumerate(order):
        b = buffers[k]
        near = (born[:placed] <= b.dies) & (dies[:placed] >= b.born)
        lows, highs = low[:placed][near], high[:placed][near]
        by_low = np.argsort(lows, kind="stable")
        # The gaps lie between the highest end so far and the next beginning; the last one is endless.
        ends = np.concatenate(([0], np.maximum.accumulate(highs[by_low])))
        gaps = lows[by_low] - ends[:-1]
        wide = np.flatnonzero(gaps >= b.size)
        offset = int(ends[wide[0]] if wide.size else ends[-1])
        offsets[k] = offset
        born[placed], dies[placed], low[placed], high[placed] = b.born, b.dies, offset, offset + b.size
    return offsets


def _by_size(buffers: Sequence[Lifetime]) -> list[int]:
    """Offsets in linear time: each buffer takes one of its own size that is free, else fresh bytes."""
    free: dict[int, list[int]] = {}
    offsets, top = [0] * len(buffers), 0
    deaths = sorted(range(len(buffers)), key=lambda k: buffers[k].dies)
    done = 0
    for k in sorted(range(len(buffers)), key=lambda k: buffers[k].born):
        while done < len(deaths) and buffers[deaths[done]].dies < buffers[k].born:
            gone = deaths[done]
            free.setdefault(buffers[gone].size, []).append(offsets[gone])
            done += 1
        reusable = free.get(buffers[k].size)
        if reusable:
            offsets[k] = reusable.pop()
        else:
            offsets[k], top = top, top + buffers[k].size
    return offsets
