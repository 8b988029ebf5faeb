"""`symgrad ir`: the text of a program at any stage."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from symgrad.cli.chosen import add_function, chosen
from symgrad.cli.command import Command, Result
from symgrad.runtime.stages import Stage, stage_named, stage_text


def _configure(parser: ArgumentParser) -> None:
    add_function(parser)
    parser.add_argument(
        "--stage",
        default=Stage.OPTIMIZED.value,
        choices=[stage.value for stage in Stage],
        help="by default %(default)s",
    )
    parser.add_argument("--locs", action="store_true", help="show the line that each op comes from")


def _run(options: Namespace) -> Result:
    return stage_result(options, options.stage, locs=options.locs)


def stage_result(options: Namespace, stage: str, *, locs: bool) -> Result:
    """The program of the chosen function at a stage."""
    choice = chosen(options)
    program = choice.compiled.program(*choice.args, **choice.kwargs)
    text = stage_text(program, stage_named(stage), locs=locs)
    return Result(text.rstrip("\n"), {"function": program.traced.function.name, "stage": stage, "text": text})


COMMAND = Command("ir", "Print a program at a stage of its compilation", _configure, _run)
