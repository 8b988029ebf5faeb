"""Buffers to be packed of which the least height is known, or which training programs have."""

from __future__ import annotations

import random

from symgrad.ir.types import ALIGNMENT
from symgrad.passes.packing import Lifetime

Piece = tuple[int, int, int, int]  # the steps from, to, and the bytes from, to; in units


def cut(seed: int, count: int, steps: int, height: int) -> list[Lifetime]:
    """Some `count` buffers that fill a rectangle of steps × height without a gap: no packing is lower.

    Pieces are halved, in time or in height, or cut into five around a middle one, which no cuts from edge to
    edge can make.
    """
    rng = random.Random(seed)
    pieces: list[Piece] = [(0, steps, 0, height)]
    while len(pieces) < count:
        whole = max(pieces, key=lambda p: (p[1] - p[0]) * (p[3] - p[2]) * rng.random())
        pieces.remove(whole)
        pieces += _parts(rng, whole)
    rng.shuffle(pieces)
    return [Lifetime((stop - start) * ALIGNMENT, born, end - 1) for born, end, start, stop in pieces]


def _parts(rng: random.Random, piece: Piece) -> list[Piece]:
    a, b, low, high = piece
    if rng.random() < 0.2 and b - a >= 3 and high - low >= 3:
        s, t = sorted(rng.sample(range(a + 1, b), 2))
        x, y = sorted(rng.sample(range(low + 1, high), 2))
        return [(a, t, low, x), (t, b, low, y), (s, b, y, high), (a, s, x, high), (s, t, x, y)]
    if b - a >= 2 and (rng.random() < 0.5 or high - low < 2):
        t = rng.randrange(a + 1, b)
        return [(a, t, low, high), (t, b, low, high)]
    if high - low < 2:
        return [piece]
    x = rng.randrange(low + 1, high)
    return [(a, b, low, x), (a, b, x, high)]


def training(seed: int, layers: int, skips: float) -> list[Lifetime]:
    """The buffers of forward and backward sweeps: what is kept, temporaries, cotangents, skip connections."""
    rng = random.Random(seed)
    sizes = [rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 12, 16]) * rng.choice([1, 1, 64]) for _ in range(layers)]
    found: list[tuple[int, int, int]] = []
    for k, size in enumerate(sizes):
        forward, backward = 3 * k, 3 * (2 * layers - 1 - k)
        found.append((size, forward, backward + 1))
        found.append((size, backward, backward + 3 + rng.choice([0, 0, 3 * rng.randrange(1, 4)])))
        for step in (forward, backward):
            if rng.random() < 0.6:
                found.append((rng.choice(sizes), step, step + rng.choice([0, 1, 2, 4])))
        if rng.random() < skips:
            to = min(2 * layers, k + rng.randrange(1, layers))
            found.append((rng.choice(sizes), forward, 3 * to))
    return [Lifetime(size * ALIGNMENT, born, dies) for size, born, dies in found]


def overlap(buffers: list[Lifetime], offsets: list[int]) -> bool:
    """Whether two buffers that are alive at one step share a byte."""
    for i, (a, at) in enumerate(zip(buffers, offsets, strict=True)):
        for b, bt in zip(buffers[:i], offsets[:i], strict=True):
            together = a.born <= b.dies and b.born <= a.dies
            if together and at < bt + b.size and bt < at + a.size:
                return True
    return False


def top(buffers: list[Lifetime], offsets: list[int]) -> int:
    """The bytes that a packing takes."""
    return max((at + b.size for b, at in zip(buffers, offsets, strict=True)), default=0)
