"""Measure workloads, print what was found beside what was promised, and keep it as JSON."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from benchmarks.measure import OWN, measure
from benchmarks.peers import PEERS, installed
from benchmarks.promises import Verdict, row_verdicts, run_verdicts
from benchmarks.results import Row, run_here
from benchmarks.units import ratio_text, seconds_text
from benchmarks.workloads import WORKLOADS


def add_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--peers", type=_peers, default=installed(), metavar="A,B",
        help=f"of {', '.join(PEERS)}; without it, those that are installed",
    )  # fmt: skip
    parser.add_argument(
        "--only", action="append", choices=WORKLOADS, metavar="NAME",
        help=f"may be repeated; of {', '.join(WORKLOADS)}",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="and processors, of each library")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep the results")


def run(options: Namespace) -> int:
    """Measure, print, keep; the exit status is 1 if libraries disagree."""
    print(f"{'':24}{'first call':>12}{'best':>14}{'median':>14}{'symgrad / it':>14}")
    rows: list[Row] = []
    for name in options.only or WORKLOADS:
        rows.append(measure(WORKLOADS[name], options.peers, options.threads))
        print("\n".join([name, *lines(rows[-1])]), flush=True)
        if options.json is not None:
            run_here(rows, options.threads).save(options.json)  # at once, so that a run cut short is kept
    print("\n".join(_judged(verdict) for verdict in run_verdicts(rows)))
    return int(any(row.disagreements for row in rows))


def lines(row: Row) -> list[str]:
    """What is printed of a row."""
    found = [
        f"  {name:22}{seconds_text(row.first[name]):>12}{seconds_text(time.best):>14}"
        f"{seconds_text(time.median):>14}"
        + ("" if (ratio := row.ratio(OWN, name)) is None else f"{ratio_text(ratio):>14}")
        for name, time in row.times.items()
    ]
    found += [f"  {name:22}refused: {text}"[:110] for name, text in row.refused.items()]
    found += [f"  {name:22}DISAGREES: {text}" for name, text in row.disagreements.items()]
    return found + [f"  {_judged(verdict)}" for verdict in row_verdicts(row)]


def _judged(verdict: Verdict) -> str:
    """What became of a promise, as a line."""
    what, limit, found, word = verdict.cells
    return f"{what} ({verdict.where}): promised {limit}, measured {found}: {word}"


def _peers(text: str) -> tuple[str, ...]:
    """The names in a list with commas."""
    names = tuple(text.split(","))
    if unknown := set(names) - set(PEERS):
        raise ArgumentTypeError(f"no peer is called {', '.join(sorted(unknown))}")
    return names
