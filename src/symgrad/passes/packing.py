"""Packings of buffers that are made by an order, and the search for a better order.

Each buffer is put into a gap between those that are placed already and are alive at some step at which it is.
So an order can be changed a little at a time, and only what comes after the change is placed again.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

_SEED = 0
_NOWHERE = -1  # the offset of a buffer that is not placed yet


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer: its size, and the first and last step at which it is alive."""

    size: int  # bytes, a multiple of the alignment
    born: int
    dies: int


def pairs(buffers: Sequence[Lifetime]) -> int:
    """The number of pairs that are alive at one step."""
    births, deaths = sorted(b.born for b in buffers), sorted(b.dies for b in buffers)
    meeting = sum(bisect_right(births, b.dies) - bisect_left(deaths, b.born) for b in buffers)
    return (meeting - len(buffers)) // 2  # each meets itself, and each pair was counted twice


@dataclass(frozen=True, slots=True)
class Packing:
    """An order of buffers, and the offsets that it leads to."""

    order: list[int]
    offsets: list[int]
    top: int  # the bytes that it takes


class Packer:
    """Buffers that are to be packed."""

    def __init__(self, buffers: Sequence[Lifetime]) -> None:
        self._sizes = [b.size for b in buffers]
        self._near = _near(buffers)
        self.looks = 0  # at pairs that live together: the work done so far

    def packed(self, order: Sequence[int], *, narrow: bool = False) -> Packing:
        """What an order makes with each buffer in the lowest gap that is wide enough, or in the narrowest."""
        offsets = [_NOWHERE] * len(order)
        for k in order:
            offsets[k] = self._narrowest(k, offsets) if narrow else self._lowest(k, offsets)
        return Packing(list(order), offsets, self._top(offsets))

    def pushed_down(self, offsets: Sequence[int]) -> Packing:
        """The packing with these offsets, or a lower one, made by the order of the offsets."""
        return self.packed(sorted(range(len(offsets)), key=offsets.__getitem__))

    def improved(self, packing: Packing, bound: int, looks: int) -> Packing:
        """The packing after changes of its order that made it no higher, until it is down at the bound.

        One buffer at a time comes earlier: one that reaches to the top, or any. Random numbers choose, the
        same ones each time; after so many looks at pairs it is left as it is.
        """
        chance, stop = random.Random(_SEED), self.looks + looks
        start = self.pushed_down(packing.offsets)
        order, offsets, top = start.order, start.offsets, start.top
        while top > bound and self.looks < stop:
            highest = [p for p, k in enumerate(order) if offsets[k] + self._sizes[k] == top]
            source = chance.choice(highest) if chance.random() < 0.5 else chance.randrange(len(order))
            if self._moved(order, offsets, (chance.randrange(source + 1), source), top):
                top = self._top(offsets)
            self.looks += len(order)
        return Packing(order, offsets, top)

    def _moved(self, order: list[int], offsets: list[int], places: tuple[int, int], top: int) -> bool:
        """Let the buffer at the later place come at the earlier one, if nothing is then above the top."""
        first, last = places
        changed = [order[last], *order[first:last], *order[last + 1 :]]
        before = [offsets[k] for k in changed]
        for k in changed:
            offsets[k] = _NOWHERE
        for k in changed:
            offsets[k] = self._lowest(k, offsets)
            if offsets[k] + self._sizes[k] > top:
                for j, offset in zip(changed, before, strict=True):
                    offsets[j] = offset
                return False
        order[first:] = changed
        return True

    def _top(self, offsets: Sequence[int]) -> int:
        return max(offset + size for offset, size in zip(offsets, self._sizes, strict=True))

    def _taken(self, k: int, offsets: Sequence[int]) -> list[tuple[int, int]]:
        """The bytes that a buffer cannot have, from the lowest on."""
        near, sizes = self._near[k], self._sizes
        self.looks += len(near)
        return sorted([(offsets[j], offsets[j] + sizes[j]) for j in near if offsets[j] != _NOWHERE])

    def _lowest(self, k: int, offsets: Sequence[int]) -> int:
        """The lowest offset that is free for a buffer."""
        offset, size = 0, self._sizes[k]
        for start, stop in self._taken(k, offsets):
            if start - offset >= size:
                break
            if stop > offset:
                offset = stop
        return offset

    def _narrowest(self, k: int, offsets: Sequence[int]) -> int:
        """The offset of the narrowest gap for a buffer; above all others if there is none."""
        offset, size = 0, self._sizes[k]
        gaps: list[tuple[int, int]] = []
        for start, stop in self._taken(k, offsets):
            if start - offset >= size:
                gaps.append((start - offset, offset))
            offset = max(offset, stop)
        return min(gaps)[1] if gaps else offset


def _near(buffers: Sequence[Lifetime]) -> list[list[int]]:
    """For each buffer, the others that are alive at some step at which it is."""
    near: list[list[int]] = [[] for _ in buffers]
    alive: list[int] = []
    for k in sorted(range(len(buffers)), key=lambda k: buffers[k].born):
        alive = [j for j in alive if buffers[j].dies >= buffers[k].born]
        near[k] += alive
        for j in alive:
            near[j].append(k)
        alive.append(k)
    return near
