"""Row tiling: what works on rows side by side runs a block of rows at a time, from the first op to the last.

A loss that is a sum over rows, and its gradient, then read the data once, and what lies between the forward
and the backward ops is as large as a block, not as the data. Legal is what `row_region` finds; worth it is
what the cost model says of the fused program, with and without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from symgrad.ir.builder import Builder
from symgrad.ir.core import Block, Function, with_body
from symgrad.ir.index_names import bound_in, fresh_name
from symgrad.passes.cost import LEVELS, seconds
from symgrad.passes.dce import dce
from symgrad.passes.fuse import fuse
from symgrad.passes.row_loop import Blocks, emit_blocks
from symgrad.passes.row_region import bytes_by_rows, escaping, row_region

MIN_GAIN = 0.95  # a tiled program must take at most this part of the time
LARGE = LEVELS[1][0]  # bytes of what has rows, together; less stays in a cache as it is
MIN_SHARE = 8  # the part of them that one array must have
BLOCK_ROWS = (64, 256)  # that are tried
MIN_ROWS = 2 * BLOCK_ROWS[0]
SMALL_BLOCKS = (1024, 512, 256, 128, 64, 32, 16)  # rows, where memory counts more than time
TRIED_SIZES = 2  # numbers of rows that are tried, those of most bytes first
MAX_ROUNDS = 4  # loops over rows in one program


@dataclass(frozen=True, slots=True)
class Tiling:
    """A program with one more loop over blocks of rows."""

    function: Function
    blocks: Blocks
    before: float  # seconds that the cost model gives the program without the loop
    after: float  # and with it

    def __str__(self) -> str:
        rest = f" and one of {self.blocks.rest}" if self.blocks.rest else ""
        return (
            f"{self.blocks.region.size} rows in {self.blocks.count} blocks of {self.blocks.size}{rest}:"
            f" {len(self.blocks.region.members)} ops, about {1e3 * self.after:.3g} ms a call instead of"
            f" {1e3 * self.before:.3g}"
        )


def tile(function: Function) -> Function:
    """The function with loops over blocks of rows, as many as pay."""
    for tiling in tilings(function):
        function = tiling.function
    return function


def tilings(function: Function) -> Iterator[Tiling]:
    """The loops that pay, one after another, each in the program that has those before."""
    for _ in range(MAX_ROUNDS):
        found = _best(function)
        if found is None:
            return
        yield found
        function = found.function


def _best(function: Function) -> Tiling | None:
    """The loop that gains most, if one gains enough."""
    candidates = [blocks for size in _row_counts(function.body) for blocks in _cuts(function.body, size)]
    if not candidates:
        return None
    fused = fuse(function)
    before = seconds(fused)
    if seconds(fused, near=True) > MIN_GAIN * before:
        return None
    tried = (Tiling(f := tiled(function, blocks), blocks, before, seconds(fuse(f))) for blocks in candidates)
    best = min(tried, key=lambda tiling: tiling.after)
    return best if best.after <= MIN_GAIN * before else None


def in_small_blocks(function: Function) -> Iterator[Function]:
    """The function in blocks of rows wherever that is legal, for several sizes of axes and of blocks.

    What lies between the ops of a region is then as large as a block, which saves memory, if not time.
    """
    for size, _ in bytes_by_rows(function.body, 0).most_common(TRIED_SIZES):
        for rows in dict.fromkeys(_even(size, rows) for rows in SMALL_BLOCKS if 2 * rows <= size):
            found = function
            for _ in range(MAX_ROUNDS):
                blocks = cut(found.body, size, rows)
                if blocks is None:
                    break
                found = tiled(found, blocks)
            if found is not function:
                yield found


def _row_counts(block: Block) -> list[int]:
    """The sizes of axes that arrays beyond the caches have, those with most bytes first."""
    nbytes = bytes_by_rows(block, LARGE // MIN_SHARE)
    return [n for n, total in nbytes.most_common(TRIED_SIZES) if n > MIN_ROWS and total > LARGE]


def _cuts(block: Block, size: int) -> Iterator[Blocks]:
    """The ways to cut the region of so many rows."""
    for rows in dict.fromkeys(_even(size, rows) for rows in BLOCK_ROWS if 2 * rows <= size):
        blocks = cut(block, size, rows)
        if blocks is not None:
            yield blocks


def cut(block: Block, size: int, rows: int) -> Blocks | None:
    """The region of a block along axes of a size, cut into blocks of so many rows; None if there is none."""
    region = row_region(block, size)
    return Blocks(region, rows, tuple(escaping(region, block))) if region.members else None


def _even(size: int, most: int) -> int:
    """A number of rows, at most so many, that leaves no rest if there is one near."""
    return next((n for n in range(most, most // 2, -1) if size % n == 0), most)


def tiled(function: Function, blocks: Blocks) -> Function:
    """The function with its region as a loop over blocks."""
    region, builder = blocks.region, Builder()
    builder.ops += region.before
    name = fresh_name("block", set(bound_in(function.body)))
    values = emit_blocks(blocks, name, builder)
    for op in region.after:
        operands = tuple(values.get(v, v) for v in op.operands)
        builder.append(op if operands == op.operands else replace(op, operands=operands))
    results = tuple(values.get(v, v) for v in function.body.results)
    return dce(with_body(function, Block(function.body.params, tuple(builder.ops), results)))
