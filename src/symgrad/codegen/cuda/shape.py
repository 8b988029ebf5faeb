"""How wide launches are."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32  # threads that run in step
MOST_THREADS = 1024  # of a block


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """What is decided about launches beforehand, for the device they are for."""

    block: int = 256  # threads of a block; a power of two
    blocks: int = 2112  # the most of one launch: 16 for each of the 132 processors of an H200
    small: int = 4096  # iterations that one block runs by itself: another launch would take longer
    ordered: bool = False  # whether sums into places that data decide are added up in the program's order


def power_above(count: int, least: int, most: int) -> int:
    """The least power of two that is not below a count, within limits that are powers of two."""
    return min(most, max(least, 1 << max(0, count - 1).bit_length()))
