"""`symgrad memory`: what memory a call needs, and what less of it would cost."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from symgrad.cli.chosen import add_function, chosen
from symgrad.cli.command import Command, Result
from symgrad.runtime.explain import memory_record, memory_text, plans_record, plans_text


def _add(parser: ArgumentParser) -> None:
    add_function(parser)
    parser.add_argument(
        "--plans",
        action="store_true",
        help="what each smaller arena would cost: what memory_budget= chooses from",
    )


def _run(options: Namespace) -> Result:
    choice = chosen(options)
    if options.plans:
        plans = choice.compiled.memory_plans(*choice.args, **choice.kwargs)
        return Result(plans_text(plans), plans_record(plans))
    report = choice.compiled.memory(*choice.args, **choice.kwargs)
    return Result(memory_text(report), memory_record(report))


COMMAND = Command("memory", "Say what memory a call needs, and what is alive at the peak", _add, _run)
