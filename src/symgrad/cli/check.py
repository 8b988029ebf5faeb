"""`symgrad check`: values and derivatives against the plain function; exit code 1 where they differ."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from symgrad.cli.chosen import Chosen, add_function, chosen
from symgrad.cli.command import FAILED, OK, Command, Result
from symgrad.runtime.check_report import CheckReport
from symgrad.runtime.checks import check_function
from symgrad.runtime.program import INTERPRETER


def _configure(parser: ArgumentParser) -> None:
    add_function(parser)
    parser.add_argument(
        "--order",
        type=int,
        metavar="N",
        help="check both modes up to this order, interpreted, in place of the program as it is called",
    )


def _run(options: Namespace) -> Result:
    choice = chosen(options).with_values()
    report = _report(choice, options.order)
    return Result(str(report), report.record(), OK if report.ok else FAILED)


def _report(choice: Chosen, order: int | None) -> CheckReport:
    compiled = choice.compiled
    if order is None:
        return compiled.compared(*choice.args, **choice.kwargs)
    return check_function(
        compiled.fn,
        choice.args,
        choice.kwargs,
        argnums=compiled.request.wrt or None,
        order=order,
        modes=("fwd", "rev"),
        target=INTERPRETER,
    )


COMMAND = Command(
    "check",
    "Compare values and gradients with the plain function and its difference quotients",
    _configure,
    _run,
)
