"""`symgrad explain`: why a program is as it is."""

from __future__ import annotations

from argparse import Namespace

from symgrad.cli.chosen import add_function, chosen
from symgrad.cli.command import Command, Result
from symgrad.runtime.explain import explanation, explanation_record


def _run(options: Namespace) -> Result:
    choice = chosen(options)
    program = choice.compiled.program(*choice.args, **choice.kwargs)
    return Result(explanation(program), explanation_record(program))


COMMAND = Command("explain", "Say what is fixed in a program, what was fused, and why", add_function, _run)
