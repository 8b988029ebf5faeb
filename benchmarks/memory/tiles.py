"""Rows of a batch worked on in blocks: activations of a block instead of those of the batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.memory.figure import Figure
from benchmarks.memory.networks import layers, network
from benchmarks.memory.variants import Variant, compiled, times
from symgrad.passes import tile

WHOLE = (tile, "MIN_GAIN", 0.0)  # no loop over blocks pays


def figures() -> Iterator[Figure]:
    """Time over that of the batch at once, and the part of its activations that is left."""
    cases = (
        (8, 256, 16384, np.float32, 1.05),
        (12, 64, 65536, np.float32, 0.9),
        (12, 64, 16384, np.float64, 0.9),
    )
    for count, width, rows, dtype, limit in cases:
        args = network(count, width, rows, dtype)
        loss = layers(np.tanh)
        name = f"{count} layers of {width}, {rows} rows, {np.dtype(dtype)}"
        whole = compiled(loss, args, WHOLE)
        best = compiled(loss, args)
        small = compiled(loss, args, memory_budget=whole.arena // 30)
        variants: dict[str, Variant] = {"whole": whole, "by default": best, "1/30": small}
        seconds = times(variants)
        for variant in ("by default", "1/30"):
            yield Figure(f"{name}, {variant}: time", seconds[variant] / seconds["whole"], limit)
            part = variants[variant].arena / whole.arena
            yield Figure(
                f"{name}, {variant}: arena",
                part,
                1 / 30 if variant == "1/30" else None,
                lambda x: f"1/{1 / x:.0f}",
            )
