"""Packings that are filled from below, found by depth-first search.

Any packing can be pushed down until each buffer lies at the bottom or on another. In the order of its
offsets, each buffer then lies on what came before it. So it is enough to choose which buffer comes next, and
its offset follows. A choice is taken back once the bytes that are left at some step are too few for what is
still to come there (Moffitt, MiniMalloc, 2023).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from symgrad.passes.packing import Lifetime

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Flags: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

_FAR = 1 << 60  # above every buffer
_WIDE = 150_000  # buffers × steps beyond which less is concluded from a choice
_A_CHOICE = 10_000  # the work of one, beside that which grows with buffers × steps


@dataclass(frozen=True, slots=True)
class _State:
    """What is known after some choices."""

    floor: Ints  # of each step: the bytes below which nothing more can lie
    rest: Ints  # of each step: the bytes that are still to come
    least: Ints  # of each buffer: the lowest offset that it can have, if it is still to come
    open: Flags  # of each buffer: whether it is still to come


class Filler:
    """Buffers that are to be filled into some height."""

    def __init__(self, buffers: Sequence[Lifetime]) -> None:
        steps = _steps(buffers)
        born, dies = (np.array([getattr(b, end) for b in buffers], np.int64) for end in ("born", "dies"))
        self._sizes = np.array([b.size for b in buffers], np.int64)
        self._alive: Flags = (born[:, None] <= steps) & (dies[:, None] >= steps)
        self._near: Flags = (born[:, None] <= dies) & (dies[:, None] >= born)
        self._is_wide = self._alive.size > _WIDE
        self._cost = _A_CHOICE + (len(buffers) if self._is_wide else self._alive.size)
        self.work = 0  # done so far

    def filled(self, order: Sequence[int], height: int, choices: int) -> list[int] | None:
        """Offsets within a height; None if none were found by so many choices.

        Of the buffers that could come next, those that lie lowest are tried first, then those first in order.
        """
        ranks = np.argsort(np.array(order, np.int64))
        offsets = [0] * len(order)
        state = self._start()
        path: list[tuple[Iterator[int], _State]] = []
        pending = self._next(state, ranks)
        while choices > 0:
            k = next(pending, None)
            if k is None:
                if not path:
                    return None
                pending, state = path.pop()
                continue
            choices -= 1
            self.work += self._cost
            chosen = self._chosen(state, k, height)
            if chosen is None:
                continue
            offsets[k] = int(state.least[k])
            path.append((pending, state))
            if len(path) == len(offsets):
                return offsets
            state, pending = chosen, self._next(chosen, ranks)
        return None

    def _start(self) -> _State:
        count, steps = self._alive.shape
        rest = self._sizes @ self._alive
        return _State(np.zeros(steps, np.int64), rest, np.zeros(count, np.int64), np.ones(count, np.bool_))

    def _next(self, state: _State, ranks: Ints) -> Iterator[int]:
        """The buffers that may come next: where another would fit beneath, that one comes first."""
        left = np.flatnonzero(state.open)
        least = state.least[left]
        is_next = least < np.min(least + self._sizes[left])
        left, least = left[is_next], least[is_next]
        return iter(left[np.lexsort((ranks[left], least))].tolist())

    def _chosen(self, state: _State, k: int, height: int) -> _State | None:
        """What is known when a buffer comes next; None if the rest cannot follow within the height."""
        offset, alive = int(state.least[k]), self._alive[k]
        stop = offset + int(self._sizes[k])
        if stop > height:
            return None
        rest = state.rest - np.where(alive, self._sizes[k], 0)
        # What comes later lies no lower than this.
        floor = np.where(alive, stop, np.maximum(state.floor, offset))
        if np.any((floor + rest > height) & (rest > 0)):
            return None
        least = np.maximum(state.least, np.where(self._near[k], stop, offset))
        open_ = state.open.copy()
        open_[k] = False
        chosen = _State(floor, rest, least, open_)
        return chosen if self._is_wide else self._concluded(chosen, height)

    def _concluded(self, state: _State, height: int) -> _State | None:
        """What follows for floors from the buffers that can lie on them, and for buffers from the floors."""
        left = np.flatnonzero(state.open)
        alive, sizes = self._alive[left], self._sizes[left]
        floor, least = state.floor, state.least[left]
        while left.size:
            lowest = np.min(np.where(alive, least[:, None], _FAR), axis=0)
            floor = np.where(state.rest > 0, np.maximum(floor, lowest), floor)
            if np.any((floor + state.rest > height) & (state.rest > 0)):
                return None
            raised = np.maximum(least, np.max(np.where(alive, floor, 0), axis=1))
            if np.any(raised + sizes > height):
                return None
            if np.array_equal(raised, least):
                break
            least = raised
        every = state.least.copy()
        every[left] = least
        return _State(floor, state.rest, every, state.open)


def _steps(buffers: Sequence[Lifetime]) -> Ints:
    """The steps at which no less is alive than at a neighbour: last births before a death."""
    births = np.unique(np.array([b.born for b in buffers], np.int64))
    deaths = np.sort(np.array([b.dies for b in buffers], np.int64))
    before = np.searchsorted(deaths, births)  # deaths before each birth
    return births[np.append(before[1:] > before[:-1], True)]
