"""The figure of a run: every library's time relative to symgrad's, a row for each workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from benchmarks.results import Row

MARKS = {
    "jax": ("JAX", "o"),
    "torch": ("PyTorch", "s"),
    "autograd": ("autograd", "^"),
    "numba": ("numba by hand", "D"),
}


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write the figure, the same bytes for the same rows."""
    shown = [row for row in reversed(rows) if "symgrad" in row.times]
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "symgrad", "font.size": 9}):
        figure = Figure(figsize=(8, 1.2 + 0.26 * len(shown)), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(1.0, color="black", linewidth=1)
        for peer, (label, mark) in MARKS.items():
            ratios = [(1 / ratio, i) for i, row in enumerate(shown) if (ratio := row.ratio("symgrad", peer))]
            axes.plot([r for r, _ in ratios], [i for _, i in ratios], mark, label=label, markersize=5)
        axes.set_yticks(range(len(shown)), [row.workload for row in shown])
        axes.set_xscale("log")
        axes.set_xlabel("time of value and gradient, relative to symgrad (right of the line: slower)")
        axes.grid(axis="both", linewidth=0.3)
        figure.legend(loc="outside upper center", ncols=len(MARKS))
        figure.savefig(path, metadata={"Date": None})
