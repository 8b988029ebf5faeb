"""Memory of the emulated GPU: who has touched which element since when, and what may not be."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MANY = -1  # several threads, or several blocks


class KernelError(Exception):
    """What a kernel may not do."""


@dataclass
class Place:
    """Which thread runs now."""

    block: int = 0
    thread: int = 0
    phase: int = 0  # barriers of the block so far


Stamp = tuple[int, int, int]  # block, phase, thread


class History:
    """The last that have read, written and added to each element, by its key."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._read: dict[int, Stamp] = {}
        self._written: dict[int, Stamp] = {}
        self._added: dict[int, Stamp] = {}

    def read(self, key: int) -> Stamp | None:
        """Note a read; the other that it races with."""
        p = self._place
        other = _other(self._written.get(key), p) or _other(self._added.get(key), p)
        self._read[key] = _joined(self._read.get(key), p)
        return other

    def write(self, key: int) -> Stamp | None:
        """Note a write; the other that it races with."""
        p = self._place
        other = _other(self._written.get(key), p) or _other(self._read.get(key), p)
        other = other or _other(self._added.get(key), p)
        self._written[key] = (p.block, p.phase, p.thread)
        return other

    def add(self, key: int) -> Stamp | None:
        """Note a sum that no other thread comes between; the other that it races with."""
        p = self._place
        other = _other(self._written.get(key), p) or _other(self._read.get(key), p)
        self._added[key] = _joined(self._added.get(key), p)
        return other

    def was_written(self, key: int) -> bool:
        """Whether there is anything to read."""
        return key in self._written


def _other(stamp: Stamp | None, p: Place) -> Stamp | None:
    """The stamp, if nothing stands between it and the thread that runs now."""
    if stamp is None:
        return None
    block, phase, thread = stamp
    return stamp if block != p.block or (phase == p.phase and thread != p.thread) else None


def _joined(stamp: Stamp | None, p: Place) -> Stamp:
    """The thread that runs now, and those before it that it does not follow."""
    if stamp is None:
        return (p.block, p.phase, p.thread)
    block, phase, thread = stamp
    if block != p.block:
        return (MANY, p.phase, MANY)
    return (block, p.phase, p.thread if phase < p.phase or thread == p.thread else MANY)


class Recorder:
    """The memory of one launch."""

    def __init__(self, kernel: str, lines: Sequence[str], args: Sequence[Any]) -> None:
        self.kernel = kernel
        self.lines = tuple(lines)
        self.history: History | None = None
        # Elements of one size have one key each; where arrays of several sizes overlap, each byte has.
        spans = [(a.ctypes.data, a.ctypes.data + a.nbytes, a.itemsize) for a in args]
        self.by_byte = any(
            a[2] != b[2] and max(a[0], b[0]) < min(a[1], b[1]) for k, a in enumerate(spans) for b in spans[:k]
        )

    def shown(self, line: int) -> str:
        """A line of the text."""
        inside = 0 < line <= len(self.lines)
        return f"line {line}: {self.lines[line - 1].strip()}" if inside else f"line {line}"


class Watched:
    """A pointer: the elements of a flat array."""

    def __init__(self, array: Any, place: Place, recorder: Recorder) -> None:
        self.dtype = array.dtype
        self._array, self._size = array, len(array)
        self._place, self._recorder = place, recorder
        self._base, self._step = array.ctypes.data, array.itemsize
        if recorder.history is None:
            recorder.history = History(place)
        self._history = recorder.history

    def __getitem__(self, index: int) -> Any:
        self._note(index, "read", self._history.read)
        return self._array[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._note(index, "write", self._history.write)
        if not isinstance(value, int) and value.dtype != self.dtype:
            self._fail(f"{value.dtype} is written to {self.dtype}", index)
        self._array[index] = value

    def add(self, index: int, value: Any) -> None:
        """Add to an element as one step."""
        self._note(index, "sum", self._history.add)
        self._array[index] += value

    def make_larger(self, index: int, value: int) -> None:
        """An element as the larger of itself and a value, as one step."""
        self._note(index, "maximum", self._history.add)
        self._array[index] = max(self._array[index], value)

    def wide(self, index: int) -> range:
        """The indices of 16 bytes; the first is at a multiple of them, from a buffer that begins at one."""
        count = 16 // self._step
        if index % count:
            self._fail("16 bytes begin at a multiple of 16", index)
        return range(index, index + count)

    def _note(self, index: int, what: str, note: Any) -> None:
        if not 0 <= index < self._size:
            self._fail(f"an index is out of range: {what} of {index} in {self._size} elements", index)
        start = self._base + index * self._step
        for key in range(start, start + self._step) if self._recorder.by_byte else (start,):
            other = note(key)
            if other is not None:
                self._fail(f"a race: {what} of element {index}, which {_named(other)} has touched", index)

    def _fail(self, what: str, index: int) -> None:
        place, recorder = self._place, self._recorder
        where = recorder.shown(_line_of_kernel())
        raise KernelError(f"{recorder.kernel}: {what}: block {place.block}, thread {place.thread}, {where}")


class Shared:
    """An array that the threads of a block share."""

    def __init__(self, size: int, dtype: Any, place: Place, lines: Sequence[str]) -> None:
        self._array = np.zeros(size, dtype)
        self._place = place
        self._lines = lines
        self._history = History(place)

    def __getitem__(self, index: int) -> Any:
        self._inside(index)
        if not self._history.was_written(index):
            self._fail(f"shared element {index} is read before it is written")
        self._check(self._history.read(index), "read", index)
        return self._array[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._inside(index)
        self._check(self._history.write(index), "write", index)
        self._array[index] = value

    def _inside(self, index: int) -> None:
        if not 0 <= index < len(self._array):
            self._fail(f"an index is out of range: {index} in {len(self._array)} shared elements")

    def _check(self, other: Stamp | None, what: str, index: int) -> None:
        if other is not None:
            self._fail(f"a race: {what} of shared element {index}, which {_named(other)} has touched")

    def _fail(self, what: str) -> None:
        line = _line_of_kernel()
        raise KernelError(
            f"{what}: block {self._place.block}, thread {self._place.thread}, "
            f"line {line}: {self._lines[line - 1].strip()}"
        )


def _named(stamp: Stamp) -> str:
    block, _, thread = stamp
    threads = "several threads" if thread == MANY else f"thread {thread}"
    return f"{threads} of " + ("several blocks" if block == MANY else f"block {block}")


def _line_of_kernel() -> int:
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != "<kernel>":
        frame = frame.f_back
    return 0 if frame is None else frame.f_lineno
