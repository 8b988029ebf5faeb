"""Minimum cuts of graphs with capacities in seconds, by SciPy's solver for maximum flows (Dinic, 1970)."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

INFINITY = float("inf")  # of an edge that no cut may go through
SOURCE, SINK = 0, 1

# Flows are 32-bit integers: what all finite capacities come to, and what is more than all of them.
_FINITE, _INFINITE = 1 << 29, 1 << 30


@dataclass(slots=True)
class Network:
    """A directed graph with a source and a sink."""

    nodes: int = 2
    _edges: dict[tuple[int, int], float] = field(default_factory=lambda: dict[tuple[int, int], float]())

    def node(self) -> int:
        """A new node."""
        self.nodes += 1
        return self.nodes - 1

    def edge(self, start: int, end: int, capacity: float) -> None:
        """Have a cut pay so much if the start is on the side of the source and the end is not."""
        self._edges[start, end] = self._edges.get((start, end), 0.0) + capacity

    def source_side(self) -> frozenset[int]:
        """The nodes on the side of the source, of all minimum cuts the one with fewest of them."""
        sparse: Any = importlib.import_module("scipy.sparse")
        csgraph: Any = importlib.import_module("scipy.sparse.csgraph")
        capacities = np.array(list(self._edges.values()), np.float64)
        endless = np.isinf(capacities)
        total = capacities[~endless].sum() or 1.0
        units = np.where(endless, _INFINITE, np.rint(capacities * (_FINITE / total)))
        ends = np.array(list(self._edges), np.int32).reshape(-1, 2).T
        graph = sparse.csr_array((units.astype(np.int32), tuple(ends)), (self.nodes, self.nodes))
        left = graph - csgraph.maximum_flow(graph, SOURCE, SINK, method="dinic").flow
        left.data = (left.data > 0).astype(np.int32)
        left.eliminate_zeros()
        return frozenset(csgraph.breadth_first_order(left, SOURCE, return_predecessors=False).tolist())
