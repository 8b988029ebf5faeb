"""Threads: which regions of rows run in chunks on several threads, and whether that pays.

Legal is what `split` finds; worth it is what the cost model says. Where threads are asked for by number, the
best region is split whatever it costs. What comes after the chunks may be split again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from symgrad.ir.core import Function
from symgrad.ir.launch import Launch, Threads
from symgrad.passes.cost import seconds
from symgrad.passes.fuse import fuse
from symgrad.passes.launching import launched
from symgrad.passes.row_region import bytes_by_rows
from symgrad.passes.split import Split, split

MIN_GAIN = 0.85  # a program on several threads must take at most this part of the time
START = 20e-6  # seconds to share a step among threads
THREAD = 5e-6  # more for each thread
TRIED_SIZES = 3  # numbers of rows that are tried, those of most bytes first
MAX_ROUNDS = 3  # regions of one program that run in chunks


@dataclass(frozen=True, slots=True)
class Sharing:
    """A region that several threads share."""

    rows: int
    chunks: int
    ops: int  # in each chunk
    before: float  # seconds that the cost model gives the program, or what is left of it, on one thread
    after: float  # and with the threads

    def __str__(self) -> str:
        return (
            f"{self.rows} rows on {self.chunks} threads: {self.ops} ops,"
            f" about {1e3 * self.after:.3g} ms a call instead of {1e3 * self.before:.3g}"
        )


@dataclass(frozen=True, slots=True)
class Threaded:
    """A program for several threads."""

    launch: Launch
    parts: tuple[Function, ...]
    sharings: tuple[Sharing, ...]  # in order; none if one thread does it all
    left: Sharing | None  # what would pay most among all that does not pay


def threaded(function: Function, threads: Threads) -> Threaded:
    """The function as steps for so many threads."""
    splits, sharings, left = list[Split](), list[Sharing](), None
    rest = function
    for _ in range(MAX_ROUNDS):
        best = _best(rest, threads)
        if best is None:
            break
        found, sharing = best
        demanded = not threads.automatic and not splits
        if not demanded and sharing.after > MIN_GAIN * sharing.before:
            left = sharing
            break
        splits.append(found)
        sharings.append(sharing)
        rest = found.after
    return Threaded(*launched(function, splits), tuple(sharings), left)


def _best(function: Function, threads: Threads) -> tuple[Split, Sharing] | None:
    """The way to share a region that takes the least time, if there is one."""
    serial = seconds(fuse(function))
    found = _candidates(function, threads, serial)
    return min(found, key=lambda candidate: candidate[1].after, default=None)


def _candidates(function: Function, threads: Threads, serial: float) -> Iterator[tuple[Split, Sharing]]:
    """Ways to share a region, with what they cost."""
    if threads.automatic and _overhead(2) > MIN_GAIN * serial:
        return
    sizes = [n for n, _ in bytes_by_rows(function.body, 0).most_common() if n > 1]
    for size in sizes[:TRIED_SIZES]:
        for count in _counts(min(threads.most, size), threads.automatic):
            found = split(function, size, count)
            if found is not None:
                yield found, Sharing(size, count, found.ops, serial, _seconds(found))


def _counts(most: int, automatic: bool) -> Iterator[int]:
    """The numbers of threads that are tried."""
    yield most
    while automatic and most > 3:
        most = -(-most // 2)
        yield most


def _overhead(count: int) -> float:
    return START + THREAD * count


def _seconds(found: Split) -> float:
    """About how long a split function takes."""
    chunk = found.chunks.functions[max(found.chunks.sizes)]
    parts = (found.before, chunk, found.after)
    return sum(seconds(fuse(part)) for part in parts) + _overhead(len(found.chunks.sizes))
