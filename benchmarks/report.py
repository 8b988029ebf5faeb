"""The page of a run, made from its JSON: tables, and a figure where matplotlib is installed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from benchmarks.peers import PEERS
from benchmarks.promises import TABLE, row_verdicts, run_verdicts
from benchmarks.results import Row, Run, load
from benchmarks.units import bytes_text, ratio_text, seconds_text

T = TypeVar("T")

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks.json"

INTRO = """# Benchmarks

This page is made by `python -m benchmarks report` from the results beside it, `benchmarks.json`;
`python -m benchmarks run --json docs/benchmarks.json` measures them anew.

Measured on {date}, on {machine}, threads: {threads}, with {versions}.

Each workload is one loss, written once against NumPy. A library has a process of its own, with as many
processors as threads; the processes take turns, and the best of several rounds counts. Times are those of a
value with its gradients; ratios are symgrad's time over the other's, so less is better. The libraries agree
on value and gradient, to half the digits of the element type; who does not is named. For JAX, loops over time
are rewritten as `lax.scan`; numba has gradients written by hand, or the loss alone. What is promised
stands in `benchmarks/promises.py`, how it is measured in [the design](design/benchmarks.md). The libraries of
a row were measured together; rows may come from several runs, as one disturbed by other work is measured
again. A dash is a library that has no such loss, refuses it, or was not asked.

![Time of a value with its gradients, relative to symgrad](benchmarks.svg)
"""


def add_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    about = "of `run --json`; page and figure lie beside it"
    parser.add_argument("json", type=Path, nargs="?", default=RESULTS, help=about)


def run(options: Namespace) -> int:
    """Write the page, and the figure."""
    found = load(options.json)
    options.json.with_suffix(".md").write_text(page(found), encoding="utf-8")
    if find_spec("matplotlib") is not None:
        import_module("benchmarks.figure").draw(found.rows, options.json.with_suffix(".svg"))
    return 0


def page(found: Run) -> str:
    """The text of the page."""
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    table = [row for row in found.rows if row.workload in TABLE]
    beside = [row for row in found.rows if row.workload not in TABLE]
    verdicts = [*run_verdicts(found.rows), *(verdict for row in found.rows for verdict in row_verdicts(row))]
    return "\n".join([
        INTRO.format(date=found.date, machine=found.machine, threads=found.threads, versions=versions),
        "## Value and gradient\n", _times(table),
        "## Loops over time, writes in place, and a call with a dict\n", _times(beside),
        "## Compiling, and memory\n", _compiling(found.rows),
        "## What is promised\n",
        _table(("of", "what", "at most", "measured", ""), [(v.where, *v.cells) for v in verdicts]),
        *_notes(found.rows),
    ])  # fmt: skip


def _times(rows: Sequence[Row]) -> str:
    return _table(
        (
            "workload",
            "symgrad",
            "median",
            *(f"/ {peer}" for peer in PEERS),
            "/ loss by hand",
            "/ value alone",
        ),
        [
            (
                f"`{row.workload}`",
                _shown(row.times.get("symgrad"), lambda timing: seconds_text(timing.best)),
                _shown(row.times.get("symgrad"), lambda timing: seconds_text(timing.median)),
                *(_shown(row.ratio("symgrad", peer), ratio_text) for peer in PEERS),
                _shown(row.ratio("symgrad", "numba value"), ratio_text),
                _shown(row.ratio("symgrad", "symgrad value"), ratio_text),
            )
            for row in rows
        ],
    )


def _compiling(rows: Sequence[Row]) -> str:
    return _table(
        ("workload", "first call", "of JAX", "warm start", "arena", "/ least"),
        [
            (
                f"`{row.workload}`",
                _shown(row.first.get("symgrad"), seconds_text),
                _shown(row.first.get("jax"), seconds_text),
                _shown(row.warm, seconds_text),
                _shown(row.arena, bytes_text),
                _shown(row.arena_ratio, ratio_text),
            )
            for row in rows
        ],
    )


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    """What was refused, and who disagrees."""
    refused = [(f"`{row.workload}`", who, f"`{why}`") for row in rows for who, why in row.refused.items()]
    if refused:
        yield "## What was refused\n"
        yield _table(("workload", "by", "with"), refused)
    differing = [(f"`{row.workload}`", *found) for row in rows for found in row.disagreements.items()]
    if differing:
        yield "## Who disagrees\n"
        yield _table(("workload", "who", "in what"), differing)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines) + "\n"


def _shown(x: T | None, text: Callable[[T], str]) -> str:
    return "-" if x is None else text(x)
