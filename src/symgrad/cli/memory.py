"""`symgrad memory`: what memory a call needs, what less of it would cost, and what other batches need."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace

from symgrad.cli.chosen import Chosen, add_function, chosen
from symgrad.cli.command import Command, Result
from symgrad.errors import ArgumentError
from symgrad.runtime.late import PICTURE, late
from symgrad.runtime.memory_tables import (
    batches_record,
    batches_text,
    curve_record,
    curve_text,
    memory_record,
    memory_text,
    plans_record,
    plans_text,
    values_text,
)


def _add(parser: ArgumentParser) -> None:
    add_function(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--plans",
        action="store_true",
        help="what each smaller arena would cost: what memory_budget= chooses from",
    )
    what.add_argument(
        "--curve", action="store_true", help="what ten budgets give, down to the least that is possible"
    )
    what.add_argument("--values", action="store_true", help="all that lies in the arena at some time")
    what.add_argument(
        "--batch", metavar="SIZES", help="what batches of other sizes need, such as 64,256,1024"
    )
    parser.add_argument(
        "--over",
        metavar="NAMES",
        help="the arguments with a batch axis: x,y for their first axis, x:1 for the second one of x; "
        "by default the first axis of every array that is not differentiated",
    )
    parser.add_argument("--budget", metavar="BYTES", help="with this memory_budget, such as 64MiB")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw what is alive when, without and with the budget, and the curve: a .png or .svg file",
    )


def _run(options: Namespace) -> Result:
    if options.over is not None and options.batch is None:
        raise ArgumentError("--over names the batch axis of --batch", cure="add --batch 64,256")
    choice = chosen(options)
    drawn = "" if options.plot is None else _plot(choice, options)
    found = _report(_within(choice, options.budget), options)
    return Result(f"{found.text}{drawn}", found.record)


def _report(choice: Chosen, options: Namespace) -> Result:
    compiled, args, kwargs = choice.compiled, choice.args, choice.kwargs
    if options.plans:
        plans = compiled.memory_plans(*args, **kwargs)
        return Result(plans_text(plans), plans_record(plans))
    if options.curve:
        points = compiled.memory_curve(*args, **kwargs)
        return Result(curve_text(points), curve_record(points))
    if options.batch is not None:
        batches = compiled.memory_batches(_sizes(options.batch), *args, over=_over(options.over), **kwargs)
        return Result(batches_text(batches), batches_record(batches))
    report = compiled.memory(*args, **kwargs)
    text = values_text(report) if options.values else memory_text(report)
    return Result(text, memory_record(report))


def _within(choice: Chosen, budget: str | None) -> Chosen:
    """The choice with the budget that is asked for."""
    if budget is None:
        return choice
    size = int(budget) if budget.isdecimal() else budget
    return Chosen(choice.compiled.within(size), choice.args, choice.kwargs)


def _plot(choice: Chosen, options: Namespace) -> str:
    """Draw the figure; the line that says so."""
    picture = late(PICTURE)
    path = picture.checked_path(options.plot)
    unbounded = Chosen(choice.compiled.within(None), choice.args, choice.kwargs)
    shown = [("without a budget", unbounded)]
    if options.budget is not None:
        shown.append((f"with a budget of {options.budget}", _within(choice, options.budget)))
    reports = [(title, c.compiled.memory(*c.args, **c.kwargs)) for title, c in shown]
    curve = unbounded.compiled.memory_curve(*unbounded.args, **unbounded.kwargs)
    picture.draw(path, reports, curve)
    return f"\ndrawn: {path}"


def _sizes(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ArgumentError(f"--batch {text!r} names no sizes", cure="write it as 64 or 64,256,1024")
    return list(map(int, parts))


def _over(text: str | None) -> dict[str, int] | None:
    """The arguments with a batch axis, and its number in each."""
    if text is None:
        return None
    found: dict[str, int] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\w+)(?::(-?\d+))?\s*", part)
        if match is None:
            raise ArgumentError(f"--over {text!r} names no arguments", cure="write it as x or x,y or x:1")
        found[match[1]] = int(match[2] or 0)
    return found


COMMAND = Command("memory", "Say what memory a call needs, and what is alive at the peak", _add, _run)
