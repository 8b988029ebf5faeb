"""What is made again without being asked for: less memory, and never more time."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from benchmarks.memory.figure import Figure, percent
from benchmarks.memory.networks import (
    block,
    block_arguments,
    gelu,
    layers,
    network,
    rectified,
    smooth,
    swish,
)
from benchmarks.memory.variants import compiled, times
from benchmarks.units import seconds_text
from symgrad.passes import crossing
from symgrad.passes.min_cut import INFINITY, SINK, SOURCE, Network

STORED = (crossing, "NEAR", INFINITY)  # no array is worth a thought, so all are stored
NODES = 4000


def figures() -> Iterator[Figure]:
    """Time and arena of networks over those of the program that stores everything, and the time of a cut."""
    programs = {
        "gelu": (layers(gelu), network(6, 128, 1024)),
        "gelu by tanh": (layers(smooth), network(6, 128, 1024)),
        "swish": (layers(swish), network(6, 128, 1024)),
        "maximum": (layers(rectified), network(6, 128, 1024)),
        "layer norm, maximum": (layers(rectified, normal=True), network(6, 128, 1024)),
        "layer norm, gelu": (layers(gelu, normal=True), network(6, 128, 1024)),
        "transformer block": (block, block_arguments(1024, 128)),
    }
    for name, (loss, args) in programs.items():
        variants = {"now": compiled(loss, args), "stored": compiled(loss, args, STORED)}
        seconds = times(variants)
        yield Figure(f"{name}: time", seconds["now"] / seconds["stored"], 1.02)
        yield Figure(f"{name}: arena", variants["now"].arena / variants["stored"].arena, 0.8, percent)
    yield Figure(f"a cut of {NODES} nodes", _seconds_to_cut(), 0.02, seconds_text)


def _seconds_to_cut() -> float:
    """The best of several, of a graph as programs have it: two nodes a value, two or three readers each."""
    rng = np.random.default_rng(0)
    network = Network()
    nodes = [(network.node(), network.node()) for _ in range(NODES // 2)]
    for k, (first, second) in enumerate(nodes):
        network.edge(SOURCE, first, INFINITY if k % 7 == 0 else float(rng.uniform(0, 1e-3)))
        network.edge(first, second, float(rng.uniform(0, 1e-3)))
        for reader in rng.integers(k, min(k + 20, len(nodes)), 2):
            if reader != k:
                network.edge(second, nodes[reader][0], INFINITY)
        if k % 5 == 0:
            network.edge(second, SINK, INFINITY)
    best = INFINITY
    for _ in range(5):
        start = perf_counter()
        network.source_side()
        best = min(best, perf_counter() - start)
    return best
