"""What memory costs: time and bytes with less of it, against what is promised."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from benchmarks.memory.figure import Figure
from benchmarks.timing import run_pinned

PARTS = ("defaults", "loops", "tiles", "plans", "arenas", "jax_checkpoints")


def add_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--only", choices=PARTS, action="append", help="this part alone; may be repeated")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument(
        "--here", choices=PARTS, help="measure a part in this process, for the command itself"
    )


def run(options: Namespace) -> int:
    """Print the figures of each part, measured in a process of its own with one thread."""
    if options.here is not None:
        for figure in _figures(options.here):
            print(json.dumps([*figure.cells, figure.found, figure.limit]), flush=True)
        return 0
    found: dict[str, list[list[object]]] = {}
    for part in options.only or PARTS:
        print(f"{part}:")
        lines = run_pinned(["-m", "benchmarks", "memory", "--here", part]).splitlines()
        found[part] = [json.loads(line) for line in lines]
        for what, limit, value, word, *_ in found[part]:
            print(f"  {what:56} {value:>14}  {limit:>8}  {word}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(any(cells[3] == "BROKEN" for rows in found.values() for cells in rows))


def _figures(part: str) -> Iterator[Figure]:
    yield from import_module(f"benchmarks.memory.{part}").figures()
