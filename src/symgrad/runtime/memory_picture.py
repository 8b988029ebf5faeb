"""The figure of a memory report: what is alive while each op runs, and what less memory would cost."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from symgrad.errors import ArgumentError
from symgrad.passes.memory_report import MemoryReport
from symgrad.passes.remat.curve import CurvePoint
from symgrad.runtime.late import late

SUFFIXES = (".png", ".svg")
_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_COLOURS = ("#3b6ea5", "#e0a458")  # of residuals and of temporaries


def checked_path(text: str) -> Path:
    """Where the figure goes; raises if it cannot be drawn there, or not at all."""
    path = Path(text)
    if path.suffix.lower() not in SUFFIXES:
        raise ArgumentError(f"a figure is drawn into a .png or .svg file, not {text!r}")
    if not path.resolve().parent.is_dir():
        raise ArgumentError(f"there is no directory {path.parent}", cure="make it, or choose another one")
    if importlib.util.find_spec("matplotlib") is None:
        raise ArgumentError(
            "matplotlib, which draws the figure, is not installed", cure='pip install "symgrad[plot]"'
        )
    return path


def draw(path: Path, reports: Sequence[tuple[str, MemoryReport]], curve: Sequence[CurvePoint]) -> None:
    """Write the figure, the same bytes for the same reports."""
    matplotlib = late("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "symgrad", "font.size": 9}):
        rows = len(reports) + 1
        figure = late("matplotlib.figure").Figure(figsize=(8, 2.6 * rows), layout="constrained")
        axes = figure.subplots(rows, 1)
        most = max(max(report.arena, report.lower_bound) for _, report in reports)
        name, unit = next(((n, u) for n, u in _UNITS if most >= u), ("bytes", 1))
        for at, (title, report) in zip(axes, reports, strict=False):
            _draw_timeline(at, title, report, unit)
            at.set_ylabel(name)
            at.set_ylim(0, 1.1 * most / unit or 1)
        axes[0].legend(loc="upper right")
        _draw_curve(axes[-1], curve, unit)
        axes[-1].set_xlabel(f"arena, {name}")
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _draw_timeline(axes: Any, title: str, report: MemoryReport, unit: int) -> None:
    """Residuals, and temporaries above them, for each op."""
    kept = [moment.residuals / unit for moment in report.timeline]
    alive = [moment.nbytes / unit for moment in report.timeline]
    edges = range(len(kept) + 1)
    axes.stairs(kept, edges, fill=True, color=_COLOURS[0], label="residuals")
    axes.stairs(alive, edges, baseline=kept, fill=True, color=_COLOURS[1], label="temporaries")
    axes.axhline(report.arena / unit, color="black", linewidth=0.8, linestyle="--", label="arena")
    axes.set_title(title, loc="left")
    axes.set_xlabel("op")
    axes.set_xlim(0, len(kept))


def _draw_curve(axes: Any, curve: Sequence[CurvePoint], unit: int) -> None:
    """The predicted time of each arena, over that of the program without a budget."""
    rising = sorted({(point.arena / unit, point.ratio) for point in curve})
    arenas, ratios = [arena for arena, _ in rising], [ratio for _, ratio in rising]
    axes.plot(arenas, ratios, "o-", drawstyle="steps-post", color="black", markersize=4)
    axes.set_title("what a budget costs", loc="left")
    axes.set_ylabel("predicted time, relative")
    axes.grid(linewidth=0.3)
