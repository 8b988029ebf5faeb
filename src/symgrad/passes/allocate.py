"""Offsets for buffers whose lifetimes are known: dynamic storage allocation, offline.

The problem is NP-hard, but no packing takes fewer bytes than are alive at one step, and on most programs
first fit in one of a few orders takes no more (Sekiyama et al. 2018, Pisarchyk and Lee 2020). Where none
does, buffers are filled from below: first into as many bytes as that, then into more; at last the order of
the best packing is changed a little at a time. All limits are counts, so a program has one plan everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from symgrad.passes.filling import Filler
from symgrad.passes.packing import Lifetime, Packer, Packing, pairs

PAIRS = 4_000_000  # that live together, beyond which buffers take the bytes of others of their own size
LOOKS = 700_000  # at such pairs while orders are tried, and again while one is changed
WORK = 100_000_000  # of filling, half of it for the least height
CHOICES = 2  # a buffer, before a filling is given up
HEIGHTS = 8  # above the least one that buffers are filled into
NEAR = 200  # an arena that is larger than the least one by less than a 200th is not made smaller


def peak(buffers: Sequence[Lifetime]) -> int:
    """The most bytes alive at one step: no assignment of offsets needs less."""
    return max((load for _, load in _loads(buffers)), default=0)


def _loads(buffers: Sequence[Lifetime]) -> list[tuple[int, int]]:
    """The steps at which what is alive changes, with the bytes alive from there on."""
    change: dict[int, int] = {}
    for b in buffers:
        change[b.born] = change.get(b.born, 0) + b.size
        change[b.dies + 1] = change.get(b.dies + 1, 0) - b.size
    load, found = 0, list[tuple[int, int]]()
    for step in sorted(change):
        load += change[step]
        found.append((step, load))
    return found


def allocate(buffers: Sequence[Lifetime]) -> list[int]:
    """An offset for each buffer, so that no two that are alive at one step overlap."""
    offsets = [0] * len(buffers)
    sized = [k for k, b in enumerate(buffers) if b.size]
    if sized:
        found = _allocated([buffers[k] for k in sized])
        for k, offset in zip(sized, found, strict=True):
            offsets[k] = offset
    return offsets


def _allocated(buffers: Sequence[Lifetime]) -> Sequence[int]:
    """The offsets of buffers that have bytes."""
    if pairs(buffers) > PAIRS:
        return _by_size(buffers)
    packer, bound = Packer(buffers), peak(buffers)
    best = _in_good_orders(packer, buffers, bound)
    if best.top > bound:
        best = _filled(packer, buffers, best, bound)
    if not _is_near(best.top, bound):
        best = packer.improved(best, bound, LOOKS)
    return best.offsets


def _is_near(top: int, bound: int) -> bool:
    return (top - bound) * NEAR < bound


def _in_good_orders(packer: Packer, buffers: Sequence[Lifetime], bound: int) -> Packing:
    """The lowest packing of a few orders, each buffer put into the lowest gap or into the narrowest."""
    best: Packing | None = None
    for key in (_size, _area, _life, _start, _by_load(buffers)):
        order = sorted(range(len(buffers)), key=lambda k: key(buffers[k]))
        for narrow in (False, True):
            found = packer.packed(order, narrow=narrow)
            best = found if best is None or found.top < best.top else best
            if best.top == bound or packer.looks > LOOKS:
                return best
    assert best is not None
    return best


def _size(b: Lifetime) -> tuple[int, ...]:
    return -b.size, b.born


def _area(b: Lifetime) -> tuple[int, ...]:
    return -b.size * (b.dies - b.born + 1), b.born


def _life(b: Lifetime) -> tuple[int, ...]:
    return b.born - b.dies, -b.size


def _start(b: Lifetime) -> tuple[int, ...]:
    return b.born, -b.size


def _by_load(buffers: Sequence[Lifetime]) -> Callable[[Lifetime], tuple[int, ...]]:
    """A key by which those come first that are alive where the most bytes are."""
    steps, loads = (np.array(column, np.int64) for column in zip(*_loads(buffers), strict=True))

    def key(b: Lifetime) -> tuple[int, ...]:
        first, last = np.searchsorted(steps, (b.born, b.dies), side="right")
        return -int(np.max(loads[first - 1 : last])), -b.size

    return key


def _filled(packer: Packer, buffers: Sequence[Lifetime], best: Packing, bound: int) -> Packing:
    """The best packing, or a lower one that is filled from below."""
    filler = Filler(buffers)
    orders = [
        sorted(range(len(buffers)), key=lambda k, key=key: key(buffers[k]))
        for key in (_life, _area, _size, _start)
    ]

    def filled(height: int, work: int) -> Packing | None:
        """A packing within a height, if one is found."""
        for order in orders:
            if filler.work < work:
                found = filler.filled(order, height, CHOICES * len(buffers))
                if found is not None:
                    return packer.pushed_down(found)
        return None

    found = filled(bound, WORK // 2)
    if found is not None:
        return found
    least = bound  # below which none was found
    for _ in range(HEIGHTS):
        if _is_near(best.top, bound):
            break
        height = (least + 3 * best.top) // 4
        found = filled(height, WORK)
        if found is None:
            least = height
        else:
            best = found
    return best


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
