"""`symgrad source`: the generated module."""

from __future__ import annotations

from argparse import Namespace

from symgrad.cli.chosen import add_function
from symgrad.cli.command import Command, Result
from symgrad.cli.ir import stage_result
from symgrad.runtime.stages import Stage


def _run(options: Namespace) -> Result:
    return stage_result(options, Stage.SOURCE.value, locs=False)


COMMAND = Command("source", "Print the generated module", add_function, _run)
